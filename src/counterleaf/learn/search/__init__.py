"""Tree alternating optimisation: starts, sweeps, leaf models and pruning."""
