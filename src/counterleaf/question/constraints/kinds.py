"""The kinds of constraints, as values in the units of the table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, single, values_of
from counterleaf.table.frames import column_names, is_frame
from counterleaf.table.schema import Schema, encode_table
from counterleaf.types import Array

_PERCENT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*%", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class _Written:
    """A constraint that is printed as the call that made it."""

    words: str

    def __repr__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True, repr=False)
class Percent:
    """A distance from the source's number, as a percentage of its absolute value."""

    value: float

    def __repr__(self) -> str:
        return repr(f"{short(self.value)}%")

    def of(self, source: Any) -> Any:
        """The distance from a source's number, or from several."""
        return self.value / 100.0 * np.abs(source)


@dataclass(frozen=True, slots=True, repr=False)
class Limit(_Written):
    """lower <= x_d <= upper for each named feature.

    ``from_lower`` and ``from_upper`` mean that a bound is a distance from the source's value: a number to add to it, or a
    percentage of it.
    """

    names: tuple[Any, ...]
    lower: Any = -math.inf
    upper: Any = math.inf
    from_lower: bool = False
    from_upper: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Becomes(Limit):
    """The named feature has one value; as a condition, the source has another value."""


@dataclass(frozen=True, slots=True, repr=False)
class Stays(Limit):
    """The named feature keeps its value."""


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
            known = schema, _aligned("among", self.rows, schema)
            self._last[:] = [known]
        return known[1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Near(_Written):
    """x is as near to a row of its class as most rows of the data are to each other."""

    rows: Any
    quantile: float
    metric: str
    _last: list[Any] = field(init=False, default_factory=list)  # what was computed last for a schema and a tree

    def vectors(self, schema: Schema) -> Array:
        """The rows as variables of a schema."""
        return _aligned("near", self.rows, schema)


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

    condition: Changed | Limit | Choice
    then: Constraint


class Side(IntEnum):
    """Where a value that violates a constraint on one feature lies."""

    BELOW, ELSEWHERE, ABOVE = -1, 0, 1  # ELSEWHERE: a missing number, or any other value of a feature with finitely many


@dataclass(frozen=True, slots=True, repr=False)
class Outside(_Written):
    """A constraint on one feature is violated on one side; if a ``Becomes`` holds for the source, this always holds.

    Only ``cases`` makes such constraints, as the negation of a condition.
    """

    constraint: Limit | Choice
    side: Side


@dataclass(frozen=True, slots=True, repr=False)
class Either(_Written):
    """One of two constraints on single features holds."""

    first: Limit | Choice | Outside
    second: Limit | Choice | Outside


# Any constraint: a value that freeze, fix, between, within, only_increase, only_decrease, allow, forbid, becomes, stays,
# linear, among, max_changes or implies returns. Use it in annotations, as in ``def policy() -> list[cl.Constraint]``.
Constraint = Limit | Choice | Row | Among | MaxChanges | Implies | Outside | Either | Support | Near


def _aligned(verb: str, rows: Any, schema: Schema) -> Array:
    """The rows of ``among`` or ``near`` as variables of a schema."""
    if is_frame(rows):
        names = column_names(rows)
        if sorted(names) != sorted(schema.names):
            raise CounterleafError(f"{verb} got the columns {names}; expected {schema.names}")
    elif np.shape(rows)[1] != len(schema):
        raise CounterleafError(f"{verb} got rows of {np.shape(rows)[1]} numbers; expected {len(schema)}, one per feature")
    vectors = encode_table(schema, rows)
    for d, name in enumerate(schema.names):
        if name in schema.fills:
            vectors[np.isnan(vectors[:, d]), d] = schema.fills[name]
    known = [schema.gaps.get(name) is not None for name in schema.names]
    wrong = ~(np.isfinite(vectors) | (np.isnan(vectors) & known)).all(axis=0)
    if wrong.any():
        bad = schema.names[int(np.flatnonzero(wrong)[0])]
        raise CounterleafError(f"{verb} got NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return vectors if schema.numeric else schema.spread(vectors)


def listed(constraints: Any) -> list[Constraint]:
    """Check the constraints of a question, which are a list or a single constraint.

    Raises
    ------
    CounterleafError
        If something else than a constraint is among them.
    """
    if isinstance(constraints, Constraint):
        return [constraints]
    out = values_of(constraints, "constraints", "a list such as [freeze('age')]")
    for one in out:
        if isinstance(one, Changed):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {brief(one)} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return out


def feature_names(verb: str, names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the names that a constraint takes; a list of names counts as its names."""
    out: list[Any] = []
    for name in names:
        out += list(name) if isinstance(name, (list, tuple)) or len(getattr(name, "shape", ())) == 1 else [name]
    if not out:
        raise CounterleafError(f"{verb} got no feature; name at least one, as in {verb}('age')")
    return tuple(feature_name(verb, name) for name in out)


def feature_name(verb: str, name: Any) -> Any:
    """Check the name of a feature."""
    return single(name, f"a feature of {verb}", f"names or a list of names, as in {verb}('age', ...)")


def value_list(verb: str, values: Any) -> tuple[Any, ...]:
    """Check the values that a constraint takes."""
    listed = values_of(values, f"the list of values of {verb}", "a list such as ['a', 'b']")
    out = tuple(single(one, f"a value of {verb}") for one in listed)
    if not out:
        raise CounterleafError(f"{verb} got no values; expected a list such as ['a', 'b']")
    return out


def change_range(verb: str, by: Any, at_most: Any) -> tuple[Any, Any]:
    """Check the smallest and the largest change of a feature: numbers or percentages."""
    least = distance(by, f"by= of {verb}")
    most = math.inf if at_most is None else distance(at_most, f"at_most= of {verb}")
    if size_of(least) < 0:
        raise CounterleafError(f"by= of {verb} is {brief(by)}; expected 0 or more")
    if size_of(most) < (size_of(least) if type(most) is type(least) or at_most is None else 0.0):
        low = f"{short(least)!r}" if type(most) is type(least) else "0"
        raise CounterleafError(f"at_most= of {verb} is {brief(at_most)}; expected {low} or more")
    return least, most


def distance(value: Any, what: str) -> float | Percent:
    """Check a distance from the source's value: a number, or a percentage such as ``"10%"``."""
    if not isinstance(value, str):
        return number(value, what)
    found = _PERCENT.fullmatch(value.strip())
    if found is None:
        raise CounterleafError(f"{what} is {brief(value)}; expected a number, or a percentage such as '10%'")
    return Percent(number(float(found[1]), what))


def size_of(end: float | Percent) -> float:
    """The number of a distance, whether it is a percentage or not."""
    return end.value if isinstance(end, Percent) else end


def opposite(end: Any) -> Any:
    """The same distance in the other direction."""
    return Percent(-end.value) if isinstance(end, Percent) else -end


def single_value(value: Any, what: str) -> Any:
    """Check the value that a feature should have: text, a boolean or a finite number."""
    return value if isinstance(value, (str, bytes, bool)) else number(value, what)


def call_text(verb: str, *arguments: Any, **named: Any) -> str:
    """The call that makes a constraint, as text; named arguments that are None are left out."""
    shown = [repr(short(one)) for one in arguments]
    shown += [f"{name}={short(one)!r}" for name, one in named.items() if one is not None]
    return f"{verb}({', '.join(shown)})"


def short(value: Any) -> Any:
    """Show whole numbers without a decimal point."""
    if isinstance(value, Mapping):
        return {name: short(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
