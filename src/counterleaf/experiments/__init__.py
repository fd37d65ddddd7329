"""Baselines, reference solvers, the benchmark, and the paper reproduced."""
