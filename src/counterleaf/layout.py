"""Groups and grids as arrays: what the solver must know of a schema beyond numbers in a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.constraint import Box, Limits
from counterleaf.cost import Prices
from counterleaf.features import Numeric
from counterleaf.kernels.memory import Table
from counterleaf.schema import Array, Schema

SOFT = 0.05  # of a group's dearest change: what is charged by a square, for the methods that need curvature
_WHOLE = 2.0**53


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

    def group_of(self, columns: Array) -> int:
        """The group to which all of these variables belong, -1 if there is none."""
        found = set(self.group[columns].tolist())
        return found.pop() if len(found) == 1 else -1


def lay_out(layout: Layout, prices: Prices, limits: Limits, source: Array) -> tuple[Table, Array]:
    """The table of one question, and what each value of a group costs (0 for numbers); snaps the limits to the grids."""
    own = _own(layout, source)
    costs = np.zeros(len(source))
    for g, moves in enumerate(prices.moves):
        a, b = layout.first[g], layout.last[g]
        costs[a:b] = moves[own[g] - a]
    dearest = np.array([np.abs(costs[a:b]).max() for a, b in zip(layout.first, layout.last, strict=True)])
    usual = dearest[dearest > 0].min(initial=np.inf)
    soft = SOFT * np.where(dearest > 0, dearest, usual if np.isfinite(usual) else 1.0)
    snap(layout, source, limits.lower, limits.upper)
    unit = unit_of(layout.group, np.array([source, limits.lower, limits.upper]), costs)
    return table_of(layout, source, soft, limits.most, _boxes(layout, limits.clauses, source), unit), costs


def table_of(
    layout: Layout, source: Array, soft: Array, most: int, boxes: tuple[Array, Array, Array, Array], unit: float
) -> Table:
    """The layout with what one question adds; ``boxes`` are the clauses, and the variables and bounds of their boxes."""
    clauses, where, lower, upper = boxes
    return Table(
        group=layout.group,
        first=layout.first,
        last=layout.last,
        own=_own(layout, source),
        step=layout.step,
        feature=layout.feature,
        soft=soft,
        most=most,
        clauses=clauses,
        where=where,
        lower=lower,
        upper=upper,
        unit=unit,
    )


def _own(layout: Layout, source: Array) -> Array:
    """The variable of each group that is 1 in the source."""
    chosen = np.flatnonzero((source == 1.0) & (layout.group >= 0))
    out = layout.first.copy()
    out[layout.group[chosen]] = chosen
    return out


def unit_of(group: Array, box: Array, costs: Array) -> float:
    """What every cost is a whole multiple of, where no number can move from the source; else 0.

    ``box`` is (3, variables): source, lower, upper; ``costs`` are those of the values of the groups.
    """
    numbers = group < 0
    paid = costs[~numbers & (costs != 0)]
    if not ((box[1] == box[0]) & (box[2] == box[0]))[numbers].all() or not len(paid) or (paid < 0).any():
        return 0.0
    least = float(paid.min())
    return least if (paid / least == np.round(paid / least)).all() else 0.0


def snap(layout: Layout, source: Array, lower: Array, upper: Array) -> None:
    """Move bounds of numbers on a grid to the nearest allowed number inside."""
    for d in np.flatnonzero(layout.step[0]).tolist():
        step = layout.step[:, d]
        lower[d], upper[d] = at_or_above(step, source[d], lower[d]), at_or_below(step, source[d], upper[d])


def at_or_above(step: Array, own: float, value: float) -> float:
    """The least multiple of a step, or the source's own number, at or above ``value``."""
    return 0.0 - at_or_below(step, -own, -value)  # not -0.0


def at_or_below(step: Array, own: float, value: float) -> float:
    """The greatest multiple of a step, or the source's own number, at or below ``value``."""
    over, under = step.tolist()
    if abs(value) * under >= _WHOLE * over:  # where floats are no finer than the grid, each of them is on it
        return value
    k = np.floor(value / over * under)
    while k * over / under > value:
        k -= 1.0
    while (k + 1.0) * over / under <= value:
        k += 1.0
    return float(max(k * over / under, own) if own <= value else k * over / under)


def _boxes(layout: Layout, clauses: list[tuple[Box, Box]], source: Array) -> tuple[Array, Array, Array, Array]:
    """The two boxes of every clause, one after another."""
    starts: list[tuple[int, int, int]] = []
    entries: list[tuple[int, float, float]] = []
    for first, second in clauses:
        at = len(entries)
        for box in (first, second):
            for v, low, high in box:
                if layout.step[0, v]:
                    low, high = (
                        at_or_above(layout.step[:, v], source[v], low),
                        at_or_below(layout.step[:, v], source[v], high),
                    )
                entries.append((v, low, high))
        starts.append((at, at + len(first), at + len(first) + len(second)))
    where = np.array([v for v, _, _ in entries], np.int64)
    lower, upper = np.array([low for _, low, _ in entries], float), np.array([high for _, _, high in entries], float)
    return np.array(starts, np.int64).reshape(-1, 3), where, lower, upper
