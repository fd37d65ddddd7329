"""Values as JSON holds them, and a strict reader; floats are restored bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.types import Array, is_missing

_WHOLE = 2**63


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python value, a missing value as None and a date, which JSON lacks, as ISO text."""
    if is_missing(value) or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value)):
        return None
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def loads(text: Any, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Read JSON that every reader understands in the same way: no NaN or infinity, no name twice in one object.

    ``pairs`` makes an object of its names and values, and decides what becomes of a name that appears twice.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=pairs or _once)


def content_in(text: Any, what: str) -> Any:
    """Read the whole text of ``to_json``; ``what`` it should be, such as "answer", for messages."""
    if not isinstance(text, (str, bytes)):
        raise CounterleafError(f"an {what} is read from text; got a {type(text).__name__}: pass Path(file).read_text()")
    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(
            f"not a counterleaf {what}: not valid JSON ({flat(error)}); pass the whole text of to_json, not a file name"
        ) from None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not valid in JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("an object has the same name twice")
    return out


def check_whole(values: Any, what: str) -> None:
    """Check that no integer exceeds 64 bits: thousands of larger ones can share a hash, which makes look-ups very slow."""
    for value in values:
        if isinstance(value, int) and abs(value) > _WHOLE:
            raise CounterleafError(f"{what} is {brief(value)}; JSON holds text and numbers of 64 bits")


def number_out(value: float) -> float | str:
    """Return a number, or text for infinity and NaN, which JSON lacks."""
    return float(value) if math.isfinite(value) else str(float(value))


def numbers_out(array: Array) -> list[float | str]:
    """Return the numbers of an array, infinity and NaN as text."""
    return [number_out(value) for value in array.tolist()]


def numbers_in(numbers: list[Any]) -> Array:
    """Return the array that ``numbers_out`` wrote."""
    return np.array([float(value) for value in numbers])
