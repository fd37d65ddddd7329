"""The variables of a schema as arrays: which of them form a group, and which numbers have a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.question.arrays import Table
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """Groups of 0/1 variables and grids of numbers; ``Table`` describes the arrays."""

    group: Array
    first: Array
    last: Array
    step: Array
    feature: Array

    @classmethod
    def of(cls, schema: Schema) -> Variables:
        """The variables of a schema."""
        finite = [d for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
        group, step = np.full(schema.width, -1), np.zeros((2, schema.width))
        for g, d in enumerate(finite):
            group[schema.span(d)] = g
        for d, feature in enumerate(schema):
            if isinstance(feature, Numeric) and feature.grid is not None:
                step[:, schema.starts[d]] = feature.grid.numerator, feature.grid.denominator
        sizes = np.diff(schema.starts)
        return cls(group, schema.starts[:-1][finite], schema.starts[1:][finite], step, np.repeat(np.arange(len(schema)), sizes))

    def table(self, source_value: Array, max_changes: int, clauses: Array, boxes: tuple[Array, Array, Array]) -> Table:
        """The table of a question; ``boxes`` are those of the clauses: variables, lower and upper bounds."""
        return Table(self.group, self.first, self.last, source_value, self.step, self.feature, max_changes, clauses, *boxes)

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
