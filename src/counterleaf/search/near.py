"""The search for the cheapest row near the data: target leaves by the cost of their boxes, and rows of the data in each.

A leaf is divided by the rows of the data: the answer lies in the ball around one of them. Each pair of a box and a ball has a
bound by one multiplier, see ``counterleaf.proof.near``. Where values that are not continuous leave a gap between the bound
and the best row found, the box is divided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from counterleaf.core.stopping import has_ended
from counterleaf.errors import CounterleafError
from counterleaf.proof.ball import Ball
from counterleaf.proof.certificate import GAP, Findings, Status
from counterleaf.proof.near import Cell, Found, NearCertificate, NearPart, boxes
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, Part, Parting, obeys
from counterleaf.question.constraints.kinds import Boxed
from counterleaf.question.constraints.several import Support
from counterleaf.question.constraints.tables import Near
from counterleaf.question.query import Query
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_ROUNDS = 56  # of bisection for all rows at once
_STEPS = 200  # of bisection for one row
_BOXES, _ALL_BOXES = 2000, 10_000  # for one row of the data, and for all: if more are needed, the proof stays open
_SPREAD = 1000  # numbers of one grid
_COMBINATIONS = 50_000  # of numbers on grids, tried at once
_NONE = np.empty(0)


def check_question(near: Near, query: Query, schema: Schema, plain: bool, oblique: bool) -> None:
    """Refuse what the search for rows near the data does not support."""
    reason = ""
    others = [one for one in query.constraints if not isinstance(one, (Boxed, Support)) and one is not near]
    if others:
        reason = f"{others[0]}; expected constraints on single features, such as freeze, fix, between, allow or only_increase"
    elif not plain:
        reason = "a target that the leaves compute; expected classes that are constant in each leaf"
    elif oblique:
        reason = "oblique splits; expected a tree that compares one feature at a time"
    elif query.prices.coupling is not None:
        reason = "Quadratic; expected L1, L2 or a sum of them"
    elif query.prices.runs or any((table < 0).any() for table in query.prices.moves):
        reason = "a cost that earns; expected one that is 0 at the row and nowhere less"
    elif len(query.prices.charges):
        reason = "Changes; expected L1, L2 or a sum of them"
    elif query.count != 1 or query.avoided:
        reason = "several answers; expected count=1"
    elif query.margin:
        reason = "a margin; expected 0"
    elif query.question.max_nodes is not None:
        reason = "max_nodes; use time_limit"
    elif schema.gaps:
        reason = "a row with missing numbers; fill them in first"
    if reason:
        raise CounterleafError(f"{near} cannot be combined with {reason}")


def ball_of(near: Near, schema: Schema, tree: Any) -> Ball:
    """Return the rows of ``near`` and their radius, which are remembered for the next question."""
    known = near._last[0] if near._last else None
    if known is None or known[0] is not schema or known[1] is not tree:
        known = schema, tree, _measured(near, schema, tree)
        near._last[:] = [known]
    ball: Ball = known[2]
    return ball


def _measured(near: Near, schema: Schema, tree: Any) -> Ball:
    vectors = near.vectors(schema)
    labels = np.asarray(tree.value[tree.apply(vectors)])
    numbers = schema.starts[:-1][[isinstance(feature, Numeric) for feature in schema]]
    groups = tuple(
        (schema.span(d).start, schema.span(d).stop, len(feature.values) if feature.ordered else 0)
        for d, feature in enumerate(schema)
        if not isinstance(feature, Numeric)
    )
    ball = Ball(vectors, labels, numbers, groups, near.metric == "L2", near.quantile)
    neighbours = _neighbours(ball)
    if not (neighbours >= 0).any():
        raise CounterleafError(f"{near}: no two rows have the same class; expected more rows of data")
    ball = replace(ball, neighbours=neighbours)
    while True:  # until rounding has not hidden a nearer neighbour of a row that decides the radius
        radius, beyond = ball.outermost(ball.to_neighbours())
        nearest = [ball.nearest(row) for row in beyond.tolist()]
        if all(distance >= radius for _, distance in nearest):
            return replace(ball, radius=radius)
        neighbours = ball.neighbours.copy()
        neighbours[beyond] = [row for row, _ in nearest]
        ball = replace(ball, neighbours=neighbours)


def _neighbours(ball: Ball) -> Array:
    """(n,) a nearest other row of the same class, up to rounding; -1 for the only row of a class."""
    from scipy.spatial import cKDTree

    columns = [ball.places / ball.scale]
    for k, (first, last, levels) in enumerate(ball.groups):
        if levels and levels == last - first:
            step = ball.tables[k][0, 1] if levels > 1 else 0.0
            columns.append(ball.values[:, [k]] * (math.sqrt(step) if ball.squared else step))
        else:  # two values differ in two columns; gaps in ordered features are as far as different categories
            columns.append(ball.vectors[:, first:last] * (math.sqrt(0.5) if ball.squared else 0.5))
    points = np.concatenate(columns, axis=1)
    out = np.full(len(points), -1)
    for label in np.unique(ball.labels).tolist():
        own = np.flatnonzero(ball.labels == label)
        if len(own) > 1:
            _, pairs = cKDTree(points[own]).query(points[own], k=2, p=2 if ball.squared else 1)
            other = np.where(pairs[:, 0] == np.arange(len(own)), pairs[:, 1], pairs[:, 0])
            out[own] = own[other]
    return out


def find_near(problem: Problem, ball: Ball, until: float) -> NearCertificate:
    """Find the cheapest row of the target near the data, with its proof; stop at a point in time."""
    with np.errstate(all="ignore"):
        return _NearSearch(problem, ball, until).run()


_Ends = tuple[float, float, float]  # multipliers: too small, the best one so far, too large


class _Pair(NamedTuple):
    """A leaf and a row of the data whose bound is too low, and multipliers around the best one."""

    leaf: int
    cell: Cell
    row: int
    bound: float
    ends: _Ends


class _Root(NamedTuple):
    """The best multiplier of a box, its bound, the rows on both sides of the radius, and whether the bound is tight."""

    mu: float
    bound: float
    outer: Found
    inner: Found
    ends: _Ends
    is_tight: bool


@dataclass(eq=False)
class _NearSearch:
    """One search: the best row so far, and the multipliers that prove the rest."""

    problem: Problem
    ball: Ball
    until: float
    best: Array | None = None
    cost: float = math.inf
    leaf: int = -1
    multipliers: dict[int, Array] = field(default_factory=dict)
    forks: dict[tuple[int, int], Part | Fork] = field(default_factory=dict)
    proved: float = math.inf  # a bound on all rows that were excluded
    boxes: int = 0  # how many boxes were bounded alone
    most: int = 0  # how many may be

    def run(self) -> NearCertificate:
        """Search leaf by leaf, in order of the cost of their boxes."""
        cells = []
        below = self.problem.question.nodes["below"]
        for leaf, lower, upper in boxes(self.problem):
            cell = Cell(self.problem, self.ball, lower, upper)
            own = np.flatnonzero(self.ball.labels == self.problem.tree.value[leaf])
            if len(own):
                cells.append((cell.least_cost() + float(below[leaf]), leaf, cell, own))
        cells.sort(key=lambda one: one[:2])
        near = []
        for alone, leaf, cell, own in cells:  # the rows nearest to the data limit the cost of the answer
            close = cell.evaluate(own, np.full(len(own), math.inf))
            inside = close.distances <= self.ball.limit
            if inside.any():
                near.append((alone, leaf, cell, own[inside]))
                first = int(np.where(inside, close.costs, math.inf).argmin())
                self._offer(leaf, close.places[first], close.values[first])
            if has_ended(self.until):
                return self._certificate(Status.LIMIT, cells[0][0])
            if alone >= self.cost:
                break
        if not near:
            return self._certificate(Status.INFEASIBLE, math.inf)
        open_pairs: list[_Pair] = []
        for alone, leaf, cell, which in near:
            if alone >= self.cost:
                self.proved = min(self.proved, alone)
                break
            found = None if has_ended(self.until) else self._bisect(leaf, cell, which)
            if found is None:
                return self._certificate(Status.LIMIT, min([self.proved, alone, *(pair.bound for pair in open_pairs)]))
            open_pairs += found
        open_pairs.sort(key=lambda pair: pair.bound)
        for k, pair in enumerate(open_pairs):
            if pair.bound >= self._enough():
                self.proved = min(self.proved, pair.bound)
                break
            if not self._solve(pair):
                return self._certificate(Status.LIMIT, min(self.proved, open_pairs[k].bound))
        made = self._certificate(Status.OPTIMAL, self.proved)
        return made if self.best is not None and made.check() else self._certificate(Status.LIMIT, self.proved)

    def _certificate(self, status: Status, bound: float) -> NearCertificate:
        none, width = self.best is None, len(self.problem.source)
        bound = min(bound, self.cost)
        points = np.empty((0, width)) if self.best is None else self.best[None]
        leaves, costs, bounds = (np.array([] if none else [one]) for one in (self.leaf, self.cost, bound))
        found = Findings(status, leaves.astype(np.int64), costs, bounds, points, bound)
        return NearCertificate(self.problem, found, ball=self.ball, multipliers=self.multipliers, forks=self.forks)

    def _enough(self) -> float:
        """The bound from which on a pair is excluded."""
        return self.cost - 0.4 * GAP * abs(self.cost) if self.cost < math.inf else math.inf

    def _bisect(self, leaf: int, cell: Cell, which: Array) -> list[_Pair] | None:
        """Find multipliers of a leaf for some rows of the data; return the pairs that they do not exclude.

        The multipliers of all rows are bisected at once, as long as their bounds do not exclude them. From time to time, a row
        near the most promising one is tried as an answer, which lowers the cost that the others have to undercut. Without
        time left, the result is None.
        """
        below = float(self.problem.question.nodes["below"][leaf])
        mu = self.multipliers.setdefault(leaf, np.zeros(len(self.ball.labels)))
        close, free = (cell.evaluate(which, np.full(len(which), end)) for end in (math.inf, 0.0))
        first = int(np.where(free.distances <= self.ball.limit, free.costs, math.inf).argmin())
        self._offer(leaf, free.places[first], free.values[first])
        bounds, low, high = free.bounds + below, np.zeros(len(which)), np.full(len(which), math.inf)
        left = np.flatnonzero(bounds < self._enough())
        excess = np.maximum(free.distances - self.ball.radius, 1e-300)
        tried = np.where(close.costs > free.costs, (close.costs - free.costs) / excess, 1.0)
        for turn in range(_ROUNDS):
            if not len(left):
                break
            if has_ended(self.until):
                return None
            rows, at = which[left], tried[left]
            found = cell.evaluate(rows, at)
            mu[rows] = np.where(found.bounds + below > bounds[left], at, mu[rows])
            bounds[left] = np.maximum(bounds[left], found.bounds + below)
            near = found.distances <= self.ball.radius
            low[left], high[left] = np.where(near, low[left], at), np.where(near, at, high[left])
            tried[left] = np.where(np.isinf(high[left]), 4.0 * low[left], 0.5 * (low[left] + high[left]))
            if turn % 8 == 7:
                first = int(left[bounds[left].argmin()])
                self._root(leaf, cell, which[[first]], (low[first], mu[which[first]], high[first]))
            left = left[bounds[left] < self._enough()]
        pairs = [_Pair(leaf, cell, int(which[k]), float(bounds[k]), (low[k], mu[which[k]], high[k])) for k in left.tolist()]
        bounds[left] = math.inf
        self.proved = min(self.proved, float(bounds.min(initial=math.inf)))
        return pairs

    def _offer(self, leaf: int, places: Array, values: Array) -> None:
        """Take a row as the best one if it is valid, near the data and cheaper."""
        row = np.zeros(len(self.problem.source))
        row[self.ball.numbers] = places + 0.0
        for (first, _, _), value in zip(self.ball.groups, values.tolist(), strict=True):
            row[first + value] = 1.0
        cost = float(self.problem.cost_of(row[None])[0]) + float(self.problem.question.nodes["below"][leaf])
        if cost < self.cost and obeys(self.problem, leaf, row, tight=True):
            own = np.flatnonzero(self.ball.labels == self.problem.tree.value[leaf])
            if (self.ball.between(own, places, values) <= self.ball.limit).any():
                self.best, self.cost, self.leaf = row, cost, leaf

    def _solve(self, pair: _Pair) -> bool:
        """Close the gap of one leaf and one row, dividing the box where needed; False if the time is over."""
        self.most = min(self.boxes + _BOXES, _ALL_BOXES)
        part = self._part(pair.leaf, pair.cell, np.array([pair.row]), pair.ends)
        if part is None:
            return False
        if isinstance(part, NearPart):
            self.multipliers[pair.leaf][pair.row] = part.mu
        else:
            self.forks[pair.leaf, pair.row] = part
        return True

    def _root(self, leaf: int, cell: Cell, one: Array, ends: _Ends) -> _Root:
        """The bound of one box and one row, and whether a row that it offers as an answer shows that the bound is tight."""
        mu, bound, outer, inner, ends = self._multiplier(cell, one, ends)
        places, values = self._filled(cell, one, outer, inner)
        if not self._is_tight(cell, mu, bound, places, values):
            places, values = self._packed(cell, one, (outer, inner), (places, values))
        self._offer(leaf, places, values)
        return _Root(mu, bound, outer, inner, ends, self._is_tight(cell, mu, bound, places, values))

    def _part(self, leaf: int, cell: Cell, one: Array, ends: _Ends) -> Part | Fork | None:
        """The proof for one box and one row; ``ends`` are likely to contain the best multiplier."""
        if has_ended(self.until):
            return None
        if cell.least_distance(one)[0] > self.ball.limit:
            return NearPart(leaf, _NONE, False, _NONE)
        self.boxes += 1
        root = self._root(leaf, cell, one, ends)
        bound = root.bound + float(self.problem.question.nodes["below"][leaf])
        is_done = root.is_tight or bound >= self._enough() or self.boxes > self.most
        cut = None if is_done else self._cut(cell, root.outer, root.inner)
        if cut is None:
            self.proved = min(self.proved, bound)
            return NearPart(leaf, _NONE, False, _NONE, mu=root.mu)
        sides: list[Part | Fork] = []
        for side in (1, -1):
            inside = self._side(cell, side, *cut)
            made = self._part(leaf, inside, one, root.ends) if inside else NearPart(leaf, _NONE, False, _NONE)
            if made is None:
                return None
            sides.append(made)
        return Fork(Parting.CUT, *cut, sides[1], sides[0])

    def _is_tight(self, cell: Cell, mu: float, bound: float, places: Array, values: Array) -> bool:
        """Whether the bound of a pair is as good as its row, up to what a check allows."""
        cost = float(cell.cost.of(places - cell.source).sum())
        cost += sum(float(prices[v]) for prices, v in zip(cell.prices, values.tolist(), strict=True))
        return cost - bound <= 0.4 * GAP * abs(cost) + cell.price_of_rounding(places, mu)

    def _side(self, cell: Cell, side: int, index: int, cuts: tuple[float, float]) -> Cell | None:
        """One side of a divided box, None if it holds no row."""
        lower, upper = cell.box[0].copy(), cell.box[1].copy()
        if side > 0:
            lower[index] = max(lower[index], cuts[1])
        else:
            upper[index] = min(upper[index], cuts[0])
        table = self.problem.table
        assert table is not None
        if not table.tighten(self.problem.source, lower, upper) or (lower > upper).any():
            return None
        return Cell(self.problem, self.ball, lower, upper)

    def _multiplier(self, cell: Cell, one: Array, ends: _Ends) -> tuple[float, float, Found, Found, _Ends]:
        """The multiplier with the best bound, that bound, and the rows and multipliers just below and just above it."""
        low, guess, high = ends
        outer, known, inner = (cell.evaluate(one, np.array([end])) for end in ends)
        if outer.distances[0] <= self.ball.radius:
            high, inner = low, outer
            low, outer = 0.0, cell.evaluate(one, np.zeros(1))
        elif inner.distances[0] > self.ball.radius and high < math.inf:
            low, outer = high, inner
            high, inner = math.inf, cell.evaluate(one, np.array([math.inf]))
        if low == 0.0 and outer.distances[0] <= self.ball.radius:
            return 0.0, float(outer.bounds[0]), outer, outer, (0.0, 0.0, math.inf)
        trials = ((low, outer), (guess, known), (high, inner))
        best, bound = max(((at, float(found.bounds[0])) for at, found in trials), key=lambda one: one[1])
        for _ in range(_STEPS):
            at = 0.5 * (low + high) if high < math.inf else max(4.0 * low, 1e-6)
            if at in (low, high) or at > 1e200:
                break
            found = cell.evaluate(one, np.array([at]))
            if found.bounds[0] > bound:
                best, bound = at, float(found.bounds[0])
            if found.distances[0] <= self.ball.radius:
                high, inner = at, found
            else:
                low, outer = at, found
        return best, bound, outer, inner, (low, best, high)

    def _filled(self, cell: Cell, one: Array, outer: Found, inner: Found) -> tuple[Array, Array]:
        """A row near the data: ``inner``, with the numbers and values of ``outer`` as far as the radius allows."""
        x, values, ball = inner.places[0].copy(), inner.values[0].copy(), self.ball

        def is_near() -> bool:
            return float(ball.between(one, x, values)[0]) <= ball.limit

        start, end = x.copy(), cell.evaluate(one, np.array([math.inf])).places[0]
        for share in () if is_near() else 2.0 ** np.arange(-52.0, 1.0):  # rounding puts the row out of reach
            x = np.where(np.isin(np.arange(len(x)), cell.on), start, start + share * (end - start))
            if is_near():
                break
        for k in np.flatnonzero(values != outer.values[0]).tolist():
            old, values[k] = values[k], outer.values[0, k]
            if not is_near():
                values[k] = old
        for d in np.flatnonzero(x != outer.places[0]).tolist():
            start, end = float(x[d]), float(outer.places[0, d])
            low, high = 0.0, 1.0
            x[d] = end
            while not is_near() and low < (share := 0.5 * (low + high)) < high:
                x[d] = start + share * (end - start)
                low, high = (share, high) if is_near() else (low, share)
                x[d] = start + high * (end - start)
            if not is_near():
                x[d] = start + low * (end - start)
            if d in cell.grids:
                towards = cell.grids[d].below if end > start else cell.grids[d].above
                x[d] = towards(cell.source[[d]], x[[d]])[0]
            if not is_near():
                x[d] = start
        return x, values

    def _packed(self, cell: Cell, one: Array, ends: tuple[Found, Found], known: tuple[Array, Array]) -> tuple[Array, Array]:
        """A row near the data that uses up the radius as far as grids allow: of many combinations, the cheapest one.

        Where cost and distance have the same weights, it matters only how much of the radius is left. The number on the finest
        grid is moved as far as the others leave room.
        """
        ball, (outer, inner) = self.ball, ends
        a, b = outer.places[0], inner.places[0]
        on = [d for d in cell.grids if a[d] != b[d]]
        if len(on) < 2:
            return known
        z, source = ball.places[one[0]], cell.source
        choices = [_between(cell.grids[d], source[[d]], a[d], b[d]) for d in on]
        order = sorted(range(len(on)), key=lambda k: len(choices[k]))
        rng, most, x = np.random.default_rng(0), _COMBINATIONS, np.repeat(known[0][None], _COMBINATIONS, axis=0)
        for k in order[:-1]:
            x[:, on[k]] = choices[k][rng.integers(len(choices[k]), size=most)]
        last = on[order[-1]]
        x[:, last] = z[last]
        which, values = np.repeat(one, most), np.repeat(known[1][None], most, axis=0)
        room = np.maximum(ball.radius - ball.between(which, x, values), 0.0)
        reach = (np.sqrt(room) if ball.squared else room) * ball.scale[last]
        low, high = min(a[last], b[last]), max(a[last], b[last])
        towards = cell.grids[last].below if source[last] > z[last] else cell.grids[last].above
        x[:, last] = np.clip(towards(source[[last]], z[last] + (reach if source[last] > z[last] else -reach)), low, high)
        costs = cell.cost.of(x - source).sum(axis=1)
        costs[ball.between(which, x, values) > ball.radius] = math.inf
        best = int(costs.argmin())
        return (x[best], known[1]) if costs[best] < cell.cost.of(known[0] - source).sum() else known

    def _cut(self, cell: Cell, outer: Found, inner: Found) -> tuple[int, tuple[float, float]] | None:
        """Where to divide a box: a value, or a number on a grid, in which the rows on both sides of the radius differ."""
        for k in np.flatnonzero(outer.values[0] != inner.values[0]).tolist():
            return int(self.ball.groups[k][0] + inner.values[0, k]), (0.0, 1.0)
        for d, grid in cell.grids.items():
            a, b = sorted((float(outer.places[0, d]), float(inner.places[0, d])))
            if a < b:
                source, middle = cell.source[[d]], np.array([0.5 * (a + b)])
                low = float(grid.below(source, middle)[0])
                return int(self.ball.numbers[d]), (low, float(grid.above(source, np.nextafter([low], math.inf))[0]))
        return None


def _between(grid: Any, source: Array, a: float, b: float) -> Array:
    """The numbers of a grid between two of them, or a thousand of them evenly spread."""
    low, high = min(a, b), max(a, b)
    return np.unique(np.clip(grid.below(source, np.linspace(low, high, _SPREAD)), low, high))
