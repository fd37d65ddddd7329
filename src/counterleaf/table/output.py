"""The frames that answers are returned in."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterleaf.table.rows import Sheet
from counterleaf.types import Array

INVALID = "invalid"  # the status of a row that cannot be queried
STATUSES = ("optimal", "infeasible", "limit", INVALID)
COLUMNS = ("status", "cost", "lower_bound", "leaf", "label", "n_changed", "confirmed")


class Results:
    """The answers for n rows: one array per column of the frame, filled in one stretch of rows at a time."""

    def __init__(self, n: int) -> None:
        self.status = np.full(n, len(STATUSES) - 1, np.int8)  # places in STATUSES
        self.costs = np.full(n, np.nan)
        self.bounds = np.full(n, np.nan)
        self.leaves = np.full(n, -1)
        self.counts = np.zeros(n, np.int64)  # of changed features
        self.confirmed = np.zeros(n, bool)
        self.codes: dict[int, Array] = {}  # feature -> its new codes, NaN where it does not change
        self.problems: dict[int, str] = {}  # row -> what is wrong with it

    def column(self, d: int) -> Array:
        """The new codes of a feature, made when it first changes: most features of most trees never do."""
        if d not in self.codes:
            self.codes[d] = np.full(len(self.status), np.nan)
        return self.codes[d]


def results_frame(results: Results, sheet: Sheet, classes: Array, value: Array) -> Any:
    """One line per row: status, cost, leaf and label, and the new values of every feature that changes somewhere.

    ``value`` is the class of every leaf.
    """
    answered = results.leaves >= 0
    cells = {}
    for d in sorted(results.codes):
        cells[sheet.schema.names[d]] = sheet.changed(d, results.codes.pop(d), answered)
    if sheet.polars:
        return _polars_frame(results, classes.tolist(), value, answered, cells)
    import pandas as pd

    without = ~answered
    labels = value.astype(np.min_scalar_type(-len(classes)))[results.leaves]
    labels[without] = -1
    columns = {
        "status": pd.Categorical.from_codes(results.status, dtype=_few(STATUSES, "")),
        "cost": results.costs,
        "lower_bound": results.bounds,
        "leaf": pd.arrays.IntegerArray(results.leaves, without),
        "label": pd.Categorical.from_codes(labels, dtype=_few(tuple(classes.tolist()), classes.dtype.str)),
        "n_changed": pd.arrays.IntegerArray(results.counts, without.copy()),
        "confirmed": pd.arrays.BooleanArray(results.confirmed, without.copy()),
    }
    if results.problems:
        problem = np.full(sheet.n, None, object)
        problem[list(results.problems)] = list(results.problems.values())
        columns["problem"] = problem
    return pd.DataFrame({**columns, **cells}, index=sheet.index, copy=False)


@functools.lru_cache(maxsize=64)
def _few(values: tuple[Any, ...], kind: str) -> Any:
    """The type of a column that holds few different values; ``kind`` tells 0 and 1 from False and True."""
    import pandas as pd

    return pd.CategoricalDtype(list(values))


def _polars_frame(results: Results, classes: list[Any], value: Array, answered: Array, cells: dict[str, Any]) -> Any:
    import polars as pl

    there = pl.Series(answered)
    labels = pl.Series(classes)
    columns = {
        "status": pl.Series(STATUSES).gather(results.status),
        "cost": pl.Series(results.costs).fill_nan(None),
        "lower_bound": pl.Series(results.bounds).fill_nan(None),
        "leaf": pl.Series(results.leaves),
        "label": labels.gather(value[results.leaves]),
        "n_changed": pl.Series(results.counts),
        "confirmed": pl.Series(results.confirmed),
    }
    if results.problems:
        columns["problem"] = pl.Series([results.problems.get(k) for k in range(len(answered))], dtype=pl.String)
    out = pl.DataFrame({**columns, **cells})
    return out.with_columns(
        pl.when(there).then(pl.col(name)).alias(name) for name in ("leaf", "label", "n_changed", "confirmed")
    )


def frame_of(
    records: Iterable[Mapping[str, Any]], index: Iterable[Any] | None = None, types: Mapping[str, str] | None = None
) -> Any:
    """A pandas frame of records, one line each; ``types`` are those of some columns."""
    import pandas as pd

    frame = pd.DataFrame(list(records), index=None if index is None else list(index))
    return frame.astype(dict(types)) if types else frame
