"""The rows of a batch: a frame or a 2-D array, encoded a block of rows at a time and rewritten column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.table.features import Feature, Finite, Numeric
from counterleaf.table.frames import Column, cells_of, column_names, factorized, is_frame, is_polars, numbers_of, take
from counterleaf.table.row_types import fitting, in_type_of
from counterleaf.table.schema import Schema
from counterleaf.types import Array, is_missing


class TableRows:
    """Rows as the user passed them, and their codes: one number per feature, as in ``Schema.codes``."""

    typed = True  # whether the columns have the types of the user's table

    def __init__(self, rows: Any, schema: Schema) -> None:
        self.schema = schema
        self.named = is_frame(rows)
        self.polars = is_polars(rows)
        self.rows: Any = rows if self.named else _array(rows)
        self.n = len(self.rows)
        self.columns = self._by_name() if self.named else self._by_position()
        self._encoded = self._is_encoded()

    def _by_name(self) -> list[Column]:
        found, names = column_names(self.rows), self.schema.names
        by_name = dict(zip(found, self.rows.columns, strict=True))
        if len(by_name) < len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise CounterleafError(f"the frame has two columns named {twice!r}; names must differ")
        check_present(found, self.schema, "the frame", "the columns ")
        return [self.rows[by_name[name]] for name in names]

    def _by_position(self) -> list[Column]:
        width, order = self.rows.shape[1], self._order
        if width != len(order):
            raise CounterleafError(f"the rows have {width} columns; expected {len(order)}, one per feature")
        place = {name: k for k, name in enumerate(order)}
        return [self.rows[:, place[name]] for name in self.schema.names]

    def _is_encoded(self) -> bool:
        """Whether all cells of the table equal their codes."""
        names = column_names(self.rows) if self.named else self._order
        fits = names == self.schema.names and not (self.schema.fills or self.schema.domains or self.polars)
        return fits and all(map(_is_native, self.schema, self.columns))

    @property
    def _order(self) -> list[str]:
        """The names of the columns of an array."""
        return list(self.schema.columns or self.schema.names)

    @property
    def index(self) -> Any:
        """The pandas index of the rows, None if they have none."""
        return self.rows.index if self.named and not self.polars else None

    def one(self, k: int) -> Any:
        """Return row ``k`` as ``explain`` takes it."""
        return take(self.rows, [k] if self.index is not None else k)

    def part(self, at: Any) -> Any:
        """Return some of the rows; ``at`` is a slice or an array of positions."""
        return take(self.rows, at)

    def codes(self, at: slice) -> Array:
        """Return (rows, features) codes; a cell that ``explain`` would refuse is NaN, infinite or too large."""
        if self._encoded:
            part = self.part(at)
            return np.require(part.to_numpy(np.float64) if self.named else part, np.float64, ["C"])
        out = np.empty((at.stop - at.start, len(self.columns)))
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            out[:, d] = self.column_codes(feature, take(column, at))
        return out

    def column_codes(self, feature: Feature, column: Column) -> Array:
        """Return the codes of a column, or of part of one, that holds values of a feature."""
        return self._numbers(feature, column) if isinstance(feature, Numeric) else places_of(feature, column)

    def _numbers(self, feature: Numeric, column: Column) -> Array:
        """Return part of a column as numbers, filled in where the model does so; text is refused even if it has digits."""
        numeric = column.dtype.is_numeric() if self.polars else getattr(column.dtype, "kind", "O") in "biuf"
        out = numbers_of(column, feature.name) if numeric else np.array([_number(value) for value in cells_of(column)], float)
        return self._checked(feature, out)

    def _checked(self, feature: Numeric, out: Array, whole: bool = False) -> Array:
        """Return the numbers of a feature, filled in, infinite if ``explain`` refuses them; ``whole``: all are whole."""
        if feature.integer and not whole:
            out = np.where(np.isnan(out) | (np.floor(out) == out), out, np.inf)
        if feature.name in self.schema.fills:  # the fill need not be whole
            out = np.where(np.isnan(out), self.schema.fills[feature.name], out)
        if feature.name in self.schema.domains:
            low, high = self.schema.domains[feature.name]
            out = np.where((out < low) | (out > high), np.inf, out)
        return out

    def holds_codes(self, d: int) -> bool:
        """Whether the cells of column ``d`` are their codes: float64 whose gaps the model does not fill."""
        feature, dtype = self.schema.features[d], self.columns[d].dtype
        plain = isinstance(feature, Numeric) and feature.name not in self.schema.fills
        return plain and isinstance(dtype, np.dtype) and dtype == np.float64

    def changed(self, d: int, codes: Array, answered: Array) -> Column:
        """Return column ``d`` with new values, in its type if that holds them, empty where there is no answer.

        ``codes`` are the new ones, NaN where a cell does not change and infinite where it becomes missing; the array is
        overwritten.
        """
        feature, column = self.schema.features[d], self.columns[d]
        filled = answered & ~np.isinf(codes)
        if self.holds_codes(d):
            np.copyto(codes, column, where=np.isnan(codes))
            codes[~filled] = np.nan
            return codes
        codes[np.isinf(codes)] = np.nan
        write = _polars_column if self.polars else _pandas_column
        return write(feature, column, codes, filled)

    def groups(self, before: Array, after: Array) -> list[Array]:
        """Return which rows to rewrite together, so that no row is widened because of another.

        A model may compute in the type of a frame: a number that a float32 column cannot hold would otherwise decide how the
        other rows are rounded.
        """
        wide = np.zeros(before.shape, bool)
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            if isinstance(feature, Numeric) and not self.holds_codes(d):
                differ = differs(before[:, d], after[:, d]) & ~np.isnan(after[:, d])
                wide[differ, d] = _outgrown(column, after[differ, d])
        if not wide.any():
            return [np.arange(len(before))]
        keys = np.unique(wide, axis=0, return_inverse=True)[1].ravel()
        return [np.flatnonzero(keys == key) for key in range(keys.max() + 1)]

    def rewritten(self, at: Any, before: Array, after: Array) -> Any:
        """Return some of the rows with the codes ``after`` in place of ``before``."""
        part, differ, everywhere = self.part(at), differs(before, after), np.ones(len(after), bool)
        after = np.where(np.isnan(after), np.inf, after)
        cells = TableRows(part, self.schema)
        new = {
            d: cells.changed(d, np.where(differ[:, d], after[:, d], np.nan), everywhere)
            for d in np.flatnonzero(differ.any(axis=0)).tolist()
        }
        if not new:
            return part
        if self.polars:
            return part.with_columns(*new.values())
        if self.named:
            part = part.copy(deep=False)  # columns are replaced, not written to
            for d, column in new.items():
                part[cells.columns[d].name] = column
            return part
        return _rewrite_array(part, {self._order.index(self.schema.names[d]): column for d, column in new.items()})


def check_present(found: Sequence[str], schema: Schema, what: str, expected: str) -> None:
    """Refuse columns among which a feature is missing; ``what`` has them."""
    there, known = set(found), {*schema.names, *schema.columns}
    missing = [name for name in schema.names if name not in there]
    if missing:
        extra = [name for name in found if name not in known]
        also = f" and has the other columns [{some(extra, 8)}]" if extra else ""
        raise CounterleafError(
            f"{what} lacks the columns [{some(missing, 8)}]{also}; expected {expected}[{some(schema.names)}]"
        )


def differs(before: Array, after: Array) -> Array:
    """Return where two arrays of codes differ; a missing number equals another one."""
    out, gaps = before != after, np.isnan(before)
    if gaps.any():
        out &= ~(gaps & np.isnan(after))
    return np.asarray(out)


def _array(rows: Any) -> Array:
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2:
        raise CounterleafError(f"the rows have shape {array.shape}; expected a frame or a 2-D array, one line per row")
    return array


def _is_native(feature: Feature, column: Column) -> bool:
    """Whether a number is in a NumPy column of which ``explain`` refuses a cell only for its size."""
    dtype = column.dtype
    if not isinstance(feature, Numeric) or not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "biu" or (dtype.kind == "f" and not feature.integer)


def _number(value: Any) -> float:
    """Return a cell as a number, NaN if it is missing, infinite if ``explain`` would refuse it."""
    if is_missing(value) or isinstance(value, (str, bytes)):
        return np.nan if is_missing(value) else np.inf
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.inf


def places_of(feature: Finite, column: Column) -> Array:
    """Return the position of each value; each different value is looked up once."""
    try:
        keys, seen = factorized(column)
    except TypeError:  # some value has no hash
        return np.array([place_of(feature, value) for value in cells_of(column)])
    known = np.array([*(place_of(feature, value) for value in seen), place_of(feature, None)])
    return np.asarray(known[keys])  # the key -1, for a gap, finds the last


def place_of(feature: Finite, value: Any) -> float:
    """Return the position of a value, NaN if ``explain`` would refuse it."""
    try:
        return float(feature.place(value))
    except CounterleafError:
        return np.nan


def _pandas_column(feature: Feature, old: Column, codes: Array, answered: Array) -> Column:
    """Return a pandas column, or one of an array, with new cells where ``codes`` are not NaN, empty if unanswered."""
    import pandas as pd

    series = pd.Series(old, copy=False)
    lines = np.flatnonzero(~np.isnan(codes))
    new = codes[lines]
    if series.dtype == object:
        out = _with_objects(series, lines, _decoded(feature, new))
    elif isinstance(feature, Numeric):
        out = _with_numbers(series, lines, new)
    else:
        out = _with_choices(series, lines, new, feature.values)
    return out if answered.all() else _emptied(out, ~answered)


def _polars_column(feature: Feature, old: Column, codes: Array, answered: Array) -> Column:
    """Return a polars column with new cells where ``codes`` are not NaN, empty if unanswered."""
    import polars as pl

    dtype, values = old.dtype, old.to_list()
    lines = np.flatnonzero(~np.isnan(codes))
    new = codes[lines]
    if dtype == pl.Float32 and fitting(new, np.dtype(np.float32)) == np.float64:
        dtype = pl.Float64
    whole = isinstance(feature, Numeric) and dtype.is_integer() and (new == np.floor(new)).all()
    for k, value in zip(lines.tolist(), _decoded(feature, new), strict=True):
        values[k] = int(value) if whole else in_type_of(value, values[k])
    cells = [value if there else None for value, there in zip(values, answered.tolist(), strict=True)]
    try:
        return pl.Series(old.name, cells, dtype=dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):  # the type does not hold them
        return pl.Series(old.name, cells, strict=False)


def _decoded(feature: Feature, codes: Array) -> list[Any]:
    if isinstance(feature, Numeric):
        return list(codes.tolist())
    return [feature.values[k] for k in codes.astype(np.int64).tolist()]


def _with_objects(series: Column, lines: Array, values: list[Any]) -> Column:
    """Return a column of objects; each new cell has the type of the old one if that changes nothing."""
    out = series.to_numpy(copy=True)
    new = np.empty(len(lines), object)
    new[:] = [in_type_of(value, old) for value, old in zip(values, out[lines].tolist(), strict=True)]
    out[lines] = new
    return type(series)(out, index=series.index, name=series.name, dtype=object)


def _with_numbers(series: Column, lines: Array, new: Array) -> Column:
    dtype = fitting(new, series.dtype)
    if dtype == np.float64 and series.hasnans:
        dtype = "Float64" if series.dtype.kind != "f" else dtype  # the float64 of NumPy has NaN for gaps
    out = series.astype(dtype)
    out.iloc[lines] = new.astype(getattr(out.dtype, "numpy_dtype", out.dtype))
    return out


def _with_choices(series: Column, lines: Array, new: Array, values: tuple[Any, ...]) -> Column:
    """Return a column of few different values, as objects if its type does not know one of the new ones."""
    import pandas as pd

    used, places = np.unique(new.astype(np.int64), return_inverse=True)
    chosen = [values[k] for k in used.tolist()]
    try:
        cells = pd.Series(chosen, dtype=series.dtype)
        known = not cells.hasnans
    except (TypeError, ValueError):
        known = False
    if not known:
        return _with_objects(series.astype(object), lines, [chosen[k] for k in places.tolist()])
    out = series.copy()
    out.iloc[lines] = cells.array.take(places)
    return out


def _emptied(series: Column, lines: Array) -> Column:
    """Return a column without some cells; whole numbers and booleans become the nullable types of pandas."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        series = series.astype("boolean" if dtype.kind == "b" else dtype.name.replace("int", "Int").replace("uInt", "UInt"))
    return series.mask(lines)


def _outgrown(old: Column, new: Array) -> Array:
    """Return which of the new numbers the type of a column does not hold."""
    dtype = old.dtype
    if hasattr(dtype, "is_integer") and hasattr(dtype, "is_float"):  # polars
        dtype = np.dtype(np.int64 if dtype.is_integer() else np.float32 if str(dtype) == "Float32" else np.float64)
    plain = getattr(dtype, "numpy_dtype", dtype)
    if not isinstance(plain, np.dtype) or plain.kind not in "biuf":
        return np.zeros(len(new), bool)
    with np.errstate(all="ignore"):
        return np.asarray(new.astype(plain).astype(np.float64) != new)


def _rewrite_array(rows: Array, columns: dict[int, Column]) -> Array:
    """Return a copy of an array with some columns replaced, in a type that holds them all."""
    if rows.dtype.kind == "O":
        out = rows.copy()
    else:
        new = {at: np.array(np.asarray(one).tolist()) for at, one in columns.items()}  # text as NumPy's, not as objects
        out = rows.astype(np.result_type(rows.dtype, *(one.dtype for one in new.values())))
        columns = new
    for at, one in columns.items():
        out[:, at] = one
    return out
