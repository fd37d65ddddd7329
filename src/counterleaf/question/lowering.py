"""Constraints as arrays over the variables of a schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.question.constraint import Choice, Constraint, Implies, Limit, MaxChanges, Row, freeze
from counterleaf.table.features import Categorical, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_ROUNDING = 1e-9  # rows hold to this share of their terms


Box = list[tuple[int, Any, Any]]  # (variable, lower, upper): numbers, or arrays of one per source


@dataclass(slots=True, eq=False)
class Limits:
    """Constraints as arrays: one line per source, one column per variable."""

    lower: Array
    upper: Array
    rows: list[tuple[dict[int, float], str, float]] = field(default_factory=list)  # over several variables
    pool: Array | None = None  # rows to choose among
    most: int = -1  # features that may change, -1 for any number
    clauses: list[tuple[Box, Box]] = field(default_factory=list)  # in one box or in the other


def lower_constraints(constraints: Iterable[Constraint], schema: Schema, sources: Array) -> Limits:
    """The constraints on source rows as arrays."""
    lower, upper = (np.repeat(end[None], len(sources), axis=0) for end in schema.bounds())
    if schema.inferred:
        lower, upper = np.minimum(lower, sources, out=lower), np.maximum(upper, sources, out=upper)
    out = Limits(lower, upper)
    for d, feature in enumerate(() if schema.numeric else schema):
        if not isinstance(feature, Numeric) and feature.missing:  # to stay at, not to move to
            last = schema.span(d).stop - 1
            upper[:, last] = sources[:, last]
    for given in constraints:
        if isinstance(given, (Limit, Choice)):
            _intersect(out, _box(given, schema, sources))
        elif isinstance(given, Row):
            _add_row(out, given, schema)
        elif isinstance(given, MaxChanges):
            most = min(given.count, len(schema))  # more is no limit
            out.most = most if out.most < 0 else min(out.most, most)
        elif isinstance(given, Implies):
            frozen = _box(freeze(given.condition.name), schema, sources)
            out.clauses.append((frozen, _box(given.then, schema, sources)))
        else:
            found = given.vectors(schema)
            out.pool = found if out.pool is None else out.pool[(out.pool[:, None] == found[None]).all(axis=2).any(axis=1)]
    return out


def _intersect(limits: Limits, box: Box) -> None:
    for d, low, high in box:
        lower, upper = limits.lower[:, d], limits.upper[:, d]
        np.maximum(lower, low, out=lower)
        np.minimum(upper, high, out=upper)


def _box(given: Limit | Choice, schema: Schema, sources: Array) -> Box:
    """The bounds that a constraint on single features puts on their variables."""
    if isinstance(given, Choice):
        d = schema.index(given.name)
        feature, start = schema.features[d], schema.span(d).start
        if isinstance(feature, Numeric):
            raise CounterleafError(f"{given}: feature {feature.name!r} is a number; use between or fix")
        named = {_place(given, feature, value) for value in given.values}
        return _only(
            feature, start, [k for k in range(len(feature.values)) if (k in named) == given.allowed], keep=not given.allowed
        )
    out: Box = []
    for name in given.names:
        d = schema.index(name)
        feature, at = schema.features[d], schema.span(d)
        frozen = given.from_lower and given.from_upper and given.lower == given.upper == 0
        if isinstance(feature, Numeric):
            for end in (given.lower, given.upper):
                if isinstance(end, (str, bytes)):
                    raise CounterleafError(f"{given}: feature {feature.name!r} is a number; {end!r} is none")
            own = sources[:, at.start]
            low = _from(feature, given.lower, own) if given.from_lower else float(given.lower)
            high = _from(feature, given.upper, own) if given.from_upper else float(given.upper)
            out.append((at.start, own, own) if frozen else (at.start, low, high))
        elif frozen:
            out += [(v, sources[:, v], sources[:, v]) for v in range(at.start, at.stop)]
        elif not (given.from_lower or given.from_upper) and given.lower == given.upper:
            out += _only(feature, at.start, [_place(given, feature, given.lower)])
        elif isinstance(feature, Categorical):
            raise CounterleafError(f"{given}: feature {feature.name!r} has categories without an order; use allow or forbid")
        else:
            own = sources[:, at].argmax(axis=1)
            if (own == len(feature.values)).any():
                raise CounterleafError(f"{given}: feature {feature.name!r} of the row is missing, which is no level; use allow")
            first = own + given.lower if given.from_lower else _level(given, feature, given.lower)
            last = own + given.upper if given.from_upper else _level(given, feature, given.upper)
            if not (given.from_lower or given.from_upper) and first > last:
                raise CounterleafError(f"{given}: no level lies between; the levels are {some(feature.values)}")
            for k in range(feature.size):
                left = np.broadcast_to((first <= k) & (k <= last) & (k < len(feature.values)), len(own))
                if not left.all():
                    out.append((at.start + k, 0.0, np.where(left, 1.0, 0.0)))
    return out


def _level(given: Limit, feature: Finite, end: Any) -> float:
    """The place of a level given by its value, infinity where a side is open."""
    return end if isinstance(end, float) and math.isinf(end) else float(_place(given, feature, end))


def _place(given: Limit | Choice, feature: Finite, value: Any) -> int:
    """The place of a value that a constraint names."""
    try:
        return feature.place(value)
    except CounterleafError:
        raise CounterleafError(
            f"{given}: feature {feature.name!r} has no value {value!r}; expected one of {some(feature.values)}"
        ) from None


def _only(feature: Finite, start: int, places: list[int], keep: bool = False) -> Box:
    """Rule out every value of a feature but those at ``places``; ``keep``: a missing one may stay."""
    left = {*places, *(range(len(feature.values), feature.size) if keep else ())}
    return [(start + k, 0.0, 0.0) for k in range(feature.size) if k not in left]


def _add_row(limits: Limits, given: Row, schema: Schema) -> None:
    """A row over one variable is a bound, over one group a choice, else a row."""
    used = given.terms(schema)
    if not used:
        raise CounterleafError(f"{given}: the coefficients cancel; at least one must not be 0")
    features = {int(np.searchsorted(schema.starts, d, side="right")) - 1 for d in used}
    if len(features) > 1:
        limits.rows.append((used, given.relation, given.rhs))
        return
    (d,) = features
    feature = schema.features[d]
    if not isinstance(feature, Numeric):
        start = schema.span(d).start
        for k in range(feature.size):
            a = used.get(start + k, 0.0)
            off = (a - given.rhs) / max(abs(a), abs(given.rhs), 1e-300)
            if (given.relation != "<=" and off < -_ROUNDING) or (given.relation != ">=" and off > _ROUNDING):
                _intersect(limits, [(start + k, 0.0, 0.0)])
        return
    ((v, a),) = used.items()
    at = given.rhs / a
    if not math.isfinite(at):
        raise CounterleafError(f"{given}: {given.rhs} over {a} is no finite number; scale the constraint")
    at = float(_near(feature, at))
    low = at if given.relation != ("<=" if a > 0 else ">=") else -math.inf
    high = at if given.relation != (">=" if a > 0 else "<=") else math.inf
    _intersect(limits, [(v, low, high)])


def _from(feature: Numeric, by: Any, own: Array) -> Any:
    """What lies by so much from the source's own numbers; these themselves, bit for bit, if that is nothing."""
    return own if by == 0 else _near(feature, by + own)


def _near(feature: Numeric, at: Any) -> Any:
    """Numbers that rounding has put beside a point of the feature's grid, on that point."""
    grid = feature.grid
    if grid is None:
        return at
    near = np.round(at / float(grid)) * grid.numerator / grid.denominator
    return np.where(np.abs(near - at) <= _ROUNDING * np.abs(at), near, at)
