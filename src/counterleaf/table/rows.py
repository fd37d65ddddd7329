"""The rows of a batch: a frame or a 2-D array, read a stretch of rows at a time and rewritten column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table import rewrite
from counterleaf.table.features import Feature, Finite, Numeric, is_missing
from counterleaf.table.frames import cells_of, numbers_of
from counterleaf.table.schema import Schema
from counterleaf.types import Array


class Sheet:
    """Rows in the words of the user, and their codes as ``Schema.codes`` has them: one number per feature."""

    def __init__(self, rows: Any, schema: Schema) -> None:
        self.schema = schema
        self.named = hasattr(rows, "columns")
        self.polars = hasattr(rows, "with_columns")
        self.rows: Any = rows if self.named else _array(rows)
        self.n = len(self.rows)
        self.columns = self._by_name() if self.named else self._by_place()
        self._whole = self._is_whole()

    def _by_name(self) -> list[Any]:
        """The columns of a frame in the order of the features."""
        given, names, order = [str(name) for name in self.rows.columns], self.schema.names, self._order
        by_name = dict(zip(given, self.rows.columns, strict=True))
        if len(by_name) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise CounterleafError(f"the frame has two columns named {twice!r}; names must differ")
        missing, known = [name for name in names if name not in by_name], {*names, *order}
        extra = [name for name in given if name not in known]
        if missing or extra:
            told = [f"lacks {missing[:8]}"] * bool(missing) + [f"has the unknown {extra[:8]}"] * bool(extra)
            raise CounterleafError(f"the frame {' and '.join(told)}; expected exactly the columns {order[:12]}")
        return [self.rows[by_name[name]] for name in names]

    def _by_place(self) -> list[Any]:
        width, order = self.rows.shape[1], self._order
        if width != len(order):
            raise CounterleafError(f"the rows have {width} columns; expected {len(order)}, one per feature")
        place = {name: k for k, name in enumerate(order)}
        return [self.rows[:, place[name]] for name in self.schema.names]

    def _is_whole(self) -> bool:
        """Whether the rows are their codes as they are, all columns at once."""
        names = [str(name) for name in self.rows.columns] if self.named else self._order
        fits = names == self.schema.names and not self.schema.fills and not self.polars
        return fits and all(map(_is_native, self.schema, self.columns))

    @property
    def _order(self) -> list[str]:
        """The names of the columns of an array."""
        return list(self.schema.columns or self.schema.names)

    @property
    def index(self) -> Any:
        """The pandas index of the rows, None where they have none."""
        return self.rows.index if self.named and not self.polars else None

    def one(self, k: int) -> Any:
        """Row k, as ``explain`` takes it."""
        return self.rows.iloc[[k]] if self.index is not None else self.rows[k]

    def part(self, at: Any) -> Any:
        """Some of the rows, as they are; ``at`` is a slice or an array of lines."""
        return self.rows.iloc[at] if self.index is not None else self.rows[at]

    def codes(self, at: slice) -> Array:
        """(rows, features); a cell that ``explain`` would refuse is NaN, infinite or too large."""
        if self._whole:
            part = self.part(at)
            return np.require(part.to_numpy(np.float64) if self.named else part, np.float64, ["C"])
        out = np.empty((at.stop - at.start, len(self.columns)))
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            part = column.iloc[at] if hasattr(column, "iloc") else column[at]
            out[:, d] = self._numbers(feature, part) if isinstance(feature, Numeric) else _places(feature, part)
        return out

    def _numbers(self, feature: Numeric, column: Any) -> Array:
        """Part of a column as numbers, gaps filled where the model does; text is none, even if it reads like one."""
        numeric = column.dtype.is_numeric() if self.polars else getattr(column.dtype, "kind", "O") in "biuf"
        out = numbers_of(column, feature.name) if numeric else np.array([_number(value) for value in cells_of(column)], float)
        if feature.integer:
            out = np.where(np.isnan(out) | (np.floor(out) == out), out, np.inf)
        if feature.name in self.schema.fills:  # with what need not be whole
            out = np.where(np.isnan(out), self.schema.fills[feature.name], out)
        return out

    def holds_codes(self, d: int) -> bool:
        """Whether the cells of column d are their codes: float64, no gap of which stands for a number."""
        feature, dtype = self.schema.features[d], self.columns[d].dtype
        plain = isinstance(feature, Numeric) and feature.name not in self.schema.fills
        return plain and isinstance(dtype, np.dtype) and dtype == np.float64

    def changed(self, d: int, codes: Array, answered: Array) -> Any:
        """Column d in its own type where that holds what is new, empty where there is no answer.

        ``codes`` are the new ones, NaN where a cell stays as it is; they are used up.
        """
        feature, column = self.schema.features[d], self.columns[d]
        if self.holds_codes(d):
            np.copyto(codes, column, where=np.isnan(codes))
            codes[~answered] = np.nan
            return codes
        write = rewrite.polars_column if self.polars else rewrite.column
        return write(feature, column, codes, answered)

    def groups(self, before: Array, after: Array) -> list[Array]:
        """Which of some rows to rewrite together, so that no row is widened by what another one holds.

        Models may compute in the type of a frame: a number that its float32 column does not hold would decide how its
        neighbours are rounded.
        """
        wide = np.zeros(before.shape, bool)
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            if isinstance(feature, Numeric) and not self.holds_codes(d):
                differ = before[:, d] != after[:, d]
                wide[differ, d] = rewrite.outgrown(column, after[differ, d])
        if not wide.any():
            return [np.arange(len(before))]
        keys = np.unique(wide, axis=0, return_inverse=True)[1].ravel()
        return [np.flatnonzero(keys == key) for key in range(keys.max() + 1)]

    def rewritten(self, at: Any, before: Array, after: Array) -> Any:
        """Some of the rows with the codes ``after`` in place of ``before``."""
        part, differ, everywhere = self.part(at), before != after, np.ones(len(after), bool)
        cells = Sheet(part, self.schema)
        new = {
            d: cells.changed(d, np.where(differ[:, d], after[:, d], np.nan), everywhere)
            for d in np.flatnonzero(differ.any(axis=0)).tolist()
        }
        if not new:
            return part
        if self.polars:
            return part.with_columns(*new.values())
        if self.named:
            part = part.copy(deep=False)  # columns are replaced, not written into
            for d, column in new.items():
                part[cells.columns[d].name] = column
            return part
        return rewrite.array(part, {self._order.index(self.schema.names[d]): column for d, column in new.items()})


def _array(rows: Any) -> Array:
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2:
        raise CounterleafError(f"the rows have shape {array.shape}; expected a frame or a 2-D array, one line per row")
    return array


def _is_native(feature: Feature, column: Any) -> bool:
    """A number in a column of NumPy's numbers, none of which is refused but for its size."""
    dtype = column.dtype
    if not isinstance(feature, Numeric) or not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "biu" or (dtype.kind == "f" and not feature.integer)


def _number(value: Any) -> float:
    """A cell as a number, NaN where ``explain`` would refuse it."""
    if is_missing(value) or isinstance(value, (str, bytes)):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _places(feature: Finite, column: Any) -> Array:
    """The place of each value, each different value looked up once."""
    import pandas as pd

    keys: Any
    seen: Any
    if isinstance(column.dtype, pd.CategoricalDtype):
        keys, seen = column.cat.codes.to_numpy(), column.dtype.categories
    else:
        values = column if isinstance(column, (np.ndarray, pd.Series)) else pd.Series(cells_of(column), dtype=object)
        try:
            keys, seen = pd.factorize(values)
        except TypeError:  # something that has no hash
            return np.array([_place(feature, value) for value in cells_of(column)])
    known = np.array([*(_place(feature, value) for value in seen), _place(feature, None)])
    return np.asarray(known[keys])  # -1, the last, is a gap


def _place(feature: Finite, value: Any) -> float:
    """The place of a value, NaN where ``explain`` would refuse it."""
    try:
        return float(feature.place(value))
    except CounterleafError:
        return np.nan
