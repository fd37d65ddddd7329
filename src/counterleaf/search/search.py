"""A tree made ready for questions: what depends on the tree alone is computed once, then rows come, one or many."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from counterleaf import _core
from counterleaf.core.inputs import STATUS, clause_boxes, core_engine, core_limits, core_target, stacked
from counterleaf.core.outcomes import Outcomes
from counterleaf.errors import CounterleafError
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import obeys
from counterleaf.question.arrays import Question
from counterleaf.question.constraint import Constraint
from counterleaf.question.cost import Prices
from counterleaf.question.discrete import Table
from counterleaf.question.lowering import Limits, lower_constraints
from counterleaf.question.splits import Splits, aim, prepare
from counterleaf.question.variables import Layout
from counterleaf.search.prepared import Aim, Ready, Store, Target
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.batch.axis_aligned import Boxes

_FLOAT32 = float(np.finfo(np.float32).max)


class Engine:
    """Questions about one tree over the variables of a schema.

    ``guard`` is the share of an oblique split's terms that its sum may be off by, if the model sums in another way.
    """

    def __init__(self, tree: Tree, schema: Schema, guard: float) -> None:
        self.tree, self.schema, self.guard = tree, schema, guard
        self.layout = Layout.of(schema)
        self._ready, self._aims = Store(), Store()
        self._boxes: tuple[Prices, float, Boxes] | None = None

    def check_narrow(self, source: Array) -> None:
        """Refuse a number that the model's format does not hold."""
        if self.tree.dtype == "float32" and np.abs(source).max() > _FLOAT32:
            bad = int(np.abs(source).argmax())
            raise CounterleafError(
                f"feature {self.schema.variables[bad]!r} of the row is {source[bad]}; "
                f"the model takes float32, up to {_FLOAT32:.4g}"
            )

    def ready(self, margin: float) -> Ready:
        """The tree with a margin, remembered for the next question."""

        def make() -> Ready:
            splits = prepare(self.tree, margin, self.layout)
            return Ready(splits, margin, core_engine(self.tree, splits, self._core_layout, margin, self.guard))

        return self._ready.get(margin, make)

    def splits(self, margin: float) -> Splits:
        return self.ready(margin).splits

    def aim(self, target: Target, margin: float) -> Aim:
        """What a target makes of the nodes, remembered likewise."""

        def make() -> Aim:
            nodes = aim(self.tree, self.splits(margin), target)
            return Aim(nodes, core_target(nodes))

        return self._aims.get((margin, *target.items()), make)

    def boxes(self, prices: Prices, margin: float) -> Boxes:
        """An axis-aligned tree for many rows; the last one is remembered."""
        from counterleaf.batch.axis_aligned import Boxes  # a single question need not wait for it

        known = self._boxes
        if known is None or known[0] is not prices or known[1] != margin:
            made = Boxes.of(self.tree, self.splits(margin), margin, self.schema, self.layout, prices)
            self._boxes = known = prices, margin, made
        return known[2]

    @functools.cached_property
    def _core_layout(self) -> _core.Layout:
        layout = self.layout
        return _core.Layout(layout.group, layout.feature, layout.step, layout.first, layout.last)

    @functools.cached_property
    def _free(self) -> _core.Limits:
        """The limits of a question without constraints: the schema's bounds, widened to hold the source if inferred."""
        lower, upper = (np.ascontiguousarray(end, float)[None] for end in self.schema.bounds())
        missing = [
            self.schema.span(d).stop - 1
            for d, feature in enumerate(self.schema)
            if not isinstance(feature, Numeric) and feature.missing
        ]
        none = np.empty(0, np.int64), np.empty((1, 0)), np.empty((1, 0))
        clauses = _core.Clauses(np.empty((0, 3), np.int64), *none)
        rows = _core.Rows(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0), self.schema.width)
        return _core.Limits(lower, upper, bool(self.schema.inferred), np.array(missing, np.int64), rows, 0, -1, clauses)

    def limits(self, given: list[Constraint], source: Array) -> tuple[Limits | None, _core.Limits]:
        """The constraints on a source, and the same for the core; None where there are none."""
        if not given:
            return None, self._free
        limits = lower_constraints(given, self.schema, source[None])
        return limits, core_limits(limits)

    def certify(
        self,
        source: Array,
        leaf: int,
        target: Target,
        prices: Prices,
        given: list[Constraint],
        margin: float,
        patience: _core.Patience,
        earlier: _core.Answer | None = None,
    ) -> Certificate:
        """The cheapest leaves for one source, with their proof.

        ``patience`` says how many leaves and when to stop. ``earlier``: the answer to the question with a smaller margin.
        """
        ready, wanted = self.ready(margin), self.aim(target, margin)
        limits, core = self.limits(given, source)
        if limits is not None and limits.pool is not None:
            return self._choose(ready, wanted, source, leaf, prices, limits, patience)
        answer = ready.core.find(source, leaf, prices.core, wanted.core, core, patience, earlier)
        found = self._certificate(ready, wanted, prices, limits, answer)
        if _stands(found):
            return found if not answer.thin or answer.stopped else self._better(found, patience)
        if found.status is Status.INFEASIBLE and limits is not None and limits.rows:
            wider = core_limits(replace(limits, rows=found.problem.widened_rows()))
            answer = ready.core.find(source, leaf, prices.core, wanted.core, wider, patience, None)
            found = self._certificate(ready, wanted, prices, limits, answer, widened=True)
            if _stands(found):
                return found
        better = self._better(found, patience)
        if better is not found:
            return better
        from counterleaf.search.refine import runaway  # as above

        self._check_bounded(runaway(found))
        return found.weakened()

    def _better(self, found: Certificate, patience: _core.Patience) -> Certificate:
        """What rational numbers make of a search that ended in doubt, if that is proved; else the same."""
        from counterleaf.search.refine import refine  # few questions need it

        better = refine(found, patience.count)
        return better if better.check() else found

    def _certificate(
        self, ready: Ready, wanted: Aim, prices: Prices, limits: Limits | None, answer: _core.Answer, widened: bool = False
    ) -> Certificate:
        status = STATUS.get(answer.verdict)
        if status is None:
            self._check_bounded(answer.runaway)
        assert status is not None
        problem = self._problem(ready, wanted, prices, limits, answer, widened)
        found = answer.leaves, answer.costs, answer.bounds, answer.points, answer.lower_bound, answer
        return Certificate(problem, Findings(status, *found))

    def _check_bounded(self, variable: int) -> None:
        """Refuse a cost that keeps decreasing with a variable."""
        if variable >= 0:
            name = self.schema.variables[variable]
            raise CounterleafError(
                f"the cost is unbounded: it keeps decreasing as feature {name!r} moves away from the source; "
                f"bound it with between"
            )

    def _problem(
        self, ready: Ready, wanted: Aim, prices: Prices, limits: Limits | None, answer: _core.Answer, widened: bool = False
    ) -> Problem:
        """The question of an answer, as its proof reads it."""
        return Problem(self.tree, ready.splits, lambda: self._posed(ready, wanted, prices, limits, answer, widened))

    def _posed(
        self, ready: Ready, wanted: Aim, prices: Prices, limits: Limits | None, answer: _core.Answer, widened: bool
    ) -> tuple[Question, Table | None]:
        tree, layout = self.tree, self.layout
        (indptr, indices, data, bias), equal = stacked([] if limits is None else limits.rows)
        w, lines = tree.weights, answer.features
        features = lines[:7].copy()
        features[1, lines[8] < 0], features[2, lines[8] > 0] = -math.inf, math.inf  # where only the core stops
        matrix = kept = None
        if prices.coupling is not None:
            Q = prices.coupling.matrix
            matrix, kept = (Q.indptr, Q.indices, Q.data), prices.coupling.kept
        question = Question(
            nodes=wanted.nodes,
            indptr=np.concatenate([w.indptr, w.indptr[-1] + indptr[1:]]),
            indices=np.concatenate([w.indices, indices]),
            data=np.concatenate([w.data, data]),
            bias=np.concatenate([tree.bias, bias]),
            features=features,
            equal=equal,
            margin=ready.margin,
            right_closed=tree.closed == "right",
            narrow=tree.dtype == "float32",
            widened=widened,
            matrix=matrix,
            kept=kept,
        )
        table = None
        if not answer.plain:
            starts, where = np.empty((0, 3), np.int64), np.empty(0, np.int64)
            if limits is not None:
                starts, where, _, _ = clause_boxes(limits, 1)
            ends = where, np.array(answer.entry_lower, float), np.array(answer.entry_upper, float)
            most = -1 if limits is None else limits.most
            table = layout.table(answer.own, most, starts, ends)
        return question, table

    def find_many(
        self,
        asked: tuple[Array, Array, Array],
        targets: list[Target],
        prices: Prices,
        limits: Limits | None,
        margin: float,
        patience: _core.Patience,
        threads: int,
    ) -> Outcomes:
        """The cheapest leaf of every question: ``asked`` are the sources, their leaves and which target is whose."""
        aims = [self.aim(target, margin).core for target in targets]
        bounds = self._free if limits is None else core_limits(limits)
        found = self.ready(margin).core.find_many(asked, prices.core, aims, bounds, patience, threads)
        return Outcomes(*found)

    def _choose(
        self, ready: Ready, wanted: Aim, source: Array, leaf: int, prices: Prices, limits: Limits, patience: _core.Patience
    ) -> Certificate:
        """The best of the given rows, one per leaf: a plain search over the table."""
        posed = ready.core.pose(source, leaf, prices.core, wanted.core, core_limits(limits))
        problem = self._problem(ready, wanted, prices, limits, posed)
        q, pool = problem.question, limits.pool
        assert pool is not None
        pool = pool[((pool >= q.features[1]) & (pool <= q.features[2])).all(axis=1)]
        leaves = problem.tree.apply(pool)
        costs = problem.cost_of(pool) + q.nodes["below"][leaves]
        best: dict[int, int] = {}
        last = math.inf
        for k in np.argsort(costs, kind="stable").tolist():
            here, cost = int(leaves[k]), float(costs[k])
            if cost > last or not math.isfinite(cost):
                break
            if here not in best and obeys(problem, here, pool[k]):
                best[here] = k
                last = cost if len(best) == patience.count else last  # others at the same cost may have a lower leaf
        order = sorted(best.values(), key=lambda k: (costs[k], leaves[k]))[: patience.count]
        status = Status.OPTIMAL if order else Status.INFEASIBLE
        paid = costs[order]
        found = Findings(status, leaves[order], paid, paid, pool[order], float(paid.min(initial=math.inf)))
        return Certificate(problem, found, limits.pool)


def _stands(found: Certificate) -> bool:
    """Whether what a search claims is proved: the core is sure of it, or the check is. What a limit cut short claims little."""
    answer = found.findings.answer
    return answer.stopped or (found.status is not Status.LIMIT and (not answer.doubt or found.check()))
