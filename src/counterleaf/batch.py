"""Many rows at once: a frame in, a frame out, every answer the one that ``explain`` gives."""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.boxes import Boxes
from counterleaf.constraint import Constraint, Limit, lower_constraints
from counterleaf.cost import Prices
from counterleaf.engine import Engine, Target
from counterleaf.errors import CounterleafError
from counterleaf.features import Finite, Numeric
from counterleaf.kernels.boxes import differences
from counterleaf.kernels.memory import FOUND, UNASKED
from counterleaf.progress import shown
from counterleaf.schema import Array
from counterleaf.search import Outcomes, Status, find_many
from counterleaf.sheet import Sheet
from counterleaf.view import View

INVALID = "invalid"  # the status of a row that cannot be asked about
STATUSES = [*map(str, Status), INVALID]
COLUMNS = ("status", "cost", "lower_bound", "leaf", "label", "n_changed", "verified")
_OPTIMAL, _INFEASIBLE, _, _INVALID = range(len(STATUSES))
_NO_CHANGE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
_NUMBERS = 1 << 19  # numbers in the arrays of one stretch of rows


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The answers for a stretch of rows."""

    at: slice
    status: Array  # places in STATUSES
    costs: Array
    bounds: Array
    leaves: Array  # -1 without an answer
    verified: Array
    changes: tuple[Array, Array, Array]  # (line of the batch, feature, code) of every cell that changes
    problems: dict[int, str] = field(default_factory=dict)  # line of the batch -> what is wrong with the row


class Batch:
    """One question about many rows. What depends on tree, target, cost and constraints alone is made once, here."""

    def __init__(
        self,
        engine: Engine,
        view: View,
        sheet: Sheet,
        targets: list[Target],
        prices: Prices,
        given: list[Constraint],
        margin: float,
        time_limit: float | None,
        most: int | None,
    ) -> None:
        self.engine, self.view, self.sheet, self.targets, self.prices = engine, view, sheet, targets, prices
        self.given, self.margin, self.time_limit, self.most = given, margin, time_limit, most
        self.schema, self.tree = engine.schema, engine.tree
        self.nodes = np.stack([engine.nodes(target, margin) for target in targets])
        neutral = np.zeros((1, self.schema.width))
        neutral[0, self.schema.starts[:-1][[not isinstance(feature, Numeric) for feature in self.schema]]] = 1.0
        self.limits = lower_constraints(given, self.schema, neutral)  # a mistake in the question is told before the work
        self.depends = any(isinstance(feature, Finite) and feature.missing for feature in self.schema) or any(
            isinstance(one, Limit) and (one.from_lower or one.from_upper) for one in given
        )
        self.least = np.ascontiguousarray(self.nodes["below"])
        self.limit = float(np.finfo(self.tree.dtype).max)
        self.boxes = self._boxes()

    def _boxes(self) -> Boxes | None:
        """For axis-aligned trees under limits on single features."""
        limits, splits, prices = self.limits, self.engine.splits(self.margin), self.prices
        if splits.oblique or limits.rows or limits.clauses or limits.most >= 0 or limits.pool is not None:
            return None
        if prices.coupling is not None or prices.runs or any((table < 0).any() for table in prices.moves):
            return None
        return self.engine.boxes(prices, self.margin)

    @property
    def chunk(self) -> int:
        """How many rows to take at once: arrays that fit into the caches."""
        per_row = len(self.schema) if self.boxes is not None else 9 * self.schema.width
        return max(32, min(32768, _NUMBERS // per_row))

    def piece(self, at: slice) -> Piece:
        """The answers for a stretch of rows."""
        codes = self.sheet.codes(at)
        found = self._by_boxes(codes) if self.boxes is not None else self._by_search(codes)
        status = np.where(found.outcome == FOUND, _OPTIMAL, _INFEASIBLE).astype(np.int8)
        problems: dict[int, str] = {}
        for k in np.flatnonzero(found.outcome == UNASKED).tolist():
            try:
                status[k] = self._alone(at.start + k, k, codes, found)
            except CounterleafError as error:
                status[k], problems[at.start + k] = _INVALID, str(error)
        answered = found.leaves >= 0
        verified = self._ask(at, codes, found.points, found.leaves, answered)
        changes = np.empty(codes.size, np.int64), np.empty(codes.size, np.int32), np.empty(codes.size)
        count = differences(codes, found.points, answered, *changes)
        line, feature, code = (array[:count].copy() for array in changes)
        return Piece(at, status, found.costs, found.bounds, found.leaves, verified, (line + at.start, feature, code), problems)

    def _by_boxes(self, codes: Array) -> Outcomes:
        limits, widen = self.limits, self.schema.inferred
        if self.depends:
            try:
                limits, widen = lower_constraints(self.given, self.schema, self._sources(codes)), False
            except CounterleafError:  # about some row: ask each on its own
                return _unasked(codes)
        assert self.boxes is not None
        return self.boxes.find(codes, self.least, self._kinds, limits.lower, limits.upper, widen, self.limit)

    def _kinds(self, codes: Array) -> Array:
        """Which of the targets each row has."""
        if len(self.targets) == 1:
            return np.zeros(len(codes), np.int64)
        return np.asarray(self.tree.value[self.tree.apply(self._sources(codes))])

    def _sources(self, codes: Array) -> Array:
        """The rows as variables, zeros in place of those that cannot be asked about."""
        return self._spread(np.where(self._fit(codes)[:, None], codes, 0.0))

    def _by_search(self, codes: Array) -> Outcomes:
        out = _unasked(codes)
        lines = np.flatnonzero(self._fit(codes))
        if self.limits.pool is not None or self.prices.coupling is not None or self.time_limit is not None or not len(lines):
            return out  # the search needs its caller, or the clock
        sources = self._spread(codes[lines])
        leaves = self.tree.apply(sources)
        kinds = self.tree.value[leaves] if len(self.targets) > 1 else np.zeros(len(lines), np.int64)
        try:
            limits = lower_constraints(self.given, self.schema, sources)
        except CounterleafError:
            return out
        found = find_many(self.engine.pose(sources, leaves, self.nodes, kinds, self.prices, limits, self.margin), self.most)
        if len(lines) == len(codes):
            return Outcomes(found.outcome, found.leaves, found.costs, found.bounds, self.schema.gather(found.points))
        out.outcome[lines], out.leaves[lines], out.costs[lines] = found.outcome, found.leaves, found.costs
        out.bounds[lines], out.points[lines] = found.bounds, self.schema.gather(found.points)
        return out

    def _alone(self, line: int, k: int, codes: Array, found: Outcomes) -> int:
        """Ask about one row as ``explain`` does; writes into ``codes`` and ``found``, returns the place of the status."""
        source = self.schema.encode(self.sheet.one(line))
        self.engine.check_narrow(source)
        leaf = self.tree.leaf_of(source)
        target = self.targets[int(self.tree.value[leaf]) if len(self.targets) > 1 else 0]
        until = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        answer = self.engine.certify(source, leaf, target, self.prices, self.given, self.margin, 1, until, self.most).findings
        codes[k] = self.schema.gather(source)
        found.bounds[k] = answer.lower_bound
        if len(answer.leaves):
            found.leaves[k], found.costs[k], found.bounds[k] = answer.leaves[0], answer.costs[0], answer.bounds[0]
            found.points[k] = self.schema.gather(answer.points[0])
        return list(Status).index(answer.status)

    def _ask(self, at: slice, codes: Array, after: Array, leaves: Array, answered: Array) -> Array:
        """Whether the model says of each answer what the tree says."""
        out = np.zeros(len(codes), bool)
        if not answered.any():
            return out
        if answered.all():
            said = self.view.ask_many(self.sheet, at, codes, after)
        else:
            rows = self.sheet.taken(at.start + np.flatnonzero(answered))
            said = self.view.ask_many(rows, slice(0, rows.n), codes[answered], after[answered])
        out[answered] = np.asarray(said) == self.tree.classes[self.tree.value[leaves[answered]]]
        return out

    def _fit(self, codes: Array) -> Array:
        """The rows without a gap and without a number that the model does not take."""
        return np.asarray(np.abs(codes).max(axis=1) <= self.limit)

    def _spread(self, codes: Array) -> Array:
        return codes if self.schema.numeric else self.schema.spread(codes)


def _unasked(codes: Array) -> Outcomes:
    n = len(codes)
    nothing = np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.full(codes.shape, np.nan)
    return Outcomes(np.full(n, UNASKED, np.int8), *nothing)


def run(batch: Batch, n_jobs: int, chunk: int | None, progress: bool) -> Any:
    """All pieces, worked on by some threads (the kernels hold no lock), as one frame."""
    n = batch.sheet.n
    size = chunk or min(batch.chunk, max(32, -(-n // (4 * n_jobs)))) if n_jobs > 1 else chunk or batch.chunk
    stretches = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    with shown(n, progress) as advance:
        pieces = list(_mapped(batch.piece, stretches, n_jobs, advance))
    return _frame(batch, pieces)


def _mapped(
    work: Callable[[slice], Piece], stretches: list[slice], n_jobs: int, advance: Callable[[int], None]
) -> Iterator[Piece]:
    if n_jobs == 1 or len(stretches) < 2:
        for at in stretches:
            yield work(at)
            advance(at.stop - at.start)
        return
    crew = ThreadPoolExecutor(min(n_jobs, len(stretches)))
    try:
        for at, piece in zip(stretches, crew.map(work, stretches), strict=True):
            yield piece
            advance(at.stop - at.start)
    finally:
        crew.shutdown(cancel_futures=True)


def workers(n_jobs: Any) -> int:
    """The number of threads: 1, 2, ... or, counted from the end as scikit-learn does, -1 for every core, -2 for all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise CounterleafError(f"n_jobs is {n_jobs!r}; expected a number of workers from 1, or -1 for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


@functools.lru_cache(maxsize=64)
def _kind_of(values: tuple[Any, ...]) -> Any:
    """The type of a column that holds few different values."""
    import pandas as pd

    return pd.CategoricalDtype(pd.Index(list(values)))


def _frame(batch: Batch, pieces: list[Piece]) -> Any:
    """One line per row: what was found, and the new values of every column that changes somewhere."""
    import pandas as pd

    sheet, tree = batch.sheet, batch.tree
    status, costs, bounds, leaves, verified = (
        np.concatenate([np.empty(0, kind), *(getattr(piece, name) for piece in pieces)])
        for name, kind in (("status", np.int8), ("costs", float), ("bounds", float), ("leaves", np.int64), ("verified", bool))
    )
    answered = leaves >= 0
    line, feature, code = (np.concatenate([part, *(piece.changes[k] for piece in pieces)]) for k, part in enumerate(_NO_CHANGE))
    changed = np.bincount(line, minlength=sheet.n)
    without = ~answered
    out = {
        "status": pd.Categorical.from_codes(status, dtype=_kind_of(tuple(STATUSES))),
        "cost": np.where(answered, costs, np.nan),
        "lower_bound": bounds,
        "leaf": pd.arrays.IntegerArray(leaves, without),
        "label": pd.Categorical.from_codes(np.where(answered, tree.value[leaves], -1), dtype=_kind_of(tuple(tree.classes))),
        "n_changed": pd.arrays.IntegerArray(changed, without),
        "verified": pd.arrays.BooleanArray(verified, without),
    }
    problems = {k: text for piece in pieces for k, text in piece.problems.items()}
    if problems:
        out["problem"] = np.array([problems.get(k) for k in range(sheet.n)], object)
    names = batch.schema.names
    if sheet.plain and sheet.rows.dtype == np.float64:
        moved, values = sheet.block(line, feature, code, answered)
        told = pd.DataFrame(out, copy=False)
        return pd.concat([told, pd.DataFrame(values.T, columns=[names[d] for d in moved], copy=False)], axis=1)
    order = np.argsort(feature, kind="stable")
    line, code = line[order], code[order]
    stops = np.cumsum(np.bincount(feature, minlength=len(names)))
    for d in np.flatnonzero(np.diff(stops, prepend=0)).tolist():
        mine = slice(stops[d - 1] if d else 0, stops[d])
        out[names[d]] = sheet.changed(d, line[mine], code[mine], answered)
    if sheet.named and sheet.index is None:
        return sheet.frame(out)
    return pd.DataFrame(out, index=sheet.index, copy=False)
