"""Ensembles over the variables of a schema: pipelines, categories, wrappers and missing numbers."""
