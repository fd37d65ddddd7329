"""Readers of the ensembles of scikit-learn."""
