"""The claims of an answer and their check, in NumPy and the standard library: no import of the core or the search."""
