"""What an answer claims, and the check of it: NumPy and the standard library, nothing of the search."""
