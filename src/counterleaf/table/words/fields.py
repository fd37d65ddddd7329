"""The label, the unit and the description of a feature, which stay when it is renamed or replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from counterleaf.table.features import Boolean, Feature, Numeric


def with_name(feature: Feature, name: str) -> Feature:
    """Return the same feature under another name."""
    return _with(feature, name, **words_of(feature))


def words_of(feature: Feature) -> dict[str, str]:
    """Return the label, the unit and the description of a feature, those that it has."""
    words = {field: getattr(feature, field, None) for field in ("label", "unit", "description")}
    return {field: text for field, text in words.items() if text is not None}


def with_words(feature: Feature, words: Mapping[str, str]) -> Feature:
    """Return a feature with the label, the unit and the description of ``words`` where it has none.

    Examples
    --------
    >>> with_words(Numeric("pay", label="Salary"), {"label": "Pay", "unit": "dollars"}).unit
    'dollars'
    """
    known = {field: text for field, text in words.items() if field != "unit" or isinstance(feature, Numeric)}
    new = {**known, **words_of(feature)}
    return feature if new == words_of(feature) else _with(feature, feature.name, **new)


def _with(feature: Feature, name: str, **words: Any) -> Feature:
    if isinstance(feature, Numeric):
        return replace(feature, name=name, **words)
    if isinstance(feature, Boolean):
        return Boolean(name, feature.costs, feature.missing, **words)
    return type(feature)(name, feature.values, feature.costs, feature.missing, **words)
