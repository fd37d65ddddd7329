"""Conditions, constraints that hold only under a condition, and the cases into which these split a question."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any, TypeGuard

import numpy as np

from counterleaf.errors import CounterleafError, brief
from counterleaf.question.constraints.bounds import Limit
from counterleaf.question.constraints.kinds import (
    NAME,
    VALUE,
    Boxed,
    Constraint,
    Statement,
    call_text,
    feature_name,
    name_out,
    short,
    single_value,
    verb,
)
from counterleaf.question.constraints.lowering import Box, Clause, Interval, Limits, lower_constraints
from counterleaf.strict_json import plain
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import word
from counterleaf.types import Array

_MOST = 64  # cases of one question


@dataclass(frozen=True, slots=True, repr=False)
class Becomes(Limit):
    """The named feature has one value; as a condition, the source has another value."""

    def to_json(self) -> dict[str, Any]:
        return {"becomes": name_out(self.names), "value": short(self.lower)}

    def in_words(self, schema: Schema) -> str:
        return f"{self.features(schema)[0]} becomes {word(self.lower)}"


@dataclass(frozen=True, slots=True, repr=False)
class Stays(Limit):
    """The named feature keeps its value."""

    def to_json(self) -> dict[str, Any]:
        return {"stays": name_out(self.names)}

    def in_words(self, schema: Schema) -> str:
        return f"{self.features(schema)[0]} stays the same"


@dataclass(frozen=True, slots=True, repr=False)
class Changed(Statement):
    """The named feature changes: a condition for ``implies``."""

    name: Any

    def about(self) -> tuple[Any, ...]:
        return (self.name,)

    def to_json(self) -> dict[str, Any]:
        return {"changed": plain(self.name)}

    def in_words(self, schema: Schema) -> str:
        return f"{self.features(schema)[0]} changes"


class Side(IntEnum):
    """Where a value that violates a constraint on one feature lies."""

    BELOW, ELSEWHERE, ABOVE = -1, 0, 1  # ELSEWHERE: a missing number, or any other value of a feature with finitely many


@dataclass(frozen=True, slots=True, repr=False)
class Outside(Boxed):
    """A constraint on one feature is violated on one side; if a ``Becomes`` holds for the source, this always holds.

    Only ``alternatives`` makes such constraints, as the negation of a condition.
    """

    constraint: Boxed
    side: Side
    relative = False

    def box(self, schema: Schema, sources: Array) -> Box:
        """Return the rows on that side; all rows if a ``Becomes`` holds for the source."""
        inner, side = self.constraint, self.side
        d = schema.index(inner.about()[0])
        at, n = schema.span(d), len(sources)
        lower, upper = np.full((n, at.stop - at.start), -math.inf), np.full((n, at.stop - at.start), math.inf)
        for v, low, high in inner.box(schema, sources):
            lower[:, v - at.start], upper[:, v - at.start] = low, high
        here = sources[:, at]
        holds = ((lower <= here) & (here <= upper)).all(axis=1) & isinstance(inner, Becomes)
        if not isinstance(schema.features[d], Numeric):
            ends = (np.where(holds | (upper[:, k] <= 0), 1.0, 0.0) for k in range(upper.shape[1]))
            return [Interval(at.start + k, 0.0, end) for k, end in enumerate(ends)]
        if side is Side.ELSEWHERE:  # missing instead of a number, or a number instead of missing
            gap = 1.0 - lower[:, 1]
            return [Interval(at.start + 1, np.where(holds, 0.0, gap), np.where(holds, 1.0, gap))]
        beyond = np.nextafter(lower[:, 0] if side is Side.BELOW else upper[:, 0], side * math.inf)
        empty = np.isinf(beyond) | (lower[:, -1] > 0 if at.stop > at.start + 1 else False)
        below = np.where(holds, math.inf, beyond if side is Side.BELOW else math.inf)
        above = np.where(holds, -math.inf, beyond if side is Side.ABOVE else -math.inf)
        out = [Interval(at.start, np.where(empty & ~holds, 1.0, above), np.where(empty & ~holds, -1.0, below))]
        return out if at.stop == at.start + 1 else [*out, Interval(at.start + 1, 0.0, np.where(holds, 1.0, 0.0))]


class Alternatives(Constraint):
    """A constraint that holds where one of several others does."""

    __slots__ = ()
    relative = False

    @abstractmethod
    def alternatives(self, schema: Schema) -> list[Constraint]:
        """Return constraints of which at least one must hold."""

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Add two boxes, of which one has to hold."""
        found = self.alternatives(schema)
        boxes = [one.box(schema, sources) for one in found if isinstance(one, Boxed)] if len(found) == 2 else []
        if len(boxes) != 2:
            raise CounterleafError(f"{self} needs a distinction of cases, which this question does not support")
        limits.clauses.append(Clause(*boxes))


@dataclass(frozen=True, slots=True, repr=False)
class Either(Alternatives):
    """One of two constraints on single features holds."""

    first: Boxed
    second: Boxed

    def alternatives(self, schema: Schema) -> list[Constraint]:
        return [self.first, self.second]


@dataclass(frozen=True, slots=True, repr=False)
class Implies(Alternatives):
    """If the condition holds, the constraint holds too."""

    condition: Changed | Boxed
    then: Constraint

    def alternatives(self, schema: Schema) -> list[Constraint]:
        """Return the ways to violate the condition, then the consequence, or its alternatives."""
        out: list[Constraint] = []
        if isinstance(self.condition, Changed):
            out.append(stays(self.condition.name))
        else:
            for one in self.condition.by_feature():
                d = schema.index(one.about()[0])
                sides = [Side.ELSEWHERE]
                if isinstance(schema.features[d], Numeric):
                    sides = [Side.BELOW, Side.ABOVE] + sides * (schema.names[d] in schema.gaps)
                out += [Outside(f"not {one}", one, side) for side in sides]
        return out + (self.then.alternatives(schema) if isinstance(self.then, Alternatives) else [self.then])

    def features(self, schema: Schema) -> list[str]:
        """Return the names of the features that the condition and the consequence name."""
        return list(dict.fromkeys([*self.condition.features(schema), *self.then.features(schema)]))

    def to_json(self) -> dict[str, Any]:
        return {"implies": {"if": self.condition.to_json(), "then": self.then.to_json()}}

    def in_words(self, schema: Schema) -> str:
        return f"if {self.condition.in_words(schema)}, then {self.then.in_words(schema)}"


def cases(
    constraints: Sequence[Constraint], schema: Schema, source: Array | None = None, singly: bool = False
) -> list[tuple[Constraint, ...]]:
    """Split constraints into cases without implications of more than two boxes; a row satisfies them if it satisfies a case.

    With a ``source``, cases in which it leaves no row are left out; without it, the cases are right for every source. With
    ``singly``, every implication is split into cases of one box each, for searches that do not take two boxes. There is at
    least one case, and most often it is the constraints as they are; more than 64 are refused.
    """
    whole = tuple(constraints)
    if not any(_needs_choices(one, singly) for one in whole):
        return [whole]
    choices = [_choices(one, schema, source, singly) if _needs_choices(one, singly) else [one] for one in whole]
    count = math.prod(map(len, choices))
    if count > _MOST:
        raise CounterleafError(
            f"the implications lead to {count} cases; expected at most {_MOST}: use fewer of them, or conditions on categories"
        )
    return [tuple(one for one in case if one is not None) for case in product(*choices)]


def _needs_choices(one: Constraint, singly: bool) -> TypeGuard[Implies]:
    """Whether a constraint is an implication other than one of two boxes, the first of which holds for the source."""
    if not isinstance(one, Implies):
        return False
    return singly or not (isinstance(one.condition, Changed) and isinstance(one.then, Boxed))


def _choices(one: Implies, schema: Schema, source: Array | None, singly: bool) -> list[Constraint | None]:
    """The constraints of which at least one must hold, boxes in pairs; None for one that always holds."""
    found = one.alternatives(schema)
    if len(found) == 2 and not singly and all(isinstance(part, Boxed) for part in found):
        return [one]  # two boxes, which the core takes as they are
    if source is not None:
        if any(isinstance(part, Outside) and _has_become(part, schema, source) for part in found):
            return [None]
        found = [part for part in found if _is_possible(part, schema, source)] or found[-1:]
    if singly:
        return list(found)
    boxes = [part for part in found if isinstance(part, Boxed)]
    pairs = [boxes[k : k + 2] for k in range(0, len(boxes), 2)]
    return [
        *(part for part in found if part not in boxes),
        *(Either(str(one), *pair) if len(pair) == 2 else pair[0] for pair in pairs),
    ]


def _has_become(part: Outside, schema: Schema, source: Array) -> bool:
    """Whether the source has the value that it should become, so that the condition is never met."""
    box = part.constraint.box(schema, source[None]) if isinstance(part.constraint, Becomes) else None
    return box is not None and all(np.all((low <= source[v]) & (source[v] <= high)) for v, low, high in box)


def _is_possible(part: Constraint, schema: Schema, source: Array) -> bool:
    """Whether the bounds that a constraint leaves are not empty."""
    limits = lower_constraints((part,), schema, source[None])
    if (limits.lower > limits.upper).any():
        return False
    groups = [schema.span(d) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
    return all(np.any(limits.upper[0, at] > 0) for at in groups)


@verb(NAME, {"value": VALUE})
def becomes(name: Any, value: Any) -> Becomes:
    """Give a feature one value; as a condition, state that it changes to that value.

    As a constraint it is the same as ``fix``. As the condition of ``implies`` it is true if the answer has the value and the
    row has another one.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    value : float, str or bool
        A number, or one of the feature's values.

    Examples
    --------
    >>> from counterleaf import only_increase
    >>> implies(becomes("job", "manager"), only_increase("age", by=2))
    implies(becomes('job', 'manager'), only_increase('age', by=2))
    """
    name, value = feature_name("becomes", name), single_value(value, f"the value that {brief(name)} becomes")
    return Becomes(call_text("becomes", name, value), (name,), value, value)


@verb(NAME)
def stays(name: Any) -> Stays:
    """Keep a feature at the row's value, bit for bit; as a condition, state that it does.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.

    Examples
    --------
    >>> from counterleaf import freeze
    >>> implies(stays("job"), freeze("income"))
    implies(stays('job'), freeze('income'))
    """
    name = feature_name("stays", name)
    return Stays(call_text("stays", name), (name,), 0.0, 0.0, True, True)


@verb(NAME, is_condition=True)
def changed(name: Any) -> Changed:
    """State, as the condition of ``implies``, that a feature changes.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.

    Returns
    -------
    Changed
        The condition. It is not a constraint.

    Examples
    --------
    >>> from counterleaf import freeze
    >>> implies(changed("job"), freeze("income"))
    implies(changed('job'), freeze('income'))
    """
    name = feature_name("changed", name)
    return Changed(call_text("changed", name), name)


def implies(condition: Changed | Constraint, then: Constraint) -> Implies:
    """Apply a constraint only where a condition holds.

    Parameters
    ----------
    condition : Changed or Constraint
        ``changed(...)``, ``becomes(...)``, ``stays(...)``, or a constraint on single features (between, within, fix, freeze,
        only_increase, only_decrease, allow, forbid), which is true if the answer satisfies it.
    then : Constraint
        Any constraint, also another ``implies``.

    Raises
    ------
    CounterleafError
        If the condition is of another kind, or the consequence is not a constraint.

    Examples
    --------
    >>> from counterleaf import between, max_changes, only_increase
    >>> implies(changed("education"), only_increase("age", by=2))
    implies(changed('education'), only_increase('age', by=2))
    >>> implies(between("hours", 60, None), max_changes(1))
    implies(between('hours', lower=60), max_changes(1))
    """
    if not isinstance(condition, (Changed, Boxed)):
        raise CounterleafError(
            f"implies got the condition {brief(condition)}; expected changed, becomes or stays, or a constraint on single "
            f"features such as between"
        )
    if not isinstance(then, Constraint):
        reason = "; it is a condition, the first argument" if isinstance(then, Changed) else ""
        came = f"implies got the consequence {brief(then)}"
        raise CounterleafError(f"{came}; expected a constraint such as freeze('age'){reason}")
    return Implies(f"implies({condition!r}, {then!r})", condition, then)
