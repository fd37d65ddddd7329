"""From the codes of many rows to their cheapest leaves. Everything that does not depend on the row is computed once."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.batch.axis_aligned import AxisAlignedTree, axis_aligned_tree
from counterleaf.batch.few_digits import FewDigits, steps
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.core.stopping import current
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.question.constraints.cases import cases
from counterleaf.question.constraints.kinds import Limit
from counterleaf.question.constraints.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.aims import Aim, Aims
from counterleaf.search.prepared import RecentValues
from counterleaf.search.rounds import Solved, solve
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_NUMBERS = 1 << 19  # numbers in the arrays of one chunk of rows

Parts = Callable[[tuple[str, ...]], Any]  # from the names of missing numbers to the explainer of rows that lack them


class Solver:
    """One query about many rows.

    Rows that lack the same numbers have a solver of their own, made by ``parts``.
    """

    def __init__(
        self, aims: Aims, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
    ) -> None:
        self.aims, self.adapter, self.rows, self.query, self.threads = aims, adapter, rows, query, threads
        self.parts, self._made = None if adapter.routes is None else parts, RecentValues()
        self.schema, self.model = aims.schema, aims.tree
        by_class = query.target is None and not self.model.is_regression
        sources = range(len(self.model.classes)) if by_class else (0,)  # without a target, one per class of the row
        self.each = [aims.at(aims.goal(query, source), support=query.support) for source in sources]
        self.search, self.decision = self.each[0].search, self.each[0].decision
        self.tree = self.search.tree
        self.apart = any(aim.search is not self.search for aim in self.each)  # the targets have trees of their own
        self.targets = [aim.decision.target for aim in self.each]
        nodes = [aim.search.aim(aim.decision.target, query.margin).nodes for aim in self.each]
        split = cases(query.constraints, self.schema)
        limits = [lower_constraints(case, self.schema, self._neutral()) for case in split]  # finds mistakes before the work
        self.is_split, self.constraints, self.limits = len(split) > 1, split[0], limits[0]
        self.limit = float(np.finfo(self.tree.dtype).max)
        self.axis_aligned = self._axis_aligned()
        # the least class cost below each node, one line per target
        self.least = np.stack([one["below"] for one in nodes[: 1 if self.apart else None]])
        numbers = [isinstance(feature, Numeric) for feature in self.schema]
        self._may_be_missing = np.array(numbers) & (self.parts is not None)
        self.leaves_out = self.parts is not None and adapter.leaves_out

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
            or self.is_split
            or self.schema.gaps
            or self.decision.curved
            or limits.rows
            or limits.clauses
            or limits.max_changes >= 0
            or limits.pool is not None
            or limits.near is not None
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
        return gaps or any(isinstance(one, Limit) and (one.from_lower or one.from_upper) for one in self.constraints)

    @property
    def chunk(self) -> int:
        """The number of rows to take at once, so that the arrays fit into the processor's caches."""
        per_row = len(self.schema) if self.axis_aligned is not None else 2 * self.schema.width
        return max(32, min(32768, _NUMBERS // per_row))

    def found(self, codes: Array) -> Outcomes:
        """Find the cheapest leaf of every row; rows that need a search of their own remain UNANSWERED."""
        found = self.solve(codes)
        left = np.arange(len(codes)) if self.leaves_out else np.flatnonzero(found.outcome == Outcome.UNANSWERED)
        for part, here in self.gappy_parts(codes, left):
            solved = part.solve(codes[here])
            solved.leaves[:] = part.model_leaves(solved.leaves)
            put(found, here, solved)
        return found

    def solve(self, codes: Array) -> Outcomes:
        """Find the cheapest leaves of rows without gaps."""
        return self._by_search(codes) if self.axis_aligned is None else self._by_boxes(codes, self.axis_aligned)

    def gappy_parts(self, codes: Array, lines: Array) -> Iterator[tuple[Solver, Array]]:
        """Yield those of some lines that lack numbers, as the lines that lack the same ones and the batch of these."""
        if not len(lines):
            return
        gaps = np.isnan(codes[lines]) & self._may_be_missing
        left = gaps.any(axis=1) | self.leaves_out
        if not left.any():
            return
        patterns, which = np.unique(gaps[left], axis=0, return_inverse=True)
        for k in range(len(patterns)):
            here = lines[left][which.ravel() == k]
            with contextlib.suppress(CounterleafError):  # the rows are then refused one by one
                yield self.part(codes[here[0]]), here

    def part(self, code: Array) -> Solver:
        """Return the batch of the rows that lack the same numbers as this one."""
        names = tuple(self.schema.names[d] for d in np.flatnonzero(np.isnan(code) & self._may_be_missing).tolist())
        if self.parts is None or not (names or self.leaves_out):
            return self
        parts = self.parts

        def make() -> Solver:
            made = parts(names)
            query = replace(self.query, prices=made._prices(self.query.cost))
            return type(self)(made._aims, made._adapter, self.rows, query, self.threads)

        return self._made.get(names, make)

    def each_part(self, codes: Array, lines: Array) -> Iterator[tuple[Solver, Array]]:
        """Yield some lines as those that lack the same numbers, each with its solver."""
        left = np.zeros(len(codes), bool)
        left[lines] = True
        for part, here in self.gappy_parts(codes, lines):
            left[here] = False
            yield part, here
        if left.any():
            yield self, np.flatnonzero(left)

    def shorten(self, codes: Array, points: Array) -> tuple[Array, Array]:
        """Return answers with few digits, and which of them need a closer look, see ``FewDigits``."""
        out, left = points.copy(), np.zeros(len(points), bool)
        for few, here in self._by_target(codes):
            sources, exact = self.spread(codes[here]), self.spread(points[here])
            limits = self.limits_of(sources) if self._depends_on_row else self.limits
            if limits is None:
                left[here] = steps(self.schema, sources, exact).any(axis=1)
            else:
                short, left[here] = few.shorten(sources, exact, limits)
                out[here] = short if self.schema.numeric else self.schema.gather(short)
        return out, left

    def survives(self, codes: Array, points: Array) -> Array:
        """Return which answers stay valid when their numbers are rounded as other programs do, see ``FewDigits``."""
        out = np.ones(len(points), bool)
        for few, here in self._by_target(codes):
            out[here] = few.survives(self.spread(points[here]))
        return out

    def _by_target(self, codes: Array) -> Iterator[tuple[FewDigits, Array]]:
        """Yield the lines whose target has the same tree, with the class that rounds their answers."""
        lines = self._target_lines(codes) if self.apart else np.zeros(1, np.int64)
        for place in np.unique(lines).tolist():
            few = self._made.get(("few", place), functools.partial(FewDigits, self.each[place], self.query))
            yield few, np.flatnonzero(lines == place) if self.apart else np.arange(len(codes))

    def source_labels(self, codes: Array) -> Array:
        """Return the place of the class of each row, or its value for regression; -1 or NaN for rows that are invalid."""
        good, regression = np.flatnonzero(self.fit(codes)), self.model.is_regression
        out = np.full(len(codes), np.nan) if regression else np.full(len(codes), -1)
        if len(good):
            rows = self.spread(codes[good])
            out[good] = self.decision.labels(rows) if regression else self._classes_of(rows)
        return out

    def model_leaves(self, leaves: Array) -> Array:
        """Return the leaves of the model's tree in place of those of a tree expanded for gaps."""
        origin = self.adapter.origin
        return leaves if origin is None else np.asarray(np.where(leaves >= 0, origin[leaves], -1))

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
            put(found, lines, self._by_box_per_row(codes[lines], tree))
        return found

    def _by_box_per_row(self, codes: Array, tree: AxisAlignedTree) -> Outcomes:
        """Solve each row within its own limits."""
        limits = self.limits_of(self.sources(codes))
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

    def limits_of(self, sources: Array) -> Limits | None:
        """Return the limits of each source; None if they make no sense for one of them, so that each is solved alone."""
        try:
            return lower_constraints(self.constraints, self.schema, sources)
        except CounterleafError:
            return None

    def _target_lines(self, codes: Array) -> Array:
        """Return the place of each row's target among the targets."""
        return self.lines_of(self.sources(codes))

    def lines_of(self, sources: Array) -> Array:
        """Return the place of the target of each row, given as variables: its class, if every class has its own target."""
        return np.zeros(len(sources), np.int64) if len(self.targets) == 1 else self._classes_of(sources)

    def _classes_of(self, sources: Array) -> Array:
        """Return the place of the class of each row, given as variables."""
        leaves = self.model.apply(sources)
        known = self.model.value[leaves]
        if (known >= 0).all() or self.model.outputs is None:
            return np.asarray(known)
        return np.asarray(np.where(known < 0, self.model.outputs.at(leaves, sources).argmax(axis=1), known))

    @property
    def alone(self) -> bool:
        """Whether each row needs a search of its own: its answer is one of given rows, or it has a time limit or tangents."""
        searched = self.axis_aligned is None and (self.query.time_limit is not None or self.decision.curved)
        return searched or self.is_split or self.limits.pool is not None or self.limits.near is not None

    def _by_search(self, codes: Array) -> Outcomes:
        """Search for all valid rows in one call; leave the others, or all of them, to be solved alone."""
        out = _unsolved(codes)
        lines = np.flatnonzero(self.fit(codes))
        if self.alone or not len(lines):
            return out
        sources = np.ascontiguousarray(self.spread(codes[lines]))
        places = self.lines_of(sources)
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
        limits = self.limits_of(sources) if self.constraints else None
        if self.constraints and limits is None:
            return
        targets = [aim.decision.target] if self.apart else self.targets
        budget = _core.Budget(1, self.query.max_nodes, stop=current())
        begun = sources, aim.search.tree.apply(sources), places
        found = aim.search.find_many(begun, self.query, targets, limits, budget, self.threads)
        leaves = np.where(found.leaves >= 0, aim.decision.origin[found.leaves], -1)
        points = self.schema.gather(found.points)
        put(out, lines, Outcomes(found.outcome, leaves, found.costs, found.bounds, points))

    def certified(self, row: Any, guard: float = 0.0) -> Solved:
        """Solve one row as ``explain`` does."""
        until = math.inf if self.query.time_limit is None else time.perf_counter() + self.query.time_limit
        return solve(self.aims, self.aims.locate(row), self.query, until, guard=guard)

    def sources(self, codes: Array) -> Array:
        """Return the rows as variables, with zeros in place of invalid rows."""
        return self.spread(np.where(self.fit(codes)[:, None], codes, 0.0))

    def fit(self, codes: Array) -> Array:
        """Return which rows have no number that the model does not take, and a missing one only where there are gaps."""
        missing = [d for d, name in enumerate(self.schema.names) if name in self.schema.gaps]
        if missing:
            codes = codes.copy()
            lower, upper = (end[self.schema.starts[missing]] for end in self.schema.bounds())
            beyond = ((codes[:, missing] < lower) | (codes[:, missing] > upper)) & (not self.schema.inferred)
            codes[:, missing] = np.where(beyond, np.inf, np.nan_to_num(codes[:, missing], nan=0.0, posinf=np.inf))
        return np.asarray(np.abs(codes).max(axis=1) <= self.limit)

    def spread(self, codes: Array) -> Array:
        """Return codes as variables."""
        return codes if self.schema.numeric else self.schema.spread(codes)


def _unsolved(codes: Array) -> Outcomes:
    n = len(codes)
    nothing = np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.full(codes.shape, np.nan)
    return Outcomes(np.full(n, Outcome.UNANSWERED, np.int8), *nothing)


def put(whole: Outcomes, lines: Array, part: Outcomes) -> None:
    """Write the outcomes of some lines into those of all."""
    whole.outcome[lines], whole.leaves[lines], whole.costs[lines] = part.outcome, part.leaves, part.costs
    whole.bounds[lines], whole.points[lines] = part.bounds, part.points
