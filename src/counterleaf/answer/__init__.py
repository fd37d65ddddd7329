"""Explanations as values, as text and as HTML."""
