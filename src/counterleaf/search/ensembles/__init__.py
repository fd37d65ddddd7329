"""The search over ensembles of trees."""
