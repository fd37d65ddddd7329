"""Frames, Series and arrays behind one set of functions: the rest of the package does not know pandas or polars.

Both libraries are recognised by the attributes of their objects and imported only where one of them has to build something,
so a table in one library never needs the other.
"""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.types import Array, is_missing

Frame: TypeAlias = Any  # a pandas or polars DataFrame
Column: TypeAlias = Any  # a pandas or polars Series, or a 1-D array

_MASKED = re.compile(r"(U?Int|Float)(8|16|32|64)|boolean")


def is_frame(data: Any) -> bool:
    """Whether ``data`` is a pandas or polars DataFrame."""
    return hasattr(data, "columns")


def is_polars(data: Any) -> bool:
    """Whether ``data`` is a polars DataFrame."""
    return hasattr(data, "with_columns")


def is_series(data: Any) -> bool:
    """Whether ``data`` is a pandas Series, whose index names its values."""
    return hasattr(data, "index") and hasattr(data, "to_dict") and not is_frame(data)


def column_names(frame: Frame) -> list[str]:
    """Return the names of a frame's columns as text; pandas allows any object as a name."""
    return [str(name) for name in frame.columns]


def column_types(data: Any) -> dict[str, Any]:
    """Return the dtype of each column of a pandas frame by its name as text; none for other tables."""
    if not is_frame(data) or is_polars(data):
        return {}
    return {str(name): dtype for name, dtype in zip(data.columns, data.dtypes, strict=True)}


def is_nullable(dtype: Any) -> bool:
    """Whether a column holds numbers or booleans of pandas that may be NA."""
    return _MASKED.fullmatch(str(dtype)) is not None


def matrix_of(rows: Any) -> Array:
    """Return a frame or an array as float64, the missing cells of nullable columns as NaN."""
    if any(map(is_nullable, column_types(rows).values())):
        return np.column_stack([numbers_of(column, name) for name, column in columns(rows)])
    return np.asarray(rows, dtype=np.float64)


def with_types(frame: Frame, types: Mapping[str, Any]) -> Frame:
    """Return a pandas frame whose columns have these types where they hold every cell."""
    out = frame.copy()
    for name in frame.columns:
        old = frame[name]
        if str(name) not in types or old.dtype == types[str(name)]:
            continue
        try:
            new = old.astype(types[str(name)])
        except (TypeError, ValueError, OverflowError):
            continue
        if all(map(_is_same_cell, old.to_list(), new.to_list())):
            out[name] = new
    return out


def _is_same_cell(old: Any, new: Any) -> bool:
    """Whether a cell is the same in another type; the ISO text of a date, as in JSON, is that date."""
    if is_missing(old) or is_missing(new):
        return is_missing(old) and is_missing(new)
    return bool(old == new) or (isinstance(old, str) and hasattr(new, "isoformat") and new.isoformat() == old)


def narrow_columns(frame: Frame, types: Mapping[str, Any]) -> list[tuple[Array, Frame]]:
    """Return the rows of a pandas frame in groups, with columns narrowed to those floats that hold each row of the group.

    ``types`` are the dtypes of columns by name; only floats of less than 64 bits matter. Each group comes with the positions of
    its rows.
    """
    narrow = {name: types[str(name)] for name in frame.columns if str(types.get(str(name))).lower() in ("float16", "float32")}
    if not narrow:
        return [(np.arange(len(frame)), frame)]
    fits = np.column_stack([_holds(dtype, numbers_of(frame[name], str(name))) for name, dtype in narrow.items()])
    keys, group = np.unique(fits, axis=0, return_inverse=True)
    out = []
    for k, key in enumerate(keys.tolist()):
        at = np.flatnonzero(group.ravel() == k)
        held = {name: dtype for (name, dtype), there in zip(narrow.items(), key, strict=True) if there}
        out.append((at, take(frame, at).astype(held)))
    return out


def _holds(dtype: Any, values: Array) -> Array:
    """Return which numbers a type of floats holds exactly."""
    with np.errstate(all="ignore"):
        return np.asarray(np.isnan(values) | (values.astype(str(dtype).lower()).astype(np.float64) == values))


def side_by_side(left: Frame, right: Frame) -> Frame:
    """Return the columns of two pandas frames with as many rows side by side, with the index of the second."""
    import pandas as pd

    return pd.concat([left.set_axis(right.index), right], axis=1)


def columns(data: Any) -> list[tuple[str, Column]]:
    """Return (name, column) for each column of a frame or 2-D array; an array's columns are named x0, x1, ..."""
    if is_frame(data):
        for name, times in Counter(column_names(data)).items():
            if times > 1:
                raise CounterleafError(f"data has two columns named {name!r}; names must differ")
        if not len(data.columns) or not len(data):
            raise CounterleafError(f"data has shape {tuple(data.shape)}; expected a table with rows and columns")
        return [(str(name), data[name]) for name in data.columns]
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or 0 in array.shape:
        raise CounterleafError(f"data has shape {array.shape}; expected a table with rows and columns")
    return [(f"x{k}", array[:, k]) for k in range(array.shape[1])]


def select(frame: Frame, names: Iterable[str]) -> Frame:
    """Return the columns of a frame whose names, as text, are among ``names``; the frame's order stays."""
    wanted = set(names)
    return frame[[name for name in frame.columns if str(name) in wanted]]


def with_columns(frame: Frame, names: Sequence[str], absent: Callable[[str], Any]) -> Frame:
    """Return the columns of a frame by these names, in this order; a column that is not there holds ``absent(name)``."""
    by_name = {str(name): name for name in frame.columns}
    missing = [name for name in names if name not in by_name]
    if list(by_name) == list(names):
        return frame
    if is_polars(frame):
        import polars as pl

        frame = frame.with_columns(pl.lit(absent(name)).alias(name) for name in missing)
    elif missing:
        frame = frame.assign(**{name: absent(name) for name in missing})
    return frame[[by_name.get(name, name) for name in names]]


def take(rows: Any, at: Any) -> Any:
    """Return some rows of a frame, Series or array; ``at`` is a slice or the positions of the rows."""
    return rows.iloc[at] if hasattr(rows, "iloc") else rows[at]


def rows_within(data: Any, values: Mapping[str, Sequence[Any]]) -> Any:
    """Return the rows of a table whose columns hold missing values or some of the given ones, by the name of the column."""
    keeps = np.ones(len(data), bool)
    for name, column in columns(data):
        if name in values:
            wanted = set(values[name])
            keeps &= [is_missing(value) or value in wanted for value in cells_of(column)]
    return data if keeps.all() else take(data if is_frame(data) else np.asarray(data), np.flatnonzero(keeps))


def copy_of(data: Any) -> Any:
    """Return a copy of a row or table that later changes to the original do not reach."""
    if is_polars(data):
        return data.clone()
    return data.copy() if hasattr(data, "copy") else data


def records(frame: Frame) -> list[dict[str, Any]]:
    """Return one dict per row of a frame, by the name of the column."""
    return list(frame.to_dicts() if is_polars(frame) else frame.to_dict("records"))


def first_row(frame: Frame) -> dict[str, Any]:
    """Return the first row of a frame as a dict by the name of the column, as text."""
    return {str(name): frame[name].to_list()[0] for name in frame.columns}


def with_categories(frame: Frame, categories: Mapping[str, Sequence[Any]]) -> Frame:
    """Return a pandas frame in which columns of text have the categories that a model knows, as it was fitted with."""
    import pandas as pd

    types = {name: pd.CategoricalDtype(list(values)) for name, values in categories.items() if kind_of(frame[name]) == "O"}
    return frame.astype({name: kind for name, kind in types.items() if levels_of(frame[name])[0] is None})


def row_of_categories(names: Sequence[str], categories: Mapping[str, Sequence[Any]]) -> Frame:
    """Return a pandas frame with one row: the first category of each column that has some, and 0 for numbers."""
    known = {name: values for name, values in categories.items() if len(values)}
    return with_categories(make_frame([[known[name][0] if name in known else 0.0 for name in names]], names), known)


def frame_of_codes(columns: Mapping[Any, Any]) -> Frame:
    """Build a pandas frame of columns by name: arrays of numbers, or pairs of codes and categories, with -1 for missing."""
    import pandas as pd

    def column(cells: Any) -> Any:
        return pd.Categorical.from_codes(cells[0], categories=pd.Index(cells[1])) if isinstance(cells, tuple) else cells

    return pd.DataFrame({name: column(cells) for name, cells in columns.items()})


def make_frame(
    rows: Iterable[Any],
    names: Sequence[Any] | None = None,
    index: Iterable[Any] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Frame:
    """Build a pandas frame, one row each for the dicts, sequences or array lines in ``rows``."""
    import pandas as pd

    content: Any = rows if isinstance(rows, np.ndarray) else list(rows)
    labels = None if index is None else list(index)
    frame = pd.DataFrame(content, columns=None if names is None else list(names), index=labels, copy=False)
    return frame.astype(dict(types)) if types else frame


def concat(parts: Sequence[Any]) -> Any:
    """Return several frames, or several Series, of one library as one, below each other."""
    if type(parts[0]).__module__.startswith("polars"):
        import polars as pl

        return pl.concat(parts)
    import pandas as pd

    return pd.concat(parts)


def stacked(rows: Sequence[Frame]) -> Sequence[Frame]:
    """Return one-row frames as one frame if their columns have the same types, else as they are."""
    if len(rows) == 1:
        return rows
    if is_polars(rows[0]):
        alike = all(row.schema == rows[0].schema for row in rows)
    else:
        alike = all(row.dtypes.equals(rows[0].dtypes) for row in rows)
    return [concat(rows)] if alike else rows


def cross_table(down: Any, across: Any, names: tuple[str, str]) -> Frame:
    """Count how often each pair of values occurs: one row per value of ``down``, one column per value of ``across``."""
    import pandas as pd

    return pd.crosstab(down, across, rownames=[names[0]], colnames=[names[1]])


def cells_of(column: Column) -> list[Any]:
    """Return the values of a column of any library."""
    return list(column.to_list() if hasattr(column, "to_list") else column.tolist())


def factorized(column: Column) -> tuple[Array, list[Any]]:
    """Return the place of each cell among the different values of a column, -1 for a missing one, and these values.

    The values of a pandas categorical column are its categories, in their order.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes, np.int64), list(column.dtype.categories)
    cells = column if isinstance(column, (np.ndarray, pd.Series)) else pd.Series(cells_of(column), dtype=object)
    places, values = pd.factorize(cells)
    return np.asarray(places, np.int64), list(values)


def numbers_of(column: Column, name: str) -> Array:
    """Return a column as float64, NaN where a value is missing."""
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


def kind_of(column: Column) -> str:
    """Return the kind of a column's values as NumPy abbreviates it: b, i, u, f, M, m, or O for text and objects."""
    dtype = column.dtype
    if hasattr(dtype, "is_integer"):  # polars
        if dtype.is_integer():
            return "i"
        if dtype.is_temporal():
            return "M"
        return "f" if dtype.is_numeric() else "b" if str(dtype) == "Boolean" else "O"
    kind = getattr(dtype, "kind", "O")
    return kind if kind in "biufMm" else "O"


def number_kind(column: Column) -> str:
    """Return "bool", "int", "float" or "complex" for a pandas column of numbers, an empty text for any other column."""
    from pandas.api import types

    if not types.is_numeric_dtype(column):
        return ""
    if types.is_bool_dtype(column):
        return "bool"
    return "int" if types.is_integer_dtype(column) else "float" if types.is_float_dtype(column) else "complex"


def levels_of(column: Column) -> tuple[list[Any] | None, bool]:
    """Return the categories of a pandas categorical column, None for any other, and whether they are ordered."""
    dtype: Any = getattr(column, "dtype", None)
    if not type(dtype).__module__.startswith("pandas") or not hasattr(dtype, "categories"):
        return None, False
    return list(dtype.categories), bool(getattr(dtype, "ordered", False))


def levels_by_name(data: Any) -> dict[str, list[Any]]:
    """Return the categories of the categorical columns of a pandas frame, in their order; none for other tables."""
    found = [(str(name), levels_of(data[name])[0]) for name in data.columns] if is_frame(data) else []
    return {name: levels for name, levels in found if levels is not None}


def by_name(values: Any) -> Any:
    """Return a Series whose index holds names as a dict, anything else as it is."""
    return values.to_dict() if is_series(values) and _is_labelled(values.index) else values


def axis_names(matrix: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the names of the rows and of the columns of a pandas frame, None where ``matrix`` has only positions."""
    if not is_frame(matrix) or not hasattr(matrix, "index"):
        return None
    if not (_is_labelled(matrix.columns) or _is_labelled(matrix.index)):
        return None
    return tuple(map(str, matrix.index)), tuple(map(str, matrix.columns))


def nested(matrix: Any) -> Any:
    """Return a pandas frame as {row: {column: value}}, a polars frame as an array, anything else as it is."""
    if is_polars(matrix):
        return matrix.to_numpy()  # rows have no names
    return matrix.T.to_dict() if is_frame(matrix) else matrix


def _is_labelled(index: Any) -> bool:
    """Whether a pandas index holds names, not just the positions 0, 1, ..."""
    return list(index) != list(range(len(index)))
