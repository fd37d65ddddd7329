"""The proof of an answer about an ensemble, checked in NumPy without trusting the search.

The answer is followed through every tree. For every class of the target, boxes of cells that together hold all rows are closed
one by one: see ``box`` for the bound and ``steps`` for the steps.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.proof.certificate import GAP, UNPROVABLE, Answer, Certificate, Findings, Status
from counterleaf.proof.ensembles.box import Setting
from counterleaf.proof.ensembles.steps import ForestProof
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import obeys
from counterleaf.question.cells import CellForest, CellPrices, ScoreTarget, UnboundedError, lies, price_cells, wins
from counterleaf.types import Array

_LAST = 1e-12  # of a cost: the digits that the sum of its parts may lose


def score_target(forest: CellForest, goal: Any, margin: float, noise: float) -> ScoreTarget:
    """The target of one class or range as exact tests and as rows, see ``ScoreTarget``."""
    if goal.winner >= 0:
        return wins(forest, goal.winner, margin, noise)
    return lies(forest, [(output, low + margin, high - margin) for output, low, high in goal.intervals], noise)


def coordinate_limits(forest: CellForest, table: Any) -> tuple[Array, Array]:
    """The members of the limits on changes by coordinate, and how many of them may change."""
    if table is None:
        return np.zeros((0, forest.size), bool), np.zeros(0, np.int64)
    return np.asarray(table.members[:, table.feature[forest.variable]], bool), np.asarray(table.most, np.int64)


def left_for(total: float, price: float) -> float:
    """The least number that makes a total, or more, together with the price of a class."""
    left = total - price
    if math.isfinite(left) and Fraction(left) + Fraction(price) < Fraction(total):
        return math.nextafter(left, math.inf)
    return left


def ceiling(forest: CellForest, prices: CellPrices) -> float:
    """A number above the cost of every row."""
    cost = np.where(np.isfinite(prices.cost), prices.cost, -np.inf)
    most = float(np.maximum.reduceat(cost, forest.first_cell[:-1]).sum())
    return most + 1.0 + abs(most)


@dataclass(frozen=True, eq=False)
class EnsembleCertificate(Certificate):
    """The proof of an answer about an ensemble; its problem is the question without the trees."""

    forest: CellForest = field(repr=False, default=None)  # type: ignore[assignment]  # always passed; a dataclass wants a default
    proofs: tuple[ForestProof, ...] = field(repr=False, default=())  # one for each of ``decision.goals``
    fresh: bool = field(repr=False, default=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "stored_parts": None, "fresh": False}

    @property
    def is_fresh(self) -> bool:
        """Whether a search of this process made it."""
        return self.fresh

    def parts(self) -> dict[int, Any]:
        """The steps of the proofs, by the place of their class among those of the target."""
        return dict(enumerate(self.proofs))

    @functools.cached_property
    def margin(self) -> float:
        """The margin of the scores; a margin by feature is part of the forest."""
        margin = self.problem.splits.margin
        return 0.0 if isinstance(margin, tuple) else float(margin)

    def _statement(self) -> tuple[Any, ...]:
        """The ensemble and the goal."""
        model, f = self.decision.model, self.forest
        arrays = model.left, model.right, model.split, model.value, f.coordinate, f.cut, f.closed, f.start, f.subset
        return (*arrays, str(self.decision.goal), str(model.scoring), sorted(self.decision.closed))

    def rounding_problem(self, k: int) -> tuple[Problem, Answer]:
        """The problem of the rows around answer k for which every tree keeps its leaf, and that answer."""
        answer, problem, forest = self.answers[k], self.problem, self.forest
        if self.pool is not None:
            return problem, answer
        cells = forest.cells_of(answer.row[None])[0]
        low, high = np.zeros(forest.size, np.int64), np.diff(forest.first_cell) - 1
        node = forest.roots.copy()
        while len(inner := np.flatnonzero(forest.coordinate[node] >= 0)):
            at = node[inner]
            on = forest.coordinate[at]
            right = forest.goes_right(at, cells[on])
            number = ~forest.grouped[on]
            np.maximum.at(low, on[number & right], forest.cut[at][number & right] + 1)
            np.minimum.at(high, on[number & ~right], forest.cut[at][number & ~right])
            node[inner] = np.where(right, forest.right[at], forest.left[at])
        question = problem.question
        lower, upper = question.features.lower.copy(), question.features.upper.copy()
        for j in range(forest.size):
            v = int(forest.variable[j])
            if forest.grouped[j]:
                span = slice(v, v + forest.first_cell[j + 1] - forest.first_cell[j])
                lower[span] = upper[span] = answer.row[span]
                continue
            edges = forest.edges[j]
            if low[j] > 0:
                lower[v] = max(lower[v], edges[low[j] - 1])
            if high[j] < len(edges):
                upper[v] = min(upper[v], np.nextafter(edges[high[j]], -np.inf))
        narrow = question._replace(features=question.features._replace(lower=lower, upper=upper))
        nodes = narrow.nodes.copy()
        nodes["below"] = answer.cost - float(problem.cost_of(answer.row[None])[0])
        posed = narrow._replace(nodes=nodes), problem.table
        return Problem(problem.tree, problem.splits, lambda: posed), replace(answer, leaf=0)

    def target(self, goal: Any, room: float = 0.0) -> ScoreTarget:
        """The target of one class or range, with more room between the scores."""
        return score_target(self.forest, goal, self.margin + room, self.decision.noise)

    def admits(self, row: Array) -> bool:
        """Whether the ensemble sends a row to the target, at the distance of the margin."""
        return self.class_cost(row) < math.inf

    def class_cost(self, row: Array, room: float = 0.0) -> float:
        """The least class cost of the target that a row reaches, with more room; infinity if it reaches none."""
        leaves = self.forest.leaves(self.forest.cells_of(row[None])[0])
        if self.forest.closed[leaves].any():
            return math.inf
        scores = self.forest.scores(leaves)
        return min((goal.cost for goal in self.decision.goals if self.target(goal, room).accepts(scores)), default=math.inf)

    def check(self) -> bool:
        """Check the proof, without the search.

        Each answer obeys the constraints, reaches the target in the arithmetic of the model and has the stated cost, and no row
        costs less than ``lower_bound``, which an optimal answer exceeds by at most 1e-9 of its cost.
        """
        try:
            with np.errstate(all="ignore"):
                return self._is_complete() and self._claims_hold()
        except (*UNPROVABLE, UnboundedError):
            return False

    def _is_complete(self) -> bool:
        """Whether the status fits the answers, and each answer is valid."""
        answers, found = self.answers, self.findings
        if bool(answers) != (self.status is Status.OPTIMAL) and self.status is not Status.LIMIT:
            return False
        if len(answers) > 1 or self.problem.limits or self.problem.question.matrix is not None:
            return False
        table = self.problem.table
        if table is not None and (len(table.clauses) or not (table.charges >= 0).all()):
            return False
        if math.isnan(found.lower_bound) or not np.isfinite(self.problem.source).all():
            return False
        if self.status is Status.INFEASIBLE and found.lower_bound != math.inf:
            return False
        return all(self._is_valid(answer) for answer in answers)

    def _is_valid(self, answer: Answer) -> bool:
        if not obeys(self.problem, 0, answer.row):
            return False
        price = self.class_cost(answer.row)
        if math.isinf(price):
            return False
        cost = float(self.problem.cost_of(answer.row[None])[0]) + price
        size = self.problem.size_of(answer.row, 0) + abs(price)
        digits = _LAST * size
        if not abs(cost - answer.cost) <= digits or not self.lower_bound <= answer.bound <= answer.cost:
            return False
        if self.status is not Status.OPTIMAL:
            return answer.bound == self.lower_bound
        return answer.cost - answer.bound <= GAP * size + digits

    def _claims_hold(self) -> bool:
        if self.pool is not None:
            return self._is_best_of(self.pool)
        floor = self.findings.bounds[0] if self.status is Status.OPTIMAL else self.lower_bound
        if floor == -math.inf:
            return True
        prices = price_cells(self.forest, self.problem.question.features, self.problem.table)
        members, most = coordinate_limits(self.forest, self.problem.table)
        goals = self.decision.goals
        if len(goals) != len(self.proofs) or not self._stays_cheapest(prices, members):
            return False
        highest = ceiling(self.forest, prices)
        for goal, proof in zip(goals, self.proofs, strict=True):
            cutoff = min(left_for(float(floor), goal.cost), highest) if math.isfinite(highest) else math.inf
            setting = Setting(self.forest, prices, self.target(goal), members, most, cutoff, proof.links)
            if not proof.holds(setting):
                return False
        return True

    def _stays_cheapest(self, prices: CellPrices, members: Array) -> bool:
        """Whether each number that a limit counts is cheapest in its own cell where it stays.

        A cell has one price. If another number of the cell were cheaper, the limit would count a change that need not be made.
        """
        forest, features = self.forest, self.problem.question.features
        at = forest.first_cell[:-1] + forest.cells_of(features.source[None])[0]
        stays = ((features.lower <= features.source) & (features.source <= features.upper))[forest.variable]
        return not (members.any(axis=0) & ~forest.grouped & stays & prices.moved[at]).any()

    def _is_best_of(self, pool: Array) -> bool:
        """Whether every valid candidate of ``among`` costs at least as much as the answer."""
        best = min((answer.bound for answer in self.answers), default=math.inf)
        if not all((pool == answer.row).all(axis=1).any() for answer in self.answers):
            return False
        for row in pool:
            if not obeys(self.problem, 0, row):
                continue
            cost = float(self.problem.cost_of(row[None])[0]) + self.class_cost(row)
            if cost < best - (GAP * abs(best) if math.isfinite(best) else 0.0):
                return False
        return True

    def weakened(self) -> EnsembleCertificate:
        """The same answers with the status "limit"."""
        return replace(self, findings=replace(self.findings, status=Status.LIMIT))


def nothing(status: Status, width: int, lower_bound: float) -> Findings:
    """Findings without an answer."""
    none = np.empty(0)
    return Findings(status, np.empty(0, np.int64), none, none, np.empty((0, width)), lower_bound)
