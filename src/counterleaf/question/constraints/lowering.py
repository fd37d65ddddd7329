"""Constraints as arrays over the variables of a schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterleaf.question.arrays import LinearRow
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.question.constraints.kinds import Constraint


class Interval(NamedTuple):
    """The bounds of one variable: numbers, or arrays with one number per source; empty if the lower one is greater."""

    variable: int
    lower: Any
    upper: Any


Box = list[Interval]  # the variables that are not listed are free


class Clause(NamedTuple):
    """A row lies in the first box or in the second one."""

    first: Box
    second: Box


@dataclass(slots=True, eq=False)
class Limits:
    """Constraints as arrays: one line per source, one column per variable."""

    lower: Array
    upper: Array
    rows: list[LinearRow] = field(default_factory=list)
    pool: Array | None = None  # the rows of ``among``, from which the answer is chosen
    max_changes: int = -1  # the number of features that may change, -1 for no limit
    clauses: list[Clause] = field(default_factory=list)
    near: Any = None  # a constraint that a search of its own handles

    def narrow(self, box: Box) -> None:
        """Rule out the rows outside a box."""
        for d, low, high in box:
            lower, upper = self.lower[:, d], self.upper[:, d]
            np.maximum(lower, low, out=lower)
            np.minimum(upper, high, out=upper)


def lower_constraints(constraints: Iterable[Constraint], schema: Schema, sources: Array) -> Limits:
    """Translate constraints on source rows into arrays; refuse those that do not fit the schema, or a source."""
    lower, upper = np.empty(sources.shape), np.empty(sources.shape)
    lower[:], upper[:] = schema.bounds()
    if schema.inferred:
        lower, upper = np.minimum(lower, sources, out=lower), np.maximum(upper, sources, out=upper)
    out = Limits(lower, upper)
    upper[:, schema.kept] = sources[:, schema.kept]  # a missing value may stay; no other value may become missing
    for constraint in constraints:
        constraint.add_to(out, schema, sources)
    return out
