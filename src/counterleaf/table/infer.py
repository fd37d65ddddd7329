"""Infer features and spreads from the columns of a table."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, real_array, single, values_of
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal
from counterleaf.table.frames import Column, cells_of, columns, kind_of, levels_of, numbers_of
from counterleaf.types import Array, is_missing

SPREADS = ("range", "std", "mad")  # the names that weights can have
_ENOUGH, _FEW = 30, 8  # the least number of known rows for which a grid or a list is inferred; the longest list
_FINE = 2.0**40  # steps of a grid: beyond this number, floats are too coarse to tell
SPREAD_ENDS = 1e-150, 1e150  # between these, a spread, its square and the inverses of both are finite numbers above 0


@dataclass(frozen=True, slots=True)
class Spreads:
    """How widely each feature varies in the data."""

    range: Array  # of the middle 98 %: the 99 % quantile minus the 1 % quantile, which are values of the data
    std: Array
    mad: Array  # the median absolute deviation from the median

    @classmethod
    def of(cls, X: Array) -> Spreads:
        """Measure the columns of an array, missing values left out.

        A spread too small to have an inverse square counts as 0. A range of 0 is replaced by the greatest value minus the least
        one and, if that is 0, by 1. Another spread of 0 is replaced by the range.
        """
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        with np.errstate(over="ignore", invalid="ignore"):
            width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
            quantile = np.nanquantile if np.isnan(X).any() else np.quantile
            low, high = quantile(X, (0.01, 0.99), axis=0, method="inverted_cdf")
            mad = np.nanmedian(np.abs(X - np.nanmedian(X, axis=0)), axis=0)
            std = np.where(width > 0, np.nanstd(X, axis=0), 0.0)  # for equal numbers, rounding may leave more than 0
            width = _usable(high - low, _usable(width, 1.0))
        return cls(width, _usable(std, width), _usable(mad, width))


def _usable(spread: Array, fallback: Any) -> Array:
    low, high = SPREAD_ENDS
    return np.where(spread > low, np.minimum(spread, high), fallback)


def guess(name: str, column: Column, bounds: bool, finite: bool = False) -> Feature:
    """Return the feature that a column of data looks like."""
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
        values = _sorted(seen) if levels is None else [level for level in levels if level in seen]
        if not values:
            raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
        return Categorical(name, values, missing=any(map(is_missing, cells)))
    return _guess_number(name, numbers_of(column, name), all(isinstance(value, numbers.Integral) for value in seen), bounds)


def _guess_number(name: str, X: Array, whole: bool, bounds: bool) -> Numeric:
    gaps, X = np.isnan(X).any(), X[~np.isnan(X)]
    if not len(X):
        raise CounterleafError(f"column {name!r} of the data has no value at all; drop it")
    if not np.isfinite(X).all():
        raise CounterleafError(f"column {name!r} of the data holds infinity; expected finite numbers")
    low, high = (float(X.min()), float(X.max())) if bounds else (-np.inf, np.inf)
    whole = whole or bool(gaps and (X % 1 == 0).all())  # pandas stores whole numbers with gaps as floats
    listed = _list_of(X) if bounds else None
    if listed is not None:
        return Numeric(name, integer=whole, missing=bool(gaps), values=listed)
    return Numeric(name, low, high, integer=whole, missing=bool(gaps))


def _list_of(X: Array) -> list[float] | None:
    """Return the values of a column that has only a few, such as terms of 36 and 60 months; None if it may have others.

    Consecutive whole numbers need no list. A value that appears only once suggests that there are others in between.
    """
    if len(X) < _ENOUGH:
        return None
    values, counts = np.unique(X, return_counts=True)
    if not 2 <= len(values) <= _FEW or counts.min() == 1:
        return None
    consecutive = (values % 1 == 0).all() and values[-1] - values[0] == len(values) - 1
    return None if consecutive else list(values.tolist())


def with_cents(features: Iterable[Feature], data: Any) -> list[Feature]:
    """Return the features of a table with steps of 0.01 for money: multiples of 0.01, to rounding, but not all of 0.1."""
    by_name = dict(columns(data))
    return [
        replace(one, step=0.01)
        if isinstance(one, Numeric) and one.any_number and _in_cents(by_name[one.name], one.name)
        else one
        for one in features
    ]


def _in_cents(column: Column, name: str) -> bool:
    X = numbers_of(column, name)
    X = X[np.isfinite(X)]
    return len(X) >= _ENOUGH and _are_multiples(X, 100.0) and not _are_multiples(X, 10.0)


def _are_multiples(X: Array, per_unit: float) -> bool:
    """Return whether all numbers are, to rounding, whole numbers divided by ``per_unit``."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.round(X * per_unit)
        return bool((np.abs(steps) < _FINE).all() and (np.abs(steps / per_unit - X) <= 16 * np.spacing(np.abs(X))).all())


def without_feature(data: Any) -> frozenset[str]:
    """Return the columns of points in time and of spans of time, of which no feature can be made."""
    return frozenset(name for name, column in columns(data) if kind_of(column) in "Mm")


def _has_gaps(column: Column) -> bool:
    return any(map(is_missing, cells_of(column)))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def named(names: Any, what: str) -> set[Any]:
    """Return names of columns."""
    return {single(name, what) for name in values_of(names, what, "a list of names of columns")}


def ends_of(domain: Any) -> list[float]:
    """Return the two ends of the numbers that a model takes."""
    ends = values_of(domain, "a domain", "two numbers")
    return list(real_array(ends if len(ends) == 2 else None, "a domain", "two numbers").tolist())
