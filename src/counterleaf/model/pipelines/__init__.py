"""A fitted pipeline folded into one tree over the columns of the table, by probing its steps."""
