"""One search per target; a target turns the model into a plain tree, see ``counterleaf.model.decision``."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.core.stopping import current, has_ended
from counterleaf.model.decision import Cuts, Decision, Goal, Range, decide
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Part
from counterleaf.question.constraints.tables import Near
from counterleaf.question.posing import GUARDS, Guard
from counterleaf.question.query import Query
from counterleaf.search.near import ball_of, check_question, find_near
from counterleaf.search.search import Search
from counterleaf.search.targets import Source, Targets
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_INSIDE = (1e-9, 3e-10, 1e-10, 3e-11, 1e-11, 1e-12)  # the excess of the odds of an answer, until it is proved
_TANGENTS = 120  # rounds of tangents


@dataclass(frozen=True, slots=True, eq=False)
class TreeTarget:
    """A target, prepared: its plain tree and the search over it."""

    decision: Decision
    search: Search

    def source(self, source: Source) -> Source:
        """The source with its leaf in the plain tree."""
        if self.decision.same_splits:
            return source
        return source._replace(leaf=self.decision.tree.leaf_of(source.vector))

    def certify(self, source: Source, query: Query, budget: _core.Budget, earlier: _core.Answer | None = None) -> Certificate:
        """Find the cheapest leaves for one source, with their proof, see ``Search.certify``."""
        found = self.search.certify(self.source(source), query, self.decision.target, budget, earlier)
        return found if self.decision.tree is self.decision.model else replace(found, decision=self.decision)

    def problem_of(self, source: Source, query: Query) -> Problem:
        """The problem of one source, see ``Search.posed``."""
        return self.search.posed(self.source(source), query, self.decision.target)


class TreeTargets(Targets):
    """The searches for all targets of one tree; ``guard`` is the relative error of the sums of its splits."""

    splits_implications = False  # the core takes implications of two boxes as they are

    def __init__(self, tree: Tree, schema: Schema, guard: float, rescale: Any = None, counts: Array | None = None) -> None:
        super().__init__(tree, schema, rescale, counts)
        self.tree, self.guard = tree, guard
        # rounding in float64 rarely refutes an answer, and a guard would exclude rows that lie exactly on a split
        self.search = Search(tree, schema, guard if guard > GUARDS[0] else 0.0)

    def at(self, goal: Goal, guard: float = 0.0, support: int = 0) -> TreeTarget:
        """The target of a question, with a least guard and without leaves of less support, remembered for the next one."""
        key = (tuple(goal.items()) if isinstance(goal, Mapping) else goal, guard, support)
        return self._made.get(key, lambda: self._prepared(decide(self.tree, goal, closed=self.closed(support)), guard))

    def may_round(self, decision: Decision) -> bool:
        """Whether the model may sum in another order than the plain tree, and therefore refute an answer."""
        return self.guard > 0.0 or not decision.same_splits

    def _prepared(self, decision: Decision, guard: float) -> TreeTarget:
        least = self.search.guard
        closed = decision.closed_nodes

        def fewer() -> Search:
            return Search(decision.tree, self.schema, least, like=self.search, closed=closed)

        if decision.tree is self.tree and guard <= least:
            return TreeTarget(decision, self.search if closed is None else self._made.get(("closed", decision.closed), fewer))
        if decision.same_splits and guard <= least:
            return TreeTarget(decision, fewer())
        paid = Guard.of(self.guard, decision).paid
        made = Search(decision.tree, self.schema, max(guard, least), sums=decision.sums, closed=closed, paid=paid)
        return TreeTarget(decision, made)

    def locate(self, row: Any) -> Source:
        """Encode a row and find its leaf and its class; raise as ``encoded`` does."""
        vector = self.encoded(row)
        leaf = self.tree.leaf_of(vector)
        return Source(vector, leaf, self.tree.class_at(leaf, vector))

    def certify(
        self, source: Source, query: Query, budget: _core.Budget, earlier: _core.Answer | None = None, guard: float = 0.0
    ) -> tuple[Certificate, Decision]:
        """Find the cheapest leaves for one source, with their proof and the plain tree that it is about."""
        goal = self.goal(query, source.label)
        target = self.at(goal, guard, query.support)
        if (near := query.near) is not None:
            return self._near(near, target, source, query, budget), target.decision
        if not target.decision.curved:
            return target.certify(source, query, budget, earlier), target.decision
        assert isinstance(goal, Range)
        return self._curved(goal, source, query, budget, guard)

    def _near(self, near: Near, target: TreeTarget, source: Source, query: Query, budget: _core.Budget) -> Certificate:
        """Find the cheapest row near the data."""
        oblique = target.search.splits(query.margin).oblique
        check_question(near, query, self.schema, target.decision.tree is self.tree, oblique)
        until = math.inf if budget.seconds is None else time.perf_counter() + budget.seconds
        return find_near(
            target.search.posed(source, query, target.decision.target), ball_of(near, self.schema, self.tree), until
        )

    def _curved(
        self, goal: Range, source: Source, query: Query, budget: _core.Budget, guard: float
    ) -> tuple[Certificate, Decision]:
        """Find the cheapest leaves where a region is curved: tangents contain it, and are added where an answer misses it.

        Answers lie a little inside of the region, so that rounding does not matter; the proof is about tangents of the region.
        """
        cuts: Cuts = {}
        best: tuple[Certificate, Decision] | None = None
        clock = _Clock(budget, query)
        for inside in _INSIDE:
            cuts, held, rows = self._inside(goal, inside, cuts, (source, query, clock, guard))
            decision = decide(self.tree, goal, held, self.closed(query.support))
            outer = self._prepared(decision, guard).certify(source, query, clock.budget())
            found = [rows.get(int(decision.origin[leaf])) for leaf in outer.findings.leaves]
            whole = _with_rows(outer, found)
            if whole.status is not Status.LIMIT and whole.check():
                return whole, decision
            if best is None or len(whole.findings.leaves) > len(best[0].findings.leaves):
                best = whole, decision
            if clock.has_ended():
                break
        assert best is not None
        return best[0].weakened(), best[1]

    def _inside(
        self, goal: Range, inside: float, cuts: Cuts, posed: tuple[Source, Query, _Clock, float]
    ) -> tuple[Cuts, Cuts, dict[int, tuple[Array, float]]]:
        """Find answers a little inside of a curved region; return the cuts, their sums, and row and cost by leaf."""
        source, query, clock, guard = posed
        low = goal.low
        if 0.0 < low < 1.0:
            low = 1.0 / (1.0 + (1.0 - low) / low * (1.0 - inside))
        inner = decide(self.tree, replace(goal, low=low), cuts, self.closed(query.support))
        for _ in range(_TANGENTS):
            target = self._prepared(inner, guard)
            found = target.search.find(target.source(source), query, inner.target, clock.budget())
            answer = found.findings.answer
            if found.status is Status.LIMIT or (answer is not None and answer.doubt):
                found = target.certify(source, query, clock.budget())
            points, prices = found.findings.points, _prices(found, inner)
            curved = bool((found.problem.question.features.curve_up > 0).all())
            missed = [k for k, one in enumerate(inner.numbers(points) or ()) if not goal.holds(one)]
            leaves = inner.origin[found.findings.leaves].tolist()
            if not missed:
                rows = zip(points, found.findings.costs.tolist(), strict=True)
                return inner.cuts, inner.summed(leaves, prices).cuts, dict(zip(leaves, rows, strict=True))
            apart = [prices[k] for k in missed]
            if curved:
                inner, apart = inner.summed([leaves[k] for k in missed], apart), [np.empty(0)] * len(missed)
            inner = inner.with_tangents(points[missed], apart)
            if clock.has_ended():
                break
        return inner.cuts, inner.cuts, {}


class _Clock:
    """The limits of one question that takes several searches, which share its time."""

    def __init__(self, budget: _core.Budget, query: Query) -> None:
        self._count, self._nodes = budget.count, query.question.max_nodes
        self._until = math.inf if budget.seconds is None else time.perf_counter() + budget.seconds

    def budget(self) -> _core.Budget:
        """The limits of the next search."""
        left = None if self._until == math.inf else max(self._until - time.perf_counter(), 0.0)
        return _core.Budget(self._count, self._nodes, left, stop=current())

    def has_ended(self) -> bool:
        """Whether the time is used up, or the searches of this thread are stopped."""
        return has_ended(self._until)


def _prices(found: Certificate, decision: Decision) -> list[Array]:
    """The multipliers of the cuts at the leaf of each answer; none where the leaf is divided further."""
    parts, out = found.parts(), []
    for leaf in found.findings.leaves.tolist():
        part, count = parts.get(leaf), len(decision.cuts.get(int(decision.origin[leaf]), ()))
        out.append(part.lam[len(part.lam) - count :] if isinstance(part, Part) and count else np.empty(0))
    return out


def _with_rows(found: Certificate, rows: list[tuple[Array, float] | None]) -> Certificate:
    """The bounds of a search with other rows for its leaves; without any, and with the status "limit", if one has none."""
    findings, known = found.findings, [row for row in rows if row is not None]
    if found.status is Status.INFEASIBLE:
        return found
    if len(known) < len(rows):
        none, width = np.empty(0), findings.points.shape[1]
        nothing = np.empty(0, np.int64), none, none, np.empty((0, width))
        return replace(found, findings=Findings(Status.LIMIT, *nothing, findings.lower_bound), stored_parts=found.parts())
    points, costs = np.array([row for row, _ in known]), np.array([cost for _, cost in known])
    made = replace(findings, points=points, costs=costs, answer=None)
    return replace(found, findings=made, stored_parts=found.parts())
