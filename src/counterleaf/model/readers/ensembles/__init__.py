"""Readers of forests and boosted trees, one file for each family of models, in one table."""
