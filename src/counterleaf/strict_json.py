"""Numbers, values and schemas as JSON writes them, and back; floats come back bit for bit."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

from counterleaf.errors import CounterleafError, brief
from counterleaf.types import Array, is_missing

_WHOLE = 2**63


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value that JSON knows; a missing value as None; a date, which JSON lacks, as ISO text."""
    if is_missing(value) or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value)):
        return None
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def loads(text: Any) -> Any:
    """JSON that every reader reads alike: without NaN and infinity, no name twice in one object.

    Raises
    ------
    TypeError, ValueError, RecursionError
        If it is none.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("an object names something twice")
    return out


def check_whole(values: Any, what: str) -> None:
    """Refuse whole numbers beyond 64 bits: thousands can share one hash, and looking such a number up then takes forever."""
    for value in values:
        if isinstance(value, int) and abs(value) > _WHOLE:
            raise CounterleafError(f"{what} is {brief(value)}; JSON holds text and numbers of 64 bits")


def number_out(value: float) -> float | str:
    """A number; JSON has no word for infinity."""
    return float(value) if math.isfinite(value) else str(float(value))


def numbers_out(array: Array) -> list[float | str]:
    """Numbers, infinite ones as text."""
    return [number_out(value) for value in array.tolist()]


def numbers_in(given: list[Any]) -> Array:
    """The array that ``numbers_out`` wrote."""
    return np.array([float(value) for value in given])
