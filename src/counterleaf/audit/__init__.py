"""Audits: what the answers for all rows of a table say, in memory (``audit.py``) or in files of any size (``run.py``)."""
