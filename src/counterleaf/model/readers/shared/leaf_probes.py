"""Rows that show how a tree routes, on both sides of every split, and what its leaves hold; models of one tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.shared.reader import Gaps, many_trees, refuse_one_class
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


def gaps_of(trees: Ensemble) -> Gaps | None:
    """Return where the only tree sends missing numbers; None if there are several trees."""
    if trees.n_trees != 1 or trees.gap_right is None or trees.gap_column is None:
        return None
    inner = trees.left >= 0
    split = np.where(inner, trees.split, 0)
    if not inner.any():
        return Gaps(np.full(1, -1), np.zeros(1, bool))
    return Gaps(np.where(inner, trees.gap_column[split], -1), inner & trees.gap_right[split])


def tree_of(model: Any, trees: Ensemble, predicts: Any, labels: Any) -> Tree:
    """Return the only tree of a model."""
    kind = type(model).__name__
    refuse_one_class(model)
    if trees.subsets:
        raise categorical(kind)
    if trees.n_trees != 1:
        raise many_trees(model)
    splits, routes = trees.as_tree(), gaps_of(trees)
    leaves, values = _leaf_values(splits, routes, predicts.predict)
    if labels is None:
        if values.ndim != 1:
            raise CounterleafError(f"this {kind} has {values.shape[-1]} outputs; expected one: fit one model per output")
        tree = with_values(splits, leaves, values)
    else:
        tree = with_classes(splits, leaves, values, _leaf_values(splits, routes, predicts.predict_proba)[1], labels)
    rows, _ = rows_at_splits(splits)
    with quiet():
        found = np.asarray((predicts.predict if labels is None else predicts.predict_proba)(rows)) if len(rows) else rows
        ours = (tree.predict if labels is None else tree.predict_proba)(rows) if len(rows) else rows
    if not np.array_equal(found, ours):
        raise CounterleafError(f"this {kind} does not route rows as its thresholds say; report the version of its library")
    return tree


def categorical(kind: str) -> CounterleafError:
    """Return the error for a tree with splits on categories."""
    return CounterleafError(f"this {kind} has categorical splits, which a Tree cannot hold; encode the categories first")


def with_values(tree: Tree, leaves: Array, values: Array) -> Tree:
    """Return a tree with the numbers that its leaves predict."""
    held = np.zeros((tree.n_nodes, 1)) if tree.outputs is None else tree.outputs.intercept.copy()
    held[leaves, 0] = values
    return replace(tree, value=None, classes=None, outputs=Outputs("value", held))


def with_classes(tree: Tree, leaves: Array, said: Any, shares: Array, labels: Array) -> Tree:
    """Return a tree with the labels that its leaves predict, and their probabilities if they are between 0 and 1."""
    place = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
    held = np.zeros((tree.n_nodes, len(place))) if tree.outputs is None else tree.outputs.intercept.copy()
    value = tree.value.copy()
    held[leaves], value[leaves] = shares, [place[label] for label in np.asarray(said).tolist()]
    return replace(tree, value=value, classes=labels, outputs=Outputs("probability", np.clip(held, 0.0, 1.0)))


def _leaf_values(splits: Tree, routes: Gaps | None, evaluate: Callable[[Array], Any]) -> tuple[Array, Array]:
    """Return leaves and what the model computes there; a leaf without numbers may be reached with missing ones."""
    leaves, values = at_leaves(splits, evaluate)
    lacking = set(splits.leaves.tolist()) - set(leaves.tolist())
    if routes is None or not lacking:
        return leaves, values
    _, _, low_side, high_side = cuts(splits)
    found: dict[int, Array] = {}
    stack: list[tuple[int, Box, dict[int, bool]]] = [(0, {}, {})]  # a node, its box, and whether a gap gets there too
    while stack:
        node, box, gap = stack.pop()
        if splits.left[node] < 0:
            row = row_in(box, splits.n_features)
            for d, (low, high) in box.items():
                row[d] = np.nan if low > high or low == np.inf or high == -np.inf else row[d]
            if node in lacking and all(gap[d] for d in np.flatnonzero(np.isnan(row)).tolist()):
                found[node] = row
            continue
        d = int(routes.feature[node])
        low, high = box.get(d, (-np.inf, np.inf))
        for child, side, there in (
            (splits.left[node], (low, min(high, low_side[node])), not routes.right[node]),
            (splits.right[node], (max(low, high_side[node]), high), bool(routes.right[node])),
        ):
            stack.append((int(child), {**box, d: side}, {**gap, d: gap.get(d, True) and there}))
    if not found:
        return leaves, values
    with quiet():
        more = np.asarray(evaluate(np.array(list(found.values()))))
    return np.append(leaves, list(found)), np.concatenate([values, more])
