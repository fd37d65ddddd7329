"""Answers for many rows: for every row the answer that ``explain`` gives, without its proof."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
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
from counterleaf.model.decision import Decision, Range
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.question.constraints.kinds import Limit
from counterleaf.question.constraints.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.aims import GUARDS, Aim, Aims
from counterleaf.search.prepared import RecentValues
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


Parts = Callable[[tuple[str, ...]], Any]  # from the names of missing numbers to the explainer of rows that lack them


class Batch:
    """One query about many rows. Everything that does not depend on the row is computed once, here.

    Rows that lack the same numbers are a batch of their own, made by ``parts``.
    """

    def __init__(
        self, aims: Aims, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
    ) -> None:
        self.aims, self.adapter, self.rows, self.query, self.threads = aims, adapter, rows, query, threads
        self._parts, self._made = None if adapter.routes is None else parts, RecentValues()
        self.schema, self.model = aims.schema, aims.tree
        by_class = query.target is None and not self.model.is_regression
        sources = range(len(self.model.classes)) if by_class else (0,)  # without a target, one per class of the row
        self.each = [aims.at(aims.goal(query, source)) for source in sources]
        self.search, self.decision = self.each[0].search, self.each[0].decision
        self.tree = self.search.tree
        self.apart = any(aim.search is not self.search for aim in self.each)  # the targets have trees of their own
        self.targets = [aim.decision.target for aim in self.each]
        nodes = [aim.search.aim(aim.decision.target, query.margin).nodes for aim in self.each]
        self.limits = lower_constraints(query.constraints, self.schema, self._neutral())  # finds mistakes before the work
        self.limit = float(np.finfo(self.tree.dtype).max)
        self.axis_aligned = self._axis_aligned()
        # the least class cost below each node, one line per target
        self.least = np.stack([one["below"] for one in nodes[: 1 if self.apart else None]])
        numbers = [isinstance(feature, Numeric) for feature in self.schema]
        self._may_be_missing = np.array(numbers) & (self._parts is not None)
        self._leaves_out = self._parts is not None and adapter.leaves_out

    @functools.cached_property
    def results(self) -> Results:
        """The answers."""
        computed = self.model.computes or isinstance(self.decision.goal, Range)
        return Results(self.rows.n, self.model.is_regression) if computed else Results(self.rows.n)

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
            self.apart
            or self.schema.gaps
            or self.decision.curved
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
        left = np.arange(len(codes)) if self._leaves_out else np.flatnonzero(found.outcome == Outcome.UNANSWERED)
        for part, here in self._gappy_parts(codes, left):
            solved = part._solve(codes[here])
            solved.leaves[:] = part._model_leaves(solved.leaves)
            _put(found, here, solved)
        results.status[at] = np.where(found.outcome == Outcome.FOUND, _OPTIMAL, _INFEASIBLE)
        for k in np.flatnonzero(found.outcome == Outcome.UNANSWERED).tolist():
            results.status[at.start + k] = self._alone(at.start + k, codes[k], k, found)
        answered = found.leaves >= 0
        if results.labels is not None:
            self._note_labels(at, codes, found.points, answered)
        confirmed = self._confirm(at, codes, found, answered)
        for k in np.flatnonzero(answered & ~confirmed).tolist() if self.aims.may_round(self.decision) else ():
            confirmed[k] = self._clear_of_rounding(at, codes, k, found)
        results.confirmed[at] = confirmed
        results.costs[at] = found.costs if answered.all() else np.where(answered, found.costs, np.nan)
        results.bounds[at], results.leaves[at] = found.bounds, found.leaves
        self._note_changes(at, codes, found.points, answered)

    def _clear_of_rounding(self, at: slice, codes: Array, k: int, found: Outcomes) -> bool:
        """Solve a row whose answer the model refutes again, further from the splits; return whether it confirms that."""
        line, only = at.start + k, np.arange(len(codes)) == k
        for guard in () if line in self.results.problems else GUARDS:
            self.results.status[line] = self._alone(line, codes[k], k, found, guard)
            if self.results.labels is not None:
                self._note_labels(at, codes, found.points, only)
            if self._confirm_alone(line, codes[k], found.points[k], int(found.leaves[k])):
                return True
        return False

    def _solve(self, codes: Array) -> Outcomes:
        return self._by_search(codes) if self.axis_aligned is None else self._by_boxes(codes, self.axis_aligned)

    def _gappy_parts(self, codes: Array, lines: Array) -> Iterator[tuple[Batch, Array]]:
        """Yield those of some lines that lack numbers, as the lines that lack the same ones and the batch of these."""
        if not len(lines):
            return
        gaps = np.isnan(codes[lines]) & self._may_be_missing
        left = gaps.any(axis=1) | self._leaves_out
        if not left.any():
            return
        patterns, which = np.unique(gaps[left], axis=0, return_inverse=True)
        for k in range(len(patterns)):
            here = lines[left][which.ravel() == k]
            with contextlib.suppress(CounterleafError):  # the rows are then refused one by one
                yield self._part(codes[here[0]]), here

    def _part(self, code: Array) -> Batch:
        """Return the batch of the rows that lack the same numbers as this one."""
        names = tuple(self.schema.names[d] for d in np.flatnonzero(np.isnan(code) & self._may_be_missing).tolist())
        if self._parts is None or not (names or self._leaves_out):
            return self
        parts = self._parts

        def make() -> Batch:
            made = parts(names)
            query = replace(self.query, prices=made._prices(self.query.cost))
            return Batch(made._aims, made._adapter, self.rows, query, self.threads)

        return self._made.get(names, make)

    def _model_leaves(self, leaves: Array) -> Array:
        """Return the leaves of the model's tree in place of those of a tree expanded for gaps."""
        origin = self.adapter.origin
        return leaves if origin is None else np.asarray(np.where(leaves >= 0, origin[leaves], -1))

    def _note_labels(self, at: slice, before: Array, after: Array, answered: Array) -> None:
        """Keep the class or value of each answer, and its probability if the target is about one."""
        lines, labels = np.flatnonzero(answered), self.results.labels
        assert labels is not None
        parts = list(self._gappy_parts(before, lines))
        known = np.setdiff1d(lines, np.concatenate([np.empty(0, np.int64), *(here for _, here in parts)]))
        for part, here in [(self, known), *parts]:
            points = part._spread(after[here])
            targets = part._lines_of(part._sources(before[here]))
            classes = self.model.classes.tolist()
            for k, label, place in zip(here.tolist(), part.decision.labels(points), targets.tolist(), strict=True):
                labels[at.start + k] = label
                reached = isinstance(self.decision.goal, Range) or label in {classes[t] for t in self.targets[place]}
                self.results.reached[at.start + k] = reached
            if self.decision.predicted >= 0:
                self.results.probabilities[at.start + here] = part.decision.numbers(points)

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
        return self._lines_of(self._sources(codes))

    def _lines_of(self, sources: Array) -> Array:
        """Return the place of the target of each row, given as variables: its class, if every class has its own target."""
        if len(self.targets) == 1:
            return np.zeros(len(sources), np.int64)
        leaves = self.model.apply(sources)
        known = self.model.value[leaves]
        if (known >= 0).all() or self.model.outputs is None:
            return np.asarray(known)
        return np.asarray(np.where(known < 0, self.model.outputs.at(leaves, sources).argmax(axis=1), known))

    def _by_search(self, codes: Array) -> Outcomes:
        """Search for all valid rows in one call; leave the others, or all of them, to be solved alone."""
        out = _unsolved(codes)
        lines = np.flatnonzero(self._fit(codes))
        alone = self.limits.pool is not None or self.query.time_limit is not None or self.decision.curved
        if alone or not len(lines):
            return out  # the answer is one of the rows of among, or every row has its own time limit or tangents
        sources = np.ascontiguousarray(self._spread(codes[lines]))
        places = self._lines_of(sources)
        if not self.apart:
            self._search_together(out, lines, sources, places, self.each[0])
            return out
        for place, aim in enumerate(self.each):
            here = np.flatnonzero(places == place)
            if len(here):
                self._search_together(out, lines[here], sources[here], np.zeros(len(here), np.int64), aim)
        return out

    def _search_together(self, out: Outcomes, lines: Array, sources: Array, places: Array, aim: Aim) -> None:
        """Search for some rows in one call; ``places`` are those of their targets."""
        limited = self.query.constraints or self.schema.lists
        limits = self._limits(sources) if limited else None
        if limited and limits is None:
            return
        targets = [aim.decision.target] if self.apart else self.targets
        budget = _core.Budget(1, self.query.max_nodes, stop=current())
        begun = sources, aim.search.tree.apply(sources), places
        found = aim.search.find_many(begun, self.query, targets, limits, budget, self.threads)
        leaves = np.where(found.leaves >= 0, aim.decision.origin[found.leaves], -1)
        points = self.schema.gather(found.points)
        _put(out, lines, Outcomes(found.outcome, leaves, found.costs, found.bounds, points))

    def _alone(self, line: int, code: Array, k: int, found: Outcomes, guard: float = 0.0) -> int:
        """Solve one row as ``explain`` does; write into ``found`` at k and return the place of the status."""
        found.bounds[k] = found.bounds[k] if guard else np.nan
        try:
            part = self._part(code)
            certificate, decision = part._certified(self.rows.one(line), guard)
        except CounterleafError as error:
            self.results.problems[line] = str(error)
            return _INVALID
        answer = certificate.findings
        if guard and not len(answer.leaves):
            return int(self.results.status[line])  # the answer that was found stays
        found.bounds[k] = answer.lower_bound
        if len(answer.leaves):
            leaf = part._model_leaves(decision.origin[answer.leaves[:1]])[0]
            found.leaves[k], found.costs[k], found.bounds[k] = leaf, answer.costs[0], answer.bounds[0]
            found.points[k] = part.schema.gather(answer.points[0])
        return list(Status).index(answer.status)

    def _certified(self, row: Any, guard: float = 0.0) -> tuple[Certificate, Decision]:
        budget = _core.Budget(1, self.query.max_nodes, self.query.time_limit, stop=current())
        return self.aims.certify(self.aims.locate(row), self.query, budget, guard=guard)

    def _confirm(self, at: slice, codes: Array, found: Outcomes, answered: Array) -> Array:
        """Return whether the model predicts for each answer the class of its leaf, or reaches the interval of the target."""
        out, after = np.zeros(len(codes), bool), found.points
        lines, output = np.flatnonzero(answered), self.decision.predicted
        try:
            if len(lines) == len(codes) > 0:
                predicted = self.adapter.predictions_many(self.rows, at, (codes, after), output)
                out[:] = self._agree(predicted, at.start + lines, found.leaves)
            elif len(lines):
                changed = codes[lines], after[lines]
                predicted = self.adapter.predictions_many(self.rows, at.start + lines, changed, output)
                out[lines] = self._agree(predicted, at.start + lines, found.leaves[lines])
        except CounterleafError:  # the model fails on some row
            for k in lines.tolist():
                out[k] = self._confirm_alone(at.start + k, codes[k], after[k], int(found.leaves[k]))
        return out

    def _agree(self, predicted: Array, lines: Array, leaves: Array) -> Array:
        """Return whether predictions are those that the answers to some lines claim."""
        goal, labels = self.decision.goal, self.results.labels
        if isinstance(goal, Range):
            return np.asarray(goal.holds(predicted))
        if labels is None:
            return np.asarray(predicted == self.model.classes[self.model.value[leaves]])
        return np.asarray((predicted == labels[lines]) & self.results.reached[lines])

    def _confirm_alone(self, line: int, before: Array, code: Array, leaf: int) -> bool:
        """Return whether the model agrees with one answer; if it fails, note the error as the row's problem."""
        part = self._part(before)
        point = part._spread(code[None])[0]
        try:
            rows = [part.schema.decode(point, self.rows.one(line))]
            predicted = part.adapter.predictions(point[None], rows, self.decision.predicted)
            return bool(self._agree(predicted, np.array([line]), np.array([leaf]))[0])
        except CounterleafError as error:
            self.results.problems[line] = str(error)
            return False

    def _sources(self, codes: Array) -> Array:
        """Return the rows as variables, with zeros in place of invalid rows."""
        return self._spread(np.where(self._fit(codes)[:, None], codes, 0.0))

    def _fit(self, codes: Array) -> Array:
        """Return which rows have no number that the model does not take, and a missing one only where there are gaps."""
        missing = [d for d, name in enumerate(self.schema.names) if name in self.schema.gaps]
        if missing:
            codes = codes.copy()
            lower, upper = (end[self.schema.starts[missing]] for end in self.schema.bounds())
            beyond = ((codes[:, missing] < lower) | (codes[:, missing] > upper)) & (not self.schema.inferred)
            codes[:, missing] = np.where(beyond, np.inf, np.nan_to_num(codes[:, missing], nan=0.0, posinf=np.inf))
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
    return results_frame(batch.results, batch.rows, batch.model.classes, batch.model.value)


def workers(n_jobs: Any) -> int:
    """Return the number of threads; as in scikit-learn, -1 is every core and -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise CounterleafError(f"n_jobs is {n_jobs!r}; expected a number of workers from 1, or -1 for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(n_jobs), _MOST_THREADS) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
