"""Questions in the form that the core takes: values that it checks and copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterleaf import _core
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Status
from counterleaf.question.arrays import ChangeLimit, LinearRow
from counterleaf.question.constraints.boxes import Interval
from counterleaf.question.constraints.lowering import Limits
from counterleaf.question.splits import Splits
from counterleaf.types import Array

STATUS = {
    _core.Verdict.OPTIMAL: Status.OPTIMAL,
    _core.Verdict.INFEASIBLE: Status.INFEASIBLE,
    _core.Verdict.LIMIT: Status.LIMIT,
}


class RowArrays(NamedTuple):
    """Rows data @ x + bias in CSR."""

    indptr: Array
    indices: Array
    data: Array
    bias: Array


class ClauseArrays(NamedTuple):
    """The two boxes of every clause, one after another."""

    starts: Array  # (C, 3) where the first box begins, where the second one begins, and where it ends
    where: Array  # (L,) the variables
    lower: Array  # (n, L) the bounds for each source
    upper: Array


def stacked(rows: list[LinearRow]) -> tuple[RowArrays, int]:
    """The user's rows as data @ x + bias >= 0, equalities (= 0) first; and the number of equalities."""
    equalities = [row for row in rows if row.relation == "=="]
    indptr, indices, data, bias = [0], [], [], []
    for terms, relation, rhs in equalities + [row for row in rows if row.relation != "=="]:
        sign = -1.0 if relation == "<=" else 1.0
        used = sorted((d, sign * a) for d, a in terms.items())
        indices += [d for d, _ in used]
        data += [a for _, a in used]
        indptr.append(len(indices))
        bias.append(-sign * rhs)
    whole = np.array(indptr, np.int64), np.array(indices, np.int64)
    return RowArrays(*whole, np.array(data, float), np.array(bias, float)), len(equalities)


def change_arrays(limits: Limits | None, more: tuple[ChangeLimit, ...], count: int) -> tuple[Array, Array]:
    """The limits on the changes of ``count`` features: (K, F) marks, and (K,) how many of the marked features may change."""
    all_of = [] if limits is None or limits.max_changes < 0 else [ChangeLimit(tuple(range(count)), limits.max_changes)]
    every = [*all_of, *more]
    members, most = np.zeros((len(every), count), bool), np.array([one.most for one in every], np.int64)
    for line, one in zip(members, every, strict=True):
        line[list(one.features)] = True
    return members, most


def core_limits(limits: Limits, members: Array, most: Array) -> _core.Limits:
    """The limits of one or several sources, as the core takes them; the limits on changes are those of ``change_arrays``."""
    n, width = limits.lower.shape
    rows, equal = stacked(limits.rows)
    clauses = _core.Clauses(*clause_boxes(limits, n))
    never_missing = np.empty(0, np.int64)  # lower_constraints has bounded the missing values already
    changes = _core.ChangeLimits(members.astype(np.int64), most)
    return _core.Limits(limits.lower, limits.upper, False, never_missing, _core.Rows(*rows, width), equal, changes, clauses)


def clause_boxes(limits: Limits, n: int) -> ClauseArrays:
    """The boxes of all clauses as arrays, for ``n`` sources."""
    starts: list[tuple[int, int, int]] = []
    intervals: list[Interval] = []
    for first, second in limits.clauses:
        begin = len(intervals)
        starts.append((begin, begin + len(first), begin + len(first) + len(second)))
        intervals += [*first, *second]
    lower, upper = np.empty((n, len(intervals))), np.empty((n, len(intervals)))
    for k, interval in enumerate(intervals):
        lower[:, k], upper[:, k] = interval.lower, interval.upper
    where = np.array([interval.variable for interval in intervals], np.int64)
    return ClauseArrays(np.array(starts, np.int64).reshape(-1, 3), where, lower, upper)


def core_engine(tree: Tree, splits: Splits, layout: _core.Layout, guard: float) -> _core.Engine:
    """The core's engine for a tree with one margin."""
    nodes, w = splits.nodes, tree.weights
    left, right, form, index = (np.ascontiguousarray(nodes[name]) for name in ("left", "right", "form", "index"))
    arrays = left, right, form, index, np.stack([nodes["cut_left"], nodes["cut_right"]])
    rows = _core.Rows(w.indptr, w.indices, w.data, tree.bias, w.shape[1])
    return _core.Engine(arrays, rows, layout, tree.closed == "right", tree.dtype == "float32", splits.margins, guard)


def core_target(nodes: Array) -> _core.Target:
    """The fields of the nodes that depend on the target, as the core takes them."""
    return _core.Target(*(np.ascontiguousarray(nodes[name]) for name in ("below", "first", "leaves")))
