"""Tables of made-up rows, and what the fitted steps of a pipeline turn them into."""

from __future__ import annotations

import contextlib
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.cuts import number_at, rank_of
from counterleaf.model.steps import Survey
from counterleaf.model.tree import Tree
from counterleaf.table.features import Categorical, Feature, Numeric, is_missing
from counterleaf.table.schema import Schema
from counterleaf.types import Array

TOP = 2.0**500  # far beyond any table, and scaled up or down still a finite number


class Probe:
    """Made-up rows and what a pipeline makes of them; columns and features are numbered as in the pipeline.

    Attributes
    ----------
    features : the features of the schema, in the order of the pipeline's raw columns.
    starts : the first variable of each.
    usual : a row that the pipeline takes.
    raw : the raw column of each column that the tree sees.
    """

    def __init__(self, found: Survey, schema: Schema, data: Any) -> None:
        self.found, self.schema, self.data = found, schema, data
        places = _places(found, schema)
        self.features: list[Feature] = [
            _dropped(found.names[k], data) if d is None else schema.features[d] for k, d in enumerate(places)
        ]
        self.starts = [-1 if d is None else int(schema.starts[d]) for d in places]
        self.usual = [self._usual(k) for k in range(len(places))]
        self.raw = np.array([column.raw for column in found.columns], dtype=np.int64)

    def _usual(self, k: int) -> Any:
        feature, name = self.features[k], self.found.names[k]
        if not isinstance(feature, Numeric):
            known = self.found.known.get(name, feature.values)
            return next((value for value in feature.values if value in known), feature.values[0])
        if name in self.found.finite:
            raise CounterleafError(
                f"feature {feature.name!r} is a number in the schema, but the pipeline encodes its values; make it Categorical"
            )
        if name in self.found.marks:
            mark = self.found.marks[name]
            raise CounterleafError(
                f"feature {feature.name!r} is a number, but an imputer takes {mark!r} for missing; make that NaN beforehand"
            )
        return float(min(max(0.0, feature.lower), feature.upper))

    def row(self, k: int, value: Any) -> list[Any]:
        """The usual row with another value in column ``k``."""
        return [*self.usual[:k], value, *self.usual[k + 1 :]]

    def encode(self, rows: list[list[Any]]) -> tuple[Array, Array]:
        """What the tree sees of the rows, and the leaves that they reach."""
        made = transform(self.found.steps, frame_of(rows, self.found, self.data))
        return dense(made), leaves(self.found.tree, made)

    def numbers(self, values: Mapping[int, Array]) -> Array:
        """What the tree sees of the usual row with other numbers in some columns, as many as the arrays are long."""
        rows = _replaced(frame_of([self.usual], self.found, self.data), values)
        return dense(transform(self.found.steps, rows))

    def choices(self) -> dict[int, Array]:
        """{raw column: (values, columns)} what the tree sees of each value of a finite feature, a missing one last."""
        tried: list[tuple[int, Any]] = []
        for k, feature in enumerate(self.features):
            tried += [(k, self.usual[k] + 1.0)] if isinstance(feature, Numeric) else [(k, value) for value in feature.values]
        rows = [self.row(k, value) for k, value in tried]
        try:
            (usual, *met), _ = self.encode([self.usual, *rows])
        except Exception as error:
            for k, value in tried:
                self._try(k, value)
            raise CounterleafError(f"the pipeline fails on rows of the schema: {_line(error)}") from None
        out: dict[int, list[Array]] = {}
        for (k, _), line in zip(tried, met, strict=True):
            out.setdefault(k, []).append(line)
            strange = ~np.isclose(line, usual, rtol=0, atol=0, equal_nan=True) & (self.raw != k)
            if strange.any():
                other = self.found.names[self.raw[strange.argmax()]]
                raise CounterleafError(
                    f"column {self.found.names[k]!r} changes what the steps make of {other!r}; report your scikit-learn version"
                )
        for k, feature in enumerate(self.features):
            if not isinstance(feature, Numeric) and feature.missing:
                out[k].append(self._try(k, None))
        return {k: np.array(lines) for k, lines in out.items() if not isinstance(self.features[k], Numeric)}

    def _try(self, k: int, value: Any) -> Array:
        """What the tree sees of one value, or an error that names it."""
        name, rows = self.found.names[k], frame_of([self.row(k, value)], self.found, self.data)
        try:
            made = transform(self.found.steps, rows)
            leaves(self.found.tree, made)
            return np.asarray(dense(made)[0])
        except Exception as error:
            if value is None:
                raise CounterleafError(
                    f"feature {name!r} may be missing, but the pipeline refuses that ({_line(error)}); add a SimpleImputer"
                ) from None
            row = dict(zip(self.found.names, self.row(k, value), strict=True))
            for other in (name, *self.found.known):  # another column is to blame if none of its values is known
                odd = row[other]
                if "unknown categor" in str(error) and odd not in self.found.known.get(other, [odd]):
                    raise CounterleafError(
                        f"category {odd!r} of column {other!r} is unseen by the encoder; leave it out, fit the pipeline "
                        f"on it, or give the encoder handle_unknown='ignore'"
                    ) from None
            raise CounterleafError(f"the pipeline fails on {value!r} in column {name!r}: {_line(error)}") from None

    def fills(self) -> dict[str, float]:
        """What an imputer takes a missing number for, where the steps make the same of both."""
        out = {}
        for k, feature in enumerate(self.features):
            for value in self.found.statistics.get(self.found.names[k], []) if isinstance(feature, Numeric) else []:
                with contextlib.suppress(Exception):  # the pipeline has no route for a missing number
                    missing, filled = (self.encode([self.row(k, cell)])[0] for cell in (None, float(value)))
                    if np.array_equal(missing, filled):
                        out[feature.name] = float(value)
        return out


def frame_of(rows: list[list[Any]], survey: Survey, data: Any) -> Any:
    """Rows of raw values, in the order of ``survey.names``, as a table that the pipeline takes: like ``data`` where given."""
    columns = [[row[k] for row in rows] for k in range(len(survey.names))]
    return table(columns, survey.names, survey.named, data, survey.gaps)


def table(columns: Sequence[list[Any]], names: Sequence[str], named: bool, data: Any, gaps: Mapping[str, Any]) -> Any:
    """Columns of values as a frame or array like ``data``.

    Numbers with a fraction or a gap are float64 and whatever else keeps the type of its column where it fits. A missing
    value is told as the column of ``data`` tells it, else as ``gaps`` says, else by NaN.
    """
    labels, likes = list(names), [None] * len(names)
    if hasattr(data, "columns"):
        labels = labels if named else list(data.columns)
        likes = [data[label] if label in data.columns else None for label in labels]
    elif data is not None:
        likes = list(np.asarray(data).T)
    if hasattr(data, "with_columns"):
        import polars as pl

        return pl.DataFrame({label: _polars(column, like) for label, column, like in zip(labels, columns, likes, strict=True)})
    given = list(zip(columns, likes, names, strict=True))
    if named or hasattr(data, "columns"):
        import pandas as pd

        return pd.DataFrame({label: _pandas(*one, gaps) for label, one in zip(labels, given, strict=True)})
    if all(_is_plain(column, like, name in gaps) for column, like, name in given):
        return np.column_stack([_floats(column) for column in columns])
    out = np.empty((len(columns[0]), len(columns)), object)
    for k, one in enumerate(given):
        out[:, k] = _marked(*one, gaps)
    return out


def _replaced(row: Any, values: Mapping[int, Array]) -> Any:
    """A table of one row as often as ``values`` has numbers, with these in some of its columns."""
    size = len(next(iter(values.values())))
    if hasattr(row, "with_columns"):
        import polars as pl

        return row[[0] * size].with_columns(pl.Series(row.columns[k], column) for k, column in values.items())
    if hasattr(row, "iloc"):
        out = row.iloc[[0] * size].reset_index(drop=True)
        for k, column in values.items():
            out[out.columns[k]] = column
        return out
    out = np.repeat(row, size, axis=0)
    for k, column in values.items():
        out[:, k] = column
    return out


def transform(steps: Sequence[Any], rows: Any) -> Any:
    """What a tree behind the fitted ``steps`` gets to see."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # encoders warn of unknown categories, which are no surprise here
        for step in steps:
            rows = step.transform(rows)
    return rows


def dense(rows: Any) -> Array:
    """A frame, array or sparse matrix as float64."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows, dtype=np.float64)


def leaves(model: Any, rows: Any) -> Array:
    """The leaf of each row that the steps made."""
    tree = model if isinstance(model, Tree) else model.tree_
    if isinstance(tree, Tree):
        return tree.apply(dense(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model may know its columns by name
        return np.asarray(model.apply(rows))


def first(holds: Callable[[Array], Array], size: int, points: int) -> Array:
    """The least number at which a monotone condition holds; inf where it never does, -inf where always.

    ``holds`` is asked about (size, points) numbers at a time.
    """
    ends = np.repeat([[-TOP, 0.0, TOP]], size, axis=0)
    told = np.concatenate([holds(ends[:, [k] * points])[:, :1] for k in range(3)], axis=1)
    ranks = rank_of(ends)
    low = np.where(told[:, 1], ranks[:, 0], ranks[:, 1])
    high = np.where(told[:, 1], ranks[:, 1], ranks[:, 2])
    each = np.arange(size)
    # the condition holds at high and not at low, unless it is the same everywhere
    while (high - low > 1).any():
        step = -(-(high - low) // (points + 1))
        tried = np.minimum(low[:, None] + step[:, None] * np.arange(1, points + 1), high[:, None])
        there = holds(number_at(tried)) | (tried == high[:, None])
        at = np.where(there.any(axis=1), there.argmax(axis=1), points)
        around = np.concatenate([low[:, None], tried, high[:, None]], axis=1)
        low, high = around[each, at], around[each, at + 1]
    return np.where(told[:, 0], -np.inf, np.where(told[:, 2], number_at(high), np.inf))


def _places(found: Survey, schema: Schema) -> list[int | None]:
    """The place in the schema of each raw column: by name if the pipeline knows names, else in order; None if it is dropped."""
    given, known = set(schema.names), set(found.names)
    fits = known - found.unused <= given <= known if found.named else len(schema) == len(found.names)
    if not fits:
        raise CounterleafError(
            f"the schema has the features {some(schema.names)}; the pipeline was fitted on the columns {some(found.names)}"
        )
    if not found.named:
        return list(range(len(schema)))
    return [schema.index(name) if name in given else None for name in found.names]


def _dropped(name: str, data: Any) -> Feature:
    """A feature in place of a column that the pipeline drops: one value, of the kind that the data has there."""
    values = [] if data is None else data[next(column for column in data.columns if str(column) == name)].to_list()
    return Categorical(name, [next((value for value in values if not is_missing(value)), 0.0)])


def _line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _is_plain(column: Any, like: Any, finite: bool) -> bool:
    """True for nothing but numbers, if only by the kind of the column where all of them are missing."""
    kept = [value for value in column if not is_missing(value)]
    numeric = not finite or bool(kept) if like is None else getattr(like.dtype, "kind", "O") in "iuf"
    return numeric and all(map(_is_number, kept))


def _floats(column: Any) -> Array:
    return np.array([np.nan if is_missing(value) else value for value in column], dtype=np.float64)


def _marked(column: Any, like: Any, name: str, gaps: Mapping[str, Any]) -> list[Any]:
    """The values, missing ones told as the column tells them: None and NaN are two categories to an encoder."""
    missing = [is_missing(value) for value in column]
    if not any(missing):
        return list(column)
    mark = np.nan if like is not None and like.dtype.kind in "fiubUS" else gaps.get(name, np.nan)
    if like is not None and like.dtype == object:
        import pandas as pd

        kinds = {type(value): value for value in like[pd.isna(like)]}
        if len(kinds) > 1:
            told = " and ".join(map(repr, kinds.values()))
            raise CounterleafError(
                f"column {name!r} of the data tells missing values by {told}, two things to an encoder; use one"
            )
        mark = next(iter(kinds.values()), mark)
    return [mark if gap else value for value, gap in zip(column, missing, strict=True)]


def _pandas(column: Any, like: Any, name: str, gaps: Mapping[str, Any]) -> Any:
    import pandas as pd

    dtype: Any = None if like is None else like.dtype
    kept = [value for value in column if not is_missing(value)]
    full = len(kept) == len(column)
    if _is_plain(column, like, name in gaps):
        if full and dtype is not None and dtype.kind in "iu" and all(float(value).is_integer() for value in kept):
            with contextlib.suppress(OverflowError):
                return pd.Series([int(value) for value in kept], dtype=dtype)
        return pd.Series(_floats(column))
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype if all(value in dtype.categories for value in kept) else object
    elif dtype is None or dtype == np.dtype(bool):  # pandas would call a gap True
        dtype = bool if full and all(isinstance(value, (bool, np.bool_)) for value in kept) else object
    values = _marked(column, like, name, gaps)
    try:
        return pd.Series(values, dtype=dtype)
    except (TypeError, ValueError):
        return pd.Series(values, dtype=object)


def _polars(column: Any, like: Any) -> Any:
    import polars as pl

    values = [None if is_missing(value) else value for value in column]
    kept = [value for value in values if value is not None]
    dtype = None if like is None else like.dtype
    if dtype is not None and dtype.is_numeric() and all(map(_is_number, kept)):
        whole = dtype.is_integer() and all(float(value).is_integer() for value in kept)
        values = [value if value is None else int(value) if whole else float(value) for value in values]
        dtype = dtype if whole else pl.Float64
    try:
        return pl.Series(values, dtype=dtype)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(values, strict=False)
