"""Groups and grids as arrays: what the solver must know of a schema beyond numbers in a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterleaf.features import Numeric
from counterleaf.schema import Array, Schema

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


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Which variables form a group, and which numbers stand on a grid; see ``Table`` for the arrays."""

    group: Array
    first: Array
    last: Array
    step: Array
    feature: Array

    @classmethod
    def of(cls, schema: Schema) -> Layout:
        finite = [d for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
        group, step = np.full(schema.width, -1), np.zeros((2, schema.width))
        for g, d in enumerate(finite):
            group[schema.span(d)] = g
        for d, feature in enumerate(schema):
            if isinstance(feature, Numeric) and feature.grid is not None:
                step[:, schema.starts[d]] = feature.grid.numerator, feature.grid.denominator
        sizes = np.diff(schema.starts)
        return cls(group, schema.starts[:-1][finite], schema.starts[1:][finite], step, np.repeat(np.arange(len(schema)), sizes))

    def table(self, own: Array, most: int, clauses: Array, boxes: tuple[Array, Array, Array]) -> Table:
        """The table of a question; ``boxes`` are those of the clauses: variables, lower and upper bounds."""
        return Table(self.group, self.first, self.last, own, self.step, self.feature, most, clauses, *boxes)

    def group_of(self, columns: Array) -> int:
        """The group to which all of these variables belong, -1 if there is none."""
        found = set(self.group[columns].tolist())
        return found.pop() if len(found) == 1 else -1


def own_values(layout: Layout, source: Array) -> Array:
    """(G,) the variable of each group that is 1 in a source."""
    out = layout.first.copy()
    chosen = np.flatnonzero((source == 1.0) & (layout.group >= 0))
    out[layout.group[chosen]] = chosen
    return out


def unit_of(group: Array, source: Array, lower: Array, upper: Array, costs: Array) -> Array:
    """For each question what every cost is a whole multiple of, where no number can move from the source; else 0.

    The arrays are (n, variables); ``costs`` are those of the values of the groups.
    """
    stays = ((lower == source) & (upper == source) | (group >= 0)).all(axis=-1)
    if not stays.any():
        return np.zeros(len(source))
    paid = (costs != 0) & (group >= 0)
    least = np.where(paid, costs, np.inf).min(axis=-1, initial=np.inf)
    share = np.where(paid, costs, 0.0) / least[:, None]
    whole = (share == np.round(share)).all(axis=-1)
    return np.where(stays & whole & (least > 0) & np.isfinite(least), least, 0.0)


def at_or_above(step: Array, own: Any, value: Any) -> Any:
    """The least multiple of a step, or the source's own number, at or above ``value``."""
    return 0.0 - at_or_below(step, -own, -value)  # not -0.0


def at_or_below(step: Array, own: Any, value: Any) -> Any:
    """The greatest multiple of a step, or the source's own number, at or below ``value``."""
    over, under = step.tolist()
    fine = np.abs(value) * under >= _WHOLE * over  # where floats are no finer than the grid, each of them is on it
    at = np.where(fine, 0.0, value)
    k = np.floor(at / over * under)
    while (high := k * over / under > at).any():
        k = k - high
    while (low := (k + 1.0) * over / under <= at).any():
        k = k + low
    point = k * over / under
    return np.where(fine, value, np.where((own <= value) & (own > point), own, point))[()]
