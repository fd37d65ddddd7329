"""Constraints in words."""
