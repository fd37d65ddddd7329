"""Constraints as JSON and back, and the check that a proof is about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.core.inputs import change_arrays, clause_boxes, stacked
from counterleaf.errors import CounterleafError, brief
from counterleaf.proof.certificate import Certificate
from counterleaf.question.arrays import ChangeLimit
from counterleaf.question.constraints.conditions import changed
from counterleaf.question.constraints.kinds import (
    Among,
    Becomes,
    Changed,
    Choice,
    Constraint,
    Implies,
    Limit,
    MaxChanges,
    Percent,
    Row,
    Stays,
    Support,
)
from counterleaf.question.constraints.lowering import lower_constraints
from counterleaf.strict_json import number_out, plain
from counterleaf.table.frames import column_names, is_frame, make_frame
from counterleaf.table.schema import Schema

_LIMITS = {"limit": Limit, "becomes": Becomes, "stays": Stays}


def check_constraints(
    constraints: tuple[Constraint, ...], schema: Schema, certificate: Certificate, avoided: tuple[ChangeLimit, ...] = ()
) -> None:
    """Refuse an answer whose constraints are not those of its proof; ``avoided`` are those of an alternative."""
    q, table, source = certificate.problem.question, certificate.problem.table, certificate.problem.source
    limits = lower_constraints(list(constraints), schema, source[None])
    (indptr, indices, data, bias), equal = stacked(limits.rows)
    n, start = len(q.nodes), int(q.indptr[len(q.nodes)])
    lower, upper = limits.lower[0], limits.upper[0]
    if table is not None:
        lower, upper = table.grids.above(source, lower), table.grids.below(source, upper)
    expected = [indptr, indices, data, bias, np.array(equal), lower, upper]
    proved = [q.indptr[n:] - start, q.indices[start:], q.data[start:], q.bias[n:], np.array(q.equal)]
    proved += [q.features.lower, q.features.upper]
    starts, where, low, high = clause_boxes(limits, 1)
    if table is not None:
        grids = table.grids.at(where)
        low, high = grids.above(source[where], low[0]), grids.below(source[where], high[0])
        expected += [*change_arrays(limits, avoided, len(table.charges)), starts, where, low, high]
        proved += [table.members, table.most, table.clauses, table.where, table.lower, table.upper]
    same = (limits.pool is None) == (certificate.pool is None) and (
        table is not None or (limits.max_changes < 0 and not avoided and not len(starts))
    )
    if limits.pool is not None and certificate.pool is not None:
        same = same and np.array_equal(limits.pool, certificate.pool)
    if not same or not all(np.array_equal(one, other) for one, other in zip(expected, proved, strict=True)):
        raise CounterleafError(
            "the answer's JSON contradicts itself: its proof has other bounds and constraints; explain the row again"
        )


def check_bounds(schema: Schema, certificate: Certificate) -> None:
    """Refuse an answer without recorded constraints whose proof goes beyond the bounds of the features."""
    features = certificate.problem.question.features
    source, lower, upper = features.source, features.lower, features.upper
    low, high = schema.bounds()
    if schema.inferred:
        low, high = np.minimum(low, source), np.maximum(high, source)
    if not ((lower >= low) & (upper <= high)).all():
        raise CounterleafError(
            "the answer's JSON contradicts itself: its proof goes beyond the bounds of the features; explain the row again"
        )


def constraint_out(one: Constraint) -> dict[str, Any]:
    """Write a constraint with its kind, its words and its numbers."""
    if isinstance(one, Limit):
        kind = "becomes" if isinstance(one, Becomes) else "stays" if isinstance(one, Stays) else "limit"
        ends = [_end_out(one.lower), _end_out(one.upper), one.from_lower, one.from_upper]
        return {"kind": kind, "words": one.words, "names": [plain(name) for name in one.names], "ends": ends}
    if isinstance(one, Choice):
        return {
            "kind": "choice",
            "words": one.words,
            "name": plain(one.name),
            "values": list(one.values),
            "allowed": one.allowed,
        }
    if isinstance(one, Row):
        coef = [[plain(name), a] for name, a in one.coef.items()]
        return {"kind": "row", "words": one.words, "coef": coef, "relation": one.relation, "rhs": one.rhs}
    if isinstance(one, MaxChanges):
        return {"kind": "max_changes", "words": one.words, "count": one.count}
    if isinstance(one, Implies):
        condition = one.condition
        when = {"name": plain(condition.name)} if isinstance(condition, Changed) else {"if": constraint_out(condition)}
        return {"kind": "implies", "words": one.words, **when, "then": constraint_out(one.then)}
    if isinstance(one, Support):
        return {"kind": "support", "words": one.words, "least": one.least}
    if not isinstance(one, Among):
        raise TypeError(f"{one!r} is part of a case")  # only the constraints of the user are written
    names = column_names(one.rows) if is_frame(one.rows) else None
    rows = [[plain(value) for value in row] for row in np.asarray(one.rows).tolist()]
    return {"kind": "among", "words": one.words, "names": names, "rows": rows}


def constraint_in(content: dict[str, Any]) -> Constraint:
    """Read a constraint that ``constraint_out`` wrote."""
    words, kind = str(content["words"]), content["kind"]
    if kind in _LIMITS:
        lower, upper, from_lower, from_upper = content["ends"]
        ends = _end_in(lower), _end_in(upper), bool(from_lower), bool(from_upper)
        return _LIMITS[kind](words, tuple(content["names"]), *ends)
    if kind == "choice":
        return Choice(words, content["name"], tuple(content["values"]), bool(content["allowed"]))
    if kind == "row":
        return Row(words, {name: float(a) for name, a in content["coef"]}, str(content["relation"]), float(content["rhs"]))
    if kind == "max_changes":
        return MaxChanges(words, int(content["count"]))
    if kind == "implies":
        condition = changed(content["name"]) if "name" in content else constraint_in(content["if"])
        if not isinstance(condition, (Changed, Limit, Choice)):
            raise ValueError(f"implies if {brief(condition)}")
        return Implies(words, condition, constraint_in(content["then"]))
    if kind == "support":
        return Support(words, int(content["least"]))
    if content["names"] is None:
        return Among(words, np.array(content["rows"]))
    return Among(words, make_frame(content["rows"], content["names"]))


def _end_out(value: Any) -> Any:
    """Write a bound: a number in a list, a percentage in an object, a level as it is."""
    if isinstance(value, Percent):
        return {"percent": value.value}
    return [number_out(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _end_in(end: Any) -> Any:
    if isinstance(end, dict):
        return Percent(float(end["percent"]))
    return float(end[0]) if isinstance(end, list) else end
