"""Numbers and names of features as the drawings show them."""

from __future__ import annotations

from typing import Any

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import one_line
from counterleaf.explorer.session.settings import display_name
from counterleaf.plot.canvas import MINUS

TIMES = "\N{MULTIPLICATION SIGN}"


def label_of(feature: Any) -> str:
    """The name of a feature as the page shows it."""
    return one_line(getattr(feature, "label", None) or display_name(feature.name))


def unit_of(feature: Any) -> str | None:
    """The unit of a feature, if it has one."""
    return getattr(feature, "unit", None)


def number_text(feature: Any, value: float) -> str:
    """A number of a feature, with all its digits, thousands separators and the unit."""
    text, unit = thousands(plain(value)), unit_of(feature)
    return f"{text} {unit}" if unit else text


def thousands(text: str) -> str:
    """A plain number with thousands separators and a proper minus sign.

    >>> thousands("7073.25"), thousands("1e-07"), thousands("12")
    ('7,073.25', '1e-07', '12')
    """
    sign, digits = (MINUS, text[1:]) if text.startswith("-") else ("", text)
    whole, point, rest = digits.partition(".")
    return f"{sign}{int(whole):,}{point}{rest}" if whole.isdigit() else sign + digits
