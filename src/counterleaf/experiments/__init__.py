"""Baselines, reference solvers, the benchmark, and the paper's experiments."""
