"""``counterleaf bench``: our search beside general solvers and other people's tools, on the same trees and rows in one run.

``run.py`` reads top to bottom: ``grounds.py`` and ``trees.py`` give the models, ``cases.py`` the questions, ``ours.py``,
``leafwise.py`` and ``peers.py`` ask them, ``table.py`` writes what came out.
"""
