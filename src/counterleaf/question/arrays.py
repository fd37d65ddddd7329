"""One question as arrays, in the form that the search and the proof read. NumPy only.

``Posed`` holds the tree, the bounds, the cost and the linear constraints. ``Table`` holds the parts that bounds on numbers
cannot express: groups of 0/1 variables, grids, and clauses.
"""

from __future__ import annotations

import itertools
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from counterleaf.sparse import CSR
from counterleaf.types import Array

_WHOLE = 2.0**53


class Form(IntEnum):
    """The kind of a node: a leaf, or a split on one number, on one group of 0/1 variables, or on several variables."""

    LEAF, NUMBER, GROUP, OBLIQUE = range(4)


NODE = np.dtype(
    [
        ("left", np.int64),
        ("right", np.int64),
        ("form", np.int64),  # see Form
        ("index", np.int64),  # the number or group of the split
        ("cut_left", np.float64),  # the last value of that number that goes left
        ("cut_right", np.float64),  # the first value that goes right
        ("below", np.float64),  # the least class cost of a leaf below; inf if none is a target
        ("leaves", np.int64),  # the number of target leaves below, the node itself included
        ("first", np.int64),  # the one with the smallest index
    ]
)


class SeparableCost(NamedTuple):
    """The part of a cost that is a sum over variables: phi_d of each change d, convex with a kink at 0.

    phi(d) = curve_up d^2 + slope_up d for d >= 0, and curve_down d^2 + slope_down d for d <= 0. The arrays hold floats, or
    fractions where the proof computes in rational numbers.
    """

    curve_up: Array  # (D,)
    slope_up: Array
    curve_down: Array
    slope_down: Array

    def at(self, variables: Array) -> SeparableCost:
        """The cost of some of the variables."""
        return SeparableCost(*(line[variables] for line in self))

    def of(self, change: Array) -> Array:
        """The cost phi of each change."""
        rise, fall = np.maximum(change, 0), np.minimum(change, 0)
        up = (self.curve_up * rise + self.slope_up) * rise
        return np.asarray(up + (self.curve_down * fall + self.slope_down) * fall)

    def size_of(self, change: Array) -> Array:
        """A bound on the absolute values of the terms of phi."""
        curve = np.maximum(np.abs(self.curve_up), np.abs(self.curve_down))
        slope = np.maximum(np.abs(self.slope_up), np.abs(self.slope_down))
        distance = np.abs(change)
        return np.asarray((curve * distance + slope) * distance)

    def best_change(self, price: Array, low: Array, high: Array) -> Array:
        """The change d of each variable in [low, high] that minimises phi(d) - price d."""
        bends_up, bends_down = self.curve_up > 0, self.curve_down > 0
        up = np.where(bends_up, (price - self.slope_up) / np.where(bends_up, 2 * self.curve_up, 1), np.inf)
        down = np.where(bends_down, (price - self.slope_down) / np.where(bends_down, 2 * self.curve_down, 1), -np.inf)
        best = np.where(price > self.slope_up, up, np.where(price < self.slope_down, down, 0))
        return np.asarray(np.minimum(np.maximum(best, low), high))

    def with_curve(self, curve: Array) -> SeparableCost:
        """The cost with ``curve`` d^2 added in both directions."""
        return self._replace(curve_up=self.curve_up + curve, curve_down=self.curve_down + curve)


class Features(NamedTuple):
    """The source, the bounds and the separable cost of each of D variables."""

    source: Array  # (D,)
    lower: Array
    upper: Array
    curve_up: Array
    slope_up: Array
    curve_down: Array
    slope_down: Array

    @property
    def cost(self) -> SeparableCost:
        """The four arrays of the cost."""
        return SeparableCost(self.curve_up, self.slope_up, self.curve_down, self.slope_down)


class LinearRow(NamedTuple):
    """A linear constraint over several variables of a question: the sum of ``terms``, by variable, compared with ``rhs``."""

    terms: dict[int, float]
    relation: str
    rhs: float


class ChangeLimit(NamedTuple):
    """At most ``most`` of some features, given by their positions, change."""

    features: tuple[int, ...]
    most: int


class Posed(NamedTuple):
    """A tree, a target, a source and constraints as arrays: D variables, N nodes, K linear constraints of the user."""

    nodes: Array  # (N,) NODE
    indptr: Array  # (N + K + 1,) the rows of the splits, then those of the user, in CSR
    indices: Array
    data: Array
    bias: Array  # (N + K,) row i is data @ x + bias
    features: Features
    equal: int  # the number of equalities, which are the first of the user's rows
    margins: Array  # (N,) how far data @ x + bias stays from 0 at each split
    right_closed: bool
    narrow: bool  # the model reads float32
    widened: bool = False  # the user's rows hold only to HOLDS of their terms, because no row meets them to rounding
    matrix: CSR | None = None  # (D, D) of a cost that couples features
    tangent_curve: Array | None = None  # (D,) the curvature that remains in a tangent to that cost
    guard: float = 0.0  # of its terms: the distance that answers keep from a split that the model sums in its own order
    paid: float = 0.0  # the part of that distance whose price an optimal answer may cost more than its bound

    def row(self, i: int) -> tuple[Array, Array]:
        """The columns and weights of a split or of one of the user's rows."""
        at = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[at], self.data[at]


class Grids(NamedTuple):
    """The numbers that each of D variables may take: any number, the multiples of a step, or those of a list.

    The number of the source belongs to every grid.
    """

    step: Array  # (2, D) numerator and denominator, 0 for a number without a step
    starts: Array  # (D + 1,) where the list of each variable begins and ends
    values: Array  # (L,) the lists, each in increasing order; most are empty

    @property
    def on(self) -> Array:
        """(D,) whether each variable has a grid."""
        return np.asarray((self.step[0] > 0) | (self.starts[1:] > self.starts[:-1]))

    def at(self, variables: Array) -> Grids:
        """The grids of some of the variables."""
        lists = [self.values[self.starts[d] : self.starts[d + 1]] for d in variables] if len(self.values) else []
        starts = np.cumsum([0, *map(len, lists)]) if lists else np.zeros(len(variables) + 1, np.int64)
        return Grids(self.step[:, variables], starts, np.concatenate([np.empty(0), *lists]))

    def below(self, source: Array, value: Array) -> Array:
        """The greatest number of each grid at or below ``value``; minus infinity if there is none."""
        out = _multiple_below(self.step, source, value)
        if not len(self.values):
            return out
        for d in np.flatnonzero(np.diff(self.starts)).tolist():
            listed = self.values[self.starts[d] : self.starts[d + 1]]
            k = int(np.searchsorted(listed, value[d], "right"))
            point = listed[k - 1] if k else -np.inf
            out[d] = source[d] if point < source[d] <= value[d] else point
        return out

    def above(self, source: Array, value: Array) -> Array:
        """The least number of each grid at or above ``value``; infinity if there is none."""
        turned = np.concatenate([np.empty(0), *(-self.values[a:b][::-1] for a, b in itertools.pairwise(self.starts) if a < b)])
        return np.asarray(0.0 - Grids(self.step, self.starts, turned).below(-source, -value))  # not -0.0


class Table(NamedTuple):
    """The discrete part of a question: D variables, G groups in which exactly one variable is 1, C clauses, F features."""

    group: Array  # (D,) the group of a 0/1 variable, -1 for a number
    first: Array  # (G,) the first variable of each group
    last: Array  # (G,) one past its last variable
    source_value: Array  # (G,) the variable that is 1 in the source
    grids: Grids
    feature: Array  # (D,) the feature to which each variable belongs
    members: Array  # (K, F) the features of each limit on changes
    most: Array  # (K,) how many of them may change
    charges: Array  # (F,) the price of changing a feature at all
    clauses: Array  # (C, 3) where the boxes of the two sides begin, and where the second one ends
    where: Array  # (L,) the variables of those boxes
    lower: Array  # (L,)
    upper: Array  # (L,)

    def holds(self, source: Array, x: Array) -> bool:
        """Whether a row has one value per group, numbers on their grids, few enough changes, and satisfies every clause."""
        for a, b in zip(self.first, self.last, strict=True):
            if sorted(x[a:b].tolist()) != [0.0] * (b - a - 1) + [1.0]:
                return False
        on = self.on_grid
        if (self.grids.at(on).below(source[on], x[on]) != x[on]).any():
            return False
        if ((self.members & self.changed(source, x)).sum(axis=1) > self.most).any():
            return False
        return all(self._inside(i, 0, x) or self._inside(i, 1, x) for i in range(len(self.clauses)))

    @property
    def on_grid(self) -> Array:
        """The variables that have a grid."""
        return np.flatnonzero(self.grids.on)

    @property
    def is_plain(self) -> Array:
        """(D,) whether each variable is a number without a grid."""
        return np.asarray((self.group < 0) & ~self.grids.on)

    @property
    def counts_changes(self) -> bool:
        """Whether it matters which features change."""
        return bool(len(self.most) or self.charges.any())

    def changed(self, source: Array, x: Array) -> Array:
        """(F,) whether each feature of a row differs from the source."""
        return np.bincount(self.feature[x != source], minlength=len(self.charges)) > 0

    def moving(self, source: Array, lower: Array, upper: Array, counted: frozenset[int]) -> Array:
        """(F,) whether each feature changes in every row of a box: it is counted, or the box does not let it stay."""
        out = np.bincount(self.feature[(source < lower) | (source > upper)], minlength=len(self.charges)) > 0
        out[list(counted)] = True
        return out

    def limit_changes(self, source: Array, lower: Array, upper: Array, counted: frozenset[int]) -> bool:
        """Fix the other features of each limit once as many change as it allows; False if more change."""
        if not len(self.most):
            return True
        moving = self.moving(source, lower, upper, counted)
        for members, most in zip(self.members, self.most.tolist(), strict=True):
            count = int((members & moving).sum())
            if count > most:
                return False
            if count == most:
                still = (members & ~moving)[self.feature]
                lower[still], upper[still] = np.maximum(lower, source)[still], np.minimum(upper, source)[still]
        return True

    def _inside(self, i: int, side: int, x: Array) -> bool:
        box = slice(self.clauses[i, side], self.clauses[i, side + 1])
        at = x[self.where[box]]
        return bool(((self.lower[box] <= at) & (at <= self.upper[box])).all())

    def narrow(self, i: int, side: int, lower: Array, upper: Array) -> None:
        """Intersect a box with the first (0) or second (1) box of a clause."""
        box = slice(self.clauses[i, side], self.clauses[i, side + 1])
        np.maximum.at(lower, self.where[box], self.lower[box])
        np.minimum.at(upper, self.where[box], self.upper[box])

    def tighten(self, source: Array, lower: Array, upper: Array) -> bool:
        """Shrink a box to the values of groups and grids in it; False if a group or grid has no value left."""
        on = self.on_grid
        grids = self.grids.at(on)
        lower[on], upper[on] = grids.above(source[on], lower[on]), grids.below(source[on], upper[on])
        for a, b in zip(self.first, self.last, strict=True):
            chosen, left = lower[a:b] > 0, upper[a:b] > 0
            if chosen.sum() == 1:
                upper[a:b] = np.where(chosen, upper[a:b], np.minimum(upper[a:b], 0.0))
            elif left.sum() == 1:
                lower[a:b] = np.where(left, np.maximum(lower[a:b], 1.0), lower[a:b])
            if not left.any() or chosen.sum() > 1:
                return False
        return True


def _multiple_below(step: Array, source: Array, value: Array) -> Array:
    """The greatest number at or below ``value`` that is a multiple of the step or the source's number; ``value`` without one.

    Each variable has its step, given as numerator and denominator.
    """
    free = step[0] == 0
    if free.any():
        step = np.where(free, 1.0, step)
    over, under = step
    with np.errstate(over="ignore"):
        fine = np.abs(value) * under >= _WHOLE * over  # where floats are no finer than the grid, each of them is on it
    at = np.where(fine, 0.0, value)
    k = np.floor(at / over * under)
    while (high := k * over / under > at).any():
        k = k - high
    while (low := (k + 1.0) * over / under <= at).any():
        k = k + low
    point = k * over / under
    return np.where(fine | free, value, np.where((source <= value) & (source > point), source, point))


def unit_of(table: Table, features: Features, coupled: bool) -> float:
    """A number of which every cost is a whole multiple, if no number can move or those that can pay charges only; else 0.

    ``coupled`` says that changes of several numbers cost something together.
    """
    grouped = table.group >= 0
    free = ~grouped & ((features.lower != features.source) | (features.upper != features.source))
    if (coupled and free.any()) or any(line[free].any() for line in features.cost):
        return 0.0
    costs = np.concatenate([features.slope_up[grouped], table.charges[table.feature[free]]])
    paid = costs[costs != 0]
    least = float(paid.min(initial=np.inf))
    whole = least > 0 and np.isfinite(least) and bool((paid / least == np.round(paid / least)).all())
    return least if whole else 0.0
