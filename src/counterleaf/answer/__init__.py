"""Explanations as values, as text and as HTML, and trees as text.

``Explanation.plot``, ``Explanation.to_json`` and their siblings open the packages ``plot`` and ``storage``, which build on this
one; they import them when they are called.
"""
