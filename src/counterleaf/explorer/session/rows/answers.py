"""The answers for all rows of a table to one question, found a block of rows at a time, and the columns of the table."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.audit.report.cases import Cases, Collector, State, block_of, stated
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import some
from counterleaf.explorer.session.answers.effort import measure_shares
from counterleaf.explorer.session.scene import Scene
from counterleaf.table.frames import Frame, cells_of, concat, take, with_columns
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

MOST_ROWS = 100_000  # of a table that the page shows at once
_FIRST, _MOST = 16, 4000  # rows of the first block and of the largest one
_BLOCK_TIME = 0.15  # seconds that a block should take, so that a request can be cancelled between two blocks
_DIGITS = 6  # significant digits of a number that is only drawn

HAS, CAN, CANNOT, LIMIT, UNREADABLE, FOUND = range(6)  # found: perhaps not the best
_STATUS = {
    State.HAS: HAS,
    State.CAN: CAN,
    State.FOUND: FOUND,
    State.CANNOT: CANNOT,
    State.OPEN: LIMIT,
    State.INVALID: UNREADABLE,
}
_STATUS_OF = np.array([_STATUS[state] for state in State])


def table_of(scene: Scene) -> Any:
    """The rows of a data set, or raise if it has none."""
    if scene.rows is None:
        raise cl.CounterleafError(f"{scene.title} has no table of rows; paste some with Open, or pass --data")
    return scene.rows


def columns_of(scene: Scene, names: list[str]) -> dict[str, Any]:
    """The codes of some features of all rows, null for a value that is missing or cannot be read."""
    schema, rows = scene.explainer.schema, table_of(scene)
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise cl.CounterleafError(f"no feature {unknown[0]!r} in {scene.title}; expected one of {some(schema.names)}")
    table = TableRows(take(rows, slice(MOST_ROWS)), schema)
    columns = {}
    for name in dict.fromkeys(names):
        d = schema.index(name)
        feature = schema.features[d]
        codes = stated(table, feature, table.columns[d])
        whole = not isinstance(feature, cl.Numeric)
        columns[name] = [(int(x) if whole else x) if np.isfinite(x) else None for x in codes.tolist()]
    return {"columns": columns, "n_rows": table.n}


def class_of(scene: Scene, target: list[str]) -> int | None:
    """The class whose probability the page shows: the only target, if the model has probabilities."""
    tree = scene.explainer.tree
    labels = [str(label) for label in tree.classes.tolist()]
    has_one = not tree.is_regression and tree.has_probabilities and len(target) == 1
    return labels.index(target[0]) if has_one and target[0] in labels else None


class RowAnswers:
    """The answers that are known so far, for at most ``MOST_ROWS`` rows; ``class_index`` has its probability computed."""

    def __init__(self, explainer: cl.Explainer, rows: Frame, question: cl.Question, class_index: int | None = None) -> None:
        self.explainer, self.question, self._class = explainer, question, class_index
        self.rows = rows if len(rows) <= MOST_ROWS else take(rows, slice(MOST_ROWS))
        self.n, self.done = len(self.rows), 0
        self._size = _FIRST if explainer.tree.computes else _MOST // 4
        self._frames: list[Frame] = []
        self._columns: defaultdict[str, list[Any]] = defaultdict(list)  # of what the page shows, and the labels

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
        found = self.explainer.explain_many(part, self.question, words=False, progress=False)
        raise_if_stopped()  # a stopped search ends like one that reached its time limit
        rows = TableRows(part, self.explainer.schema)
        collector = Collector(0)
        collector.add(block_of(rows, found, None))  # a row that has the goal and breaks a rule has to change, as in its answer
        cases = collector.cases()
        reached = np.isin(cases.state, (State.CAN, State.FOUND))
        sizes = np.array([len(one) for one in cases.sets] + [0])
        efforts = np.where(reached, self._effort(cases, rows.n), np.where(cases.state == State.HAS, 0.0, np.nan))
        counts = np.where(cases.state == State.HAS, 0, sizes[cases.patterns])
        known = reached | (cases.state == State.HAS)
        columns = {
            "status": _STATUS_OF[cases.state].tolist(),
            "effort": _short(efforts),
            "n_changes": [count if there else None for count, there in zip(counts.tolist(), known.tolist(), strict=True)],
            "label": cells_of(found["source_label"]),
            **({} if self._class is None else {"probability": self._probabilities(rows)}),
        }
        for name, values in columns.items():
            self._columns[name] += values
        self._frames.append(found)
        self.done = at.stop

    def _effort(self, cases: Cases, n: int) -> Array:
        """How far each row moves: the shares of the usual ranges, and 1 for each other choice, as in an answer."""
        out = np.zeros(n)
        for d, one in cases.values.items():
            shares = measure_shares(self.explainer, d, one.old, one.new)
            out[one.rows] += np.where(np.isnan(shares), 1.0, shares)
        return out

    def _probabilities(self, rows: TableRows) -> list[float | None]:
        """The probability of the class for each row that can be read."""
        codes = rows.codes(slice(0, rows.n))
        whole = np.isfinite(codes).all(axis=1)
        out = np.full(rows.n, np.nan)
        if whole.any():
            points = self.explainer.schema.spread(codes[whole])
            out[whole] = self.explainer.tree.predict_proba(points)[:, self._class]
        return _short(out)

    def frame(self) -> Frame:
        """The answers for all rows as ``explain_many`` returns them."""
        columns = dict.fromkeys(name for found in self._frames for name in found.columns)
        features = [name for name in self.explainer.schema.names if name in columns]
        names = [*(name for name in columns if name not in features), *features]
        parts, start = [], 0
        for found in self._frames:
            part = take(self.rows, slice(start, start + len(found)))
            cells = {name: cells_of(part[name]) for name in features}
            parts.append(with_columns(found, names, cells.get))
            start += len(found)
        return concat(parts) if len(parts) > 1 else parts[0]

    def reply(self, start: int) -> dict[str, Any]:
        """What the page shows of the rows from ``start`` on."""
        out: dict[str, Any] = {name: values[start:] for name, values in self._columns.items()}
        out |= {"start": start, "next": None if self.done >= self.n else max(self.done, start), "n_rows": self.n}
        labels, tree = out.pop("label"), self.explainer.tree
        if tree.is_regression:
            return out | {"value": _short(np.array(labels, float))}
        index = {label: k for k, label in enumerate(tree.classes.tolist())}
        return out | {"class_index": [index.get(label) for label in labels]}


def _short(numbers: Array | Sequence[float]) -> list[float | None]:
    """Numbers for a drawing, None for those that are missing."""
    return [float(f"{one:.{_DIGITS}g}") if math.isfinite(one) else None for one in np.asarray(numbers).tolist()]
