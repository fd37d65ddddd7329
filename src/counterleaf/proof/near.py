"""The proof that an answer is the cheapest one near the data: a ball around each row of the data, against each target leaf.

An answer x in a leaf of some class is near the data if the distance to some row z that the model assigns to the same class is
at most a radius R, up to ``SLACK`` of it. The distance is a sum over features, and so is the cost. For a leaf's box B, a row z
and a multiplier mu >= 0,

    min { cost(x) : x in B, distance(x, z) <= R }  >=  min { cost(x) + mu distance(x, z) : x in B } - mu R,

and the minimum on the right is that of each feature alone. ``check`` recomputes the radius, and this bound for every leaf and
every row of its class, unless the whole box is too far from z. NumPy only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from counterleaf.proof.certificate import GAP, UNPROVABLE, Answer, Certificate, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, IncompleteError, Part, Walk
from counterleaf.question.arrays import Grids
from counterleaf.types import Array

SLACK = 1e-12  # of the radius: a distance that exceeds it by so little counts as equal
_EPS = 2.0**-52
_ENDS = 1e-150, 1e150
_CELLS = 1 << 22  # distances that are computed at once


@dataclass(frozen=True, eq=False)
class Ball:
    """Rows of data, the distance between rows, and the radius: a quantile of the distances to the nearest other row.

    Numbers differ by their difference, relative to the range in the data. So do the levels of an ordered feature. Other values
    differ by 1. The distance is the sum of these differences, or with the metric "L2" the sum of their squares.
    """

    vectors: Array  # (n, D) the data as variables
    labels: Array  # (n,) the classes that the model predicts
    numbers: Array  # (F,) the variables that are numbers
    groups: tuple[tuple[int, int, int], ...]  # first variable, one past the last, number of ordered levels (0 without an order)
    squared: bool  # the metric is L2
    quantile: float
    radius: float = math.nan
    neighbours: Array = field(default_factory=lambda: np.empty(0, np.int64))  # (n,) another row of the same class, -1 if none

    @functools.cached_property
    def places(self) -> Array:
        """(n, F) the numbers of the data."""
        return np.ascontiguousarray(self.vectors[:, self.numbers])

    @functools.cached_property
    def values(self) -> Array:
        """(n, G) the places of the values in their groups."""
        return self.values_of(self.vectors)

    @functools.cached_property
    def scale(self) -> Array:
        """(F,) the range of each number, 1 if it is 0; no smaller and no larger than its inverse square allows."""
        width = np.ptp(self.places, axis=0)
        return np.where(width > _ENDS[0], np.minimum(width, _ENDS[1]), 1.0)

    @functools.cached_property
    def tables(self) -> list[Array]:
        """For each group, the distance between every two values."""
        out = []
        for k, (first, last, levels) in enumerate(self.groups):
            table = 1.0 - np.eye(last - first)
            if levels:
                seen = self.values[self.values[:, k] < levels, k]
                moved = np.abs(np.arange(levels)[:, None] - np.arange(levels)) / max(
                    float(np.ptp(seen)) if len(seen) else 1.0, 1.0
                )
                table[:levels, :levels] = moved**2 if self.squared else moved
            out.append(table)
        return out

    @property
    def limit(self) -> float:
        """The largest distance that counts as near."""
        return self.radius * (1.0 + SLACK)

    def values_of(self, rows: Array) -> Array:
        """(m, G) the places of the values of some rows in their groups."""
        parts = [rows[:, first:last].argmax(axis=1) for first, last, _ in self.groups]
        return np.stack(parts, axis=1) if parts else np.empty((len(rows), 0), np.int64)

    def between(self, which: Array, places: Array, values: Array) -> Array:
        """The distances of some rows of the data to numbers and values, of one row or of as many rows."""
        apart = np.abs(places - self.places[which]) / self.scale
        out = (apart * apart if self.squared else apart).sum(axis=1)
        for k, table in enumerate(self.tables):
            out = out + table[self.values[which, k], values[..., k]]
        return np.asarray(out)

    def of_row(self, row: Array) -> tuple[Array, Array]:
        """The numbers and the values of one row."""
        return row[self.numbers], self.values_of(row[None])[0]

    def nearest(self, row: int) -> tuple[int, float]:
        """The nearest other row of the same class, the first of equally near ones, and its distance; (-1, inf) if none."""
        others = np.flatnonzero(self.labels == self.labels[row])
        others = others[others != row]
        if not len(others):
            return -1, math.inf
        found = self.between(others, self.places[row], self.values[row])
        best = int(found.argmin())
        return int(others[best]), float(found[best])

    def to_neighbours(self) -> Array:
        """(n,) the distance of each row to its neighbour, infinity without one."""
        out = np.full(len(self.vectors), math.inf)
        has = np.flatnonzero(self.neighbours >= 0)
        size = max(1, _CELLS // max(1, self.vectors.shape[1]))
        for start in range(0, len(has), size):
            part = has[start : start + size]
            other = self.neighbours[part]
            out[part] = self.between(part, self.places[other], self.values[other])
        return out

    def outermost(self, distances: Array) -> tuple[float, Array]:
        """The quantile of the finite ones of some distances, and the rows that are at least as far, as few as prove it.

        The quantile is the k-th smallest of n, where k is n times ``quantile``, rounded up. It is at most r if k distances are,
        and at least r if n - k + 1 are.
        """
        has = np.flatnonzero(np.isfinite(distances))
        order = has[np.argsort(distances[has], kind="stable")]
        k = max(1, math.ceil(self.quantile * len(order) - 1e-9))
        return float(distances[order[k - 1]]), order[k - 1 :]

    @functools.cached_property
    def is_sound(self) -> bool:
        """Whether the radius is that quantile of the distances to the nearest other row of the same class.

        The neighbours are upper bounds. All rows are searched for the nearest one only beyond the quantile.
        """
        n, near = len(self.vectors), self.neighbours
        fits = near.shape == self.labels.shape == (n,) and bool(((near >= -1) & (near < n) & (near != np.arange(n))).all())
        if not fits or not np.isfinite(self.vectors).all() or not 0.0 < self.quantile <= 1.0:
            return False
        has = near >= 0
        if not has.any() or (self.labels[near[has]] != self.labels[has]).any():
            return False
        alone = np.flatnonzero(~has)
        if (np.bincount(self.labels)[self.labels[alone]] > 1).any():
            return False
        radius, beyond = self.outermost(self.to_neighbours())
        return radius == self.radius and all(self.nearest(row)[1] >= radius for row in beyond.tolist())


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
        x = np.minimum(np.maximum(free, self.lower), self.upper)
        if len(self.on):
            pair = [np.clip(end, self.lower, self.upper) for end in self._around(x)]
            sums = [self._sums(end, z, mu) for end in pair]
            x = np.where(sums[1] < sums[0], pair[1], pair[0])
        exact = (x == free) & (move < far)
        moved, apart = np.where(exact, np.where(up, move, -move), x - s), np.where(exact, far - move, np.abs(x - z))
        return x, moved, apart

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

    def bound(self, which: Array, mu: Array) -> Array:
        """A lower bound on the cost of the rows of the box near each of some rows, rounded down."""
        return self.evaluate(which, mu).bounds

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
        return _Listed(np.asarray(grids.values[grids.starts[d] : grids.starts[d + 1]]))  # type: ignore[return-value]
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

    ball: Ball = field(repr=False, default=None)  # type: ignore[assignment]
    multipliers: dict[int, Array] = field(repr=False, default_factory=dict)
    forks: dict[tuple[int, int], Part | Fork] = field(repr=False, default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "ball": self.ball, "multipliers": self.multipliers, "forks": self.forks}

    def admits(self, row: Array) -> bool:
        """Whether a row is near the data."""
        label = self.problem.tree.value[self.problem.leaf_of(row)]
        own = np.flatnonzero(self.ball.labels == label)
        return bool((self.ball.between(own, *self.ball.of_row(row)) <= self.ball.limit).any())

    def check(self) -> bool:
        """Check the proof, without the search.

        Returns
        -------
        bool
            True if every claim holds: those of ``Certificate.check``, and that the answer is near a row of its class.

        Notes
        -----
        An optimal answer may exceed its bound by 1e-9 of its cost, and by what it would save if the radius were larger by
        1e-12 of itself.
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
            own = np.flatnonzero(self.ball.labels == self.problem.tree.value[leaf])
            alone = cell.bound(own[:1], np.zeros(1))[0] + below if len(own) else math.inf
            if alone >= (math.inf if at is None else at.cost):
                proved.append((np.array([alone]), 0.0))
                continue
            proved += [(bound + below, mu) for bound, mu in self._bounds(leaf, cell, at)]
        if self.status is Status.OPTIMAL:
            assert at is not None
            room += max((mu for _, mu in proved), default=0.0) * self.ball.limit * 2 * SLACK
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
