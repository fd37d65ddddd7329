"""The Python side of the compiled module: its inputs, its outcomes, and how to stop it."""
