"""The paper's experiments, repeated by ``counterleaf-experiments reproduce``.

``run.py`` loads the data as the paper prepared them (``data.py``), learns trees (``trees.py``), answers one question per
instance (``instances.py``) and writes tables, figures and the report.
"""
