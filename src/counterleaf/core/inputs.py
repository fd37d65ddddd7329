"""Questions as the core takes them: checked values that it copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Status
from counterleaf.question.lowering import Limits
from counterleaf.question.splits import Splits
from counterleaf.types import Array

STATUS = {
    _core.Verdict.OPTIMAL: Status.OPTIMAL,
    _core.Verdict.INFEASIBLE: Status.INFEASIBLE,
    _core.Verdict.LIMIT: Status.LIMIT,
}


def core_rows(rows: list[tuple[dict[int, float], str, float]], width: int) -> tuple[_core.Rows, int]:
    """The user's rows as coef @ x + bias >= 0, equalities (= 0) first; and how many are equalities."""
    arrays, equal = stacked(rows)
    return _core.Rows(*arrays, width), equal


def stacked(rows: list[tuple[dict[int, float], str, float]]) -> tuple[tuple[Array, Array, Array, Array], int]:
    """The same rows in CSR, with their bias."""
    equalities = [row for row in rows if row[1] == "=="]
    indptr, indices, data, bias = [0], [], [], []
    for terms, relation, rhs in equalities + [row for row in rows if row[1] != "=="]:
        sign = -1.0 if relation == "<=" else 1.0
        used = sorted((d, sign * a) for d, a in terms.items())
        indices += [d for d, _ in used]
        data += [a for _, a in used]
        indptr.append(len(indices))
        bias.append(-sign * rhs)
    arrays = np.array(indptr, np.int64), np.array(indices, np.int64), np.array(data, float), np.array(bias, float)
    return arrays, len(equalities)


def core_limits(limits: Limits) -> _core.Limits:
    """The limits of one source or of many, for the core."""
    n, width = limits.lower.shape
    rows, equal = core_rows(limits.rows, width)
    starts, where, lower, upper = clause_boxes(limits, n)
    clauses = _core.Clauses(starts, where, lower, upper)
    return _core.Limits(limits.lower, limits.upper, False, np.empty(0, np.int64), rows, equal, limits.most, clauses)


def clause_boxes(limits: Limits, n: int) -> tuple[Array, Array, Array, Array]:
    """The two boxes of every clause, one after another: where they begin and end, their variables, bounds for each source."""
    starts: list[tuple[int, int, int]] = []
    where: list[int] = []
    ends: list[tuple[Any, Any]] = []
    for first, second in limits.clauses:
        starts.append((len(where), len(where) + len(first), len(where) + len(first) + len(second)))
        for v, low, high in [*first, *second]:
            where.append(v)
            ends.append((low, high))
    lower, upper = np.empty((n, len(where))), np.empty((n, len(where)))
    for k, (low, high) in enumerate(ends):
        lower[:, k], upper[:, k] = low, high
    return np.array(starts, np.int64).reshape(-1, 3), np.array(where, np.int64), lower, upper


def core_engine(tree: Tree, splits: Splits, layout: _core.Layout, margin: float, guard: float) -> _core.Engine:
    """The tree with one margin, ready for questions."""
    nodes, w = splits.nodes, tree.weights
    left, right, form, index = (np.ascontiguousarray(nodes[name]) for name in ("left", "right", "form", "index"))
    arrays = left, right, form, index, np.stack([nodes["cut_left"], nodes["cut_right"]])
    rows = _core.Rows(w.indptr, w.indices, w.data, tree.bias, w.shape[1])
    return _core.Engine(arrays, rows, layout, tree.closed == "right", tree.dtype == "float32", margin, guard)


def core_target(nodes: Array) -> _core.Target:
    """What a target makes of the nodes."""
    return _core.Target(*(np.ascontiguousarray(nodes[name]) for name in ("below", "first", "leaves")))
