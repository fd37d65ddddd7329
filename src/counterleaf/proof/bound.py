"""What multipliers prove of a region: that every row in it costs at least so much, or that there is none.

For any lam >= 0 of a region's faces A d >= miss (any sign on equalities), every row x = source + d in its box costs at least

    lam @ miss + sum_d min over the box of phi_d(d) - price_d d,     price = A' lam,

the minimum over the values of each group and the points of each grid, one by one; and no row exists if lam @ miss exceeds the
most that price @ d can be. A coupled cost d' Q d is replaced by a tangent, which lies below it: with slope = Q y - kept y,
d' Q d >= sum_d kept_d d_d^2 + 2 slope_d d_d - slope @ y, since Q less kept on its diagonal is positive semidefinite.

Each is computed in floating point with a bound on its error, and where that does not decide, in rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from counterleaf.proof.exact import ROUNDING, Array, below, exact_dot
from counterleaf.proof.problem import HOLDS, Face, Problem, times
from counterleaf.proof.table import Table, at_or_above, at_or_below

_FEW = 8  # roundings of a term: of a change, of its square, of the products with curvature, slope and price
_HAIR = Fraction(1, 10**6)  # the most by which multipliers are scaled down to fit a slope


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The rows of a box that obey some faces; ``counted`` are the features of which it is known that they may change."""

    problem: Problem
    faces: Sequence[Face]
    lower: Array
    upper: Array
    counted: frozenset[int] = frozenset()

    @property
    def _box(self) -> tuple[Array, Array]:
        source = self.problem.source
        return self.lower - source, self.upper - source

    # ---- bounds -------------------------------------------------------------------------------------------------------

    def box_bound(self) -> float:
        """What the cheapest row of the box costs, each feature on its own, added up as the cost of an answer is."""
        problem, table = self.problem, self.problem.table
        low, high = self._box
        cost = problem.question.features[3:7]
        none = np.zeros(len(low))
        change = _response(cost, none, low, high)
        if np.isinf(change).any():
            return -math.inf
        row = problem.source + change
        row = np.where(change == low, self.lower, np.where(change == high, self.upper, row))
        if table is not None:
            on = np.flatnonzero(table.step[0])
            points = self._grid_points(on, row[on])
            worth = _phi(cost[:, on], points - problem.source[on])
            row[on] = points[worth.argmin(axis=0), np.arange(len(on))]
            for a, b in zip(table.first, table.last, strict=True):
                row[a:b] = 0.0
                left = np.flatnonzero(self.upper[a:b] > 0)
                row[a + left[cost[1, a:b][left].argmin()]] = 1.0
        if problem.question.matrix is None:
            return float(problem.cost_of(row[None])[0])
        return float(_phi(cost, row - problem.source).sum())  # what features cost together is not negative

    def bound(self, lam: Array, tangent: Array, enough: float) -> float:
        """What the multipliers prove that no row of the region undercuts; as much as they can, unless that is ``enough``."""
        with np.errstate(all="ignore"):
            quick = self._quick_bound(lam, tangent)
        if quick >= enough:
            return quick
        return max(quick if not math.isnan(quick) else -math.inf, self._exact_bound(lam, tangent))

    def _quick_bound(self, lam: Array, tangent: Array) -> float:
        """In floating point, less all that rounding may have added."""
        problem, table = self.problem, self.problem.table
        cost = problem.question.features[3:7]
        price, error = self._prices(lam)
        terms = [a * face.miss for a, face in zip(lam.tolist(), self.faces, strict=True)]
        terms += [-abs(a) * face.give for a, face in zip(lam.tolist(), self.faces, strict=True)]
        size = math.fsum(map(abs, terms))
        if len(tangent):
            cost, slope, slope_error = self._tangent(tangent)
            price, error = price - 2 * slope, error + 2 * slope_error + ROUNDING * np.abs(price)
            terms.append(-float(math.fsum((tangent * slope).tolist())))
            size += float(np.abs(tangent) @ (np.abs(slope) + slope_error / ROUNDING))
        low, high = self._box
        worth, sizes = _least(cost, price, error, low, high)
        if table is not None:
            on = np.flatnonzero(table.step[0])
            worth[on], sizes[on] = self._least_on_grids(cost, price, error, on)
            self._settle_groups(table, cost[1], price, error, worth, sizes)
        worth[list(self._staying(worth.tolist()))] = 0.0
        total = math.fsum([*terms, *worth.tolist()]) - _FEW * ROUNDING * (size + math.fsum(sizes.tolist()))
        return self._lifted(total)

    def _prices(self, lam: Array) -> tuple[Array, Array]:
        """A' lam, and how far each may be off."""
        price, size = np.zeros(len(self.lower)), np.zeros(len(self.lower))
        for a, face in zip(lam.tolist(), self.faces, strict=True):
            if a:
                terms = a * face.weights
                price[face.columns] += terms
                size[face.columns] += np.abs(terms)
        return price, (len(lam) + 2) * ROUNDING * size

    def _tangent(self, y: Array) -> tuple[Array, Array, Array]:
        """The costs with what a tangent leaves curved, the tangent's slopes, and how far these may be off."""
        q = self.problem.question
        assert q.matrix is not None
        assert q.kept is not None
        indptr, indices, data = q.matrix
        sizes = times((indptr, indices, np.abs(data)), np.abs(y)) + q.kept * np.abs(y)
        zero = np.zeros(len(y))
        cost = q.features[3:7] + np.array([q.kept, zero, q.kept, zero])
        return cost, times(q.matrix, y) - q.kept * y, (len(y) + 4) * ROUNDING * sizes

    def _grid_points(self, on: Array, at: Array) -> Array:
        """(4, n) the points of grids around numbers: the nearest two, and the next ones outwards."""
        table, source = self.problem.table, self.problem.source[on]
        assert table is not None
        step = table.step[:, on]
        under, over = at_or_below(step, source, at), at_or_above(step, source, at)
        outer = at_or_below(step, source, np.nextafter(under, -np.inf)), at_or_above(step, source, np.nextafter(over, np.inf))
        return np.asarray(np.clip([under, over, *outer], self.lower[on], self.upper[on]))

    def _least_on_grids(self, cost: Array, price: Array, error: Array, on: Array) -> tuple[Array, Array]:
        """The least of phi - price d on the grids; phi - price d is convex, so it stands beside the least of all numbers."""
        source, (low, high) = self.problem.source[on], (side[on] for side in self._box)
        worth, size = np.full(len(on), np.inf), np.zeros(len(on))
        for p in (price[on] - error[on], price[on] + error[on]):
            best = _response(cost[:, on], p, low, high)
            far = np.isinf(best)
            move = self._grid_points(on, np.where(far, 0.0, source + best)) - source
            value = _phi(cost[:, on], move) - p * move
            worth = np.minimum(worth, np.where(far, -np.inf, value.min(axis=0)))
            size = np.maximum(size, (_phi(np.abs(cost[:, on]), np.abs(move)) + np.abs(p * move)).max(axis=0))
        return worth, size

    def _settle_groups(self, table: Table, costs: Array, price: Array, error: Array, worth: Array, sizes: Array) -> None:
        """Write what the best value of each group is worth, to the group's first variable."""
        for a, b, own in zip(table.first.tolist(), table.last.tolist(), table.own.tolist(), strict=True):
            left = np.flatnonzero(self.upper[a:b] > 0) + a
            gain = (costs[left] - costs[own]) - (price[left] - price[own]) - error[left] - error[own]
            worth[a:b], sizes[a:b] = 0.0, 0.0
            worth[a] = np.where(left == own, 0.0, gain).min(initial=np.inf)
            sizes[a] = (np.abs(costs[left]) + np.abs(price[left])).max(initial=0.0) + abs(costs[own]) + abs(price[own])

    def _staying(self, gains: Sequence[float | Fraction]) -> set[int]:
        """Where few features may change: the variables of those that stay, since others gain more; ``gains`` by variable."""
        table, source = self.problem.table, self.problem.source
        if table is None or table.most < 0:
            return set()
        fixed = (source < self.lower) | (source > self.upper)
        of: dict[int, list[int]] = {}
        for d, f in enumerate(table.feature.tolist()):
            of.setdefault(f, []).append(d)
        moved = {f for f, ds in of.items() if f in self.counted or fixed[ds].any()}
        rest = sorted((f for f in of if f not in moved), key=lambda f: sum(gains[d] for d in of[f]))
        return {d for f in rest[max(table.most - len(moved | self.counted), 0) :] for d in of[f]}

    def _lifted(self, total: float) -> float:
        """The least cost that a row can have at or above a bound, where costs come in units."""
        unit = self.problem.unit
        if not unit or not 0 < total < math.inf:
            return total
        slop = 8 * (len(self.lower) + 2) * ROUNDING * (total + unit)
        return max(total, math.ceil((total - slop) / unit) * unit - slop)

    def price_of_moving(self, face: Face, by: float) -> float:
        """What it costs to change the sum of a face, by the feature that does it for the least."""
        q, least = self.problem.question, math.inf
        for d, w in zip(face.columns.tolist(), face.weights.tolist(), strict=True):
            if w and self.lower[d] < self.upper[d]:
                own = 0.0 if q.matrix is None else float(times(q.matrix, np.eye(1, len(self.lower), d)[0])[d])
                move = np.array([by / w])
                least = min(least, float(_phi(q.features[3:7, [d]], move)[0]) + own * float(move[0]) ** 2)
        return max(least, 0.0) if math.isfinite(least) else 0.0

    # ---- the same in rational numbers ---------------------------------------------------------------------------------

    def _exact_bound(self, lam: Array, tangent: Array) -> float:
        y = [Fraction(a) for a in lam.tolist()]
        slope = self._exact_slope(tangent)
        for _ in range(6):
            price = self._exact_prices(y, slope)
            wrong = self._runaways(price)
            if not wrong:
                break
            mended = self._mended(y, price, wrong)
            if mended is None:
                return -math.inf
            y = mended
        else:
            return -math.inf
        total = sum(
            (a * self._exact_miss(face) - abs(a) * Fraction(face.give) for a, face in zip(y, self.faces, strict=True)),
            Fraction(),
        )
        total -= sum((Fraction(a) * slope[d] for d, a in enumerate(tangent.tolist()) if a), Fraction())
        worth = self._exact_worth(price)
        stays = self._staying(worth)
        total += sum((one for d, one in enumerate(worth) if d not in stays), Fraction())
        return self._lifted(below(total))

    def _exact_slope(self, tangent: Array) -> dict[int, Fraction]:
        """Q y - kept y, by variable."""
        q = self.problem.question
        if not len(tangent):
            return {}
        assert q.matrix is not None
        assert q.kept is not None
        indptr, indices, data = q.matrix
        out = {}
        for d in range(len(tangent)):
            at = slice(indptr[d], indptr[d + 1])
            out[d] = exact_dot(data[at], tangent[indices[at]]) - Fraction(float(q.kept[d])) * Fraction(float(tangent[d]))
        return out

    def _exact_miss(self, face: Face) -> Fraction:
        return -exact_dot(face.weights, self.problem.source[face.columns], *face.constants)

    def _exact_prices(self, y: list[Fraction], slope: dict[int, Fraction]) -> list[Fraction]:
        price = [Fraction()] * len(self.lower)
        for d, one in slope.items():
            price[d] -= 2 * one
        for a, face in zip(y, self.faces, strict=True):
            if a:
                for d, w in zip(face.columns.tolist(), face.weights.tolist(), strict=True):
                    price[d] += a * Fraction(w)
        return price

    def _runaways(self, price: list[Fraction]) -> dict[int, Fraction]:
        """The variables that a price sends away without end, and the slope that it should not leave."""
        cost, kept = self.problem.question.features[3:7], self.problem.question.kept
        out = {}
        for d in np.flatnonzero(np.isinf(self.lower) | np.isinf(self.upper)).tolist():
            if kept is not None and kept[d] > 0:
                continue
            cu, gu, cd, gd = cost[:, d].tolist()
            if self.upper[d] == math.inf and not cu and price[d] > Fraction(gu):
                out[d] = Fraction(gu)
            elif self.lower[d] == -math.inf and not cd and price[d] < Fraction(gd):
                out[d] = Fraction(gd)
        return out

    def _mended(self, y: list[Fraction], price: list[Fraction], wrong: dict[int, Fraction]) -> list[Fraction] | None:
        """Multipliers close by whose prices leave no slope: scaled down by a hair, or moved so that prices equal them."""
        by = [slope / price[d] if slope else Fraction() for d, slope in wrong.items()]
        if min(by) >= 1 - _HAIR:
            return [min(by) * a for a in y]
        free = [t for t, a in enumerate(y) if a]
        weight = [dict(zip(f.columns.tolist(), f.weights.tolist(), strict=True)) for f in self.faces]
        lines = [[Fraction(weight[t].get(d, 0.0)) for t in free] + [slope - price[d]] for d, slope in wrong.items()]
        step = _solved(lines)
        if step is None:
            return None
        moved = list(y)
        for t, by_how_much in zip(free, step, strict=True):
            moved[t] += by_how_much
        signs = all(a >= 0 or face.equal for a, face in zip(moved, self.faces, strict=True))
        return moved if signs and any(step) else None

    def _exact_worth(self, price: list[Fraction]) -> list[Fraction]:
        """min phi_d(d) - price_d d over the box, per variable; a group's at its first one."""
        problem, table = self.problem, self.problem.table
        q, source = problem.question, problem.source.tolist()
        kept = None if q.kept is None else q.kept.tolist()
        worth = [Fraction()] * len(source)
        for d, p in enumerate(price):
            if table is not None and table.group[d] >= 0:
                continue
            curves = [Fraction(c) for c in q.features[3:7, d].tolist()]
            if kept is not None:
                curves[0], curves[2] = curves[0] + Fraction(kept[d]), curves[2] + Fraction(kept[d])
            if p == 0 and self.lower[d] <= source[d] <= self.upper[d] and curves[1] >= 0 >= curves[3]:
                continue
            ends = float(self.lower[d]), float(self.upper[d])
            if table is None or not table.step[0, d]:
                worth[d] = _exact_least(curves, p, ends, Fraction(source[d]))
            else:
                at = _exact_response(curves, p, ends, Fraction(source[d]))
                on = np.array([d])
                points = self._grid_points(on, np.array([float(at)]))[:, 0].tolist()
                worth[d] = min(_exact_phi(curves, Fraction(x) - Fraction(source[d]), p) for x in points)
        if table is not None:
            costs = q.features[4].tolist()
            for a, b, own in zip(table.first.tolist(), table.last.tolist(), table.own.tolist(), strict=True):
                there = Fraction(costs[own]) - price[own]
                worth[a] = min((Fraction(costs[v]) - price[v] for v in range(a, b) if self.upper[v] > 0), default=there) - there
        return worth

    # ---- emptiness ----------------------------------------------------------------------------------------------------

    def is_empty(self, lam: Array, wide: bool) -> bool:
        """Whether lam @ (A d - miss) >= 0 fails for every d in the box; ``wide``: even if the user's rows are widened."""
        with np.errstate(all="ignore"):
            if self._quickly_empty(lam, wide):
                return True
        return self._exactly_empty(lam, wide)

    def _room(self, face: Face, wide: bool) -> float:
        return HOLDS * face.size if wide and face.size else face.give

    def _quickly_empty(self, lam: Array, wide: bool) -> bool:
        table = self.problem.table
        price, error = self._prices(lam)
        low, high = self._box
        used = (price != 0) | (error != 0)
        ends = [np.where(used, p * side, 0.0) for p in (price - error, price + error) for side in (low, high)]
        reach = np.max(ends, axis=0)
        sizes = np.abs(reach)
        if table is not None:
            for a, b, own in zip(table.first.tolist(), table.last.tolist(), table.own.tolist(), strict=True):
                left = np.flatnonzero(self.upper[a:b] > 0) + a
                gain = price[left] - price[own] + error[left] + error[own]
                reach[a:b], sizes[a:b] = 0.0, 0.0
                reach[a] = np.where(left == own, 0.0, gain).max(initial=-np.inf)
                sizes[a] = np.abs(price[left]).max(initial=0.0) + abs(price[own])
        reach[list(self._staying((-reach).tolist()))] = 0.0
        terms = [a * face.miss - abs(a) * self._room(face, wide) for a, face in zip(lam.tolist(), self.faces, strict=True)]
        size = math.fsum(abs(a) * (abs(face.miss) + face.size) for a, face in zip(lam.tolist(), self.faces, strict=True))
        return math.fsum([*terms, *(-reach).tolist()]) > _FEW * ROUNDING * (size + math.fsum(sizes.tolist()))

    def _exactly_empty(self, lam: Array, wide: bool) -> bool:
        table = self.problem.table
        y = [Fraction(a) for a in lam.tolist()]
        price = self._exact_prices(y, {})
        reach = [Fraction()] * len(price)
        for d, p in enumerate(price):
            if not p or (table is not None and table.group[d] >= 0):
                continue
            end = float(self.upper[d] if p > 0 else self.lower[d])
            if math.isinf(end):
                return False
            reach[d] = p * (Fraction(end) - Fraction(float(self.problem.source[d])))
        if table is not None:
            for a, b, own in zip(table.first.tolist(), table.last.tolist(), table.own.tolist(), strict=True):
                reach[a] = max((price[v] for v in range(a, b) if self.upper[v] > 0), default=price[own]) - price[own]
        stays = self._staying([-one for one in reach])
        total = sum(
            (a * self._exact_miss(f) - abs(a) * Fraction(self._room(f, wide)) for a, f in zip(y, self.faces, strict=True)),
            Fraction(),
        )
        total -= sum((one for d, one in enumerate(reach) if d not in stays), Fraction())
        return total > 0 or (total == 0 and any(a > 0 and f.open for a, f in zip(y, self.faces, strict=True)))

    def is_off_lattice(self, lam: Array, over: float) -> bool:
        """Whether lam / over makes equalities into one over whole numbers whose constant is no whole number.

        Everything in it that can move must come in whole steps, and be multiplied by a whole number, or nearly so.
        """
        table, source = self.problem.table, self.problem.source
        if table is None or not over > 0 or any(a and not face.equal for a, face in zip(lam.tolist(), self.faces, strict=True)):
            return False
        y = [Fraction(a) / Fraction(over) for a in lam.tolist()]
        price = self._exact_prices(y, {})
        constant = sum(
            (a * Fraction(c) for a, face in zip(y, self.faces, strict=True) if a for c in face.constants), Fraction()
        )
        slack = sum((abs(a) * Fraction(HOLDS * face.size) for a, face in zip(y, self.faces, strict=True)), Fraction())
        for d, p in enumerate(price):
            low, high = float(self.lower[d]), float(self.upper[d])
            if not p or table.group[d] >= 0:
                continue
            if low == high:
                constant += p * Fraction(low)
                continue
            step = table.step[:, [d]]
            own = source[[d]]
            on = at_or_below(step, np.array([-np.inf]), own)[0] == own[0]
            if not step[0, 0] or not (on or not low <= own[0] <= high):
                return False
            unit = Fraction(float(step[0, 0])) / Fraction(float(step[1, 0]))
            off = p * unit - round(p * unit)
            far = max(abs(low), abs(high))
            rounded = step[1, 0] != 1 or step[0, 0] != round(step[0, 0])  # numbers on the grid are then floats close to it
            if (off or rounded) and math.isinf(far):
                return False
            if off or rounded:
                slack += (abs(off) / unit + abs(p) * Fraction(2 * ROUNDING)) * Fraction(far)
        for a, b in zip(table.first.tolist(), table.last.tolist(), strict=True):
            left = [v for v in range(a, b) if self.upper[v] > 0]
            if left:
                constant += price[left[0]]
                slack += max(abs(price[v] - price[left[0]] - round(price[v] - price[left[0]])) for v in left)
        return abs(constant - round(constant)) > slack


def _response(cost: Array, price: Array, low: Array, high: Array) -> Array:
    """The change of each feature that is best at its price."""
    cu, gu, cd, gd = cost
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(price > gu, (price - gu) / (2 * cu), 0.0)
        down = np.where(price < gd, (price - gd) / (2 * cd), 0.0)
    return np.asarray(np.clip(up + down, low, high))


def _phi(cost: Array, change: Array) -> Array:
    cu, gu, cd, gd = cost
    rise, fall = np.maximum(change, 0.0), np.minimum(change, 0.0)
    return np.asarray((cu * rise + gu) * rise + (cd * fall + gd) * fall)


def _least(cost: Array, price: Array, error: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """(the least of phi - price d over a box, size of its terms), the price known to ``error``: it is concave in the price."""
    worth, size = np.full(len(price), np.inf), np.zeros(len(price))
    for p in (price - error, price + error):
        d = _response(cost, p, low, high)
        far = np.isinf(d)
        d = np.where(far, 0.0, d)
        worth = np.minimum(worth, np.where(far, -np.inf, _phi(cost, d) - p * d))
        size = np.maximum(size, _phi(np.abs(cost), np.abs(d)) + _phi(np.abs(cost[[2, 3, 0, 1]]), np.abs(d)) + np.abs(p * d))
    return worth, size


def _exact_phi(curves: list[Fraction], d: Fraction, price: Fraction) -> Fraction:
    cu, gu, cd, gd = curves
    return (cu * d + gu - price) * d if d >= 0 else (cd * d + gd - price) * d


def _exact_response(curves: list[Fraction], price: Fraction, ends: tuple[float, float], source: Fraction) -> Fraction:
    """The best number at a price; it is finite."""
    cu, gu, cd, gd = curves
    at: Fraction | float = source
    if price > gu:
        at = source + (price - gu) / (2 * cu) if cu else math.inf
    elif price < gd:
        at = source + (price - gd) / (2 * cd) if cd else -math.inf
    low, high = ends
    return Fraction(min(max(at, low), high))


def _exact_least(curves: list[Fraction], price: Fraction, ends: tuple[float, float], source: Fraction) -> Fraction:
    return _exact_phi(curves, _exact_response(curves, price, ends, source) - source, price)


def _solved(lines: list[list[Fraction]]) -> list[Fraction] | None:
    """A solution of linear equations, each line its coefficients and then what they add up to; None if there is none."""
    unknowns = len(lines[0]) - 1
    pivots: list[int] = []
    for k in range(len(lines)):
        line = lines[k]
        place = max(range(unknowns), key=lambda j: abs(line[j]), default=-1)
        if place < 0 or not line[place]:
            if line[-1]:
                return None
            pivots.append(-1)
            continue
        pivots.append(place)
        lines[k] = line = [a / line[place] for a in line]
        for other in range(len(lines)):
            if other != k and lines[other][place]:
                by = lines[other][place]
                lines[other] = [a - by * b for a, b in zip(lines[other], line, strict=True)]
    out = [Fraction()] * unknowns
    for line, place in zip(lines, pivots, strict=True):
        if place >= 0:
            out[place] = line[-1]
    return out
