"""The variables of a schema as arrays: which of them form a group, and which numbers have a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.question.arrays import Grids, Table
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

Boxes = tuple[Array, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """Groups of 0/1 variables and grids of numbers; ``Table`` describes the arrays."""

    group: Array
    first: Array
    last: Array
    grids: Grids
    feature: Array

    @classmethod
    def of(cls, schema: Schema) -> Variables:
        """The variables of a schema."""
        finite = [d for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
        group, step = np.full(schema.width, -1), np.zeros((2, schema.width))
        for g, d in enumerate(finite):
            group[schema.span(d)] = g
        for d, feature in enumerate(schema):
            if isinstance(feature, Numeric) and feature.values is None and feature.grid is not None:
                step[:, schema.starts[d]] = feature.grid.numerator, feature.grid.denominator
            if feature.name in schema.gaps:
                step[:, schema.starts[d] + 1] = 1  # missing or not
        grids = Grids(step, *_lists(schema))
        owner = np.repeat(np.arange(len(schema)), np.diff(schema.starts))
        return cls(group, schema.starts[:-1][finite], schema.starts[1:][finite], grids, owner)

    @property
    def count(self) -> int:
        """The number of features."""
        return int(self.feature.max(initial=-1)) + 1

    def table(self, source_value: Array, changes: tuple[Array, Array, Array], clauses: Array, boxes: Boxes) -> Table:
        """The table of a question.

        ``changes`` are the limits on changes and the charges, as in ``Table``; ``boxes`` are those of the clauses: variables,
        lower and upper bounds.
        """
        return Table(self.group, self.first, self.last, source_value, self.grids, self.feature, *changes, clauses, *boxes)

    def group_of(self, columns: Array) -> int:
        """The group to which all of these variables belong, -1 if there is none."""
        found = set(self.group[columns].tolist())
        return found.pop() if len(found) == 1 else -1

    def values_of(self, source: Array) -> Array:
        """(G,) the variable of each group that is 1 in a source."""
        out = self.first.copy()
        chosen = np.flatnonzero((source == 1.0) & (self.group >= 0))
        out[self.group[chosen]] = chosen
        return out


def _lists(schema: Schema) -> tuple[Array, Array]:
    """The lists to which numbers are restricted: where the list of each variable begins and ends, and their numbers."""
    starts, values = np.zeros(schema.width + 1, np.int64), [np.empty(0)]
    for d, feature in enumerate(schema):
        if isinstance(feature, Numeric) and feature.values is not None:
            values.append(np.array(feature.values, np.float64))
            starts[schema.starts[d] + 1] = len(values[-1])
    return np.cumsum(starts), np.concatenate(values)


def moves(feature: Finite, up: float, down: float, power: int, named: float | None) -> Array:
    """The cost of each change of value, from by to.

    An ordered feature pays per level moved. A category pays twice, for the 0/1 variable that falls and the one that rises;
    under a named weight, ``named`` times 1. A table of costs replaces that 2, that 1, or the number of levels.
    """
    n = len(feature.values)
    change = up + down if named is None else named
    out = np.full((feature.size, feature.size), change)  # to and from a missing value, as between categories
    if feature.costs is not None:
        out[:n, :n] = (0.5 * (up + down) if named is None else named) * np.array(feature.costs)
    elif feature.ordered:
        moved = np.arange(n)[None, :] - np.arange(n)[:, None]
        out[:n, :n] = np.where(moved > 0, up, down) * np.abs(moved) ** power
    np.fill_diagonal(out, 0.0)
    return out
