"""Constraints in JSON, and back; and whether they are those of a proof."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.core.inputs import clause_boxes, stacked
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Certificate
from counterleaf.question.arrays import at_or_above, at_or_below
from counterleaf.question.constraint import Among, Choice, Constraint, Implies, Limit, MaxChanges, Row, changed
from counterleaf.question.lowering import lower_constraints
from counterleaf.strict_json import number_out, plain
from counterleaf.table.schema import Schema


def check_constraints(given: tuple[Constraint, ...], schema: Schema, certificate: Certificate) -> None:
    """Refuse an answer whose proof is about other constraints than it tells."""
    q, table, source = certificate.problem.question, certificate.problem.table, certificate.problem.source
    limits = lower_constraints(list(given), schema, source[None])
    (indptr, indices, data, bias), equal = stacked(limits.rows)
    n, start = len(q.nodes), int(q.indptr[len(q.nodes)])
    told = [indptr, indices, data, bias, np.array(equal), limits.lower[0], limits.upper[0]]
    if table is not None:
        on = np.flatnonzero(table.step[0])
        told[5][on] = at_or_above(table.step[:, on], source[on], told[5][on])
        told[6][on] = at_or_below(table.step[:, on], source[on], told[6][on])
    proved = [q.indptr[n:] - start, q.indices[start:], q.data[start:], q.bias[n:], np.array(q.equal)]
    proved += [q.features.lower, q.features.upper]
    starts, where, low, high = clause_boxes(limits, 1)
    if table is not None:
        step = table.step[:, where]
        on = step[0] > 0
        low[0, on] = at_or_above(step[:, on], source[where][on], low[0, on])
        high[0, on] = at_or_below(step[:, on], source[where][on], high[0, on])
        told += [np.array(limits.max_changes), starts, where, low[0], high[0]]
        proved += [np.array(table.max_changes), table.clauses, table.where, table.lower, table.upper]
    same = (limits.pool is None) == (certificate.pool is None) and (
        table is not None or (limits.max_changes < 0 and not len(starts))
    )
    if limits.pool is not None and certificate.pool is not None:
        same = same and np.array_equal(limits.pool, certificate.pool)
    if not same or not all(np.array_equal(one, other) for one, other in zip(told, proved, strict=True)):
        raise CounterleafError(
            "the answer's JSON contradicts itself: its proof is about other bounds and constraints; ask for it again"
        )


def constraint_out(one: Constraint) -> dict[str, Any]:
    if isinstance(one, Limit):
        ends = [_end_out(one.lower), _end_out(one.upper), one.from_lower, one.from_upper]
        return {"kind": "limit", "words": one.words, "names": [plain(name) for name in one.names], "ends": ends}
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
        return {"kind": "at_most", "words": one.words, "count": one.count}
    if isinstance(one, Implies):
        return {"kind": "implies", "words": one.words, "name": plain(one.condition.name), "then": constraint_out(one.then)}
    names = list(map(str, one.rows.columns)) if hasattr(one.rows, "columns") else None
    rows = [[plain(value) for value in row] for row in np.asarray(one.rows).tolist()]
    return {"kind": "among", "words": one.words, "names": names, "rows": rows}


def constraint_in(given: dict[str, Any]) -> Constraint:
    words, kind = str(given["words"]), given["kind"]
    if kind == "limit":
        lower, upper, from_lower, from_upper = given["ends"]
        return Limit(words, tuple(given["names"]), _end_in(lower), _end_in(upper), bool(from_lower), bool(from_upper))
    if kind == "choice":
        return Choice(words, given["name"], tuple(given["values"]), bool(given["allowed"]))
    if kind == "row":
        return Row(words, {name: float(a) for name, a in given["coef"]}, str(given["relation"]), float(given["rhs"]))
    if kind == "at_most":
        return MaxChanges(words, int(given["count"]))
    if kind == "implies":
        then = constraint_in(given["then"])
        if not isinstance(then, (Limit, Choice)):
            raise ValueError(f"implies {then!r}")
        return Implies(words, changed(given["name"]), then)
    if given["names"] is None:
        return Among(words, np.array(given["rows"]))
    import pandas as pd

    return Among(words, pd.DataFrame(given["rows"], columns=given["names"]))


def _end_out(value: Any) -> Any:
    """A bound: a number in a list, a level as it is."""
    return [number_out(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _end_in(given: Any) -> Any:
    return float(given[0]) if isinstance(given, list) else given
