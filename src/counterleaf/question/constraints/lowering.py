"""Constraints as arrays over the variables of a schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.question.arrays import LinearRow
from counterleaf.question.constraints.functions import freeze
from counterleaf.question.constraints.kinds import Choice, Constraint, Implies, Limit, MaxChanges, Row, Support
from counterleaf.table.features import Categorical, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_ROUNDING = 1e-9  # rows hold to this share of their terms


class Interval(NamedTuple):
    """The bounds of one variable: numbers, or arrays with one number per source."""

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


def lower_constraints(constraints: Iterable[Constraint], schema: Schema, sources: Array) -> Limits:
    """Translate constraints on source rows into arrays.

    Raises
    ------
    CounterleafError
        If a constraint does not fit the schema, or a source.
    """
    lower, upper = (np.repeat(end[None], len(sources), axis=0) for end in schema.bounds())
    if schema.inferred:
        lower, upper = np.minimum(lower, sources, out=lower), np.maximum(upper, sources, out=upper)
    out = Limits(lower, upper)
    upper[:, schema.kept] = sources[:, schema.kept]  # a missing value may stay; no other value may become missing
    for constraint in constraints:
        if isinstance(constraint, (Limit, Choice)):
            _intersect(out, _box(constraint, schema, sources))
        elif isinstance(constraint, Row):
            _add_row(out, constraint, schema)
        elif isinstance(constraint, MaxChanges):
            count = min(constraint.count, len(schema))  # a larger count does not limit anything
            out.max_changes = count if out.max_changes < 0 else min(out.max_changes, count)
        elif isinstance(constraint, Implies):
            frozen = _box(freeze(constraint.condition.name), schema, sources)
            out.clauses.append(Clause(frozen, _box(constraint.then, schema, sources)))
        elif not isinstance(constraint, Support):  # which is about leaves
            rows = constraint.vectors(schema)
            out.pool = rows if out.pool is None else out.pool[(out.pool[:, None] == rows[None]).all(axis=2).any(axis=1)]
    return out


def _intersect(limits: Limits, box: Box) -> None:
    for d, low, high in box:
        lower, upper = limits.lower[:, d], limits.upper[:, d]
        np.maximum(lower, low, out=lower)
        np.minimum(upper, high, out=upper)


def _box(constraint: Limit | Choice, schema: Schema, sources: Array) -> Box:
    """The bounds that a constraint on single features puts on their variables."""
    if isinstance(constraint, Choice):
        return _choice_box(constraint, schema)
    out: Box = []
    for name in constraint.names:
        d = schema.index(name)
        feature, at = schema.features[d], schema.span(d)
        if constraint.from_lower and constraint.from_upper and constraint.lower == constraint.upper == 0:
            out += [Interval(v, sources[:, v], sources[:, v]) for v in range(at.start, at.stop)]
        elif isinstance(feature, Numeric):
            out += _number_box(constraint, feature, at, sources)
        elif not (constraint.from_lower or constraint.from_upper) and constraint.lower == constraint.upper:
            out += _only(feature, at.start, [_place(constraint, feature, constraint.lower)])
        elif isinstance(feature, Categorical):
            raise CounterleafError(
                f"{constraint}: feature {feature.name!r} has categories without an order; use allow or forbid"
            )
        else:
            out += _level_box(constraint, feature, at.start, sources[:, at].argmax(axis=1))
    return out


def _choice_box(constraint: Choice, schema: Schema) -> Box:
    d = schema.index(constraint.name)
    feature, start = schema.features[d], schema.span(d).start
    if isinstance(feature, Numeric):
        raise CounterleafError(f"{constraint}: feature {feature.name!r} is a number; use between or fix")
    named = {_place(constraint, feature, value) for value in constraint.values}
    left = [k for k in range(len(feature.values)) if (k in named) == constraint.allowed]
    return _only(feature, start, left, keep=not constraint.allowed)


def _number_box(constraint: Limit, feature: Numeric, at: slice, sources: Array) -> Box:
    """The bounds of a number; it must not be missing, except that a gap has nothing to increase or decrease and stays."""
    number = _number_interval(constraint, feature, at.start, sources[:, at.start])
    if at.stop == at.start + 1:
        return [number]
    gap = sources[:, at.start + 1]
    if not (constraint.from_lower or constraint.from_upper) or not gap.any():
        return [number, Interval(at.start + 1, 0.0, 0.0)]
    if max(constraint.lower, -constraint.upper) > 0:
        raise CounterleafError(
            f"{constraint}: feature {feature.name!r} of the row is missing, so it has no number to compare with; use between"
        )
    lower, upper = np.where(gap > 0, -math.inf, number.lower), np.where(gap > 0, math.inf, number.upper)
    return [Interval(at.start, lower, upper), Interval(at.start + 1, gap, gap)]


def _number_interval(constraint: Limit, feature: Numeric, variable: int, source_value: Array) -> Interval:
    for end in (constraint.lower, constraint.upper):
        if isinstance(end, (str, bytes)):
            raise CounterleafError(f"{constraint}: feature {feature.name!r} is a number; {end!r} is not")
    low = _from(feature, constraint.lower, source_value) if constraint.from_lower else float(constraint.lower)
    high = _from(feature, constraint.upper, source_value) if constraint.from_upper else float(constraint.upper)
    return Interval(variable, low, high)


def _level_box(constraint: Limit, feature: Finite, start: int, source_level: Array) -> Box:
    """Rule out the levels of an ordered feature beyond the bounds, for each source."""
    count = len(feature.values)
    if (source_level == count).any():
        raise CounterleafError(
            f"{constraint}: feature {feature.name!r} of the row is missing, so it has no level to compare with; use allow"
        )
    first = source_level + constraint.lower if constraint.from_lower else _level(constraint, feature, constraint.lower)
    last = source_level + constraint.upper if constraint.from_upper else _level(constraint, feature, constraint.upper)
    if not (constraint.from_lower or constraint.from_upper) and first > last:
        raise CounterleafError(f"{constraint}: no level lies between; the levels are {some(feature.values)}")
    out: Box = []
    for k in range(feature.size):
        left = np.broadcast_to((first <= k) & (k <= last) & (k < count), len(source_level))
        if not left.all():
            out.append(Interval(start + k, 0.0, np.where(left, 1.0, 0.0)))
    return out


def _level(constraint: Limit, feature: Finite, end: Any) -> float:
    """The position of a level, or infinity for an open side."""
    return end if isinstance(end, float) and math.isinf(end) else float(_place(constraint, feature, end))


def _place(constraint: Limit | Choice, feature: Finite, value: Any) -> int:
    """The position of a value that a constraint names."""
    try:
        return feature.place(value)
    except CounterleafError:
        raise CounterleafError(
            f"{constraint}: feature {feature.name!r} has no value {value!r}; expected one of {some(feature.values)}"
        ) from None


def _only(feature: Finite, start: int, places: list[int], keep: bool = False) -> Box:
    """Rule out every value of a feature except those at ``places``; with ``keep``, a missing value may stay."""
    left = {*places, *(range(len(feature.values), feature.size) if keep else ())}
    return [Interval(start + k, 0.0, 0.0) for k in range(feature.size) if k not in left]


def _add_row(limits: Limits, constraint: Row, schema: Schema) -> None:
    """Add a linear constraint: a bound if it has one variable, a choice if it has one group, else a row."""
    terms = constraint.terms(schema)
    if not terms:
        raise CounterleafError(f"{constraint}: the coefficients cancel; at least one must not be 0")
    features = {int(np.searchsorted(schema.starts, d, side="right")) - 1 for d in terms}
    for d in features:
        if schema.names[d] in schema.gaps:  # a sum needs all of its numbers
            _intersect(limits, [Interval(int(schema.starts[d]) + 1, 0.0, 0.0)])
    if len(features) > 1:
        limits.rows.append(LinearRow(terms, constraint.relation, constraint.rhs))
        return
    (d,) = features
    feature, relation, rhs = schema.features[d], constraint.relation, constraint.rhs
    if not isinstance(feature, Numeric):
        start = schema.span(d).start
        for k in range(feature.size):
            a = terms.get(start + k, 0.0)
            off = (a - rhs) / max(abs(a), abs(rhs), 1e-300)
            if (relation != "<=" and off < -_ROUNDING) or (relation != ">=" and off > _ROUNDING):
                _intersect(limits, [Interval(start + k, 0.0, 0.0)])
        return
    ((v, a),) = terms.items()
    bound = rhs / a
    if not math.isfinite(bound):
        raise CounterleafError(f"{constraint}: {rhs} divided by {a} is not a finite number; scale the constraint")
    bound = float(_snapped(feature, bound))
    low = bound if relation != ("<=" if a > 0 else ">=") else -math.inf
    high = bound if relation != (">=" if a > 0 else "<=") else math.inf
    _intersect(limits, [Interval(v, low, high)])


def _from(feature: Numeric, by: Any, source_value: Array) -> Any:
    """The numbers at distance ``by`` from the source's; if that is 0, the source's numbers bit for bit."""
    return source_value if by == 0 else _snapped(feature, by + source_value)


def _snapped(feature: Numeric, at: Any) -> Any:
    """Numbers moved onto the feature's grid where only rounding separates them from it."""
    grid = feature.grid
    if grid is None:
        return at
    near = np.round(at / float(grid)) * grid.numerator / grid.denominator
    return np.where(np.abs(near - at) <= _ROUNDING * np.abs(at), near, at)
