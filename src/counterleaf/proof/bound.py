"""What multipliers prove of a region: that every row in it costs at least so much, or that there is none.

For any lam >= 0 of a region's faces A d >= miss (any sign on equalities), every row x = source + d in its box costs at least

    lam @ miss + sum_d min over the box of phi_d(d) - price_d d,     price = A' lam,

the minimum over the values of each group and the points of each grid, one by one; and no row exists if lam @ miss exceeds the
most that price @ d can be. A coupled cost d' Q d is replaced by a tangent, which lies below it: with slope = Q y - kept y,
d' Q d >= sum_d kept_d d_d^2 + 2 slope_d d_d - slope @ y, since Q less kept on its diagonal is positive semidefinite.

Each is computed in floating point with a bound on its error, and where that does not decide, in rational numbers: by the same
code, on arrays of fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.exact import ROUNDING, below, combined, dot, entries, exact_dot, fractions, solved
from counterleaf.proof.problem import Face, Problem, diagonal, times
from counterleaf.question.discrete import at_or_above, at_or_below
from counterleaf.types import Array

_FEW = 8  # roundings of a term: of a change, of its square, of the products with curvature, slope and price
_HAIR = Fraction(1, 10**6)  # the most by which multipliers are scaled down to fit a slope
_NEAR = 1e-9  # of a slope: a price this close to it, beyond its own rounding, is meant to equal it
_MOST = 40  # equations that are solved in rational numbers
_TINY = 1e-200  # of products and sums: below it digits may be lost beyond rounding
_NONE = Fraction()


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What the multipliers make of each variable, known to ``error``; the costs that go with it, and what is left over."""

    price: Array
    error: Array
    cost: Array  # (4, D) curve and slope up, curve and slope down
    rest: list[Any]  # terms of the bound that are no variable's
    size: float  # of these terms
    lam: list[Any]  # the multipliers, which rational numbers may have moved


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The rows of a box that obey some faces; ``counted`` are the features of which it is known that they may change."""

    problem: Problem
    faces: Sequence[Face]
    lower: Array
    upper: Array
    counted: frozenset[int] = frozenset()

    def box_bound(self) -> float:
        """What the cheapest row of the box costs, each feature on its own, added up as the cost of an answer is."""
        problem, table, source = self.problem, self.problem.table, self.problem.source
        cost = problem.question.features[3:7]
        low, high = self.lower - source, self.upper - source
        change = _response(cost, np.zeros(len(low)), low, high)
        far = np.isinf(change)
        change = np.where(far, 0.0, change)
        row = np.where(change == low, self.lower, np.where(change == high, self.upper, source + change))
        if table is not None:
            on = np.flatnonzero(table.step[0])
            points = self._grid_points(on, row[on])
            row[on] = points[_phi(cost[:, on], points - source[on]).argmin(axis=0), np.arange(len(on))]
            for a, b in zip(table.first, table.last, strict=True):
                left = np.flatnonzero(self.upper[a:b] > 0)
                row[a:b] = 0.0
                row[a + left[cost[1, a:b][left].argmin()]] = 1.0
        worth = np.where(far, -np.inf, _phi(cost, row - source))
        stays = self._staying(worth)
        row[stays], worth[stays] = source[stays], 0.0
        if np.isinf(worth).any():
            return -math.inf
        if problem.question.matrix is None:
            return float(problem.cost_of(row[None])[0])
        return float(worth.sum())  # what features cost together is not negative

    def bound(self, lam: Array, tangent: Array, enough: float) -> float:
        """What the multipliers prove that no row of the region undercuts; as much as they can, unless that is ``enough``."""
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
        """Whether lam @ (A d - miss) >= 0 fails for every d in the box; ``wide``: even if the user's rows are widened."""
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
        """Multipliers close by that cancel wherever these nearly do."""
        at = self._prices(np.array([float(a) for a in y]), np.empty(0))
        near = np.flatnonzero((at.error > 0) & (np.abs(at.price) <= _NEAR * at.error / ROUNDING)).tolist()
        price = np.array(combined(y, [face.whole for face in self.faces], len(self.lower)), object)
        return self._mended(y, price, dict.fromkeys(near, _NONE)) if near else None

    def _contradicts(self, y: list[Fraction] | None, wide: bool) -> bool:
        """Whether multipliers contradict the faces in rational numbers; a sum of 0 does if an open face is in it."""
        exact = None if y is None else self._exact_prices(y, np.empty(0), wide, free=True)
        if exact is None:
            return False
        excess = self._excess(exact)[0]
        return bool(
            excess > 0 or (excess == 0 and any(a > 0 and face.open for a, face in zip(exact.lam, self.faces, strict=True)))
        )

    def price_of_moving(self, row: Array, face: Face, by: float) -> float:
        """About what it costs a row close to a face to keep off it ``by`` so much; 0 for a row that is further away.

        By whatever can move, each in units of its cost: how steep the cost is there over how steep the face is, whatever the
        region's other faces are; and the square of the way where the cost is curved.
        """
        q, some = self.problem.question, (self.lower < self.upper)[face.columns] & (face.weights != 0)
        d, w = face.columns[some], face.weights[some]
        change, (cu, gu, cd, gd) = (row - self.problem.source)[d], q.features[3:7, d]
        slope = np.where(change > 0, np.abs(2 * cu * change + gu), np.where(change < 0, np.abs(2 * cd * change + gd), 0.0))
        slope = np.where(change == 0, np.maximum(np.abs(gu), np.abs(gd)), slope)
        curve = np.maximum(cu, cd)
        if q.matrix is not None:
            slope = slope + np.abs(2 * times(q.matrix, row - self.problem.source)[d])
            curve = curve + diagonal(q.matrix)[d]
        unit = np.where(curve > 0, np.sqrt(curve), np.maximum(np.abs(gu), np.abs(gd)))
        if not len(d) or not unit.all():
            return 0.0  # something moves for nothing
        steep = float(np.linalg.norm(w / unit))
        bends = float((curve > 0).any())
        if face.open and not np.abs(face.weights * self.problem.source[face.columns]).any() and not any(face.constants):
            by = max(by, 16 * (len(face.columns) + 2) * ROUNDING * steep)  # from the origin no step is small, but for its cost
        if dot(face.weights, row[face.columns], *face.constants) > 2 * by:
            return 0.0
        return float(np.linalg.norm(slope / unit)) / steep * by + bends * (by / steep) ** 2

    def _is_tiny(self, lam: Array) -> bool:
        """Whether products could be so small that floating point loses more of them than their rounding."""
        used = [np.append(face.weights, face.miss) for a, face in zip(lam.tolist(), self.faces, strict=True) if a]
        least = min((float(np.abs(w[w != 0]).min(initial=np.inf)) for w in used), default=np.inf)
        return bool(np.abs(lam[lam != 0]).min(initial=np.inf) * min(least, 1.0) < _TINY)

    # ---- prices -------------------------------------------------------------------------------------------------------

    def room(self, wide: bool) -> list[float]:
        """By how much each face may be missed."""
        return [face.wide if wide else face.give for face in self.faces]

    def _prices(self, lam: Array, tangent: Array, wide: bool = False) -> Prices:
        """In floating point."""
        price, size = np.zeros(len(self.lower)), np.zeros(len(self.lower))
        for a, face in zip(lam.tolist(), self.faces, strict=True):
            if a:
                terms = a * face.weights
                price[face.columns] += terms
                size[face.columns] += np.abs(terms)
        error, q = (len(lam) + 2) * ROUNDING * size, self.problem.question
        rest = [a * face.miss for a, face in zip(lam.tolist(), self.faces, strict=True)]
        rest += [-abs(a) * room for a, room in zip(lam.tolist(), self.room(wide), strict=True)]
        total, cost = math.fsum(map(abs, rest)), q.features[3:7]
        if len(tangent) and q.matrix is not None and q.kept is not None:
            indptr, indices, data = q.matrix
            sizes = times((indptr, indices, np.abs(data)), np.abs(tangent)) + q.kept * np.abs(tangent)
            slope = times(q.matrix, tangent) - q.kept * tangent
            cost = cost + np.outer([1, 0, 1, 0], q.kept)
            error = error + (len(tangent) + 4) * 2 * ROUNDING * sizes + ROUNDING * np.abs(price)
            price = price - 2 * slope
            rest.append(-math.fsum((tangent * slope).tolist()))
            total += (len(tangent) + 4) * float(np.abs(tangent) @ sizes)
        return Prices(price, error, cost, rest, total, lam.tolist())

    def _exact_prices(self, y: list[Fraction], tangent: Array, wide: bool = False, free: bool = False) -> Prices | None:
        """In rational numbers, the multipliers moved a little where a price sends a variable away without end; None if in vain.

        ``free``: as if nothing cost anything, for a contradiction.
        """
        q, width = self.problem.question, len(self.lower)
        cost, slope, rest = fractions(q.features[3:7] * (not free)), np.full(width, _NONE), []
        if len(tangent) and q.matrix is not None and q.kept is not None:
            tangent = tangent.astype(float)
            indptr, indices, data = q.matrix
            at = [slice(indptr[d], indptr[d + 1]) for d in range(width)]
            slope = np.array([exact_dot(data[s], tangent[indices[s]]) for s in at], object)
            slope -= fractions(q.kept) * fractions(tangent)
            cost[[0, 2]] += fractions(q.kept)
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
        return Prices(price, np.full(width, _NONE), cost, rest, 0.0, y)

    def _runaways(self, price: Array, cost: Array) -> dict[int, Fraction]:
        """The variables that a price sends away without end, and the slope that it should not leave."""
        up = (self.upper == np.inf) & (cost[0] == 0) & (price > cost[1])
        down = (self.lower == -np.inf) & (cost[2] == 0) & (price < cost[3])
        return {d: cost[1 if up[d] else 3, d] for d in np.flatnonzero(up | down).tolist()}

    def _mended(self, y: list[Fraction], price: Array, wrong: dict[int, Fraction]) -> list[Fraction] | None:
        """Multipliers close by whose prices leave no slope: scaled down by a hair, or moved so that prices equal them."""
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

    # ---- optima -------------------------------------------------------------------------------------------------------

    def optimum(self, lam: Array, tangent: Array) -> tuple[list[Fraction], Array] | None:
        """The region's optimum in rational numbers, as multipliers that prove it are close to: better ones, and the changes.

        What multipliers price and where features stand tells which conditions of optimality are equations: the faces that are
        priced are met, and what can still move costs at the margin what its price is. None if these are many, or in vain.
        """
        table = self.problem.table
        at = self._prices(lam, tangent)
        low, high = self.lower - self.problem.source, self.upper - self.problem.source
        near, kept = _response(at.cost, at.price, low, high), self.problem.question.kept
        near = near if kept is None or not len(tangent) else np.where(kept > 0, tangent, near)
        close = 16 * at.error + _NEAR * (np.abs(at.cost[1]) + np.abs(at.cost[3]))
        flat_up = (at.cost[0] == 0) & (np.abs(at.price - at.cost[1]) <= close) & (high > 0)
        flat_down = (at.cost[2] == 0) & (np.abs(at.price - at.cost[3]) <= close) & (low < 0)
        curved = (at.cost[0] > 0) | (at.cost[2] > 0)
        bent = (at.cost[1] > at.cost[3]) | ~curved  # then a feature may rest at the source
        moves = flat_up | flat_down | ((low < near) & (near < high) & ((near != 0) | ~bent))
        if table is not None:
            moves &= (table.group < 0) & (table.step[0] == 0)
        moves &= low < high
        priced = np.flatnonzero(lam).tolist()
        if not priced or moves.sum() + len(priced) > _MOST or not np.isfinite(np.where(moves, 0.0, near)).all():
            return None
        up = np.where(flat_up | flat_down, flat_up, near > 0)
        return self.equations({d: bool(up[d]) for d in np.flatnonzero(moves).tolist()}, priced, self._settled(near, moves, at))

    def equations(self, ups: dict[int, bool], priced: list[int], change: Array) -> tuple[list[Fraction], Array] | None:
        """The multipliers of the faces that are ``priced``, and the changes of what moves, upwards or not; others as given."""
        q, free = self.problem.question, list(ups)
        place = {d: k for k, d in enumerate(free)}
        matrix = {} if q.matrix is None else entries(q.matrix, free)
        lines = []
        for d, up in ups.items():
            line = [_NONE] * (len(free) + len(priced) + 1)
            line[place[d]] = 2 * Fraction(float(q.features[3 if up else 5, d]))
            line[-1] = -Fraction(float(q.features[4 if up else 6, d]))
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
            miss = self.problem.exact_miss(self.faces[t]) - Fraction(self.faces[t].give) - rest
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

    def _settled(self, near: Array, moves: Array, at: Prices) -> Array:
        """(D,) the changes of what does not move freely: numbers at an end, at the source or on a grid, values of groups."""
        change = fractions(np.where(moves, 0.0, near))
        source = self.problem.source
        for d in np.flatnonzero(~moves & (near != 0)).tolist():
            for end in (self.lower[d], self.upper[d]):
                if near[d] == end - source[d]:
                    change[d] = Fraction(float(end)) - Fraction(float(source[d]))
        for a, b, own, left in self.groups():
            best = left[(at.cost[1, left] - at.price[left]).argmin()]
            for v in range(a, b):
                change[v] = Fraction(int(v == best) - int(v == own))
        return change

    def weight(self, t: int) -> dict[int, Fraction]:
        """A face's weights by variable."""
        face = self.faces[t]
        return {d: Fraction(w) for d, w in zip(face.columns.tolist(), face.weights.tolist(), strict=True)}

    # ---- sums over the variables --------------------------------------------------------------------------------------

    def _least(self, at: Prices) -> float:
        """The bound at some prices, less all that rounding may have added."""
        exact, table = at.price.dtype == object, self.problem.table
        source = fractions(self.problem.source) if exact else self.problem.source
        low, high = (
            (fractions(self.lower) - source, fractions(self.upper) - source)
            if exact
            else (self.lower - source, self.upper - source)
        )
        worth, size = np.full(len(low), np.inf, at.price.dtype), np.zeros(len(low), at.price.dtype)
        on = np.empty(0, int) if table is None else np.flatnonzero(table.step[0])
        for price in (at.price,) if exact else (at.price - at.error, at.price + at.error):
            best = _response(at.cost, price, low, high)
            far = np.abs(best) == np.inf
            best = np.where(far, 0, best)
            least = _phi(at.cost, best) - price * best
            if len(on):  # phi - price d is convex: on its grid it is least beside the best of all numbers
                move = self._grid_points(on, (source + best)[on].astype(float))
                move = (fractions(move) if exact else move) - source[on]
                least[on] = (_phi(at.cost[:, on], move) - price[on] * move).min(axis=0)
                size[on] = np.maximum(size[on], (_size(at.cost[:, on], move) + np.abs(price[on] * move)).max(axis=0))
            worth = np.minimum(worth, np.where(far, -np.inf, least))
            size = np.maximum(size, _size(at.cost, best) + np.abs(price * best))
        for a, b, own, left in self.groups():  # of a group, the best value counts
            gain = (at.cost[1, left] - at.cost[1, own]) - (at.price[left] - at.price[own]) - at.error[left] - at.error[own]
            worth[a:b], size[a:b] = 0, 0
            worth[a] = np.where(left == own, 0, gain).min()
            size[a] = np.abs(at.cost[1, left]).max() + np.abs(at.price[left]).max() + abs(at.cost[1, own]) + abs(at.price[own])
        worth[self._staying(worth)] = 0
        if exact:
            total = sum(at.rest, _NONE) + sum(worth.tolist(), _NONE)
            return self._lifted(below(total))
        total = math.fsum([*at.rest, *worth.tolist()])
        return self._lifted(total - _FEW * ROUNDING * (at.size + math.fsum(size.tolist())))

    def _excess(self, at: Prices) -> tuple[Any, float]:
        """By how much lam @ miss exceeds what price @ d can reach, and how far that may be off."""
        exact = at.price.dtype == object
        ends = (fractions(self.lower), fractions(self.upper)) if exact else (self.lower, self.upper)
        source = fractions(self.problem.source) if exact else self.problem.source
        used = (at.price != 0) | (at.error != 0)
        reach = np.full(len(used), -np.inf, at.price.dtype)
        for price in (at.price - at.error, at.price + at.error):
            for end in ends:
                reach = np.maximum(reach, np.where(used, np.where(used, price, 1) * (end - source), 0))
        size = np.abs(reach)
        for a, b, own, left in self.groups():
            gain = at.price[left] - at.price[own] + at.error[left] + at.error[own]
            reach[a:b], size[a:b] = 0, 0
            reach[a] = np.where(left == own, 0, gain).max()
            size[a] = np.abs(at.price[left]).max() + abs(at.price[own])
        reach[self._staying(-reach)] = 0
        if exact:
            return sum(at.rest, _NONE) - sum(reach.tolist(), _NONE), 0.0
        return math.fsum([*at.rest, *(-reach).tolist()]), _FEW * ROUNDING * (at.size + math.fsum(size.tolist()))

    def groups(self) -> list[tuple[int, int, int, Array]]:
        """First and last variable of each group, the one that is 1 in the source, and those that are left."""
        table = self.problem.table
        if table is None:
            return []
        spans = zip(table.first.tolist(), table.last.tolist(), table.own.tolist(), strict=True)
        return [(a, b, own, np.flatnonzero(self.upper[a:b] > 0) + a) for a, b, own in spans]

    def _grid_points(self, on: Array, at: Array) -> Array:
        """(4, n) the points of grids around numbers: the nearest two, and the next ones outwards."""
        table, source = self.problem.table, self.problem.source[on]
        assert table is not None
        step = table.step[:, on]
        under, over = at_or_below(step, source, at), at_or_above(step, source, at)
        outer = at_or_below(step, source, np.nextafter(under, -np.inf)), at_or_above(step, source, np.nextafter(over, np.inf))
        return np.asarray(np.clip([under, over, *outer], self.lower[on], self.upper[on]))

    def _staying(self, gains: Array) -> list[int]:
        """Where few features may change: the variables of those that stay, since others gain more; ``gains`` by variable."""
        table, source = self.problem.table, self.problem.source
        if table is None or table.most < 0:
            return []
        moves = (source < self.lower) | (source > self.upper)
        of: dict[int, list[int]] = {}
        for d, f in enumerate(table.feature.tolist()):
            of.setdefault(f, []).append(d)
        moved = {f for f, ds in of.items() if f in self.counted or moves[ds].any()}
        rest = sorted((f for f in of if f not in moved), key=lambda f: sum(gains[d] for d in of[f]))
        return [d for f in rest[max(table.most - len(moved | self.counted), 0) :] for d in of[f]]

    def _lifted(self, total: float) -> float:
        """The least cost that a row can have at or above a bound, where costs come in units."""
        unit = self.problem.unit
        if not unit or not 0 < total < math.inf:
            return total
        slop = 4 * ROUNDING * (total + unit)  # prices are multiples of the unit to rounding
        return max(total, math.ceil((total - slop) / unit) * unit - slop)


def _response(cost: Array, price: Array, low: Array, high: Array) -> Array:
    """The change of each feature that is best at its price."""
    cu, gu, cd, gd = cost
    up = np.where(cu > 0, (price - gu) / np.where(cu > 0, 2 * cu, 1), np.inf)
    down = np.where(cd > 0, (price - gd) / np.where(cd > 0, 2 * cd, 1), -np.inf)
    best = np.where(price > gu, up, np.where(price < gd, down, 0))
    return np.asarray(np.minimum(np.maximum(best, low), high))


def _phi(cost: Array, change: Array) -> Array:
    cu, gu, cd, gd = cost
    rise, fall = np.maximum(change, 0), np.minimum(change, 0)
    return np.asarray((cu * rise + gu) * rise + (cd * fall + gd) * fall)


def _size(cost: Array, change: Array) -> Array:
    """The size of phi's terms."""
    cu, gu, cd, gd = np.abs(cost)
    far = np.abs(change)
    return np.asarray((np.maximum(cu, cd) * far + np.maximum(gu, gd)) * far)
