"""Groups, grids and clauses: what a question about a table has beyond numbers in a box. NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterleaf.types import Array

_WHOLE = 2.0**53


class Table(NamedTuple):
    """What a question on a table has beyond numbers in a box: D variables, G groups of which one is 1, C clauses."""

    group: Array  # (D,) the group of a 0/1 variable, -1 for a number
    first: Array  # (G,) the first variable of a group
    last: Array  # (G,) the one after its last
    own: Array  # (G,) the variable that is 1 in the source
    step: Array  # (2, D) numerator and denominator of a grid, 0 where any number will do
    feature: Array  # (D,) the feature that a variable belongs to
    most: int  # features that may change, or -1
    clauses: Array  # (C, 3) where the boxes of its two sides begin, and where the second one ends
    where: Array  # (L,) the variables of those boxes
    lower: Array  # (L,)
    upper: Array  # (L,)

    def holds(self, source: Array, x: Array) -> bool:
        """One value per group, numbers on their grids, no more changes than may be, every clause kept."""
        for a, b in zip(self.first, self.last, strict=True):
            if sorted(x[a:b].tolist()) != [0.0] * (b - a - 1) + [1.0]:
                return False
        on = np.flatnonzero(self.step[0])
        if (at_or_below(self.step[:, on], source[on], x[on]) != x[on]).any():
            return False
        if self.most >= 0 and len(set(self.feature[x != source].tolist())) > self.most:
            return False
        return all(self._inside(i, 0, x) or self._inside(i, 1, x) for i in range(len(self.clauses)))

    def _inside(self, i: int, side: int, x: Array) -> bool:
        box = slice(self.clauses[i, side], self.clauses[i, side + 1])
        at = x[self.where[box]]
        return bool(((self.lower[box] <= at) & (at <= self.upper[box])).all())

    def narrow(self, i: int, side: int, lower: Array, upper: Array) -> None:
        """Intersect a box with the first (0) or second (1) one of a clause."""
        box = slice(self.clauses[i, side], self.clauses[i, side + 1])
        np.maximum.at(lower, self.where[box], self.lower[box])
        np.minimum.at(upper, self.where[box], self.upper[box])

    def tighten(self, source: Array, lower: Array, upper: Array) -> bool:
        """Draw a box to the values of groups and grids in it; False if one of them has none left."""
        on = np.flatnonzero(self.step[0])
        lower[on] = at_or_above(self.step[:, on], source[on], lower[on])
        upper[on] = at_or_below(self.step[:, on], source[on], upper[on])
        for a, b in zip(self.first, self.last, strict=True):
            chosen, left = lower[a:b] > 0, upper[a:b] > 0
            if chosen.sum() == 1:
                upper[a:b] = np.where(chosen, upper[a:b], np.minimum(upper[a:b], 0.0))
            elif left.sum() == 1:
                lower[a:b] = np.where(left, np.maximum(lower[a:b], 1.0), lower[a:b])
            if not left.any() or chosen.sum() > 1:
                return False
        return True


def at_or_above(step: Array, own: Array, value: Array) -> Array:
    """The least multiple of a step, or the source's own number, at or above ``value``."""
    return np.asarray(0.0 - at_or_below(step, -own, -value))  # not -0.0


def at_or_below(step: Array, own: Array, value: Array) -> Array:
    """The greatest multiple of a step, or the source's own number, at or below ``value``; each variable has its step."""
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
    return np.asarray(np.where(fine, value, np.where((own <= value) & (own > point), own, point)))


def unit_of(table: Table, features: Array) -> float:
    """What every cost is a whole multiple of, where no number can move from the source; else 0."""
    source, lower, upper = features[:3]
    grouped = table.group >= 0
    if not ((lower == source) & (upper == source) | grouped).all():
        return 0.0
    costs = np.where(grouped, features[4], 0.0)
    paid = costs[costs != 0]
    least = float(paid.min(initial=np.inf))
    whole = least > 0 and np.isfinite(least) and bool((paid / least == np.round(paid / least)).all())
    return least if whole else 0.0
