"""Infer features and spreads from the columns of a table."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal
from counterleaf.table.frames import Column, cells_of, kind_of, levels_of, numbers_of
from counterleaf.types import Array, is_missing

SPREADS = ("range", "std", "mad")  # the names that weights can have
SPREAD_ENDS = 1e-150, 1e150  # between these, a spread, its square and the inverses of both are finite numbers above 0


@dataclass(frozen=True, slots=True)
class Spreads:
    """How widely each feature varies in the data.

    Parameters
    ----------
    range : (F,) array
        The greatest value minus the least.
    std : (F,) array
        The standard deviation.
    mad : (F,) array
        The median absolute deviation from the median.
    """

    range: Array
    std: Array
    mad: Array

    @classmethod
    def of(cls, X: Array) -> Spreads:
        """Measure the columns of an array, missing values left out.

        A spread too small to have an inverse square counts as 0. A spread of 0 is replaced by the range, a range of 0 by 1.

        Parameters
        ----------
        X : (n, F) array
            The data; NaN marks a missing value.

        Returns
        -------
        Spreads
            Three arrays with one entry per column.
        """
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        with np.errstate(over="ignore", invalid="ignore"):
            width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
            mad = np.nanmedian(np.abs(X - np.nanmedian(X, axis=0)), axis=0)
            std = np.where(width > 0, np.nanstd(X, axis=0), 0.0)  # for equal numbers, rounding may leave more than 0
        width = _usable(width, 1.0)
        return cls(width, _usable(std, width), _usable(mad, width))


def _usable(spread: Array, fallback: Any) -> Array:
    low, high = SPREAD_ENDS
    return np.where(spread > low, np.minimum(spread, high), fallback)


def guess(name: str, column: Column, bounds: bool, finite: bool = False) -> Feature:
    """Return the feature that a column of data looks like.

    Parameters
    ----------
    name : str
        The name of the feature.
    column : Series or (n,) array
        The data.
    bounds : bool
        Whether a number stays within the range of the data.
    finite : bool, default=False
        Whether the column holds categories even if they are numbers.

    Returns
    -------
    Feature
        A Numeric, Ordinal, Categorical or Boolean.
    """
    kind, (levels, ordered) = kind_of(column), levels_of(column)
    if levels is not None and ordered:
        return Ordinal(name, levels, missing=_has_gaps(column))
    if kind in "Mm":
        raise CounterleafError(
            f"column {name!r} of the data holds {column.dtype}; expected numbers or categories: convert or drop it"
        )
    if kind == "b":
        return Boolean(name, missing=_has_gaps(column))
    if not finite and kind != "O":
        return _guess_number(name, numbers_of(column, name), kind in "iu", bounds)
    cells = cells_of(column)
    seen = {value for value in cells if not is_missing(value)}
    if seen and all(isinstance(value, (bool, np.bool_)) for value in seen):
        return Boolean(name, missing=len(seen) < len(set(cells)))
    if finite or not seen or not all(isinstance(value, numbers.Real) for value in seen):
        values = _sorted(seen) if levels is None else levels
        if not values:
            raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
        return Categorical(name, values, missing=any(map(is_missing, cells)))
    X = np.array([np.nan if is_missing(value) else value for value in cells], dtype=np.float64)
    return _guess_number(name, X, all(isinstance(value, numbers.Integral) for value in seen), bounds)


def _guess_number(name: str, X: Array, whole: bool, bounds: bool) -> Numeric:
    gaps, X = np.isnan(X).any(), X[~np.isnan(X)]
    if not len(X):
        raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
    if not np.isfinite(X).all():
        raise CounterleafError(f"column {name!r} of the data holds infinity; expected finite numbers")
    low, high = (float(X.min()), float(X.max())) if bounds else (-np.inf, np.inf)
    whole = whole or bool(gaps and (X % 1 == 0).all())  # pandas stores whole numbers with gaps as floats
    return Numeric(name, low, high, integer=whole, missing=bool(gaps))


def _has_gaps(column: Column) -> bool:
    return any(map(is_missing, cells_of(column)))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
