"""Leaves that compute: constants or linear functions of the row, fitted to the rows of each node and drawn to its parent's.

Every node has a model, the inner ones too: it is the prior of its children's, and the model of the node if it is pruned to a
leaf. A node with few rows changes its parent's model little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from counterleaf._core import learn as kernels
from counterleaf.learn.search.shape import Shape
from counterleaf.learn.search.task import LeafSettings, Task
from counterleaf.types import Array

_LOSSES = {"value": 0, "softmax": 1}  # codes of the core
_PRODUCTS, _ROUGH = 6, 1e-3  # of conjugate gradients: the most, and the share of the squared residual that ends them
_HALVINGS = 12
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
    found = [order[a:b] for a, b in pairwise(ends)]
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
            if parent >= 0 and len(rows) in (0, len(rows_of[parent])):  # no row, or all of them: nothing to learn
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
    """Minimise the weighted log-loss of softmax(A @ c) + penalty / 2 * (c - prior)^2 by a few Newton steps.

    The variables are scaled by a bound on the curvature that holds for all c (Böhning 1992): conjugate gradients then need
    few products with the curvature.
    """
    H = (A.T * (0.5 * weight)) @ A
    H[np.diag_indices_from(H)] += penalty + _TINY * (np.trace(H) / len(H) + penalty.max())
    L = cholesky(H, lower=True)
    scaled = solve_triangular(L, A.T, lower=True).T
    inverse = solve_triangular(L, np.diag(np.sqrt(penalty)), lower=True)
    drawn = inverse @ inverse.T
    base, truth, weights = A @ prior, (np.arange(len(A)), y), weight[:, None]

    def at(change: Array) -> tuple[float, Array, Array]:
        """The objective, its gradient, and the probabilities."""
        z = base + scaled @ change
        z -= z.max(axis=1, keepdims=True)
        mine = z[truth]
        np.exp(z, out=z)
        total = z.sum(axis=1)
        z /= total[:, None]
        gap = z * weights
        gap[truth] -= weight
        pull = drawn @ change
        return float(weight @ (np.log(total) - mine) + 0.5 * (pull * change).sum()), scaled.T @ gap + pull, z

    change = L.T @ (start - prior)
    value, gradient, p = at(change)
    for _ in range(steps):
        weighted = p * weights

        def curve(v: Array, p: Array = p, weighted: Array = weighted) -> Array:
            """The curvature times a direction."""
            moved = scaled @ v
            return np.asarray(scaled.T @ (weighted * (moved - (p * moved).sum(axis=1, keepdims=True))) + drawn @ v)

        step = _conjugate(curve, -gradient)
        promised = float((gradient * step).sum())
        for _ in range(_HALVINGS):
            found = at(change + step)
            if found[0] <= value + 0.01 * promised + 1e-13 * abs(value):
                break
            step, promised = 0.5 * step, 0.5 * promised
        else:
            break
        change = change + step
        value, gradient, p = found
        if promised > -1e-20 * abs(value):
            break
    return np.asarray(prior + solve_triangular(L, change, lower=True, trans=1))


def _conjugate(curve: Callable[[Array], Array], target: Array) -> Array:
    """Solve curve(v) = target roughly, by conjugate gradients."""
    v, r = np.zeros_like(target), target.copy()
    d, size = r, float((r * r).sum())
    enough = _ROUGH * size
    for _ in range(_PRODUCTS):
        if size <= enough or size == 0.0:
            break
        bent = curve(d)
        length = size / float((d * bent).sum())
        v, r = v + length * d, r - length * bent
        size, before = float((r * r).sum()), size
        d = r + (size / before) * d
    return v
