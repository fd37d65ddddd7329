"""Ensembles of trees as values: the trees, how their leaves are added up, and the targets that the scores reach."""
