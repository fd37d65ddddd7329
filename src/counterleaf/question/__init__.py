"""Targets, costs and constraints: as the user states them, and as the arrays that the solver and the proof read."""
