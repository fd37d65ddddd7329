"""From the codes of many rows to their cheapest leaves. Everything that does not depend on the row is computed once."""

from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from counterleaf import _core
from counterleaf.batch.axis_aligned import Avoided, boxes_of
from counterleaf.batch.few_digits import FewDigits, shorten_one, steps
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.core.stopping import current
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.model.decision import Decision, Goal
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Answer
from counterleaf.question.constraints.conditions import cases
from counterleaf.question.constraints.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.targets import AnyDecision, RecentValues, Solved, Targets
from counterleaf.search.tree import TreeTarget, TreeTargets
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_NUMBERS = 1 << 19  # numbers in the arrays of one chunk of rows

Parts = Callable[[tuple[str, ...]], Any]  # from the names of missing numbers to the explainer of rows that lack them


class Solver(ABC):
    """One query about many rows; those with the same missing numbers have a solver of their own, made by ``parts``."""

    in_threads: ClassVar[bool]  # whether rows that are solved alone are solved several at a time
    words_by_proof: ClassVar[bool]  # whether words are put with the digits that the proof of each answer allows
    targets: Targets
    model: Tree | Ensemble
    decision: AnyDecision  # what is decided for the first target

    def __init__(
        self, targets: Targets, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
    ) -> None:
        self.targets, self.adapter, self.rows, self.query, self.threads = targets, adapter, rows, query, threads
        self.parts, self._made = None if adapter.routes is None else parts, RecentValues()
        self.schema, self.model = targets.schema, adapter.tree
        by_class = query.question.target is None and not self.model.is_regression
        goals = [targets.goal(query, source) for source in (range(len(self.model.classes)) if by_class else (0,))]
        self.decisions = self._decided(goals)
        self.decision = self.decisions[0]
        # the classes to reach, with their costs; one per class of the row without a target
        self.class_costs = [decision.target for decision in self.decisions]
        split = cases(query.constraints, self.schema, singly=targets.splits_implications)
        limits = [lower_constraints(case, self.schema, self._neutral()) for case in split]  # finds mistakes before the work
        self.cases, self.is_split, self.constraints, self.limits = split, len(split) > 1, split[0], limits[0]
        self.limit = float(np.finfo(self.model.dtype).max)
        numbers = [isinstance(feature, Numeric) for feature in self.schema]
        self._may_be_missing = np.array(numbers) & (self.parts is not None)
        self.leaves_out = self.parts is not None and adapter.leaves_out
        targets.refuse(query)

    @abstractmethod
    def _decided(self, goals: list[Goal]) -> list[AnyDecision]:
        """Return what is decided for each target."""

    @property
    def chunk(self) -> int:
        """The number of rows to take at once, so that the arrays fit into the processor's caches."""
        return max(32, min(32768, _NUMBERS // (2 * self.schema.width)))

    @property
    @abstractmethod
    def alone(self) -> bool:
        """Whether each row needs a search of its own."""

    @property
    @abstractmethod
    def digits_by_proof(self) -> bool:
        """Whether only the search of a row knows the whole problem that its answer solves, and so how to round it."""

    @functools.cached_property
    def may_round(self) -> bool:
        """Whether the model may refute an answer to one of the targets, see ``Targets``."""
        return any(map(self.targets.may_round, self.decisions))

    @abstractmethod
    def found(self, codes: Array) -> Outcomes:
        """Find the cheapest answer of every row; rows that need a search of their own remain UNANSWERED."""

    def solved_alone(self, lines: Iterable[int], codes: Array) -> Iterator[Solved | CounterleafError]:
        """Yield what a search of its own finds for each of some rows, in order, or why the row cannot be explained."""
        for line, code in zip(lines, codes, strict=True):
            yield self.solved(line, code)

    def shorten(self, codes: Array, points: Array) -> tuple[Array, Array]:
        """Return answers with few digits, and which of them need a closer look; as they are if proofs tell their digits."""
        return points.copy(), np.zeros(len(points), bool)

    def shortened(self, line: int, exact: Array) -> Array:
        """Return an answer that needs a closer look with few digits, as ``print`` writes it."""
        return exact

    @abstractmethod
    def survives(self, codes: Array, points: Array) -> Array:
        """Return which answers stay valid when their numbers are rounded as other programs do."""

    def model_leaves(self, leaves: Array) -> Array:
        """Return the leaves of the model itself in place of those of one expanded for missing values."""
        return leaves

    @abstractmethod
    def _classes_of(self, sources: Array) -> Array:
        """Return the place of the class of each row, given as variables."""

    def labels(self, rows: Array) -> list[Any]:
        """Return the class of each row, given as variables, or its value for regression."""
        return self.decision.labels(rows)

    def numbers(self, rows: Array) -> list[float] | None:
        """Return the probability or value of each row that the target is about; None if it is about classes."""
        return self.decision.numbers(rows)

    def _neutral(self) -> Array:
        """Return a row that widens no bounds and has no missing value."""
        lower, upper = self.schema.bounds()
        out = np.clip(np.zeros((1, self.schema.width)), lower, upper)
        out[0, self.schema.starts[:-1][[not isinstance(feature, Numeric) for feature in self.schema]]] = 1.0
        return out

    def gappy_parts(self, codes: Array, lines: Array) -> Iterator[tuple[Self, Array]]:
        """Yield those of some lines with missing numbers, as the lines that miss the same ones and the batch of these."""
        if not len(lines) or not (self._may_be_missing.any() or self.leaves_out):
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

    def part(self, code: Array) -> Self:
        """Return the batch of the rows with the same missing numbers as this one."""
        names = tuple(self.schema.names[d] for d in np.flatnonzero(np.isnan(code) & self._may_be_missing).tolist())
        if self.parts is None or not (names or self.leaves_out):
            return self
        parts = self.parts

        def make() -> Any:
            made = parts(names)
            query = replace(self.query, prices=made._prices(self.query.cost))
            return type(self)(made._targets, made._adapter, self.rows, query, self.threads)

        found: Self = self._made.get(names, make)
        return found

    def each_part(self, codes: Array, lines: Array) -> Iterator[tuple[Self, Array]]:
        """Yield some lines as those with the same missing numbers, each with its solver."""
        left = np.zeros(len(codes), bool)
        left[lines] = True
        for part, here in self.gappy_parts(codes, lines):
            left[here] = False
            yield part, here
        if left.any():
            yield self, np.flatnonzero(left)

    def source_labels(self, codes: Array, lines: Array) -> Array:
        """Return the place of the class of each row, or its value for regression, as the model itself says it of the table.

        It is -1 or NaN for rows that are invalid.
        """
        known = self._labels_of_tree(codes)
        if not self.adapter.labels_sources or not len(lines):
            return known
        try:
            said = self.adapter.predictions_many(self.rows, lines, (codes, codes))
        except CounterleafError:  # the model fails on some row
            said = np.full(len(lines), None, object)
            for k, line in enumerate(lines.tolist()):
                with contextlib.suppress(CounterleafError):
                    said[k] = self.adapter.predictions(self.spread(codes[[k]]), [self.rows.one(line)])[0]
        if known.dtype == float:
            said = said.astype(float)
            return np.where(np.isclose(said, known, rtol=1e-9, atol=1e-9) | np.isnan(known), known, said)
        places = {label: k for k, label in enumerate(self.model.classes.tolist())}
        return np.array([places.get(label, -1) for label in said.tolist()])

    def _labels_of_tree(self, codes: Array) -> Array:
        good, regression = np.flatnonzero(self.fit(codes)), self.model.is_regression
        out = np.full(len(codes), np.nan) if regression else np.full(len(codes), -1)
        if len(good):
            rows = self.spread(codes if len(good) == len(codes) else codes[good])
            out[good] = self.labels(rows) if regression else self._classes_of(rows)
        return out

    def limits_of(self, sources: Array) -> Limits | None:
        """Return the limits of each source; None if they make no sense for one of them, so that each is solved alone."""
        try:
            return lower_constraints(self.constraints, self.schema, sources)
        except CounterleafError:
            return None

    def lines_of(self, sources: Array) -> Array:
        """Return the place of the target of each row, given as variables: its class, if every class has its own target."""
        return np.zeros(len(sources), np.int64) if len(self.class_costs) == 1 else self._classes_of(sources)

    def solved(self, line: int, code: Array, guard: float = 0.0) -> Solved | CounterleafError:
        """Return what a search of its own finds for one row, or why the row cannot be explained."""
        try:
            return self.part(code).certified(self.rows.one(line), guard)
        except CounterleafError as error:
            return error

    def certified(self, row: Any, guard: float = 0.0) -> Solved:
        """Solve one row as ``explain`` does."""
        return self.targets.solve(self.targets.locate(row), self.query, self.query.until, guard=guard)

    def sources(self, codes: Array) -> Array:
        """Return the rows as variables, with zeros in place of invalid rows."""
        return self.spread(np.where(self.fit(codes)[:, None], codes, 0.0))

    def fit(self, codes: Array) -> Array:
        """Return which rows have no number that the model does not take, and a missing one only where the schema allows it."""
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


class TreeSolver(Solver):
    """One query about many rows of a tree."""

    in_threads, words_by_proof = False, False
    targets: TreeTargets
    model: Tree
    decision: Decision

    def _decided(self, goals: list[Goal]) -> list[AnyDecision]:
        self.each = [self.targets.at(goal, support=self.query.support) for goal in goals]
        self.search = self.each[0].search
        self.apart = any(target.search is not self.search for target in self.each)  # the targets have trees of their own
        return [target.decision for target in self.each]

    @functools.cached_property
    def least(self) -> Array:
        """The least class cost below each node, one line per target."""
        alike = self.each[: 1 if self.apart else None]
        return np.stack([one.search.target(one.decision.target, self.query.margin).nodes["below"] for one in alike])

    @functools.cached_property
    def axis_aligned(self) -> _core.Boxes | None:
        """The prepared tree if it is axis-aligned and only single features are limited; max_nodes needs the search."""
        limits, prices = self.limits, self.query.prices
        if (
            self.apart
            or self.is_split
            or self.schema.gaps
            or self.decision.curved
            or limits.rows
            or limits.clauses
            or self._moves_freely
            or limits.pool is not None
            or limits.near is not None
            or self.query.question.max_nodes is not None
        ):
            return None
        if prices.coupling is not None or prices.runs or any((table < 0).any() for table in prices.moves):
            return None
        oblique = self.search.splits(self.query.margin).oblique
        return None if oblique else boxes_of(self.search, prices, self.query.margin)

    @functools.cached_property
    def _moves_freely(self) -> bool:
        """Whether some number costs as much far away as near: of several cheapest rows, the search chooses another one."""
        numbers = self.schema.starts[[d for d, feature in enumerate(self.schema) if isinstance(feature, Numeric)]]
        curve_up, slope_up, curve_down, slope_down = self.query.prices.rows[:, numbers]
        return bool(((curve_up == 0) & (slope_up == 0)).any() or ((curve_down == 0) & (slope_down == 0)).any())

    @functools.cached_property
    def _depends_on_row(self) -> bool:
        """Whether some limit depends on the values of the row."""
        gaps = any(isinstance(feature, Finite) and feature.missing for feature in self.schema)
        return gaps or any(one.relative for one in self.constraints)

    @property
    def chunk(self) -> int:
        """The number of rows to take at once; boxes need fewer numbers for each."""
        per_row = 2 * self.schema.width if self.axis_aligned is None else len(self.schema)
        return max(32, min(32768, _NUMBERS // per_row))

    def found(self, codes: Array, avoided: Avoided | None = None) -> Outcomes:
        """Find the cheapest leaf of every row; rows that need a search of their own remain UNANSWERED.

        ``avoided`` are limits on the features that change, besides those of the query.
        """
        found = self.solve(codes, avoided)
        left = np.arange(len(codes)) if self.leaves_out else np.flatnonzero(found.outcome == Outcome.UNANSWERED)
        for part, here in self.gappy_parts(codes, left):
            solved = part.solve(codes[here], None if avoided is None else avoided.of(here))
            solved.leaves[:] = part.model_leaves(solved.leaves)
            put(found, here, solved)
        return found

    def solve(self, codes: Array, avoided: Avoided | None = None) -> Outcomes:
        """Find the cheapest leaves of rows without missing values."""
        if self.axis_aligned is None:
            return self._by_search(codes, avoided)
        return self._by_boxes(codes, self.axis_aligned, avoided)

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

    def shortened(self, line: int, exact: Array) -> Array:
        """Return one answer with few digits, as ``print`` writes it."""
        if self.limits.pool is not None:  # given rows stay as they are
            return exact
        source, row = self.targets.locate(self.rows.one(line)), self.spread(exact[None])[0]
        target = self.each[int(self.lines_of(source.vector[None])[0])]
        problem, leaf = target.problem_of(source, self.query), target.decision.tree.leaf_of(row)
        cost = float(problem.cost_of(row[None])[0] + problem.question.nodes["below"][leaf])
        return self.schema.gather(shorten_one(self.schema, problem, Answer(leaf, row, cost, cost)))

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

    def model_leaves(self, leaves: Array) -> Array:
        """Return the leaves of the model's tree in place of those of a tree expanded for missing values."""
        origin = self.adapter.origin
        return leaves if origin is None else np.asarray(np.where(leaves >= 0, origin[leaves], -1))

    def _by_boxes(self, codes: Array, tree: _core.Boxes, avoided: Avoided | None) -> Outcomes:
        """Solve all rows within shared bounds, then again those that need other bounds."""
        if self._depends_on_row:
            return self._by_box_per_row(codes, tree, avoided)
        shared = self.limits.lower, self.limits.upper
        if tree.plain and avoided is None and self.limits.max_changes < 0:
            found = _exact(*tree.nearest(codes, self.least, *shared, self.limit, self.threads, current()))
            apart = found.outcome == Outcome.UNANSWERED  # outside the bounds, or with a missing value
        else:
            found = self._cheapest(codes, tree, shared, avoided)
            apart = self._widens(codes)
        lines = np.flatnonzero(apart)
        if len(lines):
            put(found, lines, self._by_box_per_row(codes[lines], tree, None if avoided is None else avoided.of(lines)))
        return found

    def _by_box_per_row(self, codes: Array, tree: _core.Boxes, avoided: Avoided | None) -> Outcomes:
        """Solve each row within its own limits."""
        limits = self.limits_of(self.sources(codes))
        return unsolved(codes) if limits is None else self._cheapest(codes, tree, (limits.lower, limits.upper), avoided)

    def _cheapest(self, codes: Array, tree: _core.Boxes, bounds: tuple[Array, Array], avoided: Avoided | None) -> Outcomes:
        """Solve each row within bounds for all of them, or for each."""
        changes = Avoided.nothing(len(self.schema), self.limits.max_changes)
        for marked, most in () if avoided is None else zip(avoided.marked.swapaxes(0, 1), avoided.most.T, strict=True):
            changes = changes.also(marked, most)
        marks = np.ascontiguousarray(changes.marked.reshape(len(changes.most), -1))
        query = self.least, self._target_lines(codes), *bounds, self.limit, (marks, changes.most)
        return _exact(*tree.cheapest(codes, *query, self.threads, current()))

    def _widens(self, codes: Array) -> Array:
        """Return which rows lie outside the ranges seen in the data, which are widened for them."""
        if not self.schema.inferred:
            return np.zeros(len(codes), bool)
        lower, upper = (end[self.schema.starts[:-1]] for end in self.schema.bounds())
        number = [isinstance(feature, Numeric) for feature in self.schema]
        return np.asarray((((codes < lower) | (codes > upper)) & number).any(axis=1))

    def _target_lines(self, codes: Array) -> Array:
        """Return the place of each row's target among the targets."""
        return self.lines_of(self.sources(codes))

    def _classes_of(self, sources: Array) -> Array:
        """Return the place of the class of each row, given as variables."""
        leaves = self.model.apply(sources)
        known = self.model.value[leaves]
        if (known >= 0).all() or self.model.outputs is None:
            return np.asarray(known)
        return np.asarray(np.where(known < 0, self.model.outputs.at(leaves, sources).argmax(axis=1), known))

    @property
    def digits_by_proof(self) -> bool:
        """Whether only the search of a row knows the whole problem that its answer solves, and so how to round it."""
        return self.words_by_proof or self.decision.curved or self.is_split or self.limits.near is not None

    @property
    def alone(self) -> bool:
        """Whether each row needs a search of its own: its answer is one of given rows, or it has a time limit or tangents."""
        searched = self.axis_aligned is None and (self.query.question.time_limit is not None or self.decision.curved)
        return searched or self.is_split or self.limits.pool is not None or self.limits.near is not None

    def _by_search(self, codes: Array, avoided: Avoided | None) -> Outcomes:
        """Search for all valid rows in one call; leave the others, or all of them, to be solved alone."""
        out = unsolved(codes)
        lines = np.flatnonzero(self.fit(codes))
        if self.alone or not len(lines):
            return out
        sources = np.ascontiguousarray(self.spread(codes[lines]))
        places = self.lines_of(sources)
        for changes, here in [((), slice(None))] if avoided is None else avoided.of(lines).alike():
            query = replace(self.query, avoided=changes) if changes else self.query
            if not self.apart:
                self._search_together(out, lines[here], sources[here], places[here], self.each[0], query)
                continue
            for place, target in enumerate(self.each):
                of_target = np.arange(len(lines))[here]
                of_target = of_target[places[of_target] == place]
                if len(of_target):
                    first = np.zeros(len(of_target), np.int64)
                    self._search_together(out, lines[of_target], sources[of_target], first, target, query)
        return out

    def _search_together(
        self, out: Outcomes, lines: Array, sources: Array, places: Array, target: TreeTarget, query: Query
    ) -> None:
        """Search for some rows in one call; ``places`` are those of their targets."""
        limited = bool(self.constraints or query.avoided)
        limits = self.limits_of(sources) if limited else None
        if limited and limits is None:
            return
        targets = [target.decision.target] if self.apart else self.class_costs
        budget = _core.Budget(1, self.query.question.max_nodes, stop=current())
        begun = np.ascontiguousarray(sources), target.search.tree.apply(sources), np.ascontiguousarray(places)
        found = target.search.find_many(begun, query, targets, limits, budget, self.threads)
        leaves = np.where(found.leaves >= 0, target.decision.origin[found.leaves], -1)
        points = self.schema.gather(found.points)
        put(out, lines, Outcomes(found.outcome, leaves, found.costs, found.bounds, points))


def _exact(outcome: Array, leaves: Array, costs: Array, points: Array) -> Outcomes:
    """Return outcomes whose costs are proved, so that they are the bounds."""
    return Outcomes(outcome, leaves, costs, costs.copy(), points)


def unsolved(codes: Array) -> Outcomes:
    """Return outcomes without answers."""
    n = len(codes)
    nothing = np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.full(codes.shape, np.nan)
    return Outcomes(np.full(n, Outcome.UNANSWERED, np.int8), *nothing)


def put(whole: Outcomes, lines: Array, part: Outcomes) -> None:
    """Write the outcomes of some lines into those of all."""
    whole.outcome[lines], whole.leaves[lines], whole.costs[lines] = part.outcome, part.leaves, part.costs
    whole.bounds[lines], whole.points[lines] = part.bounds, part.points
