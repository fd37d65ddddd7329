"""The frame that ``explain_many`` returns."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.table.rows import TableRows
from counterleaf.types import Array

INVALID = "invalid"  # the status of a row that cannot be queried
STATUSES = ("optimal", "infeasible", "limit", INVALID)
COLUMNS = ("status", "cost", "lower_bound", "leaf", "source_label", "label", "n_changed", "changed", "confirmed")
SHARE = "share of {}"  # the name of the column with the share of a feature in the cost
_DIGITS = ("short", "full")


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The lines of a frame with several answers per row: the position of the row, and the rank of the answer from 1."""

    rows: Array
    ranks: Array


class Results:
    """The answers for n rows: one array per column of the frame, filled in a block of rows at a time.

    Unless ``values`` is None, labels are kept one by one, because the leaves compute them: as numbers if it is True.
    """

    def __init__(self, n: int, values: bool | None = None, short: bool = False, words: bool = True) -> None:
        self.status = np.full(n, len(STATUSES) - 1, np.int8)  # positions in STATUSES
        self.costs = np.full(n, np.nan)
        self.bounds = np.full(n, np.nan)
        self.leaves = np.full(n, -1)
        self.counts = np.zeros(n, np.int64)  # of changed features
        self.confirmed = np.zeros(n, bool)
        self.labels = None if values is None else np.full(n, np.nan if values else None, float if values else object)
        self.reached = np.zeros(0 if values is None else n, bool)  # whether a label that a leaf computes is one of the target
        self.probabilities = np.full(n if values is False else 0, np.nan)
        self.sources = np.full(n, np.nan) if values else np.full(n, -1)  # places of classes, or values
        self.has_words, self.is_short = words, short
        self.words = np.full(n if words else 0, None, object)
        self.full = np.zeros(n if short else 0, bool)  # whether the row needs all of its digits
        self.shares: dict[int, Array] = {}  # feature -> its share of the cost
        self.codes: dict[int, Array] = {}  # feature -> its new codes, NaN where it does not change
        self.problems: dict[int, str] = {}  # row -> why it is invalid

    def column(self, d: int) -> Array:
        """Return the new codes of a feature, an array made when it first changes: most features of most trees never do."""
        if d not in self.codes:
            self.codes[d] = np.full(len(self.status), np.nan)
        return self.codes[d]

    def share(self, d: int) -> Array:
        """Return the shares of a feature in the costs, 0 in rows that do not change it; made when it first changes."""
        if d not in self.shares:
            self.shares[d] = np.zeros(len(self.status))
        return self.shares[d]

    def discard(self, k: int, problem: str) -> None:
        """Make row ``k`` invalid, because its answer cannot be written."""
        self.status[k], self.leaves[k], self.counts[k], self.confirmed[k] = len(STATUSES) - 1, -1, 0, False
        self.costs[k] = self.bounds[k] = np.nan
        self.sources[k] = np.nan if self.sources.dtype == float else -1
        if self.labels is not None:
            self.labels[k] = np.nan if self.labels.dtype == float else None
        for missing, columns in ((np.nan, [self.probabilities, *self.codes.values()]), (None, [self.words])):
            for column in columns:
                column[k : k + 1] = missing
        self.problems[k] = problem


def results_frame(results: Results, sheet: TableRows, classes: Array, value: Array, order: Order | None = None) -> Any:
    """Return one line per row: status, cost, leaf and label, and the new values of each feature that changes in some row.

    The codes of the results are used up. ``order`` has the row and the rank of each line, if a row may have several.
    """
    answered, names = results.leaves >= 0, sheet.schema.names
    columns = answer_columns(results, classes, value)
    if order is not None:
        columns = {"rank": ("count", order.ranks, ()), **columns}
    cells = {names[d]: sheet.changed(d, results.codes.pop(d), answered) for d in sorted(results.codes)}
    shares = {SHARE.format(names[d]): np.where(answered, share, np.nan) for d, share in sorted(results.shares.items())}
    if sheet.polars:
        import polars as pl

        first = {} if order is None else {"row": pl.Series(order.rows)}
        new = {name: _in_polars(*column, answered) for name, column in columns.items()}
        return pl.DataFrame({**first, **new, **cells, **{name: _in_polars("number", share) for name, share in shares.items()}})
    import pandas as pd

    index = order.rows if order is not None and sheet.index is None else sheet.index
    new = {name: _in_pandas(*column, ~answered) for name, column in columns.items()}
    if results.has_words:
        new["changed"] = pd.Series(results.words, index, object, copy=False)  # pandas need not look for a type
    return pd.DataFrame({**new, **cells, **shares}, index=index, copy=False)


def answer_columns(results: Results, classes: Array, value: Array) -> dict[str, tuple[str, Array, tuple[Any, ...]]]:
    """Return the columns of the answers by name, each as its kind, its cells, and the values whose places the cells are.

    Missing are NaN among numbers, None among texts, the place -1, and a count or a flag where there is no answer. ``value``
    is the class of each node of the tree, as a place in ``classes``.
    """
    labels, kept, sources = tuple(classes.tolist()), results.labels, results.sources
    columns: dict[str, tuple[str, Array, tuple[Any, ...]]] = {
        "status": ("place", results.status, STATUSES),
        "cost": ("number", results.costs, ()),
        "lower_bound": ("number", results.bounds, ()),
        "leaf": ("count", results.leaves, ()),
        "source_label": ("number", sources, ()) if sources.dtype == float else ("place", sources, labels),
        "label": (
            ("number", kept, ())
            if kept is not None and kept.dtype == float
            else ("place", _label_places(results, labels, value), labels)
        ),
        "n_changed": ("count", results.counts, ()),
        "changed": ("text", results.words, ()),
        "confirmed": ("flag", results.confirmed, ()),
    }
    if not results.has_words:
        columns.pop("changed")
    if results.is_short:
        columns["digits"] = ("place", np.where(results.leaves < 0, -1, results.full).astype(np.int8), _DIGITS)
    if not np.isnan(results.probabilities).all():
        columns["probability"] = ("number", results.probabilities, ())
    if results.problems:
        problem = np.full(len(results.status), None, object)
        problem[list(results.problems)] = list(results.problems.values())
        columns["problem"] = ("text", problem, ())
    return columns


def _label_places(results: Results, labels: tuple[Any, ...], value: Array) -> Array:
    """Return the place of each answer's label among the classes, -1 if there is no answer."""
    if results.labels is None:
        places = value.astype(np.min_scalar_type(-len(labels)))[results.leaves]
        places[results.leaves < 0] = -1
        return np.asarray(places)
    known = {label: k for k, label in enumerate(labels)}
    return np.array([known.get(label, -1) for label in results.labels.tolist()], np.int64)


def _in_pandas(kind: str, cells: Array, values: tuple[Any, ...], missing: Array) -> Any:
    import pandas as pd

    if kind == "place":
        return pd.Categorical.from_codes(cells, dtype=_few(values, tuple(map(type, values))))
    if kind in ("count", "flag"):
        return (pd.arrays.IntegerArray if kind == "count" else pd.arrays.BooleanArray)(cells, missing.copy())
    return cells


@functools.lru_cache(maxsize=64)
def _few(values: tuple[Any, ...], kinds: tuple[type, ...]) -> Any:
    """Return the type of a column that holds few different values; ``kinds`` separates 0 and 1 from False and True."""
    import pandas as pd

    return pd.CategoricalDtype(list(values))


def _in_polars(kind: str, cells: Array, values: tuple[Any, ...] = (), answered: Array | None = None) -> Any:
    import polars as pl

    if kind == "place":
        return pl.Series([*values, None]).gather(np.where(cells < 0, len(values), cells.astype(np.int64)))
    if kind == "text":
        return pl.Series(cells.tolist(), dtype=pl.String)
    if kind == "number":
        return pl.Series(cells).fill_nan(None)
    return pl.select(pl.when(pl.Series(answered)).then(pl.Series(cells))).to_series()
