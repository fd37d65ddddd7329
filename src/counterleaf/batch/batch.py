"""Many rows at once: a frame in, a frame out, every answer the one that ``explain`` gives."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.batch.axis_aligned import Boxes, boxes_of
from counterleaf.batch.progress import shown
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.core.stopping import current
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.proof.certificate import Findings, Status
from counterleaf.question.constraint import Limit
from counterleaf.question.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.search import Search
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.output import STATUSES, Results, results_frame
from counterleaf.table.rows import Sheet
from counterleaf.types import Array

_OPTIMAL, _INFEASIBLE, _, _INVALID = range(len(STATUSES))
_MOST_THREADS = 1024
_NUMBERS = 1 << 19  # numbers in the arrays of one stretch of rows


class Batch:
    """One question about many rows. What depends on tree, target, cost and constraints alone is made once, here."""

    def __init__(self, search: Search, adapter: ModelAdapter, sheet: Sheet, query: Query, threads: int) -> None:
        self.search, self.adapter, self.sheet, self.query, self.threads = search, adapter, sheet, query, threads
        self.schema, self.tree = search.schema, search.tree
        classes = self.tree.classes
        sources = range(len(classes)) if query.target is None else (0,)  # any other class than that of the row
        self.targets = [query.classes(classes, source) for source in sources]
        self.nodes = np.stack([search.aim(target, query.margin).nodes for target in self.targets])
        self.limits = lower_constraints(query.constraints, self.schema, self._neutral())  # mistakes are found before the work
        self.limit = float(np.finfo(self.tree.dtype).max)
        self.boxes = self._boxes()
        self.least = self.nodes["below"].copy() if self.boxes is None else self.boxes.least(self.nodes)
        self.answers = Results(sheet.n)

    def _neutral(self) -> Array:
        """A row that widens no bounds and lacks no value."""
        lower, upper = self.schema.bounds()
        out = np.clip(np.zeros((1, self.schema.width)), lower, upper)
        out[0, self.schema.starts[:-1][[not isinstance(feature, Numeric) for feature in self.schema]]] = 1.0
        return out

    def _boxes(self) -> Boxes | None:
        """For axis-aligned trees under limits on single features; the search alone counts its states."""
        limits, prices = self.limits, self.query.prices
        if (
            limits.rows
            or limits.clauses
            or limits.max_changes >= 0
            or limits.pool is not None
            or self.query.max_nodes is not None
        ):
            return None
        if prices.coupling is not None or prices.runs or any((table < 0).any() for table in prices.moves):
            return None
        oblique = self.search.splits(self.query.margin).oblique
        return None if oblique else boxes_of(self.search, prices, self.query.margin)

    @functools.cached_property
    def _from_source(self) -> bool:
        """Whether some limit is counted from the row's own values."""
        gaps = any(isinstance(feature, Finite) and feature.missing for feature in self.schema)
        return gaps or any(isinstance(one, Limit) and (one.from_lower or one.from_upper) for one in self.query.constraints)

    @property
    def chunk(self) -> int:
        """How many rows to take at once: arrays that fit into the caches."""
        per_row = len(self.schema) if self.boxes is not None else 2 * self.schema.width
        return max(32, min(32768, _NUMBERS // per_row))

    def answer(self, at: slice) -> None:
        """Find and write down the answers for a stretch of rows."""
        codes, answers = self.sheet.codes(at), self.answers
        found = self._by_search(codes) if self.boxes is None else self._by_boxes(codes, self.boxes)
        answers.status[at] = np.where(found.outcome == Outcome.FOUND, _OPTIMAL, _INFEASIBLE)
        for k in np.flatnonzero(found.outcome == Outcome.UNASKED).tolist():
            answers.status[at.start + k] = self._alone(at.start + k, k, found)
        answered = found.leaves >= 0
        answers.costs[at] = found.costs if answered.all() else np.where(answered, found.costs, np.nan)
        answers.bounds[at], answers.leaves[at] = found.bounds, found.leaves
        answers.confirmed[at] = self._confirm(at, codes, found, answered)
        self._note_changes(at, codes, found.points, answered)

    def _note_changes(self, at: slice, before: Array, after: Array, answered: Array) -> None:
        """Count the changed features of each row and keep their new codes."""
        differ = before != after
        if not answered.all():
            differ &= answered[:, None]
        counts = self.answers.counts[at]
        for d in np.flatnonzero(_any_line(differ)).tolist():
            counts += differ[:, d]
            keep = self.sheet.holds_codes(d)  # then a cell that stays is its own code
            self.answers.column(d)[at] = after[:, d] if keep else np.where(differ[:, d], after[:, d], np.nan)

    def _by_boxes(self, codes: Array, boxes: Boxes) -> Outcomes:
        """All rows in one box; those that need a box of their own once more, in that."""
        if self._from_source:
            return self._by_own_boxes(codes, boxes)
        shared = self.limits.lower, self.limits.upper
        if boxes.plain:
            found = boxes.nearest(codes, self.least, *shared, self.limit, threads=self.threads)
            apart = found.outcome == Outcome.UNASKED  # outside the box, or with a gap
        else:
            found = boxes.cheapest(codes, self.least, self._kinds(codes), *shared, self.limit, threads=self.threads)
            apart = self._widens(codes)
        lines = np.flatnonzero(apart)
        if len(lines):
            _put(found, lines, self._by_own_boxes(codes[lines], boxes))
        return found

    def _by_own_boxes(self, codes: Array, boxes: Boxes) -> Outcomes:
        """Each row within its own limits."""
        limits = self._limits(self._sources(codes))
        if limits is None:
            return _unasked(codes)
        return boxes.cheapest(
            codes, self.least, self._kinds(codes), limits.lower, limits.upper, self.limit, threads=self.threads
        )

    def _widens(self, codes: Array) -> Array:
        """The rows that lie outside the ranges seen in the data, which are widened for them."""
        if not self.schema.inferred:
            return np.zeros(len(codes), bool)
        lower, upper = (end[self.schema.starts[:-1]] for end in self.schema.bounds())
        number = [isinstance(feature, Numeric) for feature in self.schema]
        return np.asarray((((codes < lower) | (codes > upper)) & number).any(axis=1))

    def _limits(self, sources: Array) -> Limits | None:
        """The limits of each source; None if they make no sense for one of them, so that each must be asked on its own."""
        try:
            return lower_constraints(self.query.constraints, self.schema, sources)
        except CounterleafError:
            return None

    def _kinds(self, codes: Array) -> Array:
        """Which of the targets each row has."""
        if len(self.targets) == 1:
            return np.zeros(len(codes), np.int64)
        return np.asarray(self.tree.value[self.tree.apply(self._sources(codes))])

    def _by_search(self, codes: Array) -> Outcomes:
        """One search after another, where no row stands in the way; else every row is left to be asked alone."""
        out = _unasked(codes)
        lines = np.flatnonzero(self._fit(codes))
        if self.limits.pool is not None or self.query.time_limit is not None or not len(lines):
            return out  # a row of the pool, or a clock of its own
        sources = np.ascontiguousarray(self._spread(codes[lines]))
        limits = self._limits(sources) if self.query.constraints else None
        if self.query.constraints and limits is None:
            return out
        leaves = self.tree.apply(sources)
        kinds = self.tree.value[leaves] if len(self.targets) > 1 else np.zeros(len(lines), np.int64)
        patience = _core.Patience(1, self.query.max_nodes, stop=current())
        found = self.search.find_many((sources, leaves, kinds), self.query, self.targets, limits, patience, self.threads)
        points = self.schema.gather(found.points)
        _put(out, lines, Outcomes(found.outcome, found.leaves, found.costs, found.bounds, points))
        return out

    def _alone(self, line: int, k: int, found: Outcomes) -> int:
        """Ask about one row as ``explain`` does; writes into ``found`` at k, returns the place of the status."""
        found.bounds[k] = np.nan
        try:
            answer = self._findings(self.sheet.one(line))
        except CounterleafError as error:
            self.answers.problems[line] = str(error)
            return _INVALID
        found.bounds[k] = answer.lower_bound
        if len(answer.leaves):
            found.leaves[k], found.costs[k], found.bounds[k] = answer.leaves[0], answer.costs[0], answer.bounds[0]
            found.points[k] = self.schema.gather(answer.points[0])
        return list(Status).index(answer.status)

    def _findings(self, row: Any) -> Findings:
        patience = _core.Patience(1, self.query.max_nodes, self.query.time_limit, stop=current())
        return self.search.certify(self.search.locate(row), self.query, patience).findings

    def _confirm(self, at: slice, codes: Array, found: Outcomes, answered: Array) -> Array:
        """Whether the model says of each answer what the tree says."""
        out, after = np.zeros(len(codes), bool), found.points
        lines = np.flatnonzero(answered)
        labels = self.tree.classes[self.tree.value[found.leaves[lines]]]
        try:
            if len(lines) == len(codes) > 0:
                out[:] = self.adapter.labels_many(self.sheet, at, codes, after) == labels
            elif len(lines):
                out[lines] = self.adapter.labels_many(self.sheet, at.start + lines, codes[lines], after[lines]) == labels
        except CounterleafError:  # the model fails on some row
            for k, label in zip(lines.tolist(), labels.tolist(), strict=True):
                out[k] = self._confirm_alone(at.start + k, after[k], label)
        return out

    def _confirm_alone(self, line: int, code: Array, label: Any) -> bool:
        """Ask the model about one row as ``explain`` does; if it fails, that is the row's problem."""
        point = self._spread(code[None])[0]
        try:
            said = self.adapter.labels(point[None], [self.schema.decode(point, self.sheet.one(line))])
            return bool(said.tolist() == [label])
        except CounterleafError as error:
            self.answers.problems[line] = str(error)
            return False

    def _sources(self, codes: Array) -> Array:
        """The rows as variables, zeros in place of those that cannot be asked about."""
        return self._spread(np.where(self._fit(codes)[:, None], codes, 0.0))

    def _fit(self, codes: Array) -> Array:
        """The rows without a gap and without a number that the model does not take."""
        return np.asarray(np.abs(codes).max(axis=1) <= self.limit)

    def _spread(self, codes: Array) -> Array:
        return codes if self.schema.numeric else self.schema.spread(codes)


def _unasked(codes: Array) -> Outcomes:
    n = len(codes)
    nothing = np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.full(codes.shape, np.nan)
    return Outcomes(np.full(n, Outcome.UNASKED, np.int8), *nothing)


def _any_line(flags: Array) -> Array:
    """``flags.any(axis=0)``, 64 lines side by side: NumPy is quick along long lines only."""
    whole = len(flags) // 64 * 64
    side_by_side = flags[:whole].reshape(-1, 64 * flags.shape[1]).any(axis=0).reshape(64, -1)
    return np.asarray(side_by_side.any(axis=0) | flags[whole:].any(axis=0))


def _put(whole: Outcomes, lines: Array, part: Outcomes) -> None:
    """Write the outcomes of some lines."""
    whole.outcome[lines], whole.leaves[lines], whole.costs[lines] = part.outcome, part.leaves, part.costs
    whole.bounds[lines], whole.points[lines] = part.bounds, part.points


def run(batch: Batch, chunk: int | None, progress: bool) -> Any:
    """All stretches of rows, one after another, as one frame; the core shares each one out among its threads."""
    n, size = batch.sheet.n, chunk or batch.chunk
    with shown(n, progress) as advance:
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            batch.answer(at)
            advance(at.stop - at.start)
    return results_frame(batch.answers, batch.sheet, batch.tree.classes, batch.tree.value)


def workers(n_jobs: Any) -> int:
    """The number of threads: 1, 2, ... or, counted from the end as scikit-learn does, -1 for every core, -2 for all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise CounterleafError(f"n_jobs is {n_jobs!r}; expected a number of workers from 1, or -1 for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(n_jobs), _MOST_THREADS) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
