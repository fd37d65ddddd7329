"""The Python side of the compiled module: what it takes, what it returns, how it is stopped."""
