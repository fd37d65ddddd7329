"""What measures counterleaf: baselines, reference solvers, the benchmark, and the paper's experiments."""
