"""Groups and grids as arrays: what the solver must know of a schema beyond numbers in a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.question.discrete import Table
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array


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
