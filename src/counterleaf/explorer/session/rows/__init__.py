"""All rows of a scene at once: their efforts, groups of them, and models and rows that the user opens on the page."""
