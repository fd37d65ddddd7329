"""Models with one axis-aligned tree: what its leaves hold is found by sending a row of every leaf through the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.refusals import many_trees, refuse_one_class
from counterleaf.model.readers.shared.leaf_probes import Box, at_leaves, quiet, row_in, rows_at_splits
from counterleaf.model.readers.shared.reader import Gaps
from counterleaf.model.tree import Tree
from counterleaf.types import Array


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


def with_values(splits: Tree, leaves: Array, values: Array) -> Tree:
    """Return a tree with the numbers that its leaves predict."""
    held = np.zeros((splits.n_nodes, 1))
    held[leaves, 0] = values
    return replace(splits, value=None, classes=None, outputs=Outputs("value", held))


def with_classes(splits: Tree, leaves: Array, said: Any, shares: Array, labels: Array) -> Tree:
    """Return a tree with the labels that its leaves predict, and their probabilities if they are between 0 and 1."""
    place = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
    held, value = np.zeros((splits.n_nodes, len(place))), np.zeros(splits.n_nodes, int)
    held[leaves], value[leaves] = shares, [place[label] for label in np.asarray(said).tolist()]
    return replace(splits, value=value, classes=labels, outputs=Outputs("probability", np.clip(held, 0.0, 1.0)))


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
