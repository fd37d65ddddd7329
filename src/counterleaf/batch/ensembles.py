"""Many rows of an ensemble: one search for each that needs a change, several at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.batch.few_digits import rounded_images
from counterleaf.batch.solving import Parts, Solver, TreeSolver, unsolved
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.core.stopping import current, raise_if_stopped, stoppable
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.model.decision import Goal, Range, ScoreDecision
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.proof.ensembles.certificate import score_target
from counterleaf.question.constraints.lowering import Limits, lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.ensembles.forest import EnsembleTargets
from counterleaf.search.ensembles.watching import unwatched
from counterleaf.search.rounds import Solved
from counterleaf.search.targets import Targets
from counterleaf.table.features import Numeric
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_HUGE = 1e240  # the search refuses changes that cost 1e250 and more
_AHEAD = 4  # rows per thread that are handed out before their answers are read


class EnsembleSolver(Solver):
    """One query about many rows of an ensemble, with the methods of ``Solver``."""

    in_threads, words_by_proof = True, True
    alone, digits_by_proof = True, True
    targets: EnsembleTargets
    model: Ensemble
    decision: ScoreDecision

    def __init__(
        self,
        targets: EnsembleTargets,
        adapter: ModelAdapter,
        rows: TableRows,
        query: Query,
        threads: int,
        parts: Parts | None = None,
    ) -> None:
        super().__init__(targets, adapter, rows, query, threads, parts)
        targets.refuse(query)
        self._last: tuple[Array, Array] = np.empty((0, 0)), np.empty((0, 0))  # rows and their scores

    def _decide(self, goals: list[Goal]) -> None:
        decisions = [self.targets.decision(goal, self.query.support) for goal in goals]
        self.decision, self.class_costs = decisions[0], [decision.target for decision in decisions]

    def found(self, codes: Array) -> Outcomes:
        """Return the rows that need no change as their own answers; the others remain UNANSWERED, for a search each."""
        out = unsolved(codes)
        for part, here in self.each_part(codes, np.arange(len(codes))):
            prices = part._prices_of_staying(codes[here])
            stays = np.isfinite(prices)
            lines = here[stays]
            out.outcome[lines], out.leaves[lines], out.points[lines] = Outcome.FOUND, 0, codes[lines]
            out.costs[lines] = out.bounds[lines] = prices[stays]
        return out

    def _prices_of_staying(self, codes: Array) -> Array:
        """Return the class price of each row that is its own cheapest answer, infinity for all other rows.

        It is its own answer if no change earns anything, the row obeys the constraints, and its scores reach the cheapest class
        of the target. A search finds the same answer: it starts from the row, and only a cheaper one replaces it.
        """
        out = np.full(len(codes), np.inf)
        lines = np.flatnonzero(self.fit(codes)) if self._may_stay else np.empty(0, np.int64)
        if len(lines):
            sources = self.spread(codes[lines])
            if (self._largest_price(np.abs(sources).max(axis=0)) < _HUGE).all():
                stays = self._reached(sources)
                stays[stays] = self._obeys(sources[stays])
                out[lines[stays]] = 0.0 + self.decision.goals[0].cost  # not -0.0
        return out

    @functools.cached_property
    def _may_stay(self) -> bool:
        """Whether a row can be its own cheapest answer, and the search would find that one among equally cheap ones."""
        prices = self.query.prices
        if (self.query.target is None and not self.model.is_regression) or prices.coupling is not None or prices.runs:
            return False
        if len(self.decision.goals) > 1 and self.decision.goals[0].cost != 0.0:
            return False  # the bound of the search leaves room for the digits that the prices of several classes may lose
        earns = any((table < 0).any() for table in prices.moves)
        several = self.is_split or self.limits.pool is not None  # places in which an equally cheap row may be found first
        return not earns and (not several or self._is_cheapest_alone)

    @functools.cached_property
    def _is_cheapest_alone(self) -> bool:
        """Whether every change costs something, and is not lost in the price of a class to which it is added."""
        prices, charges = self.query.prices, np.zeros(len(self.schema))
        charges[: len(prices.charges)] = prices.charges
        up, slope_up, down, slope_down = prices.rows
        numbers = [d for d, feature in enumerate(self.schema) if isinstance(feature, Numeric)]
        at = self.schema.starts[numbers]
        free = ((up + slope_up)[at] == 0) | ((down - slope_down)[at] == 0)
        switches = [table[~np.eye(len(table), dtype=bool)] for table in prices.moves]
        costs = all(table.all() for table in switches) and not (free & (charges[numbers] == 0)).any()
        return costs and self.decision.goals[0].cost == 0.0

    def _largest_price(self, size: Array) -> Array:
        """Return for each variable more than any change to another cell costs, given the largest size of its values."""
        forest, prices, grids = self._ready.forest, self.query.prices, self.targets.variables.grids
        size = 2.0 + 2.0 * size
        for j in np.flatnonzero(~forest.grouped).tolist():
            size[forest.variable[j]] += 2.0 * np.abs(forest.edges[j]).max(initial=0.0)
        size += 2.0 * grids.step[0] + np.abs(grids.values).max(initial=0.0)
        curve, slope = (np.abs(prices.rows[[k, k + 2]]).max(axis=0) for k in (0, 1))
        most = max([prices.charges.max(initial=0.0), *(table.max(initial=0.0) for table in prices.moves)])
        with np.errstate(over="ignore"):
            return np.asarray((curve * size + slope) * size + most)

    @functools.cached_property
    def _ready(self) -> Any:
        return self.targets.prepared(self.query.margin, self.decision.closed)

    def _reached(self, sources: Array) -> Array:
        """Return which rows, given as variables, reach the cheapest class of the target where the search looks first."""
        forest, scores, goals = self._ready.forest, self._scores(sources), self.decision.goals
        margin = 0.0 if isinstance(self.query.margin, tuple) else float(self.query.margin)
        several = self._is_cheapest_alone and self.query.max_nodes is None
        reached = np.zeros(len(sources), bool)
        for goal in [goal for goal in goals if goal.cost == 0.0] if several else goals[:1]:
            reached |= score_target(forest, goal, margin, self.decision.noise).accepting(scores)
        if forest.closed.any():
            reached[reached] = ~forest.closed[forest.leaves(forest.cells_of(sources[reached]))].any(axis=1)
        return reached

    def _obeys(self, sources: Array) -> Array:
        """Return which rows, given as variables, obey the constraints of some case; none if these make no sense for a row."""
        out = np.zeros(len(sources), bool)
        try:
            for case in self.cases:
                out |= _inside(lower_constraints(case, self.schema, sources), sources)
        except CounterleafError:
            out[:] = False
        return out

    def solved_alone(self, lines: Iterable[int], codes: Array) -> Iterator[Solved | CounterleafError]:
        """Yield what is found for each of some rows in order, or why it cannot be explained."""
        stop = current() or _core.Stop()

        def work(line: int, code: Array) -> Solved | CounterleafError:
            with stoppable(stop), unwatched():
                return self.solved(line, code)

        if self.threads == 1:
            for line, code in zip(lines, codes, strict=True):
                raise_if_stopped()
                yield work(line, code)
            return
        pool = ThreadPoolExecutor(self.threads)
        waiting: list[Future[Any]] = []
        try:
            for line, code in zip(lines, codes, strict=True):
                waiting.append(pool.submit(work, line, code))
                if len(waiting) > _AHEAD * self.threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        except BaseException:
            stop.set()  # Ctrl-C reaches this thread only
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def survives(self, codes: Array, points: Array) -> Array:
        """Return which answers keep their scores when their numbers are rounded as other programs do."""
        rows = self.spread(points)
        scores, goal = self.targets.scores(rows), self.decision.goal
        out = np.ones(len(points), bool)
        for image in rounded_images(self.schema, rows):
            if isinstance(goal, Range):
                out &= goal.holds(np.array(self.decision.numbers(image)))
            else:
                out &= (self.targets.scores(image) == scores).all(axis=1)
        return out

    def labels(self, rows: Array) -> list[Any]:
        """Return the class of each row, given as variables, or its value for regression."""
        found, goal = self.model.predicted(self._scores(rows)), self.decision.goal
        return list((goal.outward(found) if isinstance(goal, Range) and goal.output < 0 else found).tolist())

    def numbers(self, rows: Array) -> list[float] | None:
        """Return the probability or value of each row that the target is about; None if it is about classes."""
        output = self.decision.predicted
        if output < 0:
            return self.labels(rows) if isinstance(self.decision.goal, Range) else None
        return list(self.model.scoring.probabilities(self._scores(rows))[:, output].tolist())

    def _classes_of(self, sources: Array) -> Array:
        return np.asarray(self.model.scoring.decide(self._scores(sources)))

    def _scores(self, rows: Array) -> Array:
        """Return the scores of rows, given as variables; those of the same rows as before are known."""
        if not np.array_equal(rows, self._last[0]):
            self._last = rows, self.targets.scores(rows)
        return self._last[1]


def _inside(limits: Limits, sources: Array) -> Array:
    """Return which rows lie within their bounds, and are among the rows that are allowed."""
    out = np.asarray(((limits.lower <= sources) & (sources <= limits.upper)).all(axis=1))
    if limits.rows or limits.clauses or limits.near is not None:  # which ensembles refuse, or split into cases
        out[:] = False
    if limits.pool is not None:
        listed = {row.tobytes() for row in limits.pool + 0.0}  # -0.0 equals 0.0
        out &= np.array([row.tobytes() in listed for row in sources + 0.0], bool)
    return out


def make_solver(
    targets: Targets, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
) -> Solver:
    """Return the solver of one query about many rows, see ``Solver``."""
    kind: Any = TreeSolver if adapter.tree.is_one_tree else EnsembleSolver
    solver: Solver = kind(targets, adapter, rows, query, threads, parts)
    return solver
