"""The rows of a batch: a frame or a 2-D array, read column by column, a stretch of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.features import Feature, Numeric, is_missing
from counterleaf.kernels.boxes import take_columns
from counterleaf.schema import Array, Schema
from counterleaf.tables import fitting, numbers_of

_UNKNOWN = np.nan  # the code of a cell that is none of its feature's values


class Sheet:
    """Rows in the words of the user, and their codes as ``Schema.codes`` has them: one number per feature."""

    def __init__(self, rows: Any, schema: Schema) -> None:
        self.schema = schema
        self.named = hasattr(rows, "columns")
        if not self.named:
            rows = _array(rows)
        self.rows = rows
        self.n = len(rows)
        order = list(schema.columns or schema.names)
        if self.named:
            given = [str(name) for name in rows.columns]
            twice = {name for name in given if given.count(name) > 1} if len(set(given)) < len(given) else set()
            if twice:
                raise CounterleafError(f"the frame has two columns named {sorted(twice)[0]!r}; names must differ")
            missing = [name for name in schema.names if name not in given]
            extra = [name for name in given if name not in schema.names and name not in order]
            if missing or extra:
                told = [f"lacks {missing[:8]}"] * bool(missing) + [f"has the unknown {extra[:8]}"] * bool(extra)
                raise CounterleafError(f"the frame {' and '.join(told)}; expected exactly the columns {order[:12]}")
            by_name = dict(zip(given, rows.columns, strict=True))
            self.columns = [rows[by_name[name]] for name in schema.names]
        else:
            if rows.shape[1] != len(order):
                raise CounterleafError(f"the rows have {rows.shape[1]} columns; expected {len(order)}, one per feature")
            self.columns = [rows[:, order.index(name)] for name in schema.names]
        self.plain = not self.named and schema.plain and not schema.columns and not schema.fills and rows.dtype.kind in "fiub"

    @property
    def index(self) -> Any:
        """The pandas index of the rows, None where they have none."""
        return self.rows.index if self.named and hasattr(self.rows, "iloc") else None

    def one(self, k: int) -> Any:
        """Row k, as ``explain`` takes it."""
        if not self.named:
            return self.rows[k]
        return self.rows.iloc[[k]] if hasattr(self.rows, "iloc") else self.rows[k]

    def part(self, at: slice) -> Any:
        """A stretch of the rows, as they are."""
        return self.rows.iloc[at] if self.index is not None else self.rows[at]

    def taken(self, lines: Array) -> Sheet:
        """Some of the rows."""
        return Sheet(self.rows.iloc[lines] if self.index is not None else self.rows[lines], self.schema)

    def codes(self, at: slice) -> Array:
        """(rows, features); a cell that ``explain`` would refuse is NaN."""
        if self.plain:
            return np.ascontiguousarray(self.rows[at], dtype=np.float64)
        out = np.empty((at.stop - at.start, len(self.columns)))
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            part = column.iloc[at] if hasattr(column, "iloc") else column[at]
            out[:, d] = self._numbers(feature, part) if isinstance(feature, Numeric) else _places(feature, part)
        return out

    def _numbers(self, feature: Numeric, column: Any) -> Array:
        try:
            out = numbers_of(column, feature.name)
        except CounterleafError:  # some cell is no number
            out = np.array([_number(value) for value in _listed(column)])
        if feature.name in self.schema.fills:
            out = np.where(np.isnan(out), self.schema.fills[feature.name], out)
        if feature.integer:
            out = np.where(np.floor(out) == out, out, _UNKNOWN)
        return out

    def frame(self, columns: dict[str, Any]) -> Any:
        """Columns as a frame of the kind of the rows, where that is not pandas."""
        import polars as pl

        return pl.DataFrame({name: pl.Series(name, _listed(column), strict=False) for name, column in columns.items()})

    def block(self, line: Array, feature: Array, code: Array, answered: Array) -> tuple[list[int], Array]:
        """The features that change somewhere, and their values by feature and line; for arrays of float64."""
        moves = np.bincount(feature, minlength=len(self.columns)) > 0
        moved = np.flatnonzero(moves)
        out = np.empty((len(moved), self.n))
        take_columns(self.rows, moved, out)
        out[(np.cumsum(moves) - 1)[feature], line] = code
        out[:, ~answered] = np.nan
        return moved.tolist(), out

    def changed(self, d: int, lines: Array, codes: Array, answered: Array) -> Any:
        """Column d with new values in some lines, in its own type where that holds them; empty where nothing was answered."""
        feature, column = self.schema.features[d], self.columns[d]
        if isinstance(column, np.ndarray) or hasattr(column, "iloc"):
            return _rewritten(feature, column, lines, codes, answered)
        import polars as pl

        values = _rewritten(feature, np.array(column.to_list(), object), lines, codes, answered)
        return pl.Series(column.name, values.tolist(), strict=False)

    def rewritten(self, at: slice, before: Array, after: Array) -> Any:
        """A stretch of the rows with the codes ``after`` in place of ``before``."""
        part = self.part(at)
        part = part.clone() if hasattr(part, "clone") else part.copy()
        cells = Sheet(part, self.schema)
        everywhere = np.ones(len(after), bool)
        for d in np.flatnonzero((before != after).any(axis=0)).tolist():
            lines = np.flatnonzero(before[:, d] != after[:, d])
            new = cells.changed(d, lines, after[lines, d], everywhere)
            if not self.named:
                order = list(self.schema.columns or self.schema.names)
                if part.dtype.kind not in "O":
                    part = part.astype(np.result_type(part.dtype, new.dtype))
                part[:, order.index(self.schema.names[d])] = new
            elif hasattr(part, "with_columns"):
                part = part.with_columns(new)
            else:
                part[cells.columns[d].name] = new
        return part


def _array(rows: Any) -> Array:
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2:
        raise CounterleafError(f"the rows have shape {array.shape}; expected a frame or a 2-D array, one line per row")
    return array


def _listed(column: Any) -> list[Any]:
    return list(column.to_list() if hasattr(column, "to_list") else column.tolist())


def _number(value: Any) -> float:
    try:
        return float("no" if isinstance(value, (str, bytes)) else np.nan if is_missing(value) else value)
    except (TypeError, ValueError, OverflowError):
        return _UNKNOWN


def _places(feature: Feature, column: Any) -> Array:
    """The place of each value, each different value looked up once."""
    import pandas as pd

    values = column.to_numpy(dtype=object) if hasattr(column, "iloc") else np.array(_listed(column), object)
    try:
        keys, seen = pd.factorize(values, use_na_sentinel=True)
    except TypeError:  # something that has no hash
        return np.array([_place(feature, value) for value in values])
    known = np.array([*(_place(feature, value) for value in seen), _place(feature, None)])
    return np.asarray(known[keys])


def _place(feature: Feature, value: Any) -> float:
    assert not isinstance(feature, Numeric)
    try:
        return float(feature.place(value))
    except CounterleafError:
        return _UNKNOWN


def _rewritten(feature: Feature, column: Any, lines: Array, codes: Array, answered: Array) -> Any:
    """A column of values with some of them replaced, and those of rows without an answer taken out."""
    import pandas as pd

    series = pd.Series(column, copy=False)
    if isinstance(feature, Numeric):
        plain = isinstance(getattr(series.dtype, "numpy_dtype", series.dtype), np.dtype) and series.dtype.kind in "fiub"
        if plain and series.dtype.kind == "b":
            series = series.astype(np.int64 if (codes == np.floor(codes)).all() else np.float64)
        elif plain:
            series = series.astype(fitting(codes, series.dtype))
        else:
            series = series.astype(object)
        new: Any = codes if plain else [float(code) for code in codes]
    else:
        new = pd.Series([feature.values[int(code)] for code in codes], dtype=object)
        if isinstance(series.dtype, pd.CategoricalDtype) and not set(new) <= set(series.dtype.categories):
            series = series.astype(object)
        new = new.to_numpy()
    series = series.copy()
    series.iloc[lines] = new
    if not answered.all():
        series = series.where(answered)
    return series if not isinstance(column, np.ndarray) else series.to_numpy()
