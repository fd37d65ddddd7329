"""Whole tables: pandas and polars frames and arrays, read column by column, and single rows rewritten in their own type."""

from __future__ import annotations

import numbers
from collections import Counter
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import is_missing
from counterleaf.types import Array


def columns(data: Any) -> list[tuple[str, Any]]:
    """(name, column) of a frame or 2-D array; a column is a pandas or polars Series or a 1-D array."""
    if hasattr(data, "columns"):
        names = [str(name) for name in data.columns]
        for name, times in Counter(names).items():
            if times > 1:
                raise CounterleafError(f"data has two columns named {name!r}; names must differ")
        if not names or not len(data):
            raise CounterleafError(f"data has shape {tuple(data.shape)}; expected a table with rows and columns")
        return [(str(name), data[name]) for name in data.columns]
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or 0 in array.shape:
        raise CounterleafError(f"data has shape {array.shape}; expected a table with rows and columns")
    return [(f"x{k}", array[:, k]) for k in range(array.shape[1])]


def numbers_of(column: Any, name: str) -> Array:
    """A column as float64, NaN where a value is missing."""
    try:
        if hasattr(column, "to_numpy") and getattr(column.dtype, "na_value", None) is not None:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        array = np.asarray(column)
        if array.dtype.kind == "O":
            array = np.array([np.nan if is_missing(value) else value for value in array.tolist()])
        if array.dtype.kind in "USmM":
            raise ValueError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        odd = next((v for v in cells_of(column) if not is_missing(v) and not isinstance(v, numbers.Real)), column)
        raise CounterleafError(f"column {name!r} of the data holds {odd!r}; expected numbers") from None


def cells_of(column: Any) -> list[Any]:
    """The values of a column of any kind."""
    return list(column.to_list() if hasattr(column, "to_list") else column.tolist())


def stacked(rows: list[Any]) -> list[Any]:
    """One-row frames as one frame if their columns have the same types, else as they are."""
    if len(rows) == 1:
        return rows
    if hasattr(rows[0], "with_columns"):
        import polars as pl

        return [pl.concat(rows)] if all(row.schema == rows[0].schema for row in rows) else rows
    import pandas as pd

    return [pd.concat(rows)] if all(row.dtypes.equals(rows[0].dtypes) for row in rows) else rows
