"""Readers of the models of scikit-learn: trees, ensembles and linear models."""
