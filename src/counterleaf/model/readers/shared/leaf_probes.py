"""Rows that show how a model routes and what its leaves hold: at both sides of every split, and one in every leaf."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from counterleaf.model.cuts import cuts
from counterleaf.model.tree import Tree
from counterleaf.types import Array

NARROW_GUARD = 2.0**-22  # of sums in float32, in any order
NARROW_CLOSE = 1e-5  # the error that sums in float32 may explain, relative to the terms
CELLS = 4_000_000  # of the rows sent through a model at a time

Box = dict[int, tuple[float, float]]


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warnings of a model that knows its columns by name, and of numbers that overflow."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def boxes(tree: Tree) -> Iterator[tuple[int, int, bool, Box]]:
    """Yield (child, feature, is the high side, box) for every child of an axis-aligned tree that some row reaches."""
    feature, swapped, low_side, high_side = cuts(tree)
    stack: list[tuple[int, Box]] = [(0, {})]
    while stack:
        node, box = stack.pop()
        if tree.left[node] < 0:
            continue
        d = int(feature[node])
        low, high = box.get(d, (-np.inf, np.inf))
        for child, is_high in ((int(tree.left[node]), swapped[node]), (int(tree.right[node]), not swapped[node])):
            side = (max(low, high_side[node]), high) if is_high else (low, min(high, low_side[node]))
            if side[0] > side[1] or side[0] == np.inf or side[1] == -np.inf:
                continue
            within = {**box, d: side}
            yield child, d, bool(is_high), within
            stack.append((child, within))


def leaf_boxes(tree: Tree) -> Iterator[tuple[int, Box]]:
    """Yield every leaf of an axis-aligned tree that some row reaches, with its box."""
    if tree.n_nodes == 1:
        yield 0, {}
    for child, _, _, box in boxes(tree):
        if tree.left[child] < 0:
            yield child, box


def row_in(box: Box, width: int) -> Array:
    """Return a row of finite numbers in a box."""
    row = np.zeros(width)
    for k, (low, high) in box.items():
        row[k] = low if np.isfinite(low) else high if np.isfinite(high) else 0.0
    return row


def rows_at_splits(tree: Tree) -> tuple[Array, Array]:
    """Return the last row left and the first row right of every split, as many as fit, and the child that each reaches."""
    rows: list[Array] = []
    reached: list[int] = []
    most = max(CELLS // tree.n_features, 1)
    for child, d, is_high, box in boxes(tree):
        row = row_in(box, tree.n_features)
        cut = box[d][0 if is_high else 1]
        row[d] = cut if np.isfinite(cut) else row[d]
        rows.append(row)
        reached.append(child)
        if len(rows) >= most:
            break
    return np.array(rows).reshape(-1, tree.n_features), np.array(reached, np.int64)


def at_leaves(tree: Tree, evaluate: Callable[[Array], Any]) -> tuple[Array, Array]:
    """Return the leaves of an axis-aligned tree that some row reaches, and what a model computes for a row in each of them."""
    leaves: list[int] = []
    found: list[Array] = []
    pairs, size = leaf_boxes(tree), -(-CELLS // tree.n_features)
    with quiet():
        while some := list(islice(pairs, size)):
            leaves += [leaf for leaf, _ in some]
            found.append(np.asarray(evaluate(np.array([row_in(box, tree.n_features) for _, box in some]))))
    return np.array(leaves, np.int64), np.concatenate(found)


def clear_rows(tree: Tree, rows: Array) -> Array:
    """Return the rows that are so far from all splits that sums in float32 do not decide their leaf."""
    inner = tree.left >= 0
    weights, bias = tree.weights.toarray()[inner].T, tree.bias[inner]
    terms = abs(rows) @ abs(weights) + abs(bias)
    return np.asarray(rows[(abs(rows @ weights + bias) > NARROW_CLOSE * terms).all(axis=1)])


def random_rows(tree: Tree, n: int = 400) -> Array:
    """Return random rows on the scale of the splits and of the linear outputs of a tree, some near and some far."""
    rng = np.random.default_rng(0)
    parts = [abs(tree.weights).toarray().max(axis=0)] if tree.weights.nnz else []
    if tree.outputs is not None and tree.outputs.slope is not None:
        parts.append(abs(tree.outputs.slope).toarray().max(axis=0))
    weight = np.max(parts, axis=0) if parts else np.zeros(tree.n_features)
    weight = np.where(weight > 0, np.maximum(weight, 1e-6 * weight.max(initial=0.0)), 0.0)  # a tiny weight may be rounding
    offsets = [abs(tree.bias).max()] + ([] if tree.outputs is None else [abs(tree.outputs.intercept).max()])
    reach = np.where(weight > 0, (1.0 + max(offsets)) / np.where(weight > 0, weight, 1.0), 1.0)
    scale = np.concatenate([np.full(n // 2, 1.0), 10.0 ** rng.uniform(-3, 3, n - n // 2)])[:, None]
    rows = rng.normal(size=(n, tree.n_features))
    rows[n // 4 :: 2] *= reach
    return np.asarray(np.clip(rows * scale, -1e30, 1e30))
