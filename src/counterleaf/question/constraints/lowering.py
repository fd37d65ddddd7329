"""Constraints as arrays over the variables of a schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.question.arrays import LinearRow
from counterleaf.question.constraints.boxes import ROUNDING, Box, Interval, box_of, snapped
from counterleaf.question.constraints.conditions import stays
from counterleaf.question.constraints.kinds import (
    Changed,
    Choice,
    Constraint,
    Either,
    Implies,
    Limit,
    MaxChanges,
    Near,
    Outside,
    Row,
    Side,
    Support,
)
from counterleaf.table.features import Numeric, Ordinal
from counterleaf.table.schema import Schema
from counterleaf.types import Array


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
    near: Near | None = None  # which a search of its own handles


def lower_constraints(constraints: Iterable[Constraint], schema: Schema, sources: Array) -> Limits:
    """Translate constraints on source rows into arrays.

    Raises
    ------
    CounterleafError
        If a constraint does not fit the schema, or a source.
    """
    lower, upper = np.empty(sources.shape), np.empty(sources.shape)
    lower[:], upper[:] = schema.bounds()
    if schema.inferred:
        lower, upper = np.minimum(lower, sources, out=lower), np.maximum(upper, sources, out=upper)
    out = Limits(lower, upper)
    upper[:, schema.kept] = sources[:, schema.kept]  # a missing value may stay; no other value may become missing
    for constraint in constraints:
        if isinstance(constraint, (Limit, Choice, Outside)):
            _intersect(out, box_of(constraint, schema, sources))
        elif isinstance(constraint, Row):
            _add_row(out, constraint, schema)
        elif isinstance(constraint, MaxChanges):
            count = min(constraint.count, len(schema))  # a larger count does not limit anything
            out.max_changes = count if out.max_changes < 0 else min(out.max_changes, count)
        elif isinstance(constraint, (Implies, Either)):
            first, second = _two_boxes(constraint, schema)
            out.clauses.append(Clause(box_of(first, schema, sources), box_of(second, schema, sources)))
        elif isinstance(constraint, Near):
            out.near = constraint
        elif not isinstance(constraint, Support):  # which is about leaves
            rows = constraint.vectors(schema)
            out.pool = rows if out.pool is None else out.pool[(out.pool[:, None] == rows[None]).all(axis=2).any(axis=1)]
    return out


def check_steps(constraints: Iterable[Constraint], schema: Schema) -> None:
    """Refuse limits on a change that are smaller than a step of the feature: a share that was meant as a percentage.

    Raises
    ------
    CounterleafError
        If such a limit leaves nothing but the value itself, and is not 0.
    """
    for one in constraints:
        if not isinstance(one, Limit) or not (one.from_lower and one.from_upper):
            continue
        ends = one.lower, one.upper
        if not all(isinstance(end, float) for end in ends) or not any(ends):
            continue
        for feature in (schema.features[schema.index(name)] for name in one.names):
            step = feature.grid if isinstance(feature, Numeric) else 1 if isinstance(feature, Ordinal) else None
            if step is not None and -step < ends[0] <= 0.0 <= ends[1] < step:
                kind = "changes in levels" if isinstance(feature, Ordinal) else f"has steps of {float(step):g}"
                raise CounterleafError(
                    f"{one} leaves {feature.name!r}, which {kind}, only the value that it has; for a share of the value pass a "
                    f"percentage such as '10%', to keep it pass freeze({feature.name!r})"
                )


def alternatives(constraint: Implies | Either, schema: Schema) -> list[Constraint]:
    """Constraints of which at least one must hold: the ways to violate the condition, then the consequence."""
    if isinstance(constraint, Either):
        return [constraint.first, constraint.second]
    out: list[Constraint] = []
    condition, then = constraint.condition, constraint.then
    if isinstance(condition, Changed):
        out.append(stays(condition.name))
    else:
        for one in _by_feature(condition):
            d = schema.index(one.name if isinstance(one, Choice) else one.names[0])
            sides = [Side.ELSEWHERE]
            if isinstance(schema.features[d], Numeric):
                sides = [Side.BELOW, Side.ABOVE] + sides * (schema.names[d] in schema.gaps)
            out += [Outside(f"not {one}", one, side) for side in sides]
    return out + (alternatives(then, schema) if isinstance(then, (Implies, Either)) else [then])


def _by_feature(condition: Limit | Choice) -> list[Limit | Choice]:
    """A constraint on several features as one constraint for each."""
    if isinstance(condition, Choice) or len(condition.names) == 1:
        return [condition]
    return [replace(condition, names=(name,)) for name in condition.names]


def _two_boxes(constraint: Implies | Either, schema: Schema) -> tuple[Limit | Choice | Outside, Limit | Choice | Outside]:
    found = [one for one in alternatives(constraint, schema) if isinstance(one, (Limit, Choice, Outside))]
    if len(found) != 2 or len(alternatives(constraint, schema)) != 2:
        raise CounterleafError(f"{constraint} needs a distinction of cases, which this question does not support")
    return found[0], found[1]


def _intersect(limits: Limits, box: Box) -> None:
    for d, low, high in box:
        lower, upper = limits.lower[:, d], limits.upper[:, d]
        np.maximum(lower, low, out=lower)
        np.minimum(upper, high, out=upper)


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
            if (relation != "<=" and off < -ROUNDING) or (relation != ">=" and off > ROUNDING):
                _intersect(limits, [Interval(start + k, 0.0, 0.0)])
        return
    ((v, a),) = terms.items()
    bound = rhs / a
    if not math.isfinite(bound):
        raise CounterleafError(f"{constraint}: {rhs} divided by {a} is not a finite number; scale the constraint")
    bound = float(snapped(feature, bound))
    low = bound if relation != ("<=" if a > 0 else ">=") else -math.inf
    high = bound if relation != (">=" if a > 0 else "<=") else math.inf
    _intersect(limits, [Interval(v, low, high)])
