"""What the proof of an answer rests on, in NumPy: rows that obey, parts that are empty or too dear, leaves that are covered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from counterleaf.coupling import is_convex as couples_convexly
from counterleaf.findings import Status
from counterleaf.layout import Table, at_or_above, at_or_below, unit_of
from counterleaf.problem import Form, Problem, Question
from counterleaf.schema import Array

AGREE = 1e-9  # two ways of summing the same bound agree to this share of its terms
_LOST = 1e-12  # of a bound's terms: what rounding may add where tangents make them cancel
_ZERO = 1e-12  # a price residual below this share of its terms counts as zero
_ROUNDING = 1e-9  # a leaf thinner than this share of its splits' terms, that the model never reached, counts as empty
_NARROW = 1e-3  # the same where the model sees float32


class Parting(IntEnum):
    """What parts a state from its sibling.

    The SPLIT of a node; or, at a leaf, a CUT (a variable at most, or at least, a number), a COUNT (a feature stays, or is one
    of those that change), a CLAUSE (the first, or the second, box of a clause). In each case the two hold every row.
    """

    SPLIT, CUT, COUNT, CLAUSE = range(4)


@dataclass(frozen=True, slots=True)
class Part:
    """A tree node's region with the multipliers of its rows: the user's first, then the path's from the root."""

    node: int
    lam: Array
    slack: Array
    empty: bool
    tangent: Array  # the point of the tangent to the coupled cost, as a change; empty without one


@dataclass(frozen=True, slots=True)
class Fork:
    """A leaf's region in two."""

    how: int  # see Parting
    what: int
    cuts: tuple[float, float]
    low: Part | Fork
    high: Part | Fork


@dataclass(frozen=True, slots=True)
class Answer:
    """A row claimed to be the best of its leaf, and the bound claimed for that leaf."""

    leaf: int
    row: Array
    cost: float
    bound: float


def obeys(problem: Problem, answer: Answer) -> bool:
    """The row lies in its leaf and in the box, obeys the user's rows, and costs what is claimed."""
    q, x = problem.question, answer.row
    low, high = _true_sides(q.features, q.features[1], q.features[2])
    if not np.isfinite(x).all() or not (((q.features[1] <= x) | np.isinf(low)) & ((x <= q.features[2]) | np.isinf(high))).all():
        return False
    change, below = float(problem.cost_of(x[None])[0]), float(q.nodes["below"][answer.leaf])
    size = abs(change) + abs(below) + abs(answer.cost) + 1e-3 * _coupled_terms(problem, x)
    if not abs(change + below - answer.cost) <= AGREE * size:
        return False
    if not answer.bound <= answer.cost:
        return False
    for i in range(len(q.nodes), len(q.bias)):
        columns = slice(q.indptr[i], q.indptr[i + 1])
        terms = np.append(q.data[columns] * x[q.indices[columns]], q.bias[i])
        reach = np.abs(q.data[columns] * q.features[0][q.indices[columns]]).sum()  # x is the source plus a change
        miss, size = math.fsum(terms), float(np.abs(terms).sum() + 1e-6 * reach)
        if (abs(miss) if i < len(q.nodes) + q.equal else -miss) > AGREE * size:
            return False
    return (problem.table is None or _is_row(problem.table, q.features[0], x)) and _reaches(problem, answer)


def _is_row(table: Table, source: Array, x: Array) -> bool:
    """One value per group, numbers on their grids, no more changes than may be, every clause kept."""
    for a, b in zip(table.first, table.last, strict=True):
        if sorted(x[a:b].tolist()) != [0.0] * (b - a - 1) + [1.0]:
            return False
    for d in np.flatnonzero(table.step[0]).tolist():
        if at_or_below(table.step[:, d], source[d], x[d]) != x[d]:
            return False
    if table.most >= 0 and len(set(table.feature[x != source].tolist())) > table.most:
        return False
    return all(_inside(table, i, 0, x) or _inside(table, i, 1, x) for i in range(len(table.clauses)))


def _inside(table: Table, i: int, side: int, x: Array) -> bool:
    box = slice(table.clauses[i, side], table.clauses[i, side + 1])
    at = x[table.where[box]]
    return bool(((table.lower[box] <= at) & (at <= table.upper[box])).all())


def _coupled_terms(problem: Problem, row: Array) -> float:
    """sum |Q_de d_d d_e|: the terms of a coupled cost, which may cancel."""
    if problem.coupling is None:
        return 0.0
    d = np.abs(row - problem.source)
    return float(d @ (abs(problem.coupling.matrix) @ d))


def is_convex(problem: Problem) -> bool:
    """Every feature's own cost is convex, and so is the coupled one less what its tangents leave curved."""
    cu, gu, cd, gd = problem.question.features[3:7]
    if not ((cu >= 0) & (cd >= 0) & (gu >= gd)).all():
        return False
    return problem.coupling is None or couples_convexly(problem.coupling, problem.question.features[7])


def gap_allowed(problem: Problem, answer: Answer) -> float:
    """What rounding may add to a cost: a millionth of it (a thousandth where the model sees float32), and ``_noise``."""
    return 1e-6 * (1e3 if problem.question.narrow else 1.0) * abs(answer.cost) + _noise(problem, answer)


def _noise(problem: Problem, answer: Answer) -> float:
    """What a change of 1e-9 of each feature costs, or of 1e-9 in its cost's units; more where the model sees float32.

    A change of 1e-7 where the cost couples features: of several best rows the one of least norm is found to 1e-7.
    """
    q, coupling = problem.question, problem.coupling
    cost = q.features[3:7]
    curve, slope = np.abs(cost[0::2]).max(axis=0), np.abs(cost[1::2]).max(axis=0)
    if coupling is not None:
        curve = curve + coupling.matrix.diagonal()
    size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
    share = 1e-9 * (1e3 if q.narrow else 1.0) * (1.0 if coupling is None else 100.0)
    step = share * (np.abs(answer.row) + np.abs(problem.source) + 1.0 / np.where(size > 0, size, 1.0))
    return float((curve * step**2 + slope * step).sum()) + 1e-12 * _coupled_terms(problem, answer.row)


def _reaches(problem: Problem, answer: Answer) -> bool:
    """Follow the row down the tree, summing as the model does and keeping the margin."""
    tree, q = problem.tree, problem.question
    node = 0
    while tree.left[node] >= 0:
        columns = slice(tree.weights.indptr[node], tree.weights.indptr[node + 1])
        w, x = tree.weights.data[columns], answer.row[tree.weights.indices[columns]]
        seen = x.astype(np.float32).astype(np.float64) if q.narrow else x
        f = np.cumsum(np.append(w * seen, 0.0))[-1] + tree.bias[node]
        terms = [*(w * x), tree.bias[node]]
        if q.margin > 0 and abs(math.fsum(terms)) < q.margin - AGREE * sum(map(abs, terms)):
            return False
        node = int(tree.right[node] if f > 0 or (f == 0 and q.right_closed) else tree.left[node])
    return node == answer.leaf and math.isfinite(q.nodes["below"][node])


class Walk:
    """One pass over the tree for ``Certificate.check``."""

    def __init__(
        self, problem: Problem, parts: dict[int, Part | Fork], answers: tuple[Answer, ...], status: Status, least: float
    ) -> None:
        self.problem, self.q = problem, problem.question
        self.coupling, self.table = problem.coupling, problem.table
        self.parts = parts
        self.answered = {answer.leaf: answer for answer in answers}
        self.status = status
        last = max((answer.cost for answer in answers), default=math.inf)
        self.floor = last if status is not Status.LIMIT else least
        # another leaf's row may cost as much as the dearest answer's only because rounding moved both off their bounds
        self.gap = 0.0
        if status is Status.OPTIMAL:
            self.gap = max(max(a.cost - a.bound, _noise(problem, a)) for a in answers)
        here = Answer(-1, problem.source, 0.0, 0.0)
        self.noise = max(_noise(problem, a) for a in (here, *answers))
        f = self.q.features
        self.unit = 0.0 if self.table is None else float(unit_of(self.table.group, f[:1], f[1:2], f[2:3], f[4:5])[0])

    def covers(self, node: int, path: list[tuple[int, int]], lower: Array, upper: Array) -> bool:
        """Every target leaf below ``node`` is answered or excluded. Depth-first, with an explicit stack."""
        stack = [(node, path, lower.copy(), upper.copy())]
        while stack:
            node, path, lower, upper = stack.pop()
            entry = self.q.nodes[node]
            if not math.isfinite(entry["below"]) or not self._has_room(lower, upper):
                continue
            part = self.parts.get(node)
            if part is not None:
                if not self._settles(part, node, path, lower, upper):
                    return False
                continue
            if entry["left"] < 0:
                return False
            for child, side in ((int(entry["left"]), -1), (int(entry["right"]), 1)):
                low, high = lower.copy(), upper.copy()
                form, d = entry["form"], int(entry["index"])
                if form == Form.NUMBER and side > 0:
                    low[d] = max(low[d], entry["cut_right"])
                elif form == Form.NUMBER:
                    high[d] = min(high[d], entry["cut_left"])
                elif form == Form.GROUP:
                    high[self._turned_away(node, d, side)] = 0.0
                stack.append((child, [*path, (node, side)] if form == Form.OBLIQUE else path, low, high))
        return True

    def _turned_away(self, node: int, g: int, side: int) -> Array:
        """The values of a group that do not go to a side of a split."""
        q, table = self.q, self.table
        assert table is not None
        values = np.arange(table.first[g], table.last[g])
        columns = slice(q.indptr[node], q.indptr[node + 1])
        f = np.full(len(values), q.bias[node])
        f[q.indices[columns] - table.first[g]] += q.data[columns]
        right = (f > 0) | ((f == 0) & q.right_closed)
        return np.asarray(values[(right != (side > 0)) | ((q.margin > 0) & (side * f < q.margin))])

    def _has_room(self, lower: Array, upper: Array) -> bool:
        """Whether a box holds a row; groups and grids make it as tight as they can."""
        if self.table is not None:
            source = self.q.features[0]
            for d in np.flatnonzero(self.table.step[0]).tolist():
                lower[d] = at_or_above(self.table.step[:, d], source[d], lower[d])
                upper[d] = at_or_below(self.table.step[:, d], source[d], upper[d])
            for a, b in zip(self.table.first, self.table.last, strict=True):
                chosen, left = lower[a:b] > 0, upper[a:b] > 0
                if chosen.sum() == 1:
                    upper[a:b][~chosen] = 0.0
                elif left.sum() == 1:
                    lower[a:b][left] = 1.0
                if not left.any() or chosen.sum() > 1:
                    return False
        return not ((lower > upper) | (lower == np.inf) | (upper == -np.inf)).any()

    def _settles(self, part: Part | Fork, leaf: int, path: list[tuple[int, int]], lower: Array, upper: Array) -> bool:
        """The part, and every part of a fork, proves its claim."""
        stack: list[tuple[Part | Fork, Array, Array, frozenset[int]]] = [(part, lower, upper, frozenset())]
        if self.table is not None and self.table.most == 0:
            self._freeze(np.ones(len(lower), bool), lower, upper)
        while stack:
            part, lower, upper, counted = stack.pop()
            if not self._has_room(lower, upper):
                continue
            if isinstance(part, Part):
                if not self._proves(part, path, lower, upper):
                    return False
                continue
            if self.table is None or self.q.nodes["left"][leaf] >= 0 or not self._parts_all(part):
                return False
            for side, below in ((-1, part.low), (1, part.high)):
                low, high, now = lower.copy(), upper.copy(), counted
                if part.how == Parting.COUNT and side > 0:
                    now = counted | {part.what}
                    if len(now) == self.table.most:
                        self._freeze(~np.isin(self.table.feature, list(now)), low, high)
                elif part.how == Parting.COUNT:
                    self._freeze(self.table.feature == part.what, low, high)
                elif part.how == Parting.CLAUSE:
                    k = 0 if side < 0 else 1
                    box = slice(self.table.clauses[part.what, k], self.table.clauses[part.what, k + 1])
                    np.maximum.at(low, self.table.where[box], self.table.lower[box])
                    np.minimum.at(high, self.table.where[box], self.table.upper[box])
                elif side > 0:
                    low[part.what] = max(low[part.what], part.cuts[1])
                else:
                    high[part.what] = min(high[part.what], part.cuts[0])
                stack.append((below, low, high, now))
        return True

    def _freeze(self, which: Array, lower: Array, upper: Array) -> None:
        source = self.q.features[0]
        lower[which], upper[which] = np.maximum(lower, source)[which], np.minimum(upper, source)[which]

    def _parts_all(self, fork: Fork) -> bool:
        """Every row of the table lies on one side of the fork or the other."""
        table = self.table
        assert table is not None
        if fork.how == Parting.COUNT:
            return table.most >= 0
        if fork.how == Parting.CLAUSE:
            return 0 <= fork.what < len(table.clauses)
        low, high = fork.cuts
        if fork.how != Parting.CUT or not 0 <= fork.what < len(table.group):
            return False
        if table.group[fork.what] >= 0:
            return low >= 0.0 and high <= 1.0
        step, source = table.step[:, fork.what], self.q.features[0, fork.what]
        if not step[0]:
            return high <= low
        return high <= (at_or_above(step, source, float(np.nextafter(low, np.inf))) if low > -math.inf else low)

    def _proves(self, part: Part, path: list[tuple[int, int]], lower: Array, upper: Array) -> bool:
        q = self.q
        users = [(i, 1) for i in range(len(q.nodes), len(q.bias))]
        rows = users + path
        lam = np.array(part.lam, float)
        if (
            not len(lam) == len(rows) == len(part.slack)
            or not np.isfinite(np.concatenate([lam, part.slack, part.tangent])).all()
        ):
            return False
        if (lam[q.equal :] < 0).any():
            return False
        A = np.zeros((len(rows), len(lower)))
        r = np.empty(len(rows))
        for t, (i, side) in enumerate(rows):
            columns = slice(q.indptr[i], q.indptr[i + 1])
            A[t, q.indices[columns]] = side * q.data[columns]
            r[t] = (q.margin if t >= len(users) else 0.0) - side * math.fsum(_exact_terms(q, i))
        low, high = _true_sides(q.features, lower, upper)
        if (lower == upper).all() and q.nodes["left"][part.node] < 0 and part.node not in self.answered:
            x = lower  # a single row: not one that the model sends here, or a dear one
            price = float(self.problem.cost_of(x[None])[0]) + float(q.nodes["below"][part.node])
            if not obeys(self.problem, Answer(part.node, x, price, price)):
                return True
        if part.empty:
            return self._empty(lam, part.slack, A, r, low, high)
        if self.table is not None:
            bound, terms = self._table_bound(A, r, lower, upper, low, high, lam)
            return self._suffices(part, bound, terms)
        cost, below, sizes = q.features[3:7], 0.0, np.zeros(len(lower))
        if self.coupling is not None:
            kept = self.coupling.theta * q.features[7] ** 2  # what the tangent leaves curved
            y, slope = part.tangent, self.coupling.matrix @ part.tangent - kept * part.tangent
            cost = cost + np.array([kept, 2 * slope, kept, 2 * slope])
            below, sizes = float(y @ slope), abs(self.coupling.matrix) @ np.abs(y) + kept * np.abs(y)
        bound, terms = _dual_bound(cost, A, r, low, high, lam, 2 * sizes)
        bound, terms = bound - below, terms + float(np.abs(part.tangent) @ sizes[: len(part.tangent)])
        return self._suffices(part, bound, terms)

    def _suffices(self, part: Part, bound: float, terms: float) -> bool:
        """A bound, class cost left out, supports the claim: the leaf's own, or that no row here undercuts the last answer."""
        bound += float(self.q.nodes["below"][part.node])
        answer = self.answered.get(part.node)
        claim = answer.bound if answer is not None else self.floor
        if self.status is Status.LIMIT and claim == -math.inf:
            return True
        if self.status is Status.INFEASIBLE or not math.isfinite(claim):
            return False
        gap = self.gap if answer is None else 0.0
        size, lost = abs(claim) + abs(bound), AGREE * terms
        if self.coupling is not None or lost > 1e-6 * size + self.gap + self.noise:
            lost = _LOST * terms  # terms that cancel prove nothing
        return lost <= 1e-4 * size + self.gap + self.noise and bound >= claim - lost - AGREE * abs(claim) - gap

    def _empty(self, lam: Array, slack: Array, A: Array, r: Array, low: Array, high: Array) -> bool:
        """lam @ (A d - r) >= 0 fails for every d in the box; each row moved by no more than its own rounding."""
        source = self.q.features[0]
        near = np.maximum(np.maximum(low, -high), 0.0)  # from the source to the box
        reach = np.abs(A) @ (2.0 * np.abs(source) + near) + np.abs(r)
        if (slack < 0).any() or (slack > (_ROUNDING if not self.q.narrow else _NARROW) * reach).any():
            return False
        prices = A.T @ lam
        terms = np.abs(A.T) @ np.abs(lam)
        most = np.where(prices > 0, high, low)
        real = np.abs(prices) > _ZERO * terms
        reached = 0.0
        if self.table is not None:  # of a group, the best value
            real &= self.table.group < 0
            for a, b, own in zip(self.table.first, self.table.last, self.table.own, strict=True):
                left = high[a:b] + source[a:b] > 0
                reached += float(prices[a:b][left].max() - prices[own])
        if np.isinf(most[real]).any():
            return False
        return float(lam @ (r + slack)) > float((prices[real] * most[real]).sum()) + reached

    def _table_bound(
        self, A: Array, r: Array, lower: Array, upper: Array, low: Array, high: Array, lam: Array
    ) -> tuple[float, float]:
        """(what the multipliers prove over the rows of the table, size of its terms)."""
        table, source, cost = self.table, self.q.features[0], self.q.features[3:7]
        assert table is not None
        numbers = np.flatnonzero(table.group < 0)
        total, terms = _dual_bound(cost[:, numbers], A[:, numbers], r, low[numbers], high[numbers], lam, np.zeros(len(numbers)))
        price = A.T @ lam
        for d in numbers[table.step[0, numbers] > 0].tolist():  # on its grid a number may cost more
            between, _ = _dual_bound(cost[:, [d]], A[:0, [d]], r[:0], low[[d]], high[[d]], lam[:0], np.zeros(1), price[[d]])
            at = source[d] + _response(cost[:, [d]], price[[d]], low[[d]], high[[d]])[0]
            if math.isinf(at) or math.isinf(between):
                continue
            points = np.clip(
                [at_or_below(table.step[:, d], source[d], at), at_or_above(table.step[:, d], source[d], at)], lower[d], upper[d]
            )
            move = points - source[d]
            rise, fall = np.maximum(move, 0.0), np.minimum(move, 0.0)
            cu, gu, cd, gd = cost[:, d]
            total += max(float(((cu * rise + gu) * rise + (cd * fall + gd) * fall - price[d] * move).min()) - between, 0.0)
        for a, b, own in zip(table.first, table.last, table.own, strict=True):
            left = upper[a:b] > 0
            worth = (cost[1, a:b] - price[a:b])[left]
            total += float(worth.min() - cost[1, own] + price[own])
            terms += float(np.abs(worth).max() + abs(price[own]))
        if self.unit > 0 and math.isfinite(total):
            total = max(total, math.ceil(total / self.unit - 1e-9) * self.unit)
        return total, terms


def _true_sides(features: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The box as changes from the source; a side that is only the search's horizon is infinite."""
    source, horizon = features[0], features[8]
    low = np.where((horizon < 0) & (lower == features[1]), -np.inf, lower - source)
    high = np.where((horizon > 0) & (upper == features[2]), np.inf, upper - source)
    return low, high


def _dual_bound(
    cost: Array, A: Array, r: Array, low: Array, high: Array, lam: Array, sizes: Array, price: Array | None = None
) -> tuple[float, float]:
    """(lam @ r + sum_d min phi_d - price_d d over the box, size of its terms); ``sizes``: of further terms in the slopes.

    ``price`` is A' lam unless given.
    """
    cu, gu, cd, gd = cost
    price = A.T @ lam if price is None else price
    size = np.abs(A.T) @ np.abs(lam) + np.abs(gu) + np.abs(gd) + sizes
    # a residual that is only rounding does not count, where it would be charged without end
    price = np.where((price > gu) & (cu == 0) & np.isinf(high) & (price - gu <= _ZERO * size), gu, price)
    price = np.where((price < gd) & (cd == 0) & np.isinf(low) & (gd - price <= _ZERO * size), gd, price)
    d = _response(cost, price, low, high)
    if np.isinf(d).any():
        return -math.inf, 0.0
    rise, fall = np.maximum(d, 0.0), np.minimum(d, 0.0)
    pieces = [cu * rise * rise, gu * rise, cd * fall * fall, gd * fall, -price * d, lam * r]
    flat = np.concatenate(pieces)
    return math.fsum(flat), float(np.abs(flat).sum() + (sizes * np.abs(d)).sum())


def _response(cost: Array, price: Array, low: Array, high: Array) -> Array:
    """The change of each feature that is best at its price."""
    cu, gu, cd, gd = cost
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(price > gu, (price - gu) / (2 * cu), 0.0)
        down = np.where(price < gd, (price - gd) / (2 * cd), 0.0)
    return np.asarray(np.clip(up + down, low, high))


def _exact_terms(q: Question, i: int) -> list[float]:
    """w_j * source_j as exact sums of two floats each (Dekker's product), and the bias: fsum of them is w @ source + b."""
    columns = slice(q.indptr[i], q.indptr[i + 1])
    a, b = q.data[columns], q.features[0][q.indices[columns]]
    product = a * b

    def halves(v: Array) -> tuple[Array, Array]:
        big = 134217729.0 * v
        high = big - (big - v)
        return high, v - high

    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return [*product.tolist(), *np.where(np.isfinite(error), error, 0.0).tolist(), float(q.bias[i])]
