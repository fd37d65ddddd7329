"""Groups and grids as arrays: what the solver must know of a schema beyond numbers in a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables of n questions that differ in their source; see ``Table``."""

    layout: Layout
    own: Array  # (n, G)
    soft: Array  # (n, G)
    most: int
    clauses: Array  # (C, 3)
    where: Array  # (L,)
    lower: Array  # (n, L)
    upper: Array  # (n, L)
    unit: Array  # (n,)

    def __getitem__(self, k: int) -> Table:
        return Table(
            group=self.layout.group,
            first=self.layout.first,
            last=self.layout.last,
            own=self.own[k],
            step=self.layout.step,
            feature=self.layout.feature,
            soft=self.soft[k],
            most=self.most,
            clauses=self.clauses,
            where=self.where,
            lower=self.lower[k],
            upper=self.upper[k],
            unit=float(self.unit[k]),
        )


def lay_out(layout: Layout, prices: Prices, limits: Limits, sources: Array) -> tuple[Tables, Array]:
    """The tables of questions, and what each value of a group costs (0 for numbers); snaps the limits to the grids."""
    own = own_values(layout, sources)
    costs = np.zeros(sources.shape)
    for g, moves in enumerate(prices.moves):
        a, b = layout.first[g], layout.last[g]
        costs[:, a:b] = moves[own[:, g] - a]
    dearest = np.zeros(own.shape)
    if own.size:
        dearest = np.maximum.reduceat(np.abs(costs), layout.first, axis=1)  # numbers between two groups cost 0 here
    usual = np.where(dearest > 0, dearest, np.inf).min(axis=1, initial=np.inf)[:, None]
    soft = SOFT * np.where(dearest > 0, dearest, np.where(np.isfinite(usual), usual, 1.0))
    snap(layout, sources, limits.lower, limits.upper)
    unit = unit_of(layout.group, sources, limits.lower, limits.upper, costs)
    return Tables(layout, own, soft, limits.most, *_boxes(layout, limits.clauses, sources), unit), costs


def own_values(layout: Layout, sources: Array) -> Array:
    """(n, G) the variable of each group that is 1 in each source."""
    line, chosen = np.nonzero((sources == 1.0) & (layout.group >= 0))
    out = np.repeat(layout.first[None], len(sources), axis=0)
    out[line, layout.group[chosen]] = chosen
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


def snap(layout: Layout, sources: Array, lower: Array, upper: Array) -> None:
    """Move bounds of numbers on a grid to the nearest allowed number inside."""
    for d in np.flatnonzero(layout.step[0]).tolist():
        step = layout.step[:, d]
        lower[:, d] = at_or_above(step, sources[:, d], lower[:, d])
        upper[:, d] = at_or_below(step, sources[:, d], upper[:, d])


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


def _boxes(layout: Layout, clauses: list[tuple[Box, Box]], sources: Array) -> tuple[Array, Array, Array, Array]:
    """The two boxes of every clause, one after another."""
    starts: list[tuple[int, int, int]] = []
    entries: list[tuple[int, Any, Any]] = []
    for first, second in clauses:
        at = len(entries)
        for box in (first, second):
            for v, low, high in box:
                if layout.step[0, v]:
                    low = at_or_above(layout.step[:, v], sources[:, v], low)
                    high = at_or_below(layout.step[:, v], sources[:, v], high)
                entries.append((v, low, high))
        starts.append((at, at + len(first), at + len(first) + len(second)))
    lower, upper = np.empty((len(sources), len(entries))), np.empty((len(sources), len(entries)))
    for k, (_, low, high) in enumerate(entries):
        lower[:, k], upper[:, k] = low, high
    return np.array(starts, np.int64).reshape(-1, 3), np.array([v for v, _, _ in entries], np.int64), lower, upper
