"""A tree made ready for questions: what depends on the tree alone is computed once, then rows come, one or many."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.certificate import Certificate
from counterleaf.constraint import Constraint, Limits, lower_constraints
from counterleaf.cost import Prices
from counterleaf.errors import CounterleafError
from counterleaf.kernels.memory import Pool
from counterleaf.layout import Layout
from counterleaf.problem import Problem, Questions, Splits, aim, pose, prepare
from counterleaf.proof import Answer, obeys
from counterleaf.schema import Array, Schema
from counterleaf.search import Findings, Status, find
from counterleaf.tree import Tree

if TYPE_CHECKING:
    from counterleaf.boxes import Boxes

Target = dict[int, float]  # class index -> class cost
_FLOAT32 = float(np.finfo(np.float32).max)
_FIRST = np.zeros(1, np.int64)
_REMEMBERED = 64  # targets, and margins, that are kept ready


class Engine:
    """Questions about one tree over the variables of a schema.

    ``guard`` is the share of an oblique split's terms that its sum may be off by, if the model sums in another way.
    """

    def __init__(self, tree: Tree, schema: Schema, guard: float) -> None:
        self.tree, self.schema, self.guard = tree, schema, guard
        self.layout = Layout.of(schema)
        self._splits: dict[float, Splits] = {}
        self._aimed: dict[tuple[float, ...], Array] = {}
        self._boxes: tuple[Prices, float, Boxes] | None = None

    def check_narrow(self, source: Array) -> None:
        """Refuse a number that the model's format does not hold."""
        if self.tree.dtype == "float32" and np.abs(source).max() > _FLOAT32:
            bad = int(np.abs(source).argmax())
            raise CounterleafError(
                f"feature {self.schema.variables[bad]!r} of the row is {source[bad]}; "
                f"the model takes float32, up to {_FLOAT32:.4g}"
            )

    def splits(self, margin: float) -> Splits:
        """The splits with a margin, remembered for the next question."""
        if margin not in self._splits:
            self._splits[margin] = prepare(self.tree, margin, self.layout)
            while len(self._splits) > _REMEMBERED:
                self._splits.pop(next(iter(self._splits)))
        return self._splits[margin]

    def nodes(self, target: Target, margin: float) -> Array:
        """The nodes with what a target makes of them, remembered likewise."""
        key = (margin, *(number for pair in target.items() for number in pair))
        if key not in self._aimed:
            self._aimed[key] = aim(self.tree, self.splits(margin), target)
            while len(self._aimed) > _REMEMBERED:
                self._aimed.pop(next(iter(self._aimed)))
        return self._aimed[key]

    def boxes(self, prices: Prices, margin: float) -> Boxes:
        """An axis-aligned tree for many rows; the last one is remembered."""
        from counterleaf.boxes import Boxes  # a single question need not wait for it

        if self._boxes is None or self._boxes[0] is not prices or self._boxes[1] != margin:
            made = Boxes.of(self.tree, self.splits(margin), margin, self.schema, self.layout, prices)
            self._boxes = prices, margin, made
        return self._boxes[2]

    def pose(
        self, sources: Array, leaves: Array, nodes: Array, kinds: Array, prices: Prices, limits: Limits, margin: float
    ) -> Questions:
        """The questions about sources in their leaves; ``nodes`` has a line per target, ``kinds`` tells which is whose."""
        plain = self.schema.plain and limits.most < 0 and not limits.clauses
        layout = None if plain else self.layout
        return pose(self.tree, self.splits(margin), nodes, kinds, layout, sources, prices, limits, margin, leaves, self.guard)

    def certify(
        self,
        source: Array,
        leaf: int,
        target: Target,
        prices: Prices,
        given: list[Constraint],
        margin: float,
        count: int | None = 1,
        until: float = math.inf,
        most: int | None = None,
        last: Pool | None = None,
    ) -> Certificate:
        """The ``count`` cheapest leaves for one source, with their proof.

        It stops at the time ``until`` or after ``most`` states. ``last``: the memory of the question with a smaller margin.
        """
        limits = lower_constraints(given, self.schema, source[None])
        nodes = self.nodes(target, margin)[None]
        problem = self.pose(source[None], np.array([leaf]), nodes, _FIRST, prices, limits, margin)[0]
        if limits.pool is not None:
            return Certificate(problem, _choose(problem, limits.pool, count), limits.pool)
        left = None if until == math.inf else until - time.perf_counter()
        return Certificate(problem, find(problem, self.schema.variables, count, left, most, last))


def _choose(problem: Problem, pool: Array, count: int | None) -> Findings:
    """The best of the given rows, one per leaf: a plain search over the table."""
    q = problem.question
    lower, upper, horizon = q.features[1], q.features[2], q.features[8]
    pool = pool[(((pool >= lower) | (horizon < 0)) & ((pool <= upper) | (horizon > 0))).all(axis=1)]
    leaves = problem.tree.apply(pool)
    costs = problem.cost_of(pool) + q.nodes["below"][leaves]
    best: dict[int, int] = {}
    last = math.inf
    for k in np.argsort(costs, kind="stable").tolist():
        leaf, cost = int(leaves[k]), float(costs[k])
        if cost > last or not math.isfinite(cost):
            break
        if leaf not in best and obeys(problem, Answer(leaf, pool[k], cost, cost)):
            best[leaf] = k
            last = cost if len(best) == count else last  # others at the same cost may have a lower leaf
    order = sorted(best.values(), key=lambda k: (costs[k], leaves[k]))[:count]
    status = Status.OPTIMAL if order else Status.INFEASIBLE
    least = float(costs[order].min()) if order else math.inf
    return Findings(status, leaves[order], costs[order], costs[order], pool[order], least, None)
