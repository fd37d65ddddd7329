"""Rows in the types of the user's table: rewritten, made up for probing, and as plain data that restores them exactly."""

from __future__ import annotations

import contextlib
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, not_installed
from counterleaf.strict_json import plain
from counterleaf.table.frames import (
    Column,
    Frame,
    cells_of,
    column_types,
    columns,
    is_frame,
    is_nullable,
    is_polars,
    is_series,
    make_frame,
    records,
    take,
    with_types,
)
from counterleaf.types import Array, is_missing

_POLARS_TYPES = {
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
    "Float32",
    "Float64",
    "Boolean",
    "String",
}
_DTYPE = re.compile(  # of a column or an array; text of at most 9,999 characters
    r"[<>=|]?([iufb][1248]|U\d{1,4})|([uU]?[iI]nt|[fF]loat)(8|16|32|64)|bool|[bB]oolean|object|str|[sS]tring|category"
    r"|string\[(python|pyarrow)\]|(int|float|double|u?int\d+|bool)\[pyarrow\]|timedelta64\[(s|ms|us|ns)\]"
    r"|datetime64\[(s|ms|us|ns)(, [A-Za-z_/+:0-9-]{1,40})?\]"
)


def fitting(value: Any, dtype: Any) -> Any:
    """Return ``dtype`` if it holds ``value`` exactly, else float64, with a value for gaps if ``dtype`` has one."""
    plain_type = getattr(dtype, "numpy_dtype", dtype)  # of the nullable columns of pandas
    if plain_type == np.float64 or not isinstance(plain_type, np.dtype):
        return dtype if plain_type == np.float64 else np.float64
    with np.errstate(all="ignore"):
        cast = np.asarray(value).astype(plain_type)
    wide = "Float64" if is_nullable(dtype) else np.float64
    return dtype if np.array_equal(cast.astype(np.float64), value) else wide


def in_type_of(value: Any, old: Any) -> Any:
    """Return ``value`` in the type of ``old`` if that changes nothing; a number is a float otherwise."""
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


def rewrite_row(like: Any, new: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return a copy of the row ``like`` with the values ``new``, each in the type of the old value if that changes nothing.

    ``names`` are the columns of an array or a list.
    """
    if is_polars(like):
        return _rewrite_polars(like, new)
    if is_frame(like):
        out = like.copy()
        for name in like.columns:
            if str(name) in new:
                out[name] = _cell(new[str(name)], like[name])
        return out
    if is_series(like):
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


def _rewrite_polars(like: Frame, new: Mapping[str, Any]) -> Frame:
    import polars as pl

    out = like.clone()
    for name, value in new.items():
        cell = pl.Series(name, [in_type_of(value, like[name].to_list()[0])])
        out = out.with_columns(cell.cast(_polars_type(value, like[name])))
    return out


def _polars_type(value: Any, column: Column) -> Any:
    import polars as pl

    if isinstance(value, float) and column.dtype.is_integer() and not value.is_integer():
        return pl.Float64
    if isinstance(value, float) and column.dtype == pl.Float32 and float(np.float32(value)) != value:
        return pl.Float64
    return column.dtype


def _cell(value: Any, column: Column) -> Column:
    """Return a one-row pandas column that holds ``value``, in the type of ``column`` if that changes nothing."""
    import pandas as pd

    dtype, old = column.dtype, column.to_list()[0]
    if isinstance(value, float):
        dtype = fitting(value, dtype) if isinstance(getattr(dtype, "numpy_dtype", dtype), np.dtype) else dtype
    elif isinstance(dtype, pd.CategoricalDtype) and value not in dtype.categories:
        dtype = object
    return pd.Series([in_type_of(value, old)], index=column.index, dtype=dtype)


def retype_series(row: Any, dtype: Any) -> Any:
    """Return a Series of objects in ``dtype`` if that holds every cell, else as nullable floats."""
    try:
        typed = row.astype(dtype)
    except (TypeError, ValueError):
        return row.astype("Float64")
    same = all(is_missing(old) or bool(old == new) for old, new in zip(row, typed.astype(object), strict=True))
    return typed if same else row.astype("Float64")


def frame_of_rows(rows: Sequence[Any], schema: Any, types: Mapping[str, Any]) -> Frame:
    """Return rows of one type as a pandas frame, in their own types or in these where they hold every cell."""
    first, names = rows[0], list(schema.columns or schema.names)
    if is_frame(first):
        cells = [records(row)[0] for row in rows]
    elif is_series(first) or isinstance(first, Mapping):
        cells = [{name: plain_number(value) for name, value in row.items()} for row in rows]
    else:
        cells = [
            dict(zip(names, row.tolist() if isinstance(row, np.ndarray) else map(plain_number, row), strict=True))
            for row in rows
        ]
    return with_types(make_frame(cells), {**types, **column_types(first)})


def plain_number(value: Any) -> Any:
    """Return a scalar of NumPy as a Python value."""
    return value.item() if isinstance(value, (np.number, np.bool_, np.str_)) else value


def describe_row(row: Any) -> dict[str, Any]:
    """Describe a row of any type that ``Schema.encode`` takes as data that JSON can hold; ``restore_row`` is the inverse."""
    if is_polars(row):
        types = [str(row[name].dtype) for name in row.columns]
        if not all(dtype in _POLARS_TYPES for dtype in types):
            raise TypeError(f"a polars column of type {next(t for t in types if t not in _POLARS_TYPES)}")
        return _described("polars", [row[name][0] for name in row.columns], row.columns, types)
    if is_frame(row):
        values = [row[name].iloc[0] for name in row.columns]
        types = [describe_type(dtype, value) for dtype, value in zip(row.dtypes, values, strict=True)]
        return _described("frame", values, list(row.columns), types, row.index[0])
    if is_series(row):
        return _described("series", list(row), list(row.index), [describe_type(row.dtype)], row.name)
    if isinstance(row, Mapping):
        return _described("dict", list(row.values()), list(row))
    if isinstance(row, np.ndarray):
        return _described("array", row.tolist(), dtypes=[str(row.dtype)])
    return _described("tuple" if isinstance(row, tuple) else "list", list(row))


def describe_type(dtype: Any, value: Any = None) -> Any:
    """Describe the dtype of a pandas column as data that JSON can hold; ``restore_type`` is the inverse.

    Categories that are just the ``value`` of a cell are not written.
    """
    categories = getattr(dtype, "categories", None)
    if categories is not None and (dtype.ordered or list(categories) != [value]):
        known = {"categories": [plain(one) for one in categories], "ordered": bool(dtype.ordered)}
        return {**known, "dtype": describe_type(categories.dtype)}
    if not _DTYPE.fullmatch(str(dtype)):
        raise TypeError(f"a column of type {dtype}")
    return str(dtype)


def restore_type(description: Any) -> Any:
    """Return the dtype that ``describe_type`` described."""
    import pandas as pd

    if not isinstance(description, Mapping):
        return pd.api.types.pandas_dtype(_checked(description))
    categories, ordered = description["categories"], description["ordered"]
    return pd.CategoricalDtype(pd.Index(categories, dtype=restore_type(description["dtype"])), ordered)


def _checked(dtype: str) -> str:
    """Return the name of a type, checked before memory is allocated for it."""
    if not _DTYPE.fullmatch(dtype):
        raise ValueError("unknown type of column")
    return dtype


def _described(kind: str, values: list[Any], names: Any = (), dtypes: Any = (), label: Any = None) -> dict[str, Any]:
    names, values, label = [plain(name) for name in names], [plain(value) for value in values], plain(label)
    for name in [*names, label]:
        if not isinstance(name, (str, int, float, bool, type(None))):
            raise TypeError(f"{name!r} is a {type(name).__name__}")
    return {"type": kind, "values": values, "names": names, "dtypes": list(dtypes), "label": label}


def restore_row(description: Mapping[str, Any]) -> Any:
    """Build the row that ``describe_row`` described, in its type."""
    kind, values, names, dtypes, label = (description[key] for key in ("type", "values", "names", "dtypes", "label"))
    dtypes = list(map(restore_type if kind in ("frame", "series") else _checked, dtypes))
    if kind == "polars":
        try:
            import polars as pl
        except ImportError:
            raise not_installed("the answer's row, a polars frame,", "polars") from None
        return pl.DataFrame([pl.Series(n, [v], getattr(pl, t)) for n, v, t in zip(names, values, dtypes, strict=True)])
    if kind in ("frame", "series"):
        import pandas as pd

        if kind == "series":
            return pd.Series(values, index=names, dtype=dtypes[0], name=label)
        return pd.DataFrame({n: pd.Series([v], index=[label], dtype=t) for n, v, t in zip(names, values, dtypes, strict=True)})
    if kind == "dict":
        return dict(zip(names, values, strict=True))
    if kind == "array":
        return np.array(values, dtype=dtypes[0])
    return tuple(values) if kind == "tuple" else values


def table_like(data: Any, columns: Sequence[Sequence[Any]], names: Sequence[str], named: bool, gaps: Mapping[str, Any]) -> Any:
    """Build a table of made-up rows in the type of ``data``.

    Numbers with a fraction, or missing, become float64; everything else gets the type of its column in ``data`` if it fits.
    """
    labels, likes = list(names), [None] * len(names)
    if is_frame(data):
        labels = labels if named else list(data.columns)
        likes = [data[label] if label in data.columns else None for label in labels]
    elif data is not None:
        likes = list(np.asarray(data).T)
    if is_polars(data):
        import polars as pl

        return pl.DataFrame(
            {label: _polars_column(column, like) for label, column, like in zip(labels, columns, likes, strict=True)}
        )
    parts = list(zip(columns, likes, names, strict=True))
    if named or is_frame(data):
        import pandas as pd

        return pd.DataFrame({label: _pandas_column(*part, gaps) for label, part in zip(labels, parts, strict=True)})
    if all(_is_numeric(column, like, name in gaps) for column, like, name in parts):
        return np.column_stack([_floats(column) for column in columns])
    out = np.empty((len(columns[0]), len(columns)), object)
    for k, part in enumerate(parts):
        out[:, k] = _with_marks(*part, gaps)
    return out


def in_types_of(frame: Frame, data: Any, names: Sequence[str], gaps: Mapping[str, Any]) -> Frame:
    """Return a pandas frame in the types of ``data`` where they hold it, its gaps in the columns ``names`` marked as there.

    ``gaps`` is as in ``table_like``.
    """
    import pandas as pd

    out = with_types(frame, column_types(data))
    for name in out.columns:
        like = data[name] if is_frame(data) and name in data.columns else None
        if str(name) in names and like is not None and like.dtype == object and out[name].isna().any():
            out[name] = pd.Series(_with_marks(out[name].to_list(), like, str(name), gaps), out.index, dtype=object)
    return out


def typical_rows(data: Any) -> Any:
    """Return the few rows of a table that ``table_like`` needs: a value of each column, and each mark of a missing one."""
    data = data if is_frame(data) else np.asarray(data)
    chosen = {0}
    for _, column in columns(data):
        cells = cells_of(column) if column.dtype == object else column
        chosen |= {next((k for k, value in enumerate(cells) if not is_missing(value)), 0)}
        if column.dtype == object:
            marks: dict[type, int] = {}
            for k, value in enumerate(cells):
                if is_missing(value):
                    marks.setdefault(type(value), k)
            chosen |= set(marks.values())
    return take(data, sorted(chosen))


def repeat_row(row: Any, values: Mapping[int, Array]) -> Any:
    """Repeat a one-row table once per number in ``values``, which replace the columns at these positions."""
    size = len(next(iter(values.values())))
    if is_polars(row):
        import polars as pl

        return row[[0] * size].with_columns(pl.Series(row.columns[k], column) for k, column in values.items())
    if is_frame(row):
        out = row.iloc[[0] * size].reset_index(drop=True)
        for k, column in values.items():
            out[out.columns[k]] = column
        return out
    out = np.repeat(row, size, axis=0)
    for k, column in values.items():
        out[:, k] = column
    return out


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _is_numeric(column: Sequence[Any], like: Any, finite: bool) -> bool:
    """Whether a column holds only numbers; if every value is missing, the column of the data or ``finite`` decides."""
    present = [value for value in column if not is_missing(value)]
    numeric = not finite or bool(present) if like is None else getattr(like.dtype, "kind", "O") in "iuf"
    return numeric and all(map(_is_number, present))


def _floats(column: Sequence[Any]) -> Array:
    return np.array([np.nan if is_missing(value) else value for value in column], dtype=np.float64)


def _with_marks(column: Sequence[Any], like: Any, name: str, gaps: Mapping[str, Any]) -> list[Any]:
    """Return the values, missing ones marked as the data marks them: None and NaN are two categories to an encoder."""
    missing = [is_missing(value) for value in column]
    if not any(missing):
        return list(column)
    mark = np.nan if like is not None and like.dtype.kind in "fiubUS" else gaps.get(name, np.nan)
    if like is not None and like.dtype == object:
        marks = {type(value): value for value in like if is_missing(value)}
        if len(marks) > 1:
            listed = " and ".join(map(repr, marks.values()))
            raise CounterleafError(
                f"column {name!r} of the data marks missing values by {listed}, which are two categories to an encoder; use one"
            )
        mark = next(iter(marks.values()), mark)
    return [mark if gap else value for value, gap in zip(column, missing, strict=True)]


def _pandas_column(column: Sequence[Any], like: Any, name: str, gaps: Mapping[str, Any]) -> Column:
    import pandas as pd

    dtype: Any = None if like is None else like.dtype
    present = [value for value in column if not is_missing(value)]
    full = len(present) == len(column)
    if _is_numeric(column, like, name in gaps):
        if full and dtype is not None and dtype.kind in "iu" and all(float(value).is_integer() for value in present):
            with contextlib.suppress(OverflowError):
                return pd.Series([int(value) for value in present], dtype=dtype)
        return pd.Series(_floats(column))
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype if all(value in dtype.categories for value in present) else object
    elif dtype is None or dtype == np.dtype(bool):  # pandas would turn a missing value into True
        dtype = bool if full and all(isinstance(value, (bool, np.bool_)) for value in present) else object
    values = _with_marks(column, like, name, gaps)
    try:
        return pd.Series(values, dtype=dtype)
    except (TypeError, ValueError):
        return pd.Series(values, dtype=object)


def _polars_column(column: Sequence[Any], like: Any) -> Column:
    import polars as pl

    values = [None if is_missing(value) else value for value in column]
    present = [value for value in values if value is not None]
    dtype = None if like is None else like.dtype
    if dtype is not None and dtype.is_numeric() and all(map(_is_number, present)):
        whole = dtype.is_integer() and all(float(value).is_integer() for value in present)
        values = [value if value is None else int(value) if whole else float(value) for value in values]
        dtype = dtype if whole else pl.Float64
    try:
        return pl.Series(values, dtype=dtype)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(values, strict=False)
