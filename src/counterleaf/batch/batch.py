"""Answers for many rows: for every row the answer that ``explain`` gives, without its proof."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from counterleaf import _core
from counterleaf.batch.axis_aligned import AxisAlignedTree, axis_aligned_tree
from counterleaf.batch.progress import shown
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.core.stopping import current
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.proof.certificate import Findings, Status
from counterleaf.question.cost import Prices
from counterleaf.question.kinds import Limit
from counterleaf.question.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.prepared import RecentValues
from counterleaf.search.search import Search
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.output import COLUMNS, STATUSES, Results, results_frame
from counterleaf.table.rows import TableRows, differs
from counterleaf.types import Array

_OPTIMAL, _INFEASIBLE, _, _INVALID = range(len(STATUSES))
_MOST_THREADS = 1024
_NUMBERS = 1 << 19  # numbers in the arrays of one chunk of rows


class Options(TypedDict, total=False):
    """The options of ``Explainer.explain_many``; see there."""

    time_limit: float | None
    max_nodes: int | None
    chunk_size: int | None
    progress: bool


# what a batch needs for its rows that lack some numbers, given the names of these and the cost
Parts = Callable[[tuple[str, ...], Any], tuple[Search, ModelAdapter, Prices]]


class Batch:
    """One query about many rows. Everything that does not depend on the row is computed once, here.

    Rows that lack the same numbers are a batch of their own, made by ``parts``.
    """

    def __init__(
        self, search: Search, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
    ) -> None:
        self.search, self.adapter, self.rows, self.query, self.threads = search, adapter, rows, query, threads
        self._parts, self._made = None if adapter.routes is None else parts, RecentValues()
        self.schema, self.tree = search.schema, search.tree
        classes = self.tree.classes
        sources = range(len(classes)) if query.target is None else (0,)  # without a target, one per class of the row
        self.targets = [query.classes(classes, source) for source in sources]
        self.nodes = np.stack([search.aim(target, query.margin).nodes for target in self.targets])
        self.limits = lower_constraints(query.constraints, self.schema, self._neutral())  # finds mistakes before the work
        self.limit = float(np.finfo(self.tree.dtype).max)
        self.axis_aligned = self._axis_aligned()
        self.least = np.ascontiguousarray(self.nodes["below"])  # the least class cost below each node, one line per target
        numbers = [isinstance(feature, Numeric) for feature in self.schema]
        self._may_be_missing = np.array(numbers) & (self._parts is not None)
        self._leaves_out = self._parts is not None and adapter.leaves_out

    @functools.cached_property
    def results(self) -> Results:
        """The answers."""
        return Results(self.rows.n)

    def _neutral(self) -> Array:
        """Return a row that widens no bounds and has no missing value."""
        lower, upper = self.schema.bounds()
        out = np.clip(np.zeros((1, self.schema.width)), lower, upper)
        out[0, self.schema.starts[:-1][[not isinstance(feature, Numeric) for feature in self.schema]]] = 1.0
        return out

    def _axis_aligned(self) -> AxisAlignedTree | None:
        """Return the prepared tree if it is axis-aligned and only single features are limited, else None.

        A limit on nodes needs the search, which alone counts them.
        """
        limits, prices = self.limits, self.query.prices
        if (
            self.schema.gaps
            or limits.rows
            or limits.clauses
            or limits.max_changes >= 0
            or limits.pool is not None
            or self.query.max_nodes is not None
        ):
            return None
        if prices.coupling is not None or prices.runs or any((table < 0).any() for table in prices.moves):
            return None
        oblique = self.search.splits(self.query.margin).oblique
        return None if oblique else axis_aligned_tree(self.search, prices, self.query.margin)

    @functools.cached_property
    def _depends_on_row(self) -> bool:
        """Whether some limit depends on the values of the row."""
        gaps = any(isinstance(feature, Finite) and feature.missing for feature in self.schema)
        return gaps or any(isinstance(one, Limit) and (one.from_lower or one.from_upper) for one in self.query.constraints)

    @property
    def chunk(self) -> int:
        """The number of rows to take at once, so that the arrays fit into the processor's caches."""
        per_row = len(self.schema) if self.axis_aligned is not None else 2 * self.schema.width
        return max(32, min(32768, _NUMBERS // per_row))

    def answer(self, at: slice) -> None:
        """Find the answers for a chunk of rows and add them to the results."""
        codes, results = self.rows.codes(at), self.results
        found = self._solve(codes)
        self._solve_parts(codes, found)
        results.status[at] = np.where(found.outcome == Outcome.FOUND, _OPTIMAL, _INFEASIBLE)
        for k in np.flatnonzero(found.outcome == Outcome.UNANSWERED).tolist():
            results.status[at.start + k] = self._alone(at.start + k, codes[k], k, found)
        answered = found.leaves >= 0
        results.costs[at] = found.costs if answered.all() else np.where(answered, found.costs, np.nan)
        results.bounds[at], results.leaves[at] = found.bounds, found.leaves
        results.confirmed[at] = self._confirm(at, codes, found, answered)
        self._note_changes(at, codes, found.points, answered)

    def _solve(self, codes: Array) -> Outcomes:
        return self._by_search(codes) if self.axis_aligned is None else self._by_boxes(codes, self.axis_aligned)

    def _solve_parts(self, codes: Array, found: Outcomes) -> None:
        """Solve the rows that lack numbers, those that lack the same ones together, and write the outcomes into ``found``."""
        gaps = np.isnan(codes) & self._may_be_missing
        lines = np.flatnonzero(gaps.any(axis=1) | self._leaves_out)
        if not len(lines):
            return
        patterns, which = np.unique(gaps[lines], axis=0, return_inverse=True)
        for k in range(len(patterns)):
            here = lines[which.ravel() == k]
            try:
                part = self._part(codes[here[0]])
            except CounterleafError:  # the rows are then refused one by one
                continue
            _put(found, here, part._model_leaves(part._solve(codes[here])))

    def _part(self, code: Array) -> Batch:
        """Return the batch of the rows that lack the same numbers as this one."""
        names = tuple(self.schema.names[d] for d in np.flatnonzero(np.isnan(code) & self._may_be_missing).tolist())
        if self._parts is None or not (names or self._leaves_out):
            return self
        parts = self._parts

        def make() -> Batch:
            search, adapter, prices = parts(names, self.query.cost)
            return Batch(search, adapter, self.rows, replace(self.query, prices=prices), self.threads)

        return self._made.get(names, make)

    def _model_leaves(self, found: Outcomes) -> Outcomes:
        """Return the outcomes with the leaves of the model's tree in place of those of the tree expanded for gaps."""
        origin = self.adapter.origin
        if origin is not None:
            found.leaves[:] = np.where(found.leaves >= 0, origin[found.leaves], -1)
        return found

    def _note_changes(self, at: slice, before: Array, after: Array, answered: Array) -> None:
        """Count the changed features of each row and keep their new codes."""
        differ = before != after if self._parts is None else differs(before, after)
        if not answered.all():
            differ &= answered[:, None]
        if self._leaves_out:
            after = np.where(differ & np.isnan(after), np.inf, after)
        counts = self.results.counts[at]
        for d in np.flatnonzero(_any_line(differ)).tolist():
            counts += differ[:, d]
            codes_are_cells = self.rows.holds_codes(d)  # then a cell that does not change is its code
            self.results.column(d)[at] = after[:, d] if codes_are_cells else np.where(differ[:, d], after[:, d], np.nan)

    def _by_boxes(self, codes: Array, tree: AxisAlignedTree) -> Outcomes:
        """Solve all rows within shared bounds, then again those that need other bounds."""
        if self._depends_on_row:
            return self._by_box_per_row(codes, tree)
        shared = self.limits.lower, self.limits.upper
        if tree.plain:
            found = tree.nearest(codes, self.least, *shared, self.limit, threads=self.threads)
            apart = found.outcome == Outcome.UNANSWERED  # outside the bounds, or with a missing value
        else:
            found = tree.cheapest(codes, self.least, self._target_lines(codes), *shared, self.limit, threads=self.threads)
            apart = self._widens(codes)
        lines = np.flatnonzero(apart)
        if len(lines):
            _put(found, lines, self._by_box_per_row(codes[lines], tree))
        return found

    def _by_box_per_row(self, codes: Array, tree: AxisAlignedTree) -> Outcomes:
        """Solve each row within its own limits."""
        limits = self._limits(self._sources(codes))
        if limits is None:
            return _unsolved(codes)
        bounds = limits.lower, limits.upper
        return tree.cheapest(codes, self.least, self._target_lines(codes), *bounds, self.limit, threads=self.threads)

    def _widens(self, codes: Array) -> Array:
        """Return which rows lie outside the ranges seen in the data, which are widened for them."""
        if not self.schema.inferred:
            return np.zeros(len(codes), bool)
        lower, upper = (end[self.schema.starts[:-1]] for end in self.schema.bounds())
        number = [isinstance(feature, Numeric) for feature in self.schema]
        return np.asarray((((codes < lower) | (codes > upper)) & number).any(axis=1))

    def _limits(self, sources: Array) -> Limits | None:
        """Return the limits of each source; None if they make no sense for one of them, so that each is solved alone."""
        try:
            return lower_constraints(self.query.constraints, self.schema, sources)
        except CounterleafError:
            return None

    def _target_lines(self, codes: Array) -> Array:
        """Return the place of each row's target among the targets."""
        if len(self.targets) == 1:
            return np.zeros(len(codes), np.int64)
        return np.asarray(self.tree.value[self.tree.apply(self._sources(codes))])

    def _by_search(self, codes: Array) -> Outcomes:
        """Search for all valid rows in one call; leave the others, or all of them, to be solved alone."""
        out = _unsolved(codes)
        lines = np.flatnonzero(self._fit(codes))
        if self.limits.pool is not None or self.query.time_limit is not None or not len(lines):
            return out  # the answer is one of the rows of among, or every row has its own time limit
        sources = np.ascontiguousarray(self._spread(codes[lines]))
        limits = self._limits(sources) if self.query.constraints else None
        if self.query.constraints and limits is None:
            return out
        leaves = self.tree.apply(sources)
        targets = self.tree.value[leaves] if len(self.targets) > 1 else np.zeros(len(lines), np.int64)
        budget = _core.Budget(1, self.query.max_nodes, stop=current())
        found = self.search.find_many((sources, leaves, targets), self.query, self.targets, limits, budget, self.threads)
        points = self.schema.gather(found.points)
        _put(out, lines, Outcomes(found.outcome, found.leaves, found.costs, found.bounds, points))
        return out

    def _alone(self, line: int, code: Array, k: int, found: Outcomes) -> int:
        """Solve one row as ``explain`` does; write into ``found`` at k and return the place of the status."""
        found.bounds[k] = np.nan
        try:
            part = self._part(code)
            answer = part._findings(self.rows.one(line))
        except CounterleafError as error:
            self.results.problems[line] = str(error)
            return _INVALID
        found.bounds[k] = answer.lower_bound
        if len(answer.leaves):
            found.leaves[k], found.costs[k], found.bounds[k] = answer.leaves[0], answer.costs[0], answer.bounds[0]
            found.points[k] = part.schema.gather(answer.points[0])
            found.leaves[k] = found.leaves[k] if part.adapter.origin is None else part.adapter.origin[found.leaves[k]]
        return list(Status).index(answer.status)

    def _findings(self, row: Any) -> Findings:
        budget = _core.Budget(1, self.query.max_nodes, self.query.time_limit, stop=current())
        return self.search.certify(self.search.locate(row), self.query, budget).findings

    def _confirm(self, at: slice, codes: Array, found: Outcomes, answered: Array) -> Array:
        """Return whether the model predicts for each answer the class of its leaf."""
        out, after = np.zeros(len(codes), bool), found.points
        lines = np.flatnonzero(answered)
        labels = self.tree.classes[self.tree.value[found.leaves[lines]]]
        try:
            if len(lines) == len(codes) > 0:
                out[:] = self.adapter.labels_many(self.rows, at, codes, after) == labels
            elif len(lines):
                out[lines] = self.adapter.labels_many(self.rows, at.start + lines, codes[lines], after[lines]) == labels
        except CounterleafError:  # the model fails on some row
            for k, label in zip(lines.tolist(), labels.tolist(), strict=True):
                out[k] = self._part(codes[k])._confirm_alone(at.start + k, after[k], label, self.results.problems)
        return out

    def _confirm_alone(self, line: int, code: Array, label: Any, problems: dict[int, str]) -> bool:
        """Return whether the model predicts ``label`` for one answer; if it fails, note the error as the row's problem."""
        point = self._spread(code[None])[0]
        try:
            predicted = self.adapter.labels(point[None], [self.schema.decode(point, self.rows.one(line))])
            return bool(predicted.tolist() == [label])
        except CounterleafError as error:
            problems[line] = str(error)
            return False

    def _sources(self, codes: Array) -> Array:
        """Return the rows as variables, with zeros in place of invalid rows."""
        return self._spread(np.where(self._fit(codes)[:, None], codes, 0.0))

    def _fit(self, codes: Array) -> Array:
        """Return which rows have no number that the model does not take, and a missing one only where there are gaps."""
        missing = [d for d, name in enumerate(self.schema.names) if name in self.schema.gaps]
        if missing:
            codes = codes.copy()
            codes[:, missing] = np.nan_to_num(codes[:, missing], nan=0.0, posinf=np.inf)
        return np.asarray(np.abs(codes).max(axis=1) <= self.limit)

    def _spread(self, codes: Array) -> Array:
        return codes if self.schema.numeric else self.schema.spread(codes)


def _unsolved(codes: Array) -> Outcomes:
    n = len(codes)
    nothing = np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.full(codes.shape, np.nan)
    return Outcomes(np.full(n, Outcome.UNANSWERED, np.int8), *nothing)


def _any_line(flags: Array) -> Array:
    """Return ``flags.any(axis=0)``, computed 64 lines side by side, since NumPy is fast along long lines only."""
    whole = len(flags) // 64 * 64
    side_by_side = flags[:whole].reshape(-1, 64 * flags.shape[1]).any(axis=0).reshape(64, -1)
    return np.asarray(side_by_side.any(axis=0) | flags[whole:].any(axis=0))


def _put(whole: Outcomes, lines: Array, part: Outcomes) -> None:
    """Write the outcomes of some lines into those of all."""
    whole.outcome[lines], whole.leaves[lines], whole.costs[lines] = part.outcome, part.leaves, part.costs
    whole.bounds[lines], whole.points[lines] = part.bounds, part.points


def check(names: Sequence[str], chunk_size: Any) -> None:
    """Refuse features that are named like a column of the results, and a chunk size that is not a number of rows."""
    taken = {*COLUMNS, "problem"} & set(names)
    if taken:
        raise CounterleafError(f"features named {sorted(taken)} collide with columns of the result; rename them")
    if chunk_size is not None and (
        isinstance(chunk_size, bool) or not isinstance(chunk_size, (int, np.integer)) or chunk_size < 1
    ):
        raise CounterleafError(f"chunk_size is {chunk_size!r}; expected a number of rows from 1, or None")


def run(batch: Batch, chunk: int | None, progress: bool) -> Any:
    """Solve all rows, one chunk after another, and return one frame; the core shares each chunk among its threads."""
    n, size = batch.rows.n, chunk or batch.chunk
    with shown(n, progress) as advance:
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            batch.answer(at)
            advance(at.stop - at.start)
    return results_frame(batch.results, batch.rows, batch.tree.classes, batch.tree.value)


def workers(n_jobs: Any) -> int:
    """Return the number of threads; as in scikit-learn, -1 is every core and -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise CounterleafError(f"n_jobs is {n_jobs!r}; expected a number of workers from 1, or -1 for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(n_jobs), _MOST_THREADS) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
