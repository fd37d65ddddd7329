"""``counterleaf-experiments bench``: counterleaf, general solvers and other tools on the same trees and rows.

``run.py`` is the whole run: ``scaled_data.py`` and ``trees.py`` provide data and trees, ``cases.py`` the questions,
``methods/`` answers them, ``measurement.py`` records answers and times, and ``tables.py`` prints them.
"""
