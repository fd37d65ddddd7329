"""``counterleaf-experiments bench --part ensembles``: counterleaf, OCEAN and treecf on the same forests and boosted trees.

``run.py`` is the whole run: ``models.py`` provides data and models, ``questions.py`` the rows and targets, ``ours.py``,
``treecf_calls.py`` and ``ocean_process.py`` answer them, ``measurement.py`` records answers and times, and ``report.py`` prints
them.
"""
