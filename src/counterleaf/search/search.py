"""The search in one tree. Everything that depends on the tree alone is computed once and reused for every row."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from counterleaf import _core
from counterleaf.core.outcomes import Outcomes
from counterleaf.core.stopping import has_ended
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import UNPROVABLE, Certificate, Findings, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import InterruptedCheckError, interruptible, obeys
from counterleaf.question.arrays import Posed, Table
from counterleaf.question.constraints.lowering import Limits, lower_constraints
from counterleaf.question.posing import TargetTree, change_arrays, clause_boxes, pose, stacked
from counterleaf.question.query import Query
from counterleaf.question.splits import Margin, Splits, aim, prepare
from counterleaf.question.variables import Variables
from counterleaf.search.refine import refine, runaway
from counterleaf.search.targets import RecentValues, Source, unbounded
from counterleaf.table.schema import Schema
from counterleaf.types import Array

Target = dict[int, float]  # class index -> class cost

_STATUS = {
    _core.Verdict.OPTIMAL: Status.OPTIMAL,
    _core.Verdict.INFEASIBLE: Status.INFEASIBLE,
    _core.Verdict.LIMIT: Status.LIMIT,
}
_OF_TARGET = ("below", "first", "leaves")  # the fields of the nodes that depend on the target


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTree:
    """The tree with one margin, as the proof and as the core read it."""

    splits: Splits
    core: _core.Engine


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTarget:
    """The nodes of a tree with one target, as the proof and as the core read them."""

    nodes: Array
    core: _core.Target


class Run(NamedTuple):
    """One query about one source, prepared for the proof and for the core."""

    tree: PreparedTree
    target: PreparedTarget
    source: Source
    query: Query
    limits: Limits | None  # None if there are no constraints
    core_limits: _core.Limits

    def find(self, budget: _core.Budget, earlier: _core.Answer | None) -> _core.Answer:
        """Run the core's search."""
        arguments = self.source.vector, self.source.leaf, self.query.prices.core, self.target.core
        return self.tree.core.find(*arguments, self.core_limits, budget, earlier)


class Search:
    """The search for the cheapest rows of one tree over the variables of a schema.

    ``like`` is a search for a tree with the same splits, whose preparations are shared. ``sums``, ``closed``, ``guard`` and
    ``paid`` (by default all of the guard) are as in ``prepare``, ``aim`` and ``TargetTree``.
    """

    def __init__(
        self,
        tree: Tree,
        schema: Schema,
        guard: float,
        like: Search | None = None,
        sums: Array | None = None,
        closed: Array | None = None,
        paid: float | None = None,
    ) -> None:
        self.tree, self.schema, self.guard, self.sums, self.closed = tree, schema, guard, sums, closed
        self.paid = guard if paid is None else paid
        self.variables: Variables = Variables.of(schema) if like is None else like.variables
        self._trees: RecentValues = RecentValues() if like is None else like._trees
        self._targets = RecentValues()

    def ready(self, margin: Margin) -> PreparedTree:
        """The tree with a margin, remembered for the next question."""

        def make() -> PreparedTree:
            splits = prepare(self.tree, margin, self.variables, self.sums)
            return PreparedTree(splits, self._engine(splits))

        return self._trees.get(margin, make)

    def splits(self, margin: Margin) -> Splits:
        """The arrays of the tree with a margin."""
        return self.ready(margin).splits

    def target(self, target: Target, margin: Margin) -> PreparedTarget:
        """The nodes of the tree with a target and a margin, remembered for the next question."""

        def make() -> PreparedTarget:
            nodes = aim(self.tree, self.splits(margin), target, self.closed)
            return PreparedTarget(nodes, _core.Target(*(np.ascontiguousarray(nodes[name]) for name in _OF_TARGET)))

        return self._targets.get((margin, *target.items()), make)

    def _engine(self, splits: Splits) -> _core.Engine:
        """The core's engine for the tree with one margin."""
        nodes, w, v = splits.nodes, self.tree.weights, self.variables
        left, right, form, index = (np.ascontiguousarray(nodes[name]) for name in ("left", "right", "form", "index"))
        arrays = left, right, form, index, np.stack([nodes["cut_left"], nodes["cut_right"]])
        rows = _core.Rows(w.indptr, w.indices, w.data, self.tree.bias, w.shape[1])
        layout = _core.Layout(v.group, v.feature, _core.Grids(*v.grids), v.first, v.last)
        closed, narrow = self.tree.closed == "right", self.tree.dtype == "float32"
        return _core.Engine(arrays, rows, layout, closed, narrow, splits.margins, self.guard)

    @functools.cached_property
    def _free(self) -> _core.Limits:
        """The limits of a question without constraints: the schema's bounds, widened to hold the source if inferred."""
        lower, upper = (np.ascontiguousarray(end, float)[None] for end in self.schema.bounds())
        none = np.empty(0, np.int64), np.empty((1, 0)), np.empty((1, 0))
        clauses = _core.Clauses(np.empty((0, 3), np.int64), *none)
        rows = _core.Rows(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0), self.schema.width)
        kept = np.array(self.schema.kept, np.int64)
        changes = _core.ChangeLimits(np.empty((0, self.variables.count), np.int64), np.empty(0, np.int64))
        return _core.Limits(lower, upper, bool(self.schema.inferred), kept, rows, 0, changes, clauses)

    def run(self, source: Source, query: Query, target: Target) -> Run:
        """A query about one source, prepared for the core and for the proof."""
        limits, core = None, self._free
        if query.constraints or query.avoided:
            limits = lower_constraints(query.constraints, self.schema, source.vector[None])
            core = self.core_limits(limits, query)
        return Run(self.ready(query.margin), self.target(target, query.margin), source, query, limits, core)

    def core_limits(self, limits: Limits, query: Query) -> _core.Limits:
        """The limits of a query, about one or several sources, as the core takes them."""
        n, width = limits.lower.shape
        rows, equal = stacked(limits.rows)
        members, most = change_arrays(limits, query.avoided, self.variables.count)
        changes, clauses = _core.ChangeLimits(members.astype(np.int64), most), _core.Clauses(*clause_boxes(limits, n))
        kept = np.empty(0, np.int64)  # lower_constraints has bounded the missing values already
        return _core.Limits(limits.lower, limits.upper, False, kept, _core.Rows(*rows, width), equal, changes, clauses)

    def certify(
        self, source: Source, query: Query, target: Target, budget: _core.Budget, earlier: _core.Answer | None = None
    ) -> Certificate:
        """Find the cheapest leaves of a target for one source, with their proof; see ``Targets.solve``."""
        until = math.inf if budget.seconds is None else time.perf_counter() + budget.seconds
        run = self.run(source, query, target)
        found = self._found(run, budget, earlier)
        answer, doubt = found.findings.answer, self.guard > self.paid
        if answer is None or not (answer.doubt or answer.thin or doubt or found.findings.status is Status.LIMIT):
            return found
        try:
            with interruptible(lambda: has_ended(until)):
                return self._proved(run, found, budget)
        except InterruptedCheckError:
            return found.unchecked() if answer.doubt or doubt or found.status is Status.LIMIT else found

    def _proved(self, run: Run, found: Certificate, budget: _core.Budget) -> Certificate:
        """A certificate whose proof is sure: the one found, another one, or one that claims less."""
        answer, limits, query = found.findings.answer, run.limits, run.query
        if self._is_proved(found):
            return found if not answer.thin or answer.stopped else self._refined(found, budget)
        if found.status is Status.INFEASIBLE and limits is not None and limits.rows:
            wider = self.core_limits(replace(limits, rows=found.problem.widened_rows()), query)
            found = self._certificate(run, run._replace(core_limits=wider).find(budget, None), widened=True)
            if self._is_proved(found):
                return found
        better = self._refined(found, budget)
        if better is not found:
            return better
        variable = -1
        with contextlib.suppress(*UNPROVABLE):  # the parts do not tell
            variable = runaway(found)
        if variable >= 0:
            raise unbounded(self.schema, variable)
        return found.weakened()

    def _is_proved(self, found: Certificate) -> bool:
        """Whether the claim of a search is proved: nothing makes it doubtful, or the check confirms it."""
        answer = found.findings.answer
        doubt = answer.doubt or self.guard > self.paid
        return answer.stopped or (found.status is not Status.LIMIT and (not doubt or found.check()))

    def find(self, source: Source, query: Query, target: Target, budget: _core.Budget) -> Certificate:
        """Find the cheapest leaves of a target for one source, without making sure of the proof."""
        return self._found(self.run(source, query, target), budget, None)

    def _found(self, run: Run, budget: _core.Budget, earlier: _core.Answer | None) -> Certificate:
        if run.limits is not None and run.limits.pool is not None:
            return self._choose(run, run.limits.pool, budget)
        return self._certificate(run, run.find(budget, earlier))

    def _refined(self, found: Certificate, budget: _core.Budget) -> Certificate:
        """A certificate refined in rational numbers if its check succeeds, else the same one; rows with a guard may stay."""
        for keep in (True,) if self.guard > self.paid else (True, False) if self.guard else (False,):
            try:
                better = refine(found, budget.count, keep)
            except UNPROVABLE:  # numbers such as 1e300 leave parts that are not a proof, which nothing can be built on
                return found
            if better.check():
                return better
        return found

    def _certificate(self, run: Run, answer: _core.Answer, widened: bool = False) -> Certificate:
        """The claims of the core's answer with their proof."""
        if answer.verdict not in _STATUS:
            raise unbounded(self.schema, answer.runaway)
        status = _STATUS[answer.verdict]
        found = answer.leaves, answer.costs, answer.bounds, answer.points, answer.lower_bound, answer
        return Certificate(self.problem(run, widened), Findings(status, *found))

    def problem(self, run: Run, widened: bool = False) -> Problem:
        """The problem of a query as its proof reads it; the arrays are built when they are first read."""

        def posed() -> tuple[Posed, Table | None]:
            model = TargetTree(self.tree, run.tree.splits, run.target.nodes, self.variables, self.guard, self.paid)
            limits = run.limits
            if limits is None:
                limits = lower_constraints((), self.schema, run.source.vector[None])
            return pose(model, run.source.vector, run.query.prices, limits, run.query.avoided, widened)

        return Problem(self.tree, run.tree.splits, posed)

    def find_many(
        self,
        sources: tuple[Array, Array, Array],
        query: Query,
        targets: list[Target],
        limits: Limits | None,
        budget: _core.Budget,
        threads: int,
    ) -> Outcomes:
        """Find the cheapest leaf for each of many sources, given with their leaves and the indices of their targets."""
        cores = [self.target(target, query.margin).core for target in targets]
        bounds = self._free if limits is None else self.core_limits(limits, query)
        return Outcomes(*self.ready(query.margin).core.find_many(sources, query.prices.core, cores, bounds, budget, threads))

    def posed(self, source: Source, query: Query, target: Target) -> Problem:
        """The problem of a source as its proof reads it, without a search."""
        return self.problem(self.run(source, query, target))

    def _choose(self, run: Run, among: Array, budget: _core.Budget) -> Certificate:
        """Choose the best of the rows of ``among``, one per leaf, by a scan of the table."""
        problem = self.problem(run)
        q = problem.question
        pool = among[((among >= q.features.lower) & (among <= q.features.upper)).all(axis=1)]
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
                if len(best) == budget.count:  # read on: another row of the same cost may have a smaller leaf index
                    last = cost
        order = sorted(best.values(), key=lambda k: (costs[k], leaves[k]))[: budget.count]
        status = Status.OPTIMAL if order else Status.INFEASIBLE
        paid = costs[order]
        found = Findings(status, leaves[order], paid, paid, pool[order], float(paid.min(initial=math.inf)))
        return Certificate(problem, found, among)
