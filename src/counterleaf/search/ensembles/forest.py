"""One search per target of an ensemble: classes one after another, or a range of scores, over the cells of the features."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.model.decision import Goal, ScoreDecision, ScoreGoal
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import GAP, Findings, Status
from counterleaf.proof.ensembles.certificate import EnsembleCertificate, coordinate_limits, left_for, nothing, score_target
from counterleaf.proof.ensembles.steps import ForestProof
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import obeys
from counterleaf.question.cells import CellForest, CellPrices, TooCostlyError, UnboundedError, price_cells
from counterleaf.question.constraints.kinds import MaxChanges, Near, Row
from counterleaf.question.query import Query
from counterleaf.question.splits import Margin
from counterleaf.question.variables import Variables
from counterleaf.search.ensembles.cells import cell_forest, core_forest
from counterleaf.search.ensembles.region import region
from counterleaf.search.ensembles.watching import watched
from counterleaf.search.prepared import RecentValues, Source
from counterleaf.search.search import Search
from counterleaf.search.targets import Targets
from counterleaf.search.tree import TreeTargets
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_STATUS = (Status.OPTIMAL, Status.INFEASIBLE, Status.LIMIT)  # in the order of the core
_SHARE = 4e-10  # of the cost: how much cheaper a row of another class has to be


class PreparedForest:
    """An ensemble as cells with one margin, and its targets, as the proof and as the core read them."""

    def __init__(self, forest: CellForest) -> None:
        with np.errstate(over="ignore"):
            if not np.isfinite(forest.reach * (len(forest.roots) + 4)):  # nor is the bound on the rounding of the sums
                raise CounterleafError(
                    f"the sums of the trees reach {forest.reach / 4.0:.2g}, too near the largest float to bound their "
                    f"rounding; divide what the model learns by a constant, and fit it again"
                )
        self.forest, self.core = forest, core_forest(forest)
        self._targets = RecentValues()

    def target(self, goal: ScoreGoal, margin: float, noise: float) -> Any:
        """A target of the core, remembered for the next question."""

        def make() -> _core.ForestTarget:
            t = score_target(self.forest, goal, margin, noise)
            closed = self.forest.closed.astype(np.uint8) if self.forest.closed.any() else np.empty(0, np.uint8)
            return _core.ForestTarget(
                self.core,
                t.coefficients,
                t.bias,
                (t.room, t.noise),
                t.winner,
                t.margin,
                np.ascontiguousarray(t.intervals),
                closed,
            )

        return self._targets.get((goal, margin, noise), make)


class EnsembleTargets(Targets):
    """The searches for all targets of one ensemble."""

    splits_implications = True  # every implication is a distinction of cases

    def __init__(self, model: Ensemble, schema: Schema, rescale: Any = None, counts: Array | None = None) -> None:
        super().__init__(model, schema, rescale, counts)
        self.tree, self.variables = model, Variables.of(schema)
        self._forests = RecentValues()
        # the question without the trees: one leaf that every row reaches
        self._stump = Tree([-1], [-1], np.zeros((1, schema.width)), [0.0], [0])  # type: ignore[arg-type]  # lists
        self._search = Search(self._stump, schema, 0.0)

    def decision(self, goal: Goal, support: int = 0) -> ScoreDecision:
        """A target, remembered for the next question."""
        key = (tuple(goal.items()) if isinstance(goal, Mapping) else goal, support)
        return self._made.get(key, lambda: ScoreDecision(self.tree, goal, self.closed(support)))

    def may_round(self, decision: Any) -> bool:
        """Whether the model may add in another way than the ensemble, and therefore refute an answer."""
        return bool(decision.noise > 0.0)

    def prepared(self, margin: Margin, closed: frozenset[int]) -> PreparedForest:
        """The ensemble as cells, remembered for the next question."""
        by_feature = margin if isinstance(margin, tuple) and any(margin) else 0.0

        def make() -> PreparedForest:
            return PreparedForest(cell_forest(self.tree, self.variables, by_feature, closed))

        return self._forests.get((by_feature, closed), make)

    def locate(self, row: Any) -> Source:
        """Encode a row and find its class; raise as ``encoded`` does."""
        vector = self.encoded(row)
        label = -1 if self.tree.is_regression else int(self.classes_of(vector[None])[0])
        return Source(vector, 0, label)

    def classes_of(self, rows: Array) -> Array:
        """The place of the class of each row, given as variables."""
        return self.tree.scoring.decide(self.scores(rows))

    def scores(self, rows: Array) -> Array:
        """The scores of rows, given as variables."""
        ready = self.prepared(0.0, frozenset())
        return np.asarray(ready.core.scores(ready.forest.cells_of(rows)))

    def certify(
        self, source: Source, query: Query, budget: _core.Budget, earlier: Any = None, guard: float = 0.0, proof: bool = True
    ) -> tuple[EnsembleCertificate, ScoreDecision]:
        """Find the cheapest row for one source, with its proof.

        With a ``guard``, the scores of the answer clear the target by the noise of the model. It may then cost more than its
        bound, which is that of all rows.
        """
        self.refuse(query)
        decision = self.decision(self.goal(query, source.label), query.support)
        run = self._search.run(source, query, {0: 0.0})
        problem = self._search.problem(run)
        ready = self.prepared(query.margin, decision.closed)
        if run.limits is not None and run.limits.pool is not None:
            return self._choose(problem, ready, decision, run.limits.pool, bool(guard)), decision
        found = _Question(self, problem, ready, decision, query).run(budget, proof)
        if guard and len(found.findings.leaves):
            found = _cleared(found, _Question(self, problem, ready, decision, query, clear=True).run(budget, False))
        return found, decision

    def refuse(self, query: Query) -> None:
        """Refuse what the search over ensembles does not support.

        Raises
        ------
        CounterleafError
            If the cost, a constraint or the number of answers does not fit.
        """
        for one in query.constraints:
            if isinstance(one, Row) and len({self._feature(d) for d in one.terms(self.schema)}) > 1:
                raise CounterleafError(
                    f"{one} is about several features, which ensembles do not support; use between or fix for each"
                )
            if isinstance(one, Near):
                raise CounterleafError(f"{one} is not supported for ensembles; use support= or among(rows)")
        if query.prices.coupling is not None:
            raise CounterleafError(
                "Quadratic is not supported for ensembles; expected L1, L2, Changes, LinearCost or a sum of them"
            )
        if query.count != 1 and not query.apart:
            raise CounterleafError(
                'the answers of an ensemble have no leaves to differ in; use distinct="features" and a count'
            )
        if query.prices.runs and (query.avoided or any(isinstance(one, MaxChanges) for one in query.constraints)):
            raise CounterleafError(
                "LinearCost that earns cannot be combined with limits on changes for ensembles; use L1 or L2"
            )

    def _feature(self, variable: int) -> int:
        return int(self.variables.feature[variable])

    def _choose(
        self, problem: Problem, ready: PreparedForest, decision: ScoreDecision, pool: Array, clear: bool
    ) -> EnsembleCertificate:
        """Choose the best of the rows of ``among``; with ``clear``, the best whose scores clear the noise of the model."""
        empty = EnsembleCertificate(problem, nothing(Status.INFEASIBLE, self.schema.width, math.inf), pool, None, decision)
        made = replace(empty, forest=ready.forest, fresh=True)
        costs, guard = {0.0: math.inf, _cleared_by(decision): math.inf}, _cleared_by(decision) if clear else 0.0
        chosen = None
        for row in pool:
            if not obeys(problem, 0, row):
                continue
            paid = float(problem.cost_of(row[None])[0])
            for room in costs:
                cost = paid + made.class_cost(row, room)
                if cost < costs[room]:
                    costs[room] = cost
                    chosen = row if room == guard else chosen
        if chosen is None:
            return made if math.isinf(costs[0.0]) else self._choose(problem, ready, decision, pool, False).weakened()
        best, bound = np.array([costs[guard]]), costs[0.0]
        status = Status.OPTIMAL if bound == costs[guard] else Status.LIMIT
        return replace(made, findings=Findings(status, np.zeros(1, np.int64), best, np.array([bound]), chosen[None], bound))


class _Question:
    """One question about one source: one search for each class of the target."""

    def __init__(
        self,
        targets: EnsembleTargets,
        problem: Problem,
        ready: PreparedForest,
        decision: ScoreDecision,
        query: Query,
        clear: bool = False,
    ) -> None:
        self.targets, self.problem, self.ready, self.decision, self.query = targets, problem, ready, decision, query
        self.noise = decision.noise
        self.margin = 0.0 if isinstance(query.margin, tuple) else float(query.margin)
        self.guard = _cleared_by(decision) if clear else 0.0
        try:
            self.prices: CellPrices = price_cells(ready.forest, problem.question.features, problem.table)
        except TooCostlyError as error:
            name = targets.schema.names[int(targets.variables.feature[error.variable])]
            raise CounterleafError(
                f"a change of feature {name!r} costs more than 1e250, which is too much to compute with; use smaller weights"
            ) from None
        except UnboundedError as error:
            name = targets.schema.variables[error.variable]
            raise CounterleafError(
                f"the cost is unbounded: it keeps decreasing as feature {name!r} moves away from the source; "
                f"bound it with between()"
            ) from None

    def run(self, budget: _core.Budget, proof: bool) -> EnsembleCertificate:
        """Search, class by class; rows of later classes must be cheaper than the best so far."""
        forest, width = self.ready.forest, self.targets.schema.width
        members, most = coordinate_limits(forest, self.problem.table)
        limits = np.ascontiguousarray(members, np.uint8), np.ascontiguousarray(most, np.int64)
        until = math.inf if budget.seconds is None else time.perf_counter() + budget.seconds
        best, row, lower, stopped = math.inf, None, math.inf, False
        proofs: list[ForestProof] = []
        for goal in self.decision.goals:
            target = self.ready.target(goal, self.margin + self.guard, self.noise)
            cheaper = best - _SHARE * abs(best) if best < math.inf else math.inf
            left = None if until == math.inf else max(until - time.perf_counter(), 0.0)
            with watched() as progress:
                found = self.ready.core.find(
                    target,
                    self.prices.cost,
                    self.prices.moved.astype(np.uint8),
                    *limits,
                    budget.lasting(left),
                    left_for(cheaper, goal.cost),
                    proof,
                    progress,
                )
            if proof:
                proofs.append(ForestProof.of_core(found.proof(), target.rows + len(most)))
            stopped |= _STATUS[found.verdict] is Status.LIMIT
            if found.cost < math.inf:
                row = self._row(found.cells)
                best = float(self.problem.cost_of(row[None])[0]) + goal.cost
            # without a row of this class, the proof says only that none is cheaper
            is_empty = _STATUS[found.verdict] is Status.INFEASIBLE
            lower = min(lower, cheaper if is_empty else _plus(found.lower_bound, goal.cost))
        return self._certificate(best, row, lower, stopped, tuple(proofs), width)

    def _certificate(
        self, best: float, row: Array | None, lower: float, stopped: bool, proofs: tuple[ForestProof, ...], width: int
    ) -> EnsembleCertificate:
        status = Status.LIMIT if stopped else Status.OPTIMAL if row is not None else Status.INFEASIBLE
        if row is None:
            findings = nothing(status, width, lower)
        else:
            lower = min(lower, best)
            bound = np.array([lower])
            findings = Findings(status, np.zeros(1, np.int64), np.array([best]), bound, row[None], lower)
        made = EnsembleCertificate(self.problem, findings, None, None, self.decision)
        return replace(made, forest=self.ready.forest, proofs=proofs, fresh=True, region=region)

    def _row(self, cells: Array) -> Array:
        """The row of cells as variables; a number that stays missing keeps the value of the source."""
        forest, features = self.ready.forest, self.problem.question.features
        out = np.zeros(self.targets.schema.width)
        value = self.prices.value[forest.first_cell[:-1] + cells]
        for j in range(forest.size):
            v = int(forest.variable[j])
            if forest.grouped[j]:
                out[v + int(value[j])] = 1.0
            else:
                out[v] = value[j]
        for d, _ in self.targets.schema._gaps:
            v = int(self.targets.schema.starts[d])
            if out[v + 1] > 0:
                out[v] = features.source[v]
        return out


def _plus(bound: float, price: float) -> float:
    """The bound of a class with its price; what is left for the changes does not exceed the bound, which is what is proved."""
    total = bound + price
    return math.nextafter(total, -math.inf) if left_for(total, price) > bound else total


def _cleared_by(decision: ScoreDecision) -> float:
    """The margin of scores that no noise of a model can undo."""
    return 2.0 * decision.noise * (1.0 + 2.0**-30)


def _cleared(found: EnsembleCertificate, clear: EnsembleCertificate) -> EnsembleCertificate:
    """The proof of the bound of all rows, with an answer whose scores clear the target by the noise of the model.

    If there is none, the refuted answer is the best one known, and not an optimum.
    """
    if not len(clear.findings.leaves):
        return found.weakened()
    cost, bound = float(clear.findings.costs[0]), found.findings.lower_bound
    tied = cost - bound <= GAP * abs(cost)
    status = found.status if tied else Status.LIMIT
    return replace(found, findings=replace(clear.findings, status=status, bounds=np.array([bound]), lower_bound=bound))


def targets_of(adapter: ModelAdapter, counts: Array | None) -> Targets:
    """The searches for all targets of a model, given the rows of the data that reach each leaf."""
    if isinstance(adapter.tree, Ensemble):
        return EnsembleTargets(adapter.tree, adapter.schema, adapter.rescale, counts)
    return TreeTargets(adapter.tree, adapter.schema, adapter.guard, adapter.rescale, counts)
