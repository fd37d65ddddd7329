"""Many rows at once: a table in, a table out."""
