"""Features and their values as people read them: labels, units and descriptions, thousands separators and dates."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from counterleaf.table.features import MISSING, Boolean, Feature, Numeric, Ordinal, is_missing

_DIGITS = re.compile(r"[-\u2212]?\d+")  # the whole part of a number
_START = datetime(1970, 1, 1)


def label_of(feature: Feature) -> str:
    """Return the name of a feature that people read, in one line."""
    return " ".join((feature.label or feature.name).splitlines())


def word(value: Any) -> str:
    """Return a category, a level or a truth value on one line."""
    return MISSING if is_missing(value) else " ".join(str(value).splitlines()) or repr(value)


def shown(feature: Feature, text: str) -> str:
    """Return a written value with its unit and with thousands separators, or as a date; a value without a unit stays."""
    if not isinstance(feature, Numeric) or feature.unit is None or not is_number(text):
        return text
    if feature.unit == "date":
        return date_of(float(text)) or text
    return f"{grouped(text)} {feature.unit}"


def grouped(text: str) -> str:
    """Return a written number with thousands separators."""
    whole = _DIGITS.match(text)
    if whole is None or "e" in text:
        return text
    digits = whole[0].lstrip("-\u2212")
    return f"{whole[0][: -len(digits)]}{int(digits):,}{text[whole.end() :]}"


def date_of(days: float) -> str | None:
    """Return days since 1970-01-01 as a date, with the time if they are not whole; None outside the years 1 to 9999."""
    try:
        moment = _START + timedelta(days=days)
    except OverflowError:
        return None
    return moment.date().isoformat() if float(days).is_integer() else moment.isoformat(" ", "minutes")


def is_number(text: str) -> bool:
    """Return whether a written value is a finite number, rather than missing."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def describe(feature: Feature) -> str:
    """Return a feature in words."""
    label = f"{label_of(feature)}: " if feature.label else ""
    return f"{label}{_number(feature) if isinstance(feature, Numeric) else _choice(feature)}{_gap_words(feature)}"


def _number(feature: Numeric) -> str:
    if feature.values is not None:
        values = [shown(feature, f"{value:g}") for value in feature.values]
        return f"one of the {'dates' if feature.unit == 'date' else 'numbers'} {_some(values)}"
    what = "date" if feature.unit == "date" else "whole number" if feature.integer else "number"
    if feature.step is not None:
        what += f" in steps of {float(feature.step):g}{' days' if feature.unit == 'date' else ''}"
    low, high = (None if math.isinf(end) else f"{end:g}" for end in (feature.lower, feature.upper))
    if feature.unit == "date":
        low, high = (end and shown(feature, end) for end in (low, high))
    elif feature.unit:
        low, high = (low and (grouped(low) if high else shown(feature, low))), high and shown(feature, high)
    if low and high:
        return f"{what}, {low} to {high}"
    if not low and not high:
        return f"{what} ({feature.unit})" if feature.unit not in (None, "date") else what
    return f"{what}, at least {low}" if low else f"{what}, at most {high}"


def _choice(feature: Feature) -> str:
    if isinstance(feature, Boolean):
        return "yes or no"
    values = [str(value) for value in feature.values or ()]
    if isinstance(feature, Ordinal):
        return f"{len(values)} levels: {_some(values, ' < ')}"
    return f"one of {len(values)}: {_some(values)}"


def _some(values: list[str], between: str = ", ") -> str:
    return between.join(values if len(values) <= 8 else [*values[:6], f"... {len(values) - 6} more"])


def _gap_words(feature: Feature) -> str:
    return "" if not feature.missing else ", may be missing" if feature.missing is True else ", may be left out"


def with_name(feature: Feature, name: str) -> Feature:
    """Return the same feature under another name."""
    return _with(feature, name, **words_of(feature))


def words_of(feature: Feature) -> dict[str, str]:
    """Return the label, the unit and the description of a feature, those that it has."""
    words = {field: getattr(feature, field, None) for field in ("label", "unit", "description")}
    return {field: text for field, text in words.items() if text is not None}


def with_words(feature: Feature, words: Mapping[str, str]) -> Feature:
    """Return a feature with the label, the unit and the description of ``words`` where it has none."""
    known = {field: text for field, text in words.items() if field != "unit" or isinstance(feature, Numeric)}
    new = {**known, **words_of(feature)}
    return feature if new == words_of(feature) else _with(feature, feature.name, **new)


def _with(feature: Feature, name: str, **words: Any) -> Feature:
    if isinstance(feature, Numeric):
        return replace(feature, name=name, **words)
    if isinstance(feature, Boolean):
        return Boolean(name, feature.costs, feature.missing, **words)
    return type(feature)(name, feature.values, feature.costs, feature.missing, **words)
