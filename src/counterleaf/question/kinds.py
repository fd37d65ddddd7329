"""The kinds of constraints, as values in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.encoding import encode_table
from counterleaf.table.frames import column_names, is_frame
from counterleaf.table.schema import Schema
from counterleaf.types import Array


@dataclass(frozen=True, slots=True, repr=False)
class _Written:
    """A constraint that is printed as the call that made it."""

    words: str

    def __repr__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True, repr=False)
class Limit(_Written):
    """lower <= x_d <= upper for each named feature.

    ``from_lower`` and ``from_upper`` mean that a bound is a distance from the source's value: a number to add to it.
    """

    names: tuple[Any, ...]
    lower: Any = -math.inf
    upper: Any = math.inf
    from_lower: bool = False
    from_upper: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Choice(_Written):
    """The named feature takes one of ``values`` if ``allowed``, and none of them otherwise."""

    name: Any
    values: tuple[Any, ...]
    allowed: bool


@dataclass(frozen=True, slots=True, repr=False)
class Row(_Written):
    """``coef @ x`` compared with ``rhs``."""

    coef: Mapping[Any, float]
    relation: str
    rhs: float

    def terms(self, schema: Schema) -> dict[int, float]:
        """Coefficient by variable. The coefficients of a feature that is named twice, by name and by position, add up."""
        out: dict[int, float] = {}
        for name, a in self.coef.items():
            for d, share in schema.terms(name).items():
                out[d] = out.get(d, 0.0) + a * share
        return {d: a for d, a in out.items() if a}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Among(_Written):
    """x is one of the rows of a table."""

    rows: Any
    _last: list[tuple[Schema, Array]] = field(init=False, default_factory=list)  # the vectors that were computed last

    def vectors(self, schema: Schema) -> Array:
        """The rows as variables of a schema."""
        known = self._last[0] if self._last else None
        if known is None or known[0] is not schema:
            known = schema, _aligned(self.rows, schema)
            self._last[:] = [known]
        return known[1]


@dataclass(frozen=True, slots=True, repr=False)
class MaxChanges(_Written):
    """No more than ``count`` features change."""

    count: int


@dataclass(frozen=True, slots=True, repr=False)
class Changed(_Written):
    """The named feature changes: a condition for ``implies``."""

    name: Any


@dataclass(frozen=True, slots=True, repr=False)
class Implies(_Written):
    """If the condition holds, the constraint holds too."""

    condition: Changed
    then: Limit | Choice


# Any constraint: a value that freeze, fix, between, only_increase, only_decrease, allow, forbid, linear, among, max_changes or
# implies returns. Use it in annotations, as in ``def policy() -> list[cl.Constraint]``.
Constraint = Limit | Choice | Row | Among | MaxChanges | Implies


def _aligned(rows: Any, schema: Schema) -> Array:
    """The rows of ``among`` as variables of a schema."""
    if is_frame(rows):
        names = column_names(rows)
        if sorted(names) != sorted(schema.names):
            raise CounterleafError(f"among got the columns {names}; expected {schema.names}")
    elif np.shape(rows)[1] != len(schema):
        raise CounterleafError(f"among got rows of {np.shape(rows)[1]} numbers; expected {len(schema)}, one per feature")
    vectors = encode_table(schema, rows)
    for d, name in enumerate(schema.names):
        if name in schema.fills:
            vectors[np.isnan(vectors[:, d]), d] = schema.fills[name]
    if not np.isfinite(vectors).all():
        bad = schema.names[int(np.flatnonzero(~np.isfinite(vectors).all(axis=0))[0])]
        raise CounterleafError(f"among got NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return vectors if schema.numeric else schema.spread(vectors)
