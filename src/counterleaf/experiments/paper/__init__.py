"""The paper's experiments by one command: ``counterleaf reproduce``.

A run goes from grounds (data as the paper prepared them) over trees (learned here) and instances (one question each) to
tables, pictures and the report.
"""
