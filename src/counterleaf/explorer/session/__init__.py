"""The answers of the explorer: models with their rows, the user's settings, drawings and reports."""
