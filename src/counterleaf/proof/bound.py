"""The bounds that multipliers prove: a least cost of the rows of a region, or that the region holds no row.

For any lam >= 0 of a region's faces A d >= miss (any sign on equalities), every row x = source + d in its box costs at least

    lam @ miss + sum_d min over the box of phi_d(d) - price_d d,     price = A' lam,

where the minimum runs over the values of each group and the points of each grid. No row exists if lam @ miss exceeds the
maximum of price @ d over the box. A coupled cost d' Q d is replaced by a tangent, which lies below it: with a curvature c (the
question's ``tangent_curve``) and slope = Q y - c y, d' Q d >= sum_d c_d d_d^2 + 2 slope_d d_d - slope @ y, since Q - diag(c)
is positive semidefinite.

Each bound is computed in floating point with a bound on its error. Where that does not decide, the same code runs on arrays of
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from counterleaf.exact import ROUNDING, below, combined, dot, entries, exact_dot, fractions, solved
from counterleaf.proof.changes import staying, unavoidable
from counterleaf.proof.problem import Face, Problem, times
from counterleaf.question.arrays import SeparableCost
from counterleaf.types import Array

_FEW = 8  # roundings of a term: of a change, of its square, of the products with curvature, slope and price
_HAIR = Fraction(1, 10**6)  # the largest share by which multipliers are scaled down to fit a slope
_NEAR = 1e-9  # of a slope: a price that differs from it by this share, beyond rounding, is taken to equal it
_MOST = 40  # the largest number of equations that are solved in rational numbers
_TINY = 1e-200  # products and sums below this may lose digits to underflow
_NONE = Fraction()


@dataclass(frozen=True, slots=True, eq=False)
class VariablePrices:
    """The price of each variable under some multipliers, known to ``error``, and the other terms of the bound."""

    price: Array
    error: Array
    cost: SeparableCost
    rest: list[Any]  # the terms of the bound that do not belong to a variable
    size: float  # the sum of their absolute values
    lam: list[Any]  # the multipliers, which may have been adjusted in rational numbers


class Group(NamedTuple):
    """The variables ``first`` to ``last`` (excluded) of a group, the one that is 1 in the source, and those that are left."""

    first: int
    last: int
    source_value: int
    left: Array


Optimum = tuple[list[Fraction], Array]  # multipliers, and changes as fractions


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The rows of a box that satisfy some faces; the features in ``counted`` are those already counted as changed."""

    problem: Problem
    faces: Sequence[Face]
    lower: Array
    upper: Array
    counted: frozenset[int] = frozenset()

    def box_bound(self) -> float:
        """The cost of the cheapest row of the box, faces left out, summed in the same way as the cost of an answer."""
        problem, table, source = self.problem, self.problem.table, self.problem.source
        cost = problem.question.features.cost
        low, high = self.lower - source, self.upper - source
        change = cost.best_change(np.zeros(len(low)), low, high)
        far = np.isinf(change)
        change = np.where(far, 0.0, change)
        row = np.where(change == low, self.lower, np.where(change == high, self.upper, source + change))
        if table is not None:
            on = table.on_grid
            points = self._grid_points(on, row[on])
            row[on] = points[cost.at(on).of(points - source[on]).argmin(axis=0), np.arange(len(on))]
            for a, b in zip(table.first, table.last, strict=True):
                left = np.flatnonzero(self.upper[a:b] > 0)
                row[a:b] = 0.0
                row[a + left[cost.slope_up[a:b][left].argmin()]] = 1.0
        worth = np.where(far, -np.inf, cost.of(row - source))
        stays, charges = staying(self, worth, True)
        row[stays], worth[stays] = source[stays], 0.0
        if np.isinf(worth).any():
            return -math.inf
        if problem.question.matrix is None and not charges:
            return float(problem.cost_of(row[None])[0])
        return float(worth.sum() + sum(charges))  # the coupled cost is not negative

    def bound(self, lam: Array, tangent: Array, enough: float) -> float:
        """A lower bound on the cost of the region's rows: the best one that is provable, or any that reaches ``enough``."""
        with np.errstate(all="ignore"):
            quick = -math.inf if self._is_tiny(lam) else self._least(self._prices(lam, tangent))
        if quick >= enough:
            return quick
        best = -math.inf if math.isnan(quick) else quick
        y = fractions(lam).tolist()
        exact = self._exact_prices(y, tangent)
        best = best if exact is None else max(best, self._least(exact))
        better = None if best >= enough else self.optimum(lam, tangent)
        if better is not None:
            y = [a if face.equal else max(a, _NONE) for a, face in zip(better[0], self.faces, strict=True)]
            exact = self._exact_prices(y, tangent if not len(tangent) else better[1])
            best = best if exact is None else max(best, self._least(exact))
        return best

    def is_empty(self, lam: Array, wide: bool) -> bool:
        """Whether lam @ (A d - miss) >= 0 fails for every d in the box; with ``wide``, even if the user's rows are widened."""
        if self._is_tiny(lam):
            excess, error = 0.0, 0.0
        else:
            with np.errstate(all="ignore"):
                excess, error = self._excess(self._prices(lam, np.empty(0), wide))
        if excess > max(error, _TINY):
            return True
        y = fractions(lam).tolist()
        return self._contradicts(y, wide) or self._contradicts(self._snapped(y), wide)

    def _snapped(self, y: list[Fraction]) -> list[Fraction] | None:
        """Nearby multipliers whose prices are 0 wherever the prices of these are nearly 0."""
        at = self._prices(np.array([float(a) for a in y]), np.empty(0))
        near = np.flatnonzero((at.error > 0) & (np.abs(at.price) <= _NEAR * at.error / ROUNDING)).tolist()
        price = np.array(combined(y, [face.whole for face in self.faces], len(self.lower)), object)
        return self._mended(y, price, dict.fromkeys(near, _NONE)) if near else None

    def _contradicts(self, y: list[Fraction] | None, wide: bool) -> bool:
        """Whether multipliers contradict the faces in rational numbers; a sum of 0 does if it contains an open face."""
        exact = None if y is None else self._exact_prices(y, np.empty(0), wide, free=True)
        if exact is None:
            return False
        excess = self._excess(exact)[0]
        return bool(
            excess > 0 or (excess == 0 and any(a > 0 and face.open for a, face in zip(exact.lam, self.faces, strict=True)))
        )

    def price_of_moving(self, row: Array, face: Face, by: float) -> float:
        """Estimate the cost of moving a row that is close to a face ``by`` away from it; 0 for a row that is further away.

        All variables that can move do so, each in units of its cost. The estimate is the slope of the cost over the slope of
        the face, without regard to the other faces, plus the square of the distance where the cost is curved.
        """
        q, at = self.problem.question, face.columns
        free = np.where(face.weights > 0, row[at] < self.upper[at], row[at] > self.lower[at]) & (face.weights != 0)
        d, w = face.columns[free], face.weights[free]
        change, cost = (row - self.problem.source)[d], q.features.cost.at(d)
        up, down = np.abs(2 * cost.curve_up * change + cost.slope_up), np.abs(2 * cost.curve_down * change + cost.slope_down)
        steepest = np.maximum(np.abs(cost.slope_up), np.abs(cost.slope_down))
        slope = np.where(change > 0, up, np.where(change < 0, down, steepest))
        curve = np.maximum(cost.curve_up, cost.curve_down)
        if q.matrix is not None:
            slope = slope + np.abs(2 * times(q.matrix, row - self.problem.source)[d])
            curve = curve + q.matrix.diagonal()[d]
        unit = np.where(curve > 0, np.sqrt(curve), steepest)
        if not len(d) or not unit.all():
            return 0.0  # some variable moves at no cost
        steep = float(np.linalg.norm(w / unit))
        bends = float((curve > 0).any())
        if face.open and not np.abs(face.weights * self.problem.source[face.columns]).any() and not any(face.constants):
            by = max(by, 16 * (len(face.columns) + 2) * ROUNDING * steep)  # at the origin no step is small except in its cost
        if dot(face.weights, row[face.columns], *face.constants) > 2 * by:
            return 0.0
        return float(np.linalg.norm(slope / unit)) / steep * by + bends * (by / steep) ** 2

    def _is_tiny(self, lam: Array) -> bool:
        """Whether products could be so small that underflow loses more of them than rounding."""
        used = [np.append(face.weights, face.miss) for a, face in zip(lam.tolist(), self.faces, strict=True) if a]
        least = min((float(np.abs(w[w != 0]).min(initial=np.inf)) for w in used), default=np.inf)
        return bool(np.abs(lam[lam != 0]).min(initial=np.inf) * min(least, 1.0) < _TINY)

    def room(self, wide: bool) -> list[float]:
        """The amount by which each face may be violated."""
        return [face.wide_tolerance if wide else face.tolerance for face in self.faces]

    def _prices(self, lam: Array, tangent: Array, wide: bool = False) -> VariablePrices:
        """The prices in floating point."""
        price, size = np.zeros(len(self.lower)), np.zeros(len(self.lower))
        for a, face in zip(lam.tolist(), self.faces, strict=True):
            if a:
                terms = a * face.weights
                price[face.columns] += terms
                size[face.columns] += np.abs(terms)
        error, q = (len(lam) + 2) * ROUNDING * size, self.problem.question
        rest = [a * face.miss for a, face in zip(lam.tolist(), self.faces, strict=True)]
        rest += [-abs(a) * room for a, room in zip(lam.tolist(), self.room(wide), strict=True)]
        total, cost = math.fsum(map(abs, rest)), q.features.cost
        if len(tangent) and q.matrix is not None and q.tangent_curve is not None:
            curve = q.tangent_curve
            sizes = times(q.matrix, np.abs(tangent), absolute=True) + curve * np.abs(tangent)
            slope = times(q.matrix, tangent) - curve * tangent
            cost = cost.with_curve(curve)
            error = error + (len(tangent) + 4) * 2 * ROUNDING * sizes + ROUNDING * np.abs(price)
            price = price - 2 * slope
            rest.append(-math.fsum((tangent * slope).tolist()))
            total += (len(tangent) + 4) * float(np.abs(tangent) @ sizes)
        return VariablePrices(price, error, cost, rest, total, lam.tolist())

    def _exact_prices(self, y: list[Fraction], tangent: Array, wide: bool = False, free: bool = False) -> VariablePrices | None:
        """The prices in rational numbers; with ``free``, as if changes cost nothing, which a contradiction needs.

        The multipliers are adjusted a little where a price makes the bound infinite. None if that does not help.
        """
        q, width = self.problem.question, len(self.lower)
        cost = SeparableCost(*(fractions(line * (not free)) for line in q.features.cost))
        slope, rest = np.full(width, _NONE), []
        if len(tangent) and q.matrix is not None and q.tangent_curve is not None:
            tangent, curve = tangent.astype(float), fractions(q.tangent_curve)
            rows = [q.matrix.row(d) for d in range(width)]
            slope = np.array([exact_dot(weights, tangent[columns]) for columns, weights in rows], object)
            slope -= curve * fractions(tangent)
            cost = cost.with_curve(curve)
            rest.append(-sum(fractions(tangent) * slope, _NONE))
        for _ in range(6):
            price = np.array(combined(y, [face.whole for face in self.faces], width), object) - 2 * slope
            wrong = self._runaways(price, cost)
            if not wrong:
                break
            mended = self._mended(y, price, wrong)
            if mended is None:
                return None
            y = mended
        else:
            return None
        rest += [a * self.problem.exact_miss(face) for a, face in zip(y, self.faces, strict=True)]
        rest += [-abs(a) * Fraction(room) for a, room in zip(y, self.room(wide), strict=True)]
        return VariablePrices(price, np.full(width, _NONE), cost, rest, 0.0, y)

    def _runaways(self, price: Array, cost: SeparableCost) -> dict[int, Fraction]:
        """The variables that their price moves to infinity, each with the slope that the price should not exceed."""
        up = (self.upper == np.inf) & (cost.curve_up == 0) & (price > cost.slope_up)
        down = (self.lower == -np.inf) & (cost.curve_down == 0) & (price < cost.slope_down)
        return {d: (cost.slope_up if up[d] else cost.slope_down)[d] for d in np.flatnonzero(up | down).tolist()}

    def _mended(self, y: list[Fraction], price: Array, wrong: dict[int, Fraction]) -> list[Fraction] | None:
        """Nearby multipliers whose prices do not exceed the slopes: scaled down slightly, or moved until both are equal."""
        least = min(slope / price[d] if slope and price[d] else _NONE for d, slope in wrong.items())
        if least >= 1 - _HAIR:
            return [least * a for a in y]
        if len(wrong) > _MOST:
            return None
        free = [t for t, a in enumerate(y) if a]
        weight = [dict(zip(f.columns.tolist(), f.weights.tolist(), strict=True)) for f in self.faces]
        lines = [[Fraction(weight[t].get(d, 0.0)) for t in free] + [slope - price[d]] for d, slope in wrong.items()]
        step = solved(lines)
        if step is None or not any(step):
            return None
        moved = list(y)
        for t, more in zip(free, step, strict=True):
            moved[t] += more
        return moved if all(a >= 0 or face.equal for a, face in zip(moved, self.faces, strict=True)) else None

    def optimum(self, lam: Array, tangent: Array) -> Optimum | None:
        """The region's optimum in rational numbers, found from multipliers close to the best ones.

        The multipliers and the changes that respond to them show which conditions of optimality are equations: a face with a
        positive multiplier is tight, and the marginal cost of a variable that can still move equals its price. None if there
        are too many equations, or if they have no solution.
        """
        table, at = self.problem.table, self._prices(lam, tangent)
        cost, price = at.cost, at.price
        low, high = self.lower - self.problem.source, self.upper - self.problem.source
        near, curve = cost.best_change(price, low, high), self.problem.question.tangent_curve
        near = near if curve is None or not len(tangent) else np.where(curve > 0, tangent, near)
        close = 16 * at.error + _NEAR * (np.abs(cost.slope_up) + np.abs(cost.slope_down))
        flat_up = (cost.curve_up == 0) & (np.abs(price - cost.slope_up) <= close) & (high > 0)
        flat_down = (cost.curve_down == 0) & (np.abs(price - cost.slope_down) <= close) & (low < 0)
        curved = (cost.curve_up > 0) | (cost.curve_down > 0)
        bent = (cost.slope_up > cost.slope_down) | ~curved  # then a variable may stay at the source
        moves = flat_up | flat_down | ((low < near) & (near < high) & ((near != 0) | ~bent))
        if table is not None:
            moves &= table.is_plain
        moves &= low < high
        priced = np.flatnonzero(lam).tolist()
        if not priced or moves.sum() + len(priced) > _MOST or not np.isfinite(np.where(moves, 0.0, near)).all():
            return None
        up = np.where(flat_up | flat_down, flat_up, near > 0)
        return self.equations({d: bool(up[d]) for d in np.flatnonzero(moves).tolist()}, priced, self._settled(near, moves, at))

    def equations(self, ups: dict[int, bool], priced: list[int], change: Array) -> Optimum | None:
        """Solve the conditions of optimality for the multipliers of some faces and the changes of some variables.

        ``priced`` are the faces, ``ups`` the variables, each with True if it increases. The changes of the other variables are
        those in ``change``.
        """
        q, free = self.problem.question, list(ups)
        f = q.features
        place = {d: k for k, d in enumerate(free)}
        matrix = {} if q.matrix is None else entries(q.matrix, free)
        lines = []
        for d, up in ups.items():
            line = [_NONE] * (len(free) + len(priced) + 1)
            line[place[d]] = 2 * Fraction(float((f.curve_up if up else f.curve_down)[d]))
            line[-1] = -Fraction(float((f.slope_up if up else f.slope_down)[d]))
            for e, w in matrix.get(d, {}).items():
                if e in place:
                    line[place[e]] += 2 * w
                else:
                    line[-1] -= 2 * w * change[e]
            for k, t in enumerate(priced):
                line[len(free) + k] = -self.weight(t).get(d, _NONE)
            lines.append(line)
        for t in priced:
            weight = self.weight(t)
            rest = sum((w * change[d] for d, w in weight.items() if d not in place), _NONE)
            miss = self.problem.exact_miss(self.faces[t]) - Fraction(self.faces[t].tolerance) - rest
            lines.append([weight.get(d, _NONE) for d in free] + [_NONE] * len(priced) + [miss])
        found = solved(lines)
        if found is None:
            return None
        y, moved = [_NONE] * len(self.faces), change.copy()
        for d, k in place.items():
            moved[d] = found[k]
        for k, t in enumerate(priced):
            y[t] = found[len(free) + k]
        return y, moved

    def _settled(self, near: Array, moves: Array, at: VariablePrices) -> Array:
        """(D,) the changes of variables that do not move freely: numbers at a bound, at the source or on a grid, and groups."""
        change = fractions(np.where(moves, 0.0, near))
        source = self.problem.source
        for d in np.flatnonzero(~moves & (near != 0)).tolist():
            for end in (self.lower[d], self.upper[d]):
                if near[d] == end - source[d]:
                    change[d] = Fraction(float(end)) - Fraction(float(source[d]))
        for group in self.groups():
            best = group.left[(at.cost.slope_up[group.left] - at.price[group.left]).argmin()]
            for v in range(group.first, group.last):
                change[v] = Fraction(int(v == best) - int(v == group.source_value))
        return change

    def weight(self, t: int) -> dict[int, Fraction]:
        """A face's weights by variable."""
        face = self.faces[t]
        return {d: Fraction(w) for d, w in zip(face.columns.tolist(), face.weights.tolist(), strict=True)}

    def _least(self, at: VariablePrices) -> float:
        """The bound at some prices, reduced by all that rounding may have added."""
        exact, table = at.price.dtype == object, self.problem.table
        source = fractions(self.problem.source) if exact else self.problem.source
        low, high = (
            (fractions(self.lower) - source, fractions(self.upper) - source)
            if exact
            else (self.lower - source, self.upper - source)
        )
        worth, size = np.full(len(low), np.inf, at.price.dtype), np.zeros(len(low), at.price.dtype)
        on = np.empty(0, int) if table is None else table.on_grid
        for price in (at.price,) if exact else (at.price - at.error, at.price + at.error):
            best = at.cost.best_change(price, low, high)
            far = np.abs(best) == np.inf
            best = np.where(far, 0, best)
            least = at.cost.of(best) - price * best
            if len(on):  # phi - price d is convex: on its grid it is least next to the best of all numbers
                move = self._grid_points(on, (source + best)[on].astype(float))
                move = (fractions(move) if exact else move) - source[on]
                cost = at.cost.at(on)
                least[on] = (cost.of(move) - price[on] * move).min(axis=0)
                size[on] = np.maximum(size[on], (cost.size_of(move) + np.abs(price[on] * move)).max(axis=0))
            worth = np.minimum(worth, np.where(far, -np.inf, least))
            size = np.maximum(size, at.cost.size_of(best) + np.abs(price * best))
        for a, b, old, left in self.groups():  # in a group, the best value counts
            paid = at.cost.slope_up
            gain = (paid[left] - paid[old]) - (at.price[left] - at.price[old]) - at.error[left] - at.error[old]
            worth[a:b], size[a:b] = 0, 0
            worth[a] = np.where(left == old, 0, gain).min()
            size[a] = np.abs(paid[left]).max() + np.abs(at.price[left]).max() + abs(paid[old]) + abs(at.price[old])
        least = [self._sum(at, worth, size, *staying(self, worth, True))]
        if table is not None and table.charges.any():
            least.append(self._sum(at, worth, size, staying(self, worth, False)[0], unavoidable(self)))
        return self._lifted(max(least))

    def _sum(self, at: VariablePrices, worth: Array, size: Array, stays: list[int], charges: list[float]) -> float:
        """The terms of a bound added up and rounded down; some variables stay, and some charges are paid."""
        worth = worth.copy()
        worth[stays] = 0
        if at.price.dtype == object:
            return below(sum(at.rest, _NONE) + sum(worth.tolist(), _NONE) + sum(map(Fraction, charges), _NONE))
        total = math.fsum([*at.rest, *worth.tolist(), *charges])
        return total - _FEW * ROUNDING * (at.size + math.fsum([*size.tolist(), *charges]))

    def _excess(self, at: VariablePrices) -> tuple[Any, float]:
        """The amount by which lam @ miss exceeds the maximum of price @ d over the box, and a bound on its error."""
        exact = at.price.dtype == object
        ends = (fractions(self.lower), fractions(self.upper)) if exact else (self.lower, self.upper)
        source = fractions(self.problem.source) if exact else self.problem.source
        used = (at.price != 0) | (at.error != 0)
        reach = np.full(len(used), -np.inf, at.price.dtype)
        for price in (at.price - at.error, at.price + at.error):
            for end in ends:
                reach = np.maximum(reach, np.where(used, np.where(used, price, 1) * (end - source), 0))
        size = np.abs(reach)
        for a, b, old, left in self.groups():
            gain = at.price[left] - at.price[old] + at.error[left] + at.error[old]
            reach[a:b], size[a:b] = 0, 0
            reach[a] = np.where(left == old, 0, gain).max()
            size[a] = np.abs(at.price[left]).max() + abs(at.price[old])
        reach[staying(self, -reach, False)[0]] = 0
        if exact:
            return sum(at.rest, _NONE) - sum(reach.tolist(), _NONE), 0.0
        return math.fsum([*at.rest, *(-reach).tolist()]), _FEW * ROUNDING * (at.size + math.fsum(size.tolist()))

    def groups(self) -> list[Group]:
        """The groups of the table, with the values that the box leaves to each."""
        table = self.problem.table
        if table is None:
            return []
        spans = zip(table.first.tolist(), table.last.tolist(), table.source_value.tolist(), strict=True)
        return [Group(a, b, old, np.flatnonzero(self.upper[a:b] > 0) + a) for a, b, old in spans]

    def _grid_points(self, on: Array, at: Array) -> Array:
        """(4, n) the grid points around each number: the nearest two, and the next one on each side."""
        table, source = self.problem.table, self.problem.source[on]
        assert table is not None
        grids = table.grids.at(on)
        under, over = grids.below(source, at), grids.above(source, at)
        outer = grids.below(source, np.nextafter(under, -np.inf)), grids.above(source, np.nextafter(over, np.inf))
        return np.asarray(np.clip([under, over, *outer], self.lower[on], self.upper[on]))

    def _lifted(self, total: float) -> float:
        """The least possible cost at or above a bound, if costs are multiples of a unit."""
        unit = self.problem.unit
        if not unit or not 0 < total < math.inf:
            return total
        slop = 4 * ROUNDING * (total + unit)  # prices are multiples of the unit to rounding
        return max(total, math.ceil((total - slop) / unit) * unit - slop)
