"""Whole tables: pandas and polars frames and arrays, read column by column, and single rows rewritten in their own type."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal, is_missing
from counterleaf.table.schema import Array, Schema


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


def codes(data: Any, schema: Schema) -> Array:
    """(rows, features) one number per cell as ``Schema.codes`` has it; NaN where a number is missing."""
    given = columns(data)
    if hasattr(data, "columns"):
        by_name = dict(given)
        for name in schema.names:
            if name not in by_name:
                raise CounterleafError(f"data lacks the column {name!r}; expected the columns {schema.names}")
        given = [(name, by_name[name]) for name in schema.names]
    elif len(given) != len(schema):
        raise CounterleafError(f"data has {len(given)} columns; expected {len(schema)}, one per feature")
    out = np.empty((len(data), len(schema)))
    for d, ((_, column), feature) in enumerate(zip(given, schema, strict=True)):
        if isinstance(feature, Numeric):
            out[:, d] = numbers_of(column, feature.name)
            continue
        place: dict[Any, int] = {}
        for k, value in enumerate(cells_of(column)):
            key = None if is_missing(value) else value
            if key not in place:
                place[key] = feature.place(key)
            out[k, d] = place[key]
    return out


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


def rewritten(like: Any, new: Mapping[str, Any], names: list[str]) -> Any:
    """A copy of the row ``like`` with the named values replaced, each in the type of the old one where that loses nothing."""
    if hasattr(like, "with_columns"):  # polars
        import polars as pl

        out = like.clone()
        for name, value in new.items():
            out = out.with_columns(
                pl.Series(name, [in_type_of(value, like[name].to_list()[0])]).cast(_polars_type(value, like[name]))
            )
        return out
    if hasattr(like, "columns"):
        out = like.copy()
        for name in like.columns:
            if str(name) in new:
                out[name] = _cell(new[str(name)], like[name])
        return out
    if hasattr(like, "index") and hasattr(like, "to_dict"):
        values = [in_type_of(new[str(name)], old) if str(name) in new else old for name, old in like.items()]
        if like.dtype.kind == "O" or not new:
            return type(like)(values, index=like.index, name=like.name, dtype=like.dtype)
        return type(like)(values, index=like.index, name=like.name).astype(fitting(values, like.dtype))
    if isinstance(like, Mapping):
        return {name: in_type_of(new[str(name)], old) if str(name) in new else old for name, old in like.items()}
    row = [in_type_of(new[name], old) if name in new else old for name, old in zip(names, like, strict=True)]
    if type(like) in (list, tuple):
        return type(like)(row)
    if isinstance(like, np.ndarray) and like.dtype.kind in "OU":
        return np.array(row, dtype=object if like.dtype.kind == "O" else None)
    return np.array(row, dtype=np.float64).astype(fitting(row, like.dtype)) if isinstance(like, np.ndarray) else np.array(row)


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


def _has_gaps(column: Any) -> bool:
    return any(map(is_missing, cells_of(column)))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _cell(value: Any, column: Any) -> Any:
    """A one-row pandas column that holds ``value``, in the type of ``column`` where that loses nothing."""
    import pandas as pd

    dtype, old = column.dtype, column.to_list()[0]
    if isinstance(value, float):
        dtype = fitting(value, dtype) if isinstance(getattr(dtype, "numpy_dtype", dtype), np.dtype) else dtype
    elif isinstance(dtype, pd.CategoricalDtype) and value not in dtype.categories:
        dtype = object
    return pd.Series([in_type_of(value, old)], index=column.index, dtype=dtype)


def _polars_type(value: Any, column: Any) -> Any:
    import polars as pl

    if isinstance(value, float) and column.dtype.is_integer() and not value.is_integer():
        return pl.Float64
    if isinstance(value, float) and column.dtype == pl.Float32 and float(np.float32(value)) != value:
        return pl.Float64
    return column.dtype


def fitting(value: Any, dtype: Any) -> Any:
    """``dtype`` if it holds ``value`` exactly, else float64."""
    plain = getattr(dtype, "numpy_dtype", dtype)  # of pandas' nullable columns
    if plain == np.float64 or not isinstance(plain, np.dtype):
        return dtype if plain == np.float64 else np.float64
    with np.errstate(all="ignore"):
        cast = np.asarray(value).astype(plain)
    return dtype if np.array_equal(cast.astype(np.float64), value) else np.float64


def in_type_of(value: Any, old: Any) -> Any:
    """``value`` in the type of ``old`` where that loses nothing; a number is else a float."""
    kind = type(old)
    if isinstance(value, bool):
        return value if is_missing(old) or isinstance(old, (bool, np.bool_)) else kind(value)
    if not isinstance(value, float) or kind is float:
        return value
    if isinstance(old, (bool, np.bool_)):
        kind = int
    try:
        cast = kind(value)
        return cast if float(cast) == value else value
    except (TypeError, ValueError, OverflowError):
        return value
