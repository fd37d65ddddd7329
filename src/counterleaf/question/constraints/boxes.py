"""Constraints on single features as boxes: bounds on their variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.question.constraints.kinds import Becomes, Choice, Limit, Outside, Percent, Side, opposite
from counterleaf.table.features import Categorical, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

ROUNDING = 1e-9  # of its size: a number that is this near to a grid is on it
_OF_A_STEP = 1e-6  # the most that counts as rounding


class Interval(NamedTuple):
    """The bounds of one variable: numbers, or arrays with one number per source; empty if the lower one is greater."""

    variable: int
    lower: Any
    upper: Any


Box = list[Interval]  # the variables that are not listed are free


def box_of(constraint: Limit | Choice | Outside, schema: Schema, sources: Array) -> Box:
    """The bounds that a constraint on single features puts on their variables."""
    if isinstance(constraint, Outside):
        return _outside_box(constraint, schema, sources)
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


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes of those among several constraints that have one, for one source."""

    members: Array  # the positions of the constraints with a box
    owner: Array  # of each interval
    variable: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, constraints: Sequence[Any], schema: Schema, source: Array) -> Boxes:
        """Make the boxes of constraints on single features; other constraints have none."""
        members = [k for k, one in enumerate(constraints) if isinstance(one, (Limit, Choice, Outside))]
        intervals = [(k, part) for k in members for part in box_of(constraints[k], schema, source[None])]
        ends = [[float(np.ravel(end)[0]) for end in (part.lower, part.upper)] for _, part in intervals]
        lower, upper = np.array(ends).reshape(-1, 2).T
        owner, variable = np.array([(k, part.variable) for k, part in intervals], int).reshape(-1, 2).T
        return cls(np.array(members, int), owner, variable, lower, upper)

    def holding(self, row: Array) -> set[int]:
        """Return the positions of the constraints whose box contains a row."""
        x = row[self.variable]
        outside = self.owner[(x < self.lower) | (x > self.upper)]
        return set(np.setdiff1d(self.members, outside).tolist())


def _outside_box(constraint: Outside, schema: Schema, sources: Array) -> Box:
    """The rows that violate a constraint on one feature, on one side of it; all rows if a ``Becomes`` holds for the source."""
    inner, side = constraint.constraint, constraint.side
    d = schema.index(inner.name if isinstance(inner, Choice) else inner.names[0])
    at, n = schema.span(d), len(sources)
    lower, upper = np.full((n, at.stop - at.start), -math.inf), np.full((n, at.stop - at.start), math.inf)
    for v, low, high in box_of(inner, schema, sources):
        lower[:, v - at.start], upper[:, v - at.start] = low, high
    here = sources[:, at]
    holds = ((lower <= here) & (here <= upper)).all(axis=1) & isinstance(inner, Becomes)
    if not isinstance(schema.features[d], Numeric):
        return [Interval(at.start + k, 0.0, np.where(holds | (upper[:, k] <= 0), 1.0, 0.0)) for k in range(upper.shape[1])]
    if side is Side.ELSEWHERE:  # missing instead of a number, or a number instead of missing
        gap = 1.0 - lower[:, 1]
        return [Interval(at.start + 1, np.where(holds, 0.0, gap), np.where(holds, 1.0, gap))]
    beyond = np.nextafter(lower[:, 0] if side is Side.BELOW else upper[:, 0], side * math.inf)
    empty = np.isinf(beyond) | (lower[:, -1] > 0 if at.stop > at.start + 1 else False)
    below = np.where(holds, math.inf, beyond if side is Side.BELOW else math.inf)
    above = np.where(holds, -math.inf, beyond if side is Side.ABOVE else -math.inf)
    out = [Interval(at.start, np.where(empty & ~holds, 1.0, above), np.where(empty & ~holds, -1.0, below))]
    return out if at.stop == at.start + 1 else [*out, Interval(at.start + 1, 0.0, np.where(holds, 1.0, 0.0))]


def _choice_box(constraint: Choice, schema: Schema) -> Box:
    d = schema.index(constraint.name)
    feature, start = schema.features[d], schema.span(d).start
    if isinstance(feature, Numeric):
        raise CounterleafError(f"{constraint}: feature {feature.name!r} is a number; use between or fix")
    named = {_place(constraint, feature, value) for value in constraint.values}
    left = [k for k in range(len(feature.values)) if (k in named) == constraint.allowed]
    return _only(feature, start, left, keep=not constraint.allowed)


def _number_box(constraint: Limit, feature: Numeric, at: slice, sources: Array) -> Box:
    """The bounds of a number; it must not be missing, except where it has nothing to increase or decrease and stays missing.

    A percentage of a missing number is 0, so that it stays missing.
    """
    number = _number_interval(constraint, feature, at.start, sources[:, at.start])
    if at.stop == at.start + 1:
        return [number]
    gap = sources[:, at.start + 1]
    if not (constraint.from_lower or constraint.from_upper) or not gap.any():
        return [number, Interval(at.start + 1, 0.0, 0.0)]
    if any(not isinstance(end, Percent) and end > 0 for end in (constraint.lower, opposite(constraint.upper))):
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
    for end in (constraint.lower, constraint.upper):
        if isinstance(end, Percent):
            raise CounterleafError(
                f"{constraint}: feature {feature.name!r} has levels, so {end!r} is not defined; give a number of levels"
            )
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


def _from(feature: Numeric, by: Any, source_value: Array) -> Any:
    """The numbers at distance ``by`` from the source's; if that is 0, the source's numbers bit for bit."""
    if isinstance(by, Percent):
        by = by.of(source_value)
    return np.where(by == 0, source_value, snapped(feature, by + source_value))


def snapped(feature: Numeric, at: Any) -> Any:
    """Numbers moved onto the feature's grid where only rounding separates them from it."""
    grid = feature.grid
    if grid is None:
        return at
    near = np.round(at / float(grid)) * grid.numerator / grid.denominator
    # a large number is many steps, so that a share of it may be more than a step: what counts are its last digits
    slack = np.maximum(np.minimum(ROUNDING * np.abs(at), _OF_A_STEP * float(grid)), 4.0 * np.spacing(np.abs(at)))
    return np.where(np.abs(near - at) <= slack, near, at)
