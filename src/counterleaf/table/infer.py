"""What data says about its columns: the features they look like, and how widely they vary."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal, is_missing
from counterleaf.table.frames import cells_of, numbers_of
from counterleaf.types import Array

SPREADS = ("range", "std", "mad")  # by which weights can be named
SPREAD_ENDS = 1e-150, 1e150  # within these a spread, its square and the inverses of both are numbers


@dataclass(frozen=True, slots=True)
class Spreads:
    """How widely each feature varies in the data: three arrays, one entry per feature."""

    range: Array
    std: Array
    mad: Array

    @classmethod
    def of(cls, X: Array) -> Spreads:
        """Range, standard deviation and median absolute deviation, gaps left out; 0 falls back to the range, then to 1.

        A spread too small for its inverse square to be a number counts as 0.
        """
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        with np.errstate(over="ignore", invalid="ignore"):
            width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
            mad = np.nanmedian(np.abs(X - np.nanmedian(X, axis=0)), axis=0)
            std = np.where(width > 0, np.nanstd(X, axis=0), 0.0)  # of equal numbers it may be their mean's rounding
        width = _usable(width, 1.0)
        return cls(width, _usable(std, width), _usable(mad, width))


def _usable(spread: Array, other: Any) -> Array:
    low, high = SPREAD_ENDS
    return np.where(spread > low, np.minimum(spread, high), other)


def guess(name: str, column: Any, bounds: bool, finite: bool = False) -> Feature:
    """The feature that a column of data looks like."""
    kind, dtype = _kind(column), getattr(column, "dtype", None)
    levels = getattr(dtype, "categories", None) if type(dtype).__module__.startswith("pandas") else None
    if levels is not None and getattr(dtype, "ordered", False):
        return Ordinal(name, list(levels), missing=_has_gaps(column))
    if kind in "Mm":
        raise CounterleafError(f"column {name!r} of the data holds {dtype}; expected numbers or categories: convert or drop it")
    if kind == "b":
        return Boolean(name, missing=_has_gaps(column))
    if finite or kind == "O":
        listed = cells_of(column)
        seen = {value for value in listed if not is_missing(value)}
        if seen and all(isinstance(value, (bool, np.bool_)) for value in seen):
            return Boolean(name, missing=len(seen) < len(set(listed)))
        if finite or not seen or not all(isinstance(value, numbers.Real) for value in seen):
            values = _sorted(seen) if levels is None else list(levels)
            if not values:
                raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
            return Categorical(name, values, missing=any(map(is_missing, listed)))
        column = np.array([np.nan if is_missing(value) else value for value in listed], dtype=np.float64)
        kind = "i" if all(isinstance(value, numbers.Integral) for value in seen) else "f"
    X = numbers_of(column, name)
    gaps, X = np.isnan(X).any(), X[~np.isnan(X)]
    if not len(X):
        raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
    if not np.isfinite(X).all():
        raise CounterleafError(f"column {name!r} of the data holds infinity; expected finite numbers")
    low, high = (float(X.min()), float(X.max())) if bounds else (-np.inf, np.inf)
    whole = kind in "iu" or bool(gaps and (X % 1 == 0).all())  # pandas makes floats of whole numbers with gaps
    return Numeric(name, low, high, integer=whole)


def _has_gaps(column: Any) -> bool:
    return any(map(is_missing, cells_of(column)))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _kind(column: Any) -> str:
    """The kind of a column's values as NumPy names them: b, i, u, f, M, m, or O for text and objects."""
    dtype = column.dtype
    if hasattr(dtype, "is_integer"):  # polars
        if dtype.is_integer():
            return "i"
        if dtype.is_temporal():
            return "M"
        return "f" if dtype.is_numeric() else "b" if str(dtype) == "Boolean" else "O"
    kind = getattr(dtype, "kind", "O")
    return kind if kind in "biufMm" else "O"
