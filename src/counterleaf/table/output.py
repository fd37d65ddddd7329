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

    Parameters
    ----------
    n : int
        The number of rows.
    values : bool, optional
        Whether labels are kept one by one, because the leaves compute them: as numbers if True. By default they follow from
        the leaves.
    short : bool, default=False
        Whether numbers are written with few digits.
    words : bool, default=True
        Whether changes are put into words.
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

    Parameters
    ----------
    results : Results
        The answers; their codes are used up.
    sheet : TableRows
        The rows.
    classes : array
        The labels.
    value : (N,) array
        The class of each node of the tree, as a position in ``classes``.
    order : Order, optional
        The row and the rank of each line, if a row may have several.

    Returns
    -------
    DataFrame
        A polars frame if the rows are one, else a pandas frame with the index of the rows.
    """
    answered = results.leaves >= 0
    cells = {}
    for d in sorted(results.codes):
        cells[sheet.schema.names[d]] = sheet.changed(d, results.codes.pop(d), answered)
    shares = {}
    for d, share in sorted(results.shares.items()):
        share[~answered] = np.nan
        shares[SHARE.format(sheet.schema.names[d])] = share
    if sheet.polars:
        return _polars_frame((results, order), classes.tolist(), value, answered, (cells, shares))
    import pandas as pd

    without, index = ~answered, sheet.index if sheet.index is not None or order is None else order.rows
    columns: dict[str, Any] = {} if order is None else {"rank": pd.arrays.IntegerArray(order.ranks, without.copy())}
    columns |= {
        "status": pd.Categorical.from_codes(results.status, dtype=_few(STATUSES, "")),
        "cost": results.costs,
        "lower_bound": results.bounds,
        "leaf": pd.arrays.IntegerArray(results.leaves, without),
        "source_label": _source_labels(results, classes),
        "label": _labels(results, classes, value),
        "n_changed": pd.arrays.IntegerArray(results.counts, without.copy()),
        "changed": pd.Series(results.words, index, object, copy=False) if results.has_words else None,
        "confirmed": pd.arrays.BooleanArray(results.confirmed, without.copy()),
    }
    if not results.has_words:
        columns.pop("changed")
    if results.is_short:
        places = np.where(answered, results.full, -1).astype(np.int8)
        columns["digits"] = pd.Categorical.from_codes(places, dtype=_few(_DIGITS, ""))
    if _has_probabilities(results):
        columns["probability"] = results.probabilities
    if results.problems:
        problem = np.full(sheet.n, None, object)
        problem[list(results.problems)] = list(results.problems.values())
        columns["problem"] = problem
    return pd.DataFrame({**columns, **cells, **shares}, index=index, copy=False)


def _source_labels(results: Results, classes: Array) -> Any:
    """Return the labels of the sources as a column of few values, or the values of a regression."""
    import pandas as pd

    if results.sources.dtype == float:
        return results.sources
    places = results.sources.astype(np.min_scalar_type(-len(classes)))
    return pd.Categorical.from_codes(places, dtype=_few(tuple(classes.tolist()), classes.dtype.str))


def _labels(results: Results, classes: Array, value: Array) -> Any:
    """Return the labels of the answers as a column of few values, or the values of a regression."""
    import pandas as pd

    if results.labels is not None and results.labels.dtype == float:
        return results.labels
    places = label_places(results, classes, value)
    return pd.Categorical.from_codes(places, dtype=_few(tuple(classes.tolist()), classes.dtype.str))


def label_places(results: Results, classes: Array, value: Array) -> Array:
    """Return the place of each answer's label among the classes, -1 if there is no answer."""
    if results.labels is None:
        places = value.astype(np.min_scalar_type(-len(classes)))[results.leaves]
        places[results.leaves < 0] = -1
        return np.asarray(places)
    known = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([known.get(label, -1) for label in results.labels.tolist()], np.int64)


def _has_probabilities(results: Results) -> bool:
    return not np.isnan(results.probabilities).all()


@functools.lru_cache(maxsize=64)
def _few(values: tuple[Any, ...], kind: str) -> Any:
    """Return the type of a column that holds few different values; ``kind`` separates 0 and 1 from False and True."""
    import pandas as pd

    return pd.CategoricalDtype(list(values))


def _polars_frame(
    found: tuple[Results, Order | None], classes: list[Any], value: Array, answered: Array, more: tuple[dict[str, Any], ...]
) -> Any:
    import polars as pl

    results, order = found
    there, known = pl.Series(answered), results.sources
    kept = results.labels
    labels = pl.Series(classes).gather(value[results.leaves]) if kept is None else pl.Series(kept.tolist(), strict=False)
    if known.dtype == float:
        sources = pl.Series(known).fill_nan(None)
    else:
        sources = pl.Series([*classes, None]).gather(np.where(known < 0, len(classes), known))
    columns: dict[str, Any] = {} if order is None else {"row": pl.Series(order.rows), "rank": pl.Series(order.ranks)}
    columns |= {
        "status": pl.Series(STATUSES).gather(results.status),
        "cost": pl.Series(results.costs).fill_nan(None),
        "lower_bound": pl.Series(results.bounds).fill_nan(None),
        "leaf": pl.Series(results.leaves),
        "source_label": sources,
        "label": labels,
        "n_changed": pl.Series(results.counts),
        "changed": pl.Series(results.words.tolist(), dtype=pl.String),
        "confirmed": pl.Series(results.confirmed),
    }
    if not results.has_words:
        columns.pop("changed")
    if results.is_short:
        columns["digits"] = pl.Series(_DIGITS).gather(results.full.astype(np.int64))
    if _has_probabilities(results):
        columns["probability"] = pl.Series(results.probabilities).fill_nan(None)
    if results.problems:
        columns["problem"] = pl.Series([results.problems.get(k) for k in range(len(answered))], dtype=pl.String)
    cells, shares = more
    out = pl.DataFrame({**columns, **cells, **{name: pl.Series(share).fill_nan(None) for name, share in shares.items()}})
    partial = [name for name in ("rank", "leaf", "label", "n_changed", "confirmed", "digits") if name in columns]
    return out.with_columns(pl.when(there).then(pl.col(name)).alias(name) for name in partial)
