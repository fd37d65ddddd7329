"""The explorer from Python: inside a notebook, or in a browser next to a running program."""
