"""The kinds of constraints, as values in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, number
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
class Support(_Written):
    """x falls into a leaf that at least ``least`` rows of the data reach; made by the option ``support=``."""

    least: int


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
Constraint = Limit | Choice | Row | Among | MaxChanges | Implies | Support


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
    known = [schema.gaps.get(name) is not None for name in schema.names]
    wrong = ~(np.isfinite(vectors) | (np.isnan(vectors) & known)).all(axis=0)
    if wrong.any():
        bad = schema.names[int(np.flatnonzero(wrong)[0])]
        raise CounterleafError(f"among got NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return vectors if schema.numeric else schema.spread(vectors)


def listed(constraints: Any) -> list[Constraint]:
    """Check the constraints of a question, which are a list or a single constraint.

    Raises
    ------
    CounterleafError
        If something else than a constraint is among them.
    """
    if isinstance(constraints, (tuple, list)) and not constraints:
        return []
    if isinstance(constraints, Constraint):
        return [constraints]
    if not isinstance(constraints, Iterable) or isinstance(constraints, (str, Mapping)):
        raise CounterleafError(f"constraints is {constraints!r}; expected a list such as [freeze('age')]")
    out = list(constraints)
    for one in out:
        if isinstance(one, Changed):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {one!r} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return out


def feature_names(verb: str, names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the names that a constraint takes."""
    if not names:
        raise CounterleafError(f"{verb} got no feature; name at least one, as in {verb}('age')")
    for name in names:
        if isinstance(name, (list, tuple, set, dict)):
            raise CounterleafError(f"{verb} got {name!r}; give the names one by one, as in {verb}('age', 'sex')")
    return names


def value_list(verb: str, values: Any) -> tuple[Any, ...]:
    """Check the values that a constraint takes."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise CounterleafError(f"{verb} got {values!r}; expected a list of values such as ['a', 'b']")
    out = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not out:
        raise CounterleafError(f"{verb} got no values; expected a list such as ['a', 'b']")
    return out


def change_range(verb: str, by: Any, at_most: Any) -> tuple[float, float]:
    """Check the smallest and the largest change of a feature."""
    least = number(by, f"by= of {verb}")
    most = math.inf if at_most is None else number(at_most, f"at_most= of {verb}")
    if least < 0:
        raise CounterleafError(f"by= of {verb} is {by!r}; expected 0 or more")
    if most < least:
        raise CounterleafError(f"at_most= of {verb} is {at_most!r}; expected {least:g} or more")
    return least, most


def bound(name: Any, value: float) -> float:
    """Check a bound; infinity leaves a side open."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise CounterleafError(f"a bound of {name!r} is {value!r}; expected a number") from None
    if math.isnan(value):
        raise CounterleafError(f"a bound of {name!r} is NaN; expected a number")
    return value


def call_text(verb: str, *arguments: Any, by: float = 0.0, at_most: Any = None) -> str:
    """The call that makes a constraint, as text."""
    shown = [repr(short(one)) for one in arguments] + [f"by={short(by)}"] * bool(by)
    if at_most is not None:
        shown.append(f"at_most={short(float(at_most))}")
    return f"{verb}({', '.join(shown)})"


def short(value: Any) -> Any:
    """Show whole numbers without a decimal point."""
    if isinstance(value, Mapping):
        return {name: short(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
