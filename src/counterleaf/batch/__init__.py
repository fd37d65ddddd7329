"""A table in, a table out."""
