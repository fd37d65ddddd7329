"""The answers for all rows of a table to one question, found a block of rows at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterleaf.batch.shares import cost_of
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.question.costs.terms import L1
from counterleaf.report.cases import Collector, State, block_of
from counterleaf.table.frames import Frame, cells_of, concat, numbers_of, take, with_columns
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

MOST_ROWS = 100_000  # of a table that the page shows at once
_FIRST, _MOST = 16, 4000  # rows of the first block and of the largest one
_BLOCK_TIME = 0.15  # seconds that a block should take, so that a request can be cancelled between two blocks
_DIGITS = 6  # significant digits of a number that is only drawn

HAS, CAN, CANNOT, LIMIT, UNREADABLE = range(5)
_STATUS = {
    State.HAS: HAS,
    State.CAN: CAN,
    State.FOUND: CAN,
    State.CANNOT: CANNOT,
    State.OPEN: LIMIT,
    State.INVALID: UNREADABLE,
}
_STATUS_OF = np.array([_STATUS[state] for state in State])


class RowAnswers:
    """The answers that are known so far.

    Parameters
    ----------
    explainer : Explainer
        The model.
    rows : DataFrame
        The table; at most ``MOST_ROWS`` of its rows are used.
    question : dict
        The arguments of ``explain_many``: target, cost, constraints and so on.
    """

    def __init__(self, explainer: Explainer, rows: Frame, question: dict[str, Any]) -> None:
        self.explainer, self.question = explainer, question
        self.rows = rows if len(rows) <= MOST_ROWS else take(rows, slice(MOST_ROWS))
        self.n, self.done = len(self.rows), 0
        self._size = _FIRST if isinstance(explainer.tree, Ensemble) or explainer.tree.computes else _MOST // 4
        self._spread = L1("range" if explainer.spreads is not None else None)
        self._frames: list[Frame] = []
        self._status: list[int] = []
        self._efforts: list[float | None] = []
        self._counts: list[int | None] = []
        self._labels: list[Any] = []

    def extend(self, seconds: float) -> None:
        """Explain further rows for about this time, at least one block."""
        end = time.perf_counter() + seconds
        while self.done < self.n:
            start = time.perf_counter()
            self._add(slice(self.done, min(self.done + self._size, self.n)))
            now = time.perf_counter()
            self._size = int(np.clip(self._size * _BLOCK_TIME / max(now - start, 1e-6), self._size / 4, self._size * 4))
            self._size = min(max(self._size, 1), _MOST)
            if now >= end:
                break

    def _add(self, at: slice) -> None:
        part = take(self.rows, at)
        found = self.explainer.explain_many(part, words=False, progress=False, **self.question)
        raise_if_stopped()  # a stopped search ends like one that reached its time limit
        rows = TableRows(part, self.explainer.schema)
        collector = Collector(0)
        collector.add(block_of(rows, found, self.question.get("target")))
        cases = collector.cases()
        reached = np.isin(cases.state, (State.CAN, State.FOUND))
        sizes = np.array([len(one) for one in cases.sets] + [0])
        efforts = np.where(cases.state == State.HAS, 0.0, np.nan)
        lines = np.flatnonzero(reached)
        if len(lines):
            efforts[lines] = self._effort(rows, found, lines)
        counts = np.where(cases.state == State.HAS, 0, sizes[cases.patterns])
        known = reached | (cases.state == State.HAS)
        self._status += _STATUS_OF[cases.state].tolist()
        self._efforts += _short(efforts)
        self._counts += [count if there else None for count, there in zip(counts.tolist(), known.tolist(), strict=True)]
        self._labels += cells_of(found["source_label"])
        self._frames.append(found)
        self.done = at.stop

    def _effort(self, rows: TableRows, found: Frame, lines: Array) -> Array:
        """Return how far each of some rows moves, as the sum of the shares of the range of each feature."""
        schema = self.explainer.schema
        before = rows.codes(slice(0, rows.n))[lines]
        after = before.copy()
        for d, feature in enumerate(schema):
            if feature.name in found.columns:
                after[:, d] = rows.column_codes(feature, take(found[feature.name], lines))
        whole = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
        out = numbers_of(take(found["cost"], lines), "cost").copy()
        prices = self.explainer._prices(self._spread)
        if whole.any():
            out[whole] = cost_of(prices, schema, schema.spread(before[whole]), schema.spread(after[whole]))
        return out

    def frame(self) -> Frame:
        """Return the answers for all rows as ``explain_many`` returns them."""
        features = {name for found in self._frames for name in found.columns if name in self.explainer.schema.names}
        others = [name for name in self._frames[0].columns if name not in self.explainer.schema.names]
        optional = {name for found in self._frames for name in found.columns} - features - set(others)
        names = [*others, *sorted(optional), *(name for name in self.explainer.schema.names if name in features)]
        parts, start = [], 0
        for found in self._frames:
            part = take(self.rows, slice(start, start + len(found)))
            parts.append(with_columns(found, names, lambda name, part=part: cells_of(part[name]) if name in features else None))
            start += len(found)
        return concat(parts) if len(parts) > 1 else parts[0]

    def reply(self, start: int) -> dict[str, Any]:
        """Return what the page shows of the rows from ``start`` on."""
        at, classes = slice(start, self.done), self.explainer.tree.classes.tolist()
        out: dict[str, Any] = {
            "start": start,
            "next": None if self.done >= self.n else self.done,
            "n_rows": self.n,
            "status": self._status[at],
            "effort": self._efforts[at],
            "n_changes": self._counts[at],
        }
        if self.explainer.tree.is_regression:
            return out | {"value": _short(np.array(self._labels[at], float))}
        index = {label: k for k, label in enumerate(classes)}
        return out | {"class_index": [index.get(label) for label in self._labels[at]]}


def _short(numbers: Array | Sequence[float]) -> list[float | None]:
    """Return numbers for a drawing, None for those that are missing."""
    return [float(f"{one:.{_DIGITS}g}") if math.isfinite(one) else None for one in np.asarray(numbers).tolist()]
