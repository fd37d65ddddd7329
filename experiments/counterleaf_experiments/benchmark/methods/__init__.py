"""The methods that the benchmark compares."""
