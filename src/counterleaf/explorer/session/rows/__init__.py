"""All rows of a data set at once: their efforts, groups of them, and models and rows that the user opens on the page."""
