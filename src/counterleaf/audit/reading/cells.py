"""Cells of text files as columns of pyarrow; their types follow from the features and never from the cells of a block."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from counterleaf.errors import CounterleafError, brief, some
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.files import MISSING_TEXTS
from counterleaf.types import is_missing

_MISSING = frozenset(MISSING_TEXTS)
_EXACT = 2**53  # up to here, a float holds every whole number
_BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

Problems = dict[int, str]  # from the position of a row to the reason why it cannot be read


def cell_type(feature: Feature | None) -> pa.DataType:
    """Return the type of the column of a feature, or of a column that is kept."""
    if feature is None:
        return pa.string()
    if isinstance(feature, Numeric):
        return pa.float64()
    if all(isinstance(value, bool) for value in feature.values):
        return pa.bool_()
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in feature.values):
        whole = all(isinstance(value, int) for value in feature.values)
        return pa.int64() if whole and max(map(abs, feature.values)) > _EXACT else pa.float64()
    return pa.string()


def text_column(feature: Feature | None, texts: Sequence[str], decimal: str, problems: Problems) -> pa.Array:
    """Return the cells of a CSV file as a column; ``problems`` gets the reasons for cells that do not fit."""
    kind = cell_type(feature)
    if feature is None or pa.types.is_string(kind):
        return pa.array([None if text in _MISSING else text for text in texts], kind)
    values: list[Any] = []
    for k, text in enumerate(texts):
        value = None if text in _MISSING else _typed(text, kind, decimal)
        if value is None and text not in _MISSING:
            problems.setdefault(k, _refusal(feature, text))
        values.append(value)
    return pa.array(values, kind)


def _typed(text: str, kind: pa.DataType, decimal: str) -> Any:
    """Return a cell of a CSV file as a truth value or a number, None if it is neither."""
    value: float | None = _BOOLEANS.get(text, _number(text, decimal))
    if value is None or pa.types.is_floating(kind):
        return value if value is None else float(value)
    if pa.types.is_boolean(kind):
        return bool(value) if value in (0, 1) else None
    return _whole(text, float(value))


def value_column(feature: Feature | None, values: Sequence[Any], problems: Problems) -> pa.Array:
    """Return the values of a JSON file as a column; ``problems`` gets the reasons for values that do not fit."""
    kind = cell_type(feature)
    out: list[Any] = []
    for k, value in enumerate(values):
        if is_missing(value):
            out.append(None)
            continue
        try:
            out.append(_kept(value) if feature is None else _fitted(feature, value, kind))
        except CounterleafError as error:
            problems.setdefault(k, str(error))
            out.append(None)
    return pa.array(out, kind)


def _fitted(feature: Feature, value: Any, kind: pa.DataType) -> Any:
    """Return a value of JSON in the type of a feature's column."""
    if isinstance(feature, Numeric):
        if isinstance(value, str):
            found = _number(value, ".")
        else:
            found = float(value) if isinstance(value, (bool, int, float)) else None
        if found is None:
            raise CounterleafError(_refusal(feature, value))
        return found
    chosen = feature.values[feature.place(value)]
    if pa.types.is_integer(kind):
        return chosen
    return str(chosen) if pa.types.is_string(kind) else bool(chosen) if pa.types.is_boolean(kind) else float(chosen)


def _kept(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value)
        text.encode()
    except UnicodeEncodeError:
        raise CounterleafError("a cell holds half a character") from None
    return text


def _number(text: str, decimal: str) -> float | None:
    """Return a text as a number, None if it is not one; digits in groups are not one.

    In a file with decimal commas, a point could separate thousands.
    """
    text = text.strip()
    if "_" in text or not text.isascii() or (decimal == "," and "." in text):
        return None
    if decimal == ",":
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str, value: float) -> int:
    """Return a whole number with all of its digits; -1 in place of a number that cannot be a category."""
    digits = text.strip()
    exact = int(digits) if digits.lstrip("+-").isdigit() else int(value) if value.is_integer() else -1
    return exact if abs(exact) < 2**63 else -1


def _refusal(feature: Feature, value: Any) -> str:
    """Return why a cell is refused, in the words of ``explain``."""
    if isinstance(feature, Numeric):
        return f"feature {feature.name!r} is {brief(value)}; expected a number"
    return f"feature {feature.name!r} is {brief(value)}; expected one of {some(feature.values)}"
