"""The explorer: ask, lock, slide, see. A page for one person on their own machine, behind ``counterleaf explore``."""
