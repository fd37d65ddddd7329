"""Constraints on several features together: a weighted sum, the number of changes, and the rows of the data in a leaf."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, whole
from counterleaf.question.arrays import LinearRow
from counterleaf.question.constraints.bounds import ROUNDING, snapped, value_words
from counterleaf.question.constraints.kinds import (
    Constraint,
    Part,
    are_pairs,
    call_text,
    feature_name,
    is_name,
    is_number,
    short,
    verb,
)
from counterleaf.question.constraints.lowering import Interval, Limits
from counterleaf.strict_json import plain
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_RELATIONS = {">=": "at least", "<=": "at most", "==": "equal to"}


@dataclass(frozen=True, slots=True, repr=False)
class Row(Constraint):
    """``coef @ x`` compared with ``rhs``."""

    coef: Mapping[Any, float]
    relation: str
    rhs: float
    relative = False

    def terms(self, schema: Schema) -> dict[int, float]:
        """Coefficient by variable. The coefficients of a feature that is named twice, by name and by position, add up."""
        out: dict[int, float] = {}
        for name, a in self.coef.items():
            for d, share in schema.terms(name).items():
                out[d] = out.get(d, 0.0) + a * share
        return {d: a for d, a in out.items() if a}

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Add a bound if it has one variable, a choice if it has one group, else a row."""
        terms, relation, rhs = self.terms(schema), self.relation, self.rhs
        if not terms:
            raise CounterleafError(f"{self}: the coefficients cancel; at least one must not be 0")
        places = self.places(schema)
        for d in places:
            if schema.names[d] in schema.gaps:  # a sum needs all of its numbers
                limits.narrow([Interval(int(schema.starts[d]) + 1, 0.0, 0.0)])
        if len(places) > 1:
            limits.rows.append(LinearRow(terms, relation, rhs))
            return
        (d,) = places
        feature = schema.features[d]
        if not isinstance(feature, Numeric):
            start = schema.span(d).start
            for k in range(feature.size):
                a = terms.get(start + k, 0.0)
                off = (a - rhs) / max(abs(a), abs(rhs), 1e-300)
                if (relation != "<=" and off < -ROUNDING) or (relation != ">=" and off > ROUNDING):
                    limits.narrow([Interval(start + k, 0.0, 0.0)])
            return
        ((v, a),) = terms.items()
        bound = rhs / a
        if not math.isfinite(bound):
            raise CounterleafError(f"{self}: {rhs} divided by {a} is not a finite number; scale the constraint")
        bound = float(snapped(feature, bound))
        low = bound if relation != ("<=" if a > 0 else ">=") else -math.inf
        high = bound if relation != (">=" if a > 0 else "<=") else math.inf
        limits.narrow([Interval(v, low, high)])

    def places(self, schema: Schema) -> set[int]:
        """The positions of the features whose coefficients do not cancel."""
        return {int(np.searchsorted(schema.starts, d, side="right")) - 1 for d in self.terms(schema)}

    def features(self, schema: Schema) -> list[str]:
        """Return the names of the features; a value of one is named "feature=value"."""
        known = [one if one in schema.names or not isinstance(one, str) else one.partition("=")[0] for one in self.coef]
        return list(dict.fromkeys(schema.names[schema.index(one)] for one in known))

    def to_json(self) -> dict[str, Any]:
        """Return its entry in a file; features that have no names are in pairs."""
        coef = short({plain(name): a for name, a in self.coef.items()})
        named = all(isinstance(name, str) for name in coef)
        return {"linear": coef if named else list(map(list, coef.items())), "relation": self.relation, "rhs": short(self.rhs)}

    def in_words(self, schema: Schema) -> str:
        named = {one: one if isinstance(one, str) else schema.names[schema.index(one)] for one in self.coef}
        terms = [f"{value_words(a)} times {named[one]}" if a != 1 else named[one] for one, a in self.coef.items()]
        return f"{' plus '.join(terms)} must be {_RELATIONS[self.relation]} {value_words(self.rhs)}"


@dataclass(frozen=True, slots=True, repr=False)
class MaxChanges(Constraint):
    """No more than ``count`` features change."""

    count: int
    relative = False

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Lower the limit on the number of changes."""
        count = min(self.count, len(schema))  # a larger count does not limit anything
        limits.max_changes = count if limits.max_changes < 0 else min(limits.max_changes, count)

    def to_json(self) -> dict[str, Any]:
        return {"max_changes": self.count}

    def in_words(self, schema: Schema) -> str:
        return f"at most {self.count} {'feature' if self.count == 1 else 'features'} may change"


@dataclass(frozen=True, slots=True, repr=False)
class Support(Constraint):
    """x falls into a leaf that at least ``least`` rows of the data reach; made by the option ``support=``."""

    least: int
    relative = False

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Add nothing: it is about leaves."""

    def in_words(self, schema: Schema) -> str:
        return f"at least {self.least:,} rows of the data must reach the same leaf of the tree"


def support_of(constraints: Iterable[Constraint]) -> int:
    """Return the number of rows of the data that a leaf needs under some constraints."""
    return max((one.least for one in constraints if isinstance(one, Support)), default=0)


def _are_coefficients(part: Any) -> bool:
    """Whether a part of a file is an object by name, or pairs where a feature is known by its position."""
    if isinstance(part, dict):
        return getattr(part, "twice", None) is None and all(map(is_number, part.values()))
    return are_pairs(is_name)(part)


def _read_linear(coef: Any, *parts: Any) -> Row:
    return linear(dict(coef), *parts)


@verb(
    Part("an object from feature to number", _are_coefficients),
    {"relation": Part("'>=', '<=' or '=='", lambda part: isinstance(part, str)), "rhs": Part("a number", is_number)},
    read=_read_linear,
)
def linear(coef: Mapping[Any, float], relation: str, rhs: float) -> Row:
    """Compare a weighted sum of features with a number.

    Parameters
    ----------
    coef : dict
        From feature to coefficient. A key names a number, a feature with ordered levels (which counts as its level's
        position from 0), or ``"feature=value"``, which is 1 if the feature has that value and 0 otherwise.
    relation : {">=", "<=", "=="}
        How the sum compares with ``rhs``.
    rhs : float
        The right-hand side.

    Raises
    ------
    CounterleafError
        If the coefficients are not a dict of finite numbers, are all 0, or the relation is unknown.

    Examples
    --------
    >>> print(linear({"education=Masters": 1, "age": -0.1}, "<=", -2))
    linear({'education=Masters': 1, 'age': -0.1}, '<=', -2)
    """
    if not isinstance(coef, Mapping) or not coef:
        raise CounterleafError(f"linear got the coefficients {brief(coef)}; expected a dict from feature to number")
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise CounterleafError(f'linear got the relation {brief(relation)}; expected ">=", "<=" or "=="')
    numbers = {feature_name("linear", name): number(value, f"the coefficient of {brief(name)}") for name, value in coef.items()}
    if not any(numbers.values()):
        raise CounterleafError("linear got coefficients that are all 0; at least one must not be")
    rhs = number(rhs, "the right-hand side of linear")
    return Row(call_text("linear", numbers, relation, rhs), numbers, relation, rhs)


@verb(Part("a whole number from 0", lambda part: type(part) is int and part >= 0))
def max_changes(count: int) -> MaxChanges:
    """Limit the number of features that change.

    Parameters
    ----------
    count : int
        The largest number of changed features. A category counts as one feature.

    Examples
    --------
    >>> max_changes(2)
    max_changes(2)
    """
    if not whole(count, 0):
        raise CounterleafError(f"max_changes got {brief(count)}; expected a whole number from 0")
    most = min(int(count), 1 << 62)  # more than any table has features
    return MaxChanges(call_text("max_changes", most), most)
