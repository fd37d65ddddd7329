"""The Python side of the compiled module: its outcomes, and how to stop it."""
