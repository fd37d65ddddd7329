"""The user's table: its features, and rows as numbers and back; the only package of the line that imports pandas or polars."""
