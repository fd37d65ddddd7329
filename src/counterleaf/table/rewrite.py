"""Columns of a table with new cells, in their own type where that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.table.features import Feature, Numeric, is_missing
from counterleaf.types import Array


def column(feature: Feature, old: Any, codes: Array, answered: Array) -> Any:
    """A pandas column, or one of an array, with new cells where ``codes`` are not NaN; empty where nothing was answered."""
    import pandas as pd

    series = pd.Series(old, copy=False)
    lines = np.flatnonzero(~np.isnan(codes))
    new = codes[lines]
    if series.dtype == object:
        out = _objects(series, lines, _values(feature, new))
    elif isinstance(feature, Numeric):
        out = _numbers(series, lines, new)
    else:
        out = _choices(series, lines, new, feature.values)
    return out if answered.all() else _emptied(out, ~answered)


def polars_column(feature: Feature, old: Any, codes: Array, answered: Array) -> Any:
    """The same of a polars column."""
    import polars as pl

    dtype, values = old.dtype, old.to_list()
    lines = np.flatnonzero(~np.isnan(codes))
    new = codes[lines]
    if dtype == pl.Float32 and fitting(new, np.dtype(np.float32)) == np.float64:
        dtype = pl.Float64
    whole = isinstance(feature, Numeric) and dtype.is_integer() and (new == np.floor(new)).all()
    for k, value in zip(lines.tolist(), _values(feature, new), strict=True):
        values[k] = int(value) if whole else in_type_of(value, values[k])
    cells = [value if there else None for value, there in zip(values, answered.tolist(), strict=True)]
    try:
        return pl.Series(old.name, cells, dtype=dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):  # a type that does not hold them
        return pl.Series(old.name, cells, strict=False)


def outgrown(old: Any, new: Array) -> Array:
    """Which of some numbers the type of a column does not hold."""
    dtype = old.dtype
    if hasattr(dtype, "is_integer") and hasattr(dtype, "is_float"):  # polars
        dtype = np.dtype(np.int64 if dtype.is_integer() else np.float32 if str(dtype) == "Float32" else np.float64)
    plain = getattr(dtype, "numpy_dtype", dtype)
    if not isinstance(plain, np.dtype) or plain.kind not in "biuf":
        return np.zeros(len(new), bool)
    with np.errstate(all="ignore"):
        return np.asarray(new.astype(plain).astype(np.float64) != new)


def array(rows: Array, columns: dict[int, Any]) -> Array:
    """A copy of an array with some columns replaced, in a type that holds them all."""
    if rows.dtype.kind == "O":
        out = rows.copy()
    else:
        new = {at: np.array(np.asarray(one).tolist()) for at, one in columns.items()}  # text as NumPy's, not as objects
        out = rows.astype(np.result_type(rows.dtype, *(one.dtype for one in new.values())))
        columns = new
    for at, one in columns.items():
        out[:, at] = one
    return out


def _values(feature: Feature, codes: Array) -> list[Any]:
    """Codes in the words of the schema."""
    if isinstance(feature, Numeric):
        return list(codes.tolist())
    return [feature.values[k] for k in codes.astype(np.int64).tolist()]


def _objects(series: Any, lines: Array, values: list[Any]) -> Any:
    """Each new cell in the type of the old one where that loses nothing."""
    out = series.to_numpy(copy=True)
    new = np.empty(len(lines), object)
    new[:] = [in_type_of(value, old) for value, old in zip(values, out[lines].tolist(), strict=True)]
    out[lines] = new
    return type(series)(out, index=series.index, name=series.name, dtype=object)


def _numbers(series: Any, lines: Array, new: Array) -> Any:
    dtype = fitting(new, series.dtype)
    if dtype == np.float64 and series.hasnans:
        dtype = "Float64" if series.dtype.kind != "f" else dtype  # NumPy's has no gaps beside NaN
    out = series.astype(dtype)
    out.iloc[lines] = new.astype(getattr(out.dtype, "numpy_dtype", out.dtype))
    return out


def _choices(series: Any, lines: Array, new: Array, values: tuple[Any, ...]) -> Any:
    """New cells among few values; a column whose type does not know one of them becomes one of objects."""
    import pandas as pd

    used, places = np.unique(new.astype(np.int64), return_inverse=True)
    chosen = [values[k] for k in used.tolist()]
    try:
        cells = pd.Series(chosen, dtype=series.dtype)
        known = not cells.hasnans
    except (TypeError, ValueError):
        known = False
    if not known:
        return _objects(series.astype(object), lines, [chosen[k] for k in places.tolist()])
    out = series.copy()
    out.iloc[lines] = cells.array.take(places)
    return out


def _emptied(series: Any, lines: Array) -> Any:
    """Some cells taken out; whole numbers and yes or no stay what they are, in pandas' types with gaps."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        series = series.astype("boolean" if dtype.kind == "b" else dtype.name.replace("int", "Int").replace("uInt", "UInt"))
    return series.mask(lines)


def rewrite_row(like: Any, new: Mapping[str, Any], names: list[str]) -> Any:
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
