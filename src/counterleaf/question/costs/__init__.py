"""Costs: their terms, and their prices as arrays."""
