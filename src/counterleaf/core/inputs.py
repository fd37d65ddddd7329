"""Questions in the form that the core takes: values that it checks and copies."""

from __future__ import annotations

import numpy as np

from counterleaf import _core
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Status
from counterleaf.question.constraints.lowering import Limits
from counterleaf.question.posing import clause_boxes, stacked
from counterleaf.question.splits import Splits
from counterleaf.types import Array

STATUS = {
    _core.Verdict.OPTIMAL: Status.OPTIMAL,
    _core.Verdict.INFEASIBLE: Status.INFEASIBLE,
    _core.Verdict.LIMIT: Status.LIMIT,
}


def core_limits(limits: Limits, members: Array, most: Array) -> _core.Limits:
    """The limits of one or several sources, as the core takes them; the limits on changes are those of ``change_arrays``."""
    n, width = limits.lower.shape
    rows, equal = stacked(limits.rows)
    clauses = _core.Clauses(*clause_boxes(limits, n))
    never_missing = np.empty(0, np.int64)  # lower_constraints has bounded the missing values already
    changes = _core.ChangeLimits(members.astype(np.int64), most)
    return _core.Limits(limits.lower, limits.upper, False, never_missing, _core.Rows(*rows, width), equal, changes, clauses)


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
