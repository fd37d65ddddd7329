"""The proof that an answer is the cheapest one near the data: a ball around each row of the data, against each target leaf.

An answer x in a leaf of some class is near the data if the distance to some row z that the model assigns to the same class is
at most a radius R, up to ``SLACK`` of it. The distance is a sum over features, and so is the cost. For a leaf's box B, a row z
and a multiplier mu >= 0,

    min { cost(x) : x in B, distance(x, z) <= R }  >=  min { cost(x) + mu distance(x, z) : x in B } - mu R,

and the minimum on the right is that of each feature alone. ``check`` recomputes the radius, and this bound for every leaf and
every row of its class, unless the whole box is too far from z. NumPy only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from counterleaf.proof.ball import SLACK, Ball
from counterleaf.proof.certificate import GAP, UNPROVABLE, Answer, Certificate, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, IncompleteError, Part, Walk
from counterleaf.question.arrays import Grids
from counterleaf.types import Array

_EPS = 2.0**-52


class Cell:
    """A box of rows of one leaf, and the cheapest or nearest rows in it, for some rows of the data at once."""

    def __init__(self, problem: Problem, ball: Ball, lower: Array, upper: Array) -> None:
        self.ball, self.box, at = ball, (lower, upper), ball.numbers
        f, table = problem.question.features, problem.table
        self.source, self.lower, self.upper = f.source[at], lower[at], upper[at]
        self.cost = f.cost.at(at)
        grids = None if table is None else table.grids.at(at)
        self.on = np.empty(0, np.int64) if grids is None else np.flatnonzero(grids.on)
        self.grids = {} if grids is None else {d: _one(grids, d) for d in self.on.tolist()}
        self.steps = (
            None if grids is None or len(grids.values) else Grids(grids.step, np.zeros(len(at) + 1, np.int64), np.empty(0))
        )
        self.prices, self.allowed = [], []
        for first, last, _ in ball.groups:
            slope, chosen = f.slope_up[first:last], f.source[first:last]
            self.prices.append(np.where(upper[first:last] > 0, slope - float(slope @ chosen), math.inf))
            self.allowed.append(upper[first:last] > 0)

    def evaluate(self, which: Array, mu: Array) -> Found:
        """Minimise cost + mu distance to each of some rows; ``mu`` may be infinity, which minimises the distance alone."""
        ball, z = self.ball, self.ball.places[which]
        x, moved, apart = self._numbers(z, mu)
        costs, values = self.cost.of(moved).sum(axis=1), np.empty((len(which), len(ball.groups)), np.int64)
        apart = apart / ball.scale
        distances = (apart * apart if ball.squared else apart).sum(axis=1)
        reach = (np.abs(z - self.source) + np.abs(moved)) / ball.scale
        reach = (reach * reach if ball.squared else reach).sum(axis=1) + len(self.prices)
        finite = np.where(np.isinf(mu), 0.0, mu)
        for k, prices in enumerate(self.prices):
            table = ball.tables[k][ball.values[which, k]]
            sums = np.where(np.isinf(mu)[:, None], table, prices + finite[:, None] * table)
            values[:, k] = np.where(self.allowed[k], sums, math.inf).argmin(axis=1)
            costs = costs + prices[values[:, k]]
            distances = distances + table[np.arange(len(which)), values[:, k]]
        rounding = (len(self.source) + len(self.prices) + 64) * _EPS
        size = np.abs(costs) + finite * (reach + distances + ball.limit)
        bounds = costs + finite * (distances - ball.limit) - rounding * size
        return Found(np.where(np.isinf(mu), -math.inf, bounds), x, values, costs, distances * (1.0 - rounding))

    def _numbers(self, z: Array, mu: Array) -> tuple[Array, Array, Array]:
        """The best numbers, and their differences from the source and from ``z``, which rounding hardly disturbs.

        The minimum over all numbers lies between the source and ``z``; as the sum is convex, the best number of an interval is
        the nearest one, and the best number of a grid is one of the two around it.
        """
        s, scale, all_ = self.source, self.ball.scale, np.isinf(mu)[:, None]
        up, far = z > s, np.abs(z - s)
        curve = np.where(up, self.cost.curve_up, self.cost.curve_down)
        slope = np.where(up, self.cost.slope_up, -self.cost.slope_down)
        price = np.where(all_, 1.0, mu[:, None]) / scale
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.ball.squared:
                pull = 2.0 * price / scale
                move = (pull * far - slope) / (2.0 * curve + pull)
            else:
                move = (price - slope) / (2.0 * curve)
        move = np.where(all_, far, np.clip(np.where(np.isnan(move), 0.0, move), 0.0, far))
        free = np.where(move == far, z, s + np.where(up, move, -move))
        lower, upper = self._window(z)
        x = np.minimum(np.maximum(free, lower), upper)
        if len(self.on):
            pair = [np.clip(end, self.lower, self.upper) for end in self._around(x)]
            sums = [self._sums(end, z, mu) for end in pair]
            x = np.where(sums[1] < sums[0], pair[1], pair[0])
        exact = (x == free) & (move < far)
        moved, apart = np.where(exact, np.where(up, move, -move), x - s), np.where(exact, far - move, np.abs(x - z))
        return x, moved, apart

    def _window(self, z: Array) -> tuple[Array, Array]:
        """The box, without the numbers that are farther from ``z`` than the radius allows for one number; grids stay whole."""
        reach = self.ball.scale * (math.sqrt(self.ball.limit) if self.ball.squared else self.ball.limit)
        reach = (1.0 + 4.0 * _EPS) * reach + (reach > 0) * 2.0 * np.spacing(np.abs(z))
        reach[:, self.on] = math.inf
        lower, upper = np.maximum(self.lower, z - reach), np.minimum(self.upper, z + reach)
        apart = lower > upper  # the box is out of reach
        return np.where(apart, self.lower, lower), np.where(apart, self.upper, upper)

    def _around(self, x: Array) -> tuple[Array, Array]:
        """The numbers of the grids at or below, and at or above, some numbers; those without a grid stay."""
        if self.steps is not None:
            return self.steps.below(self.source, x), self.steps.above(self.source, x)
        below, above = x.copy(), x.copy()
        for d, grid in self.grids.items():
            source = self.source[[d]]
            below[:, d], above[:, d] = grid.below(source, x[:, d]), grid.above(source, x[:, d])
        return below, above

    def _sums(self, x: Array, z: Array, mu: Array) -> Array:
        """cost + mu distance of each number; the distance alone if mu is infinity."""
        apart = np.abs(x - z) / self.ball.scale
        apart = apart * apart if self.ball.squared else apart
        all_ = np.isinf(mu)[:, None]
        return np.asarray(np.where(all_, apart, self.cost.of(x - self.source) + np.where(all_, 0.0, mu[:, None]) * apart))

    def price_of_rounding(self, places: Array, mu: float) -> float:
        """What rounding costs: a radius larger by ``SLACK`` of it, and for each number the float next to the best one."""
        unit, moved, reach = np.spacing(np.abs(places)), np.abs(places - self.source), math.sqrt(self.ball.limit)
        curve = np.maximum(self.cost.curve_up, self.cost.curve_down)
        slope = np.maximum(np.abs(self.cost.slope_up), np.abs(self.cost.slope_down))
        pull = mu * (2 * reach if self.ball.squared else 1.0) / self.ball.scale
        return float(mu * self.ball.limit * SLACK + 2 * (unit * (2 * curve * moved + slope + pull)).sum())

    def bound(self, which: Array, mu: Array) -> Array:
        """A lower bound on the cost of the rows of the box near each of some rows, rounded down."""
        return self.evaluate(which, mu).bounds

    def least_cost(self) -> float:
        """A lower bound on the cost of all rows of the box, rounded down."""
        nearest = np.minimum(np.maximum(self.source, self.lower), self.upper)
        costs = [*self.cost.of(nearest - self.source).tolist(), *(float(prices.min()) for prices in self.prices)]
        return float(sum(costs) - (len(costs) + 64) * _EPS * sum(map(abs, costs)))

    def least_distance(self, which: Array) -> Array:
        """A lower bound on the distance of the box to each of some rows, rounded down."""
        return self.evaluate(which, np.full(len(which), math.inf)).distances


class Found(NamedTuple):
    """Minimisers of cost + mu distance, for some rows of the data: what they prove, and the rows themselves."""

    bounds: Array  # (m,) on the cost of the rows in the box and in the ball, rounded down
    places: Array  # (m, F) the numbers
    values: Array  # (m, G) the values of the groups
    costs: Array  # (m,) the cost of each row, without class costs
    distances: Array  # (m,) rounded down


def _one(grids: Grids, d: int) -> Grids:
    """The grid of one number, for many values at once."""
    if grids.starts[d + 1] > grids.starts[d]:
        return _Listed(np.asarray(grids.values[grids.starts[d] : grids.starts[d + 1]]))  # type: ignore[return-value]  # acts as one
    return Grids(grids.step[:, [d]], np.zeros(2, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class _Listed:
    """A grid that is a list of numbers in increasing order; the number of the source belongs to it."""

    values: Array

    def below(self, source: Array, value: Array) -> Array:
        points = np.union1d(self.values, source)
        k = np.searchsorted(points, value, "right")
        return np.where(k > 0, points[np.maximum(k - 1, 0)], -math.inf)

    def above(self, source: Array, value: Array) -> Array:
        points = np.union1d(self.values, source)
        k = np.searchsorted(points, value, "left")
        return np.where(k < len(points), points[np.minimum(k, len(points) - 1)], math.inf)


def boxes(problem: Problem) -> Iterator[tuple[int, Array, Array]]:
    """The box of every target leaf that has room, depth-first."""
    nodes, none = problem.question.nodes, np.empty(0)
    leaves = np.flatnonzero((nodes["left"] < 0) & np.isfinite(nodes["below"])).tolist()
    parts: dict[int, Part | Fork] = {leaf: Part(leaf, none, False, none) for leaf in leaves}
    for place in Walk(problem, parts).places():
        yield place.part.node, place.region.lower, place.region.upper


@dataclass(frozen=True, slots=True)
class NearPart(Part):
    """A part of a divided box, with the multiplier of the distance."""

    mu: float = 0.0


@dataclass(frozen=True, eq=False)
class NearCertificate(Certificate):
    """The proof of an answer that must be near the data; ``check`` verifies it as for any other answer.

    ``multipliers`` has one array for each leaf whose box alone is cheaper than the answer, with one number per row of the data;
    ``forks`` the boxes that are divided further, by leaf and row, whose parts have one multiplier each.
    """

    ball: Ball = field(repr=False, default=None)  # type: ignore[assignment]  # always passed; a dataclass wants a default here
    multipliers: dict[int, Array] = field(repr=False, default_factory=dict)
    forks: dict[tuple[int, int], Part | Fork] = field(repr=False, default_factory=dict)

    def admits(self, row: Array) -> bool:
        """Whether a row is near the data."""
        label = self.problem.tree.value[self.problem.leaf_of(row)]
        own = np.flatnonzero(self.ball.labels == label)
        return bool((self.ball.between(own, *self.ball.of_row(row)) <= self.ball.limit).any())

    def check(self) -> bool:
        """Check the proof, without the search: the claims of ``Certificate``, and that the answer is near a row of its class.

        An optimal answer may exceed its bound by 1e-9 of its cost, and by what it would save if the radius were larger by
        1e-12 of itself or if numbers were not rounded to floats.
        """
        try:
            with np.errstate(all="ignore"):
                return self._are_near() and self._is_cheapest()
        except UNPROVABLE:
            return False

    def _are_near(self) -> bool:
        """Whether the ball fits the tree and the data, and each answer is valid and near a row of its class."""
        q, ball = self.problem.question, self.ball
        plain = q.matrix is None and not self.problem.splits.oblique and len(q.bias) == len(q.nodes) and not q.margins.any()
        if not plain or not self._covers_all() or len(self.answers) > 1 or not self._are_sound(self.answers):
            return False
        labels = self.problem.tree.value[_leaves(self.problem, ball.vectors)]
        return np.array_equal(labels, ball.labels) and ball.is_sound and all(self.admits(one.row) for one in self.answers)

    def _covers_all(self) -> bool:
        """Whether the distance and the cost are sums over the same features, each with a cost that is least at the source."""
        f, table, ball = self.problem.question.features, self.problem.table, self.ball
        width = len(f.source)
        parts = [ball.numbers, *(np.arange(first, last) for first, last, _ in ball.groups)]
        if sorted(np.concatenate(parts).tolist()) != list(range(width)) or ball.vectors.shape[1] != width:
            return False
        if table is None:
            return not ball.groups and self._is_least_at_source(np.arange(width))
        groups = list(zip(table.first.tolist(), table.last.tolist(), strict=True))
        simple = not len(table.clauses) and not table.counts_changes
        return simple and [one[:2] for one in ball.groups] == groups and self._is_least_at_source(ball.numbers)

    def _is_least_at_source(self, numbers: Array) -> bool:
        cost = self.problem.question.features.cost.at(numbers)
        return bool(((cost.slope_up >= 0) & (cost.slope_down <= 0)).all())

    def _is_cheapest(self) -> bool:
        floor, room, at = self.lower_bound, 0.0, self.answers[0] if self.answers else None
        if self.status is Status.INFEASIBLE:
            return all(not len(self._in_reach(cell, leaf)) for leaf, cell in self._cells())
        if self.status is Status.OPTIMAL:
            assert at is not None
            room = GAP * self.problem.size_of(at.row, at.leaf) + self._digits(at)
        proved: list[tuple[Array, float]] = []  # bounds, and the multiplier at the answer
        for leaf, cell in self._cells():
            below = float(self.problem.question.nodes["below"][leaf])
            has_rows = bool((self.ball.labels == self.problem.tree.value[leaf]).any())
            alone = cell.least_cost() + below if has_rows else math.inf
            if alone >= (math.inf if at is None else at.cost):
                proved.append((np.array([alone]), 0.0))
                continue
            proved += [(bound + below, mu) for bound, mu in self._bounds(leaf, cell, at)]
        if self.status is Status.OPTIMAL:
            assert at is not None
            mu = max((mu for _, mu in proved), default=0.0)
            room += 2 * Cell(self.problem, self.ball, at.row, at.row).price_of_rounding(at.row[self.ball.numbers], mu)
            floor = max(floor, at.cost - room)
            if not at.cost - at.bound <= room:
                return False
        least = min((float(bounds.min(initial=math.inf)) for bounds, _ in proved), default=math.inf)
        return floor == -math.inf or least >= floor - 16 * _EPS * abs(floor)

    def _cells(self) -> Iterator[tuple[int, Cell]]:
        for leaf, lower, upper in boxes(self.problem):
            yield leaf, Cell(self.problem, self.ball, lower, upper)

    def _in_reach(self, cell: Cell, leaf: int) -> Array:
        """The rows of the leaf's class whose ball may meet the box."""
        own = np.flatnonzero(self.ball.labels == self.problem.tree.value[leaf])
        return own[cell.least_distance(own) <= self.ball.limit]

    def _bounds(self, leaf: int, cell: Cell, at: Answer | None) -> Iterator[tuple[Array, float]]:
        """The bounds of a leaf near each row, and the multiplier of a part that holds the answer, else 0."""
        prices = self.multipliers.get(leaf, np.zeros(len(self.ball.labels)))
        which = self._in_reach(cell, leaf)
        if prices.shape != self.ball.labels.shape or not ((prices[which] >= 0) & np.isfinite(prices[which])).all():
            raise IncompleteError
        forked = np.array([(leaf, row) in self.forks for row in which.tolist()], bool)
        whole = which[~forked]
        price = 0.0
        if at is not None and at.leaf == leaf:
            held = whole[self.ball.between(whole, *self.ball.of_row(at.row)) <= self.ball.limit]
            price = float(prices[held].max(initial=0.0))
        yield cell.bound(whole, prices[whole]), price
        for row in which[forked].tolist():
            one = np.array([row])
            for place in Walk(self.problem, {})._within(
                self.forks[leaf, row], leaf, (), cell.box[0].copy(), cell.box[1].copy()
            ):
                inner = Cell(self.problem, self.ball, place.region.lower, place.region.upper)
                if inner.least_distance(one)[0] <= self.ball.limit:
                    mu = place.part.mu if isinstance(place.part, NearPart) else math.nan
                    if not 0 <= mu < math.inf:
                        raise IncompleteError
                    held = at is not None and at.leaf == leaf and place.holds(at.row)
                    yield inner.bound(one, np.array([mu])), mu * held


def _leaves(problem: Problem, rows: Array) -> Array:
    """The leaf of each of many rows, summed in the model's order."""
    tree, q = problem.tree, problem.question
    seen = rows.astype(np.float32).astype(float) if q.narrow else rows
    out, ahead = np.full(len(rows), -1), [(0, np.arange(len(rows)))]
    while ahead:
        node, here = ahead.pop()
        if tree.left[node] < 0:
            out[here] = node
        elif len(here):
            columns, weights = q.row(node)
            terms = np.column_stack([weights * seen[np.ix_(here, columns)], np.zeros(len(here))])
            sums = np.cumsum(terms, axis=1)[:, -1] + float(q.bias[node])
            right = (sums > 0) | ((sums == 0) & q.right_closed)
            ahead += [(int(tree.right[node]), here[right]), (int(tree.left[node]), here[~right])]
    return out
