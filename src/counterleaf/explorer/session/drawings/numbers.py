"""Numbers and names of features as the drawings show them."""

from __future__ import annotations

from typing import Any

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import one_line
from counterleaf.explorer.session import words
from counterleaf.table.words import grouped

TIMES = "\N{MULTIPLICATION SIGN}"


def label_of(feature: Any) -> str:
    """The name of a feature as the page shows it, in one line."""
    return one_line(words.label_of(feature))


def unit_of(feature: Any) -> str | None:
    """The unit of a feature, if it has one."""
    return getattr(feature, "unit", None)


def number_text(feature: Any, value: float) -> str:
    """A number of a feature, with all its digits, thousands separators and the unit."""
    return words.feature_number(feature, plain(value))


def thousands(text: str) -> str:
    """A plain number with thousands separators."""
    return grouped(text)
