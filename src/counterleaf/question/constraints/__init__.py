"""Constraints: the functions that make them, their kinds, and their arrays."""
