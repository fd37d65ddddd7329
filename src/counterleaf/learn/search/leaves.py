"""Leaves that compute: constants or linear functions of the row, fitted to the rows of each node and drawn to its parent's.

Every node has a model, the inner ones too: it is the prior of its children's, and the model of the node if it is pruned to a
leaf. A node with few rows changes its parent's model little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from counterleaf._core import learn as kernels
from counterleaf.learn.search.shape import Shape
from counterleaf.learn.search.task import LeafSettings, Task
from counterleaf.types import Array

_LOSSES = {"value": 0, "softmax": 2}  # codes of the core
_TINY = 1e-9  # of the largest curvature: keeps a factor of singular curvatures finite


@dataclass(frozen=True, eq=False)
class LeafModels:
    """The outputs of each node: ``coef[node].T @ [x - origin, 1]``; without columns if leaves are constant."""

    kind: str
    coef: Array  # (nodes, columns + 1, outputs)

    def send(self, state: kernels.Sweep, targets: Array) -> Array:
        """Hand the outputs to a sweep; returns the loss of each of its rows."""
        slope = np.ascontiguousarray(self.coef[:, :-1].transpose(0, 2, 1)).ravel()
        state.compute(_LOSSES[self.kind], np.ascontiguousarray(self.coef[:, -1]), slope, targets)
        return state.losses()

    def outputs(self, node: int, matrix: Any) -> Array:
        """The (rows, outputs) outputs of a node for some compressed rows."""
        coef = self.coef[node]
        return np.asarray(matrix @ coef[:-1] + coef[-1]) if len(coef) > 1 else np.tile(coef[-1], (matrix.shape[0], 1))

    def wrong(self, node: int, task: Task, rows: Array) -> float:
        """The loss by which trees are compared: weighted squares of the errors, or the misclassified weight."""
        made = self.outputs(node, task.rows.matrix[rows])
        y, weight = task.y[rows], task.weight[rows]
        if self.kind == "value":
            return float(weight @ (y - made[:, 0]) ** 2)
        return float(weight[made.argmax(axis=1) != y].sum())


def members(shape: Shape, leaf: Array) -> list[Array]:
    """The rows that reach each node, in order, given the leaf of each row."""
    order = np.argsort(leaf, kind="stable")
    ends = np.searchsorted(leaf[order], np.arange(len(shape.left) + 1))
    found = [order[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    for level in reversed(shape.levels[:-1]):
        for node in level[shape.left[level] >= 0]:
            found[node] = np.sort(np.concatenate([found[shape.left[node]], found[shape.right[node]]]))
    return found


def fit_leaves(
    shape: Shape, task: Task, leaf: Array, settings: LeafSettings, before: LeafModels | None, steps: int
) -> LeafModels:
    """Fit the model of every node, parents first; ``before`` is where an iterative solver starts, ``steps`` its limit."""
    rows_of = members(shape, leaf)
    if not settings.linear:
        return _means(shape, task, rows_of)
    A, scale = task.design
    unscale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)[:, None]
    outputs = max(task.classes, 1)
    coef = np.zeros((len(shape.left), A.shape[1], outputs))
    for level in shape.levels:
        for node in level:
            rows, parent = rows_of[node], shape.parent[node]
            prior = coef[parent] if parent >= 0 else np.zeros((A.shape[1], outputs))
            penalty = np.full(A.shape[1], settings.strength)
            if parent < 0:
                penalty[-1] = 0.0
            if not len(rows):
                coef[node] = prior
            elif settings.kind == "value":
                coef[node] = _ridge(A[rows], task.y[rows], task.weight[rows], prior, penalty)
            else:
                start = prior if before is None else before.coef[node] * unscale
                coef[node] = _softmax(A[rows], task.y[rows], task.weight[rows], prior, penalty, start, steps)
    return LeafModels(settings.kind, coef * scale[:, None])


def _means(shape: Shape, task: Task, rows_of: list[Array]) -> LeafModels:
    """The weighted mean of each node's targets, its parent's if no row reaches it."""
    coef = np.zeros((len(shape.left), 1, 1))
    for level in shape.levels:
        for node in level:
            rows = rows_of[node]
            coef[node] = np.average(task.y[rows], weights=task.weight[rows]) if len(rows) else coef[shape.parent[node]]
    return LeafModels("value", coef)


def _ridge(A: Array, y: Array, weight: Array, prior: Array, penalty: Array) -> Array:
    """Minimise the sum of weight * (y - A @ c)^2 + penalty * (c - prior)^2."""
    weighted = A.T * weight
    H = weighted @ A
    H[np.diag_indices_from(H)] += penalty + _TINY * (np.trace(H) / len(H) + penalty.max())
    change = cho_solve(cho_factor(H, lower=True), weighted @ (y - A @ prior[:, 0]))
    return np.asarray(prior + change[:, None])


def _softmax(A: Array, y: Array, weight: Array, prior: Array, penalty: Array, start: Array, steps: int) -> Array:
    """Minimise the weighted log-loss of softmax(A @ c) + penalty / 2 * (c - prior)^2 in a few steps.

    The variables are scaled by a bound on the curvature that holds for all c (Böhning 1992), so that few steps suffice.
    """
    n, K = len(A), prior.shape[1]
    H = (A.T * (0.5 * weight)) @ A
    H[np.diag_indices_from(H)] += penalty + _TINY * (np.trace(H) / len(H) + penalty.max())
    L = cholesky(H, lower=True)
    base = A @ prior
    truth = (np.arange(n), y)

    def value(flat: Array) -> tuple[float, Array]:
        """The objective and its gradient in the scaled variables."""
        change = solve_triangular(L, flat.reshape(-1, K), lower=True, trans=1)
        z = base + A @ change
        z -= z.max(axis=1, keepdims=True)
        mine = z[truth]
        np.exp(z, out=z)
        total = z.sum(axis=1)
        z *= (weight / total)[:, None]
        z[truth] -= weight
        drawn = penalty[:, None] * change
        gradient = solve_triangular(L, A.T @ z + drawn, lower=True)
        return float(weight @ (np.log(total) - mine) + 0.5 * (drawn * change).sum()), gradient.ravel()

    first = (L.T @ (start - prior)).ravel()
    found = minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 10})
    return np.asarray(prior + solve_triangular(L, found.x.reshape(-1, K), lower=True, trans=1))
