"""Ensembles in files: the checks of what is read, and the proofs."""
