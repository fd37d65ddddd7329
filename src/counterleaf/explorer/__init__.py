"""The explorer behind ``counterleaf explore``: a local page to query a model, lock features and compare the answers.

``web`` has the routes and controls access, ``session`` computes what they return, and ``page`` is what the browser loads.
"""
