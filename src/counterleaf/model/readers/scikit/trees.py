"""Trees of scikit-learn: classification and regression trees, and the oblique trees of treeple and scikit-tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.shared.leaf_probes import NARROW_GUARD, quiet, random_rows, rows_at_splits
from counterleaf.model.readers.shared.reader import Gaps, Reader
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

_OBLIQUE = ("ObliqueDecisionTreeClassifier", "ObliqueDecisionTreeRegressor")


def guard(model: Any) -> float:
    """Return the guard of a split's sum: the oblique trees add float32 numbers."""
    return NARROW_GUARD if _projections(getattr(model, "tree_", None)) is not None else 0.0


def gaps(model: Any) -> Gaps | None:
    """Return where missing numbers go; None if the model refuses them."""
    arrays: Any = getattr(model, "tree_", None)
    to_left = getattr(arrays, "missing_go_to_left", None)
    if to_left is None:
        return None
    try:
        with quiet():
            model.apply(np.full((1, arrays.n_features), np.nan))
    except ValueError:
        return None
    inner = arrays.children_left >= 0
    return Gaps(np.where(inner, arrays.feature, -1), inner & ~np.asarray(to_left, bool))


def read(model: Any) -> Tree:
    """Return the tree of a fitted model, node for node."""
    kind, arrays = type(model).__name__, getattr(model, "tree_", None)
    if arrays is None:
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if model.n_outputs_ != 1:
        raise CounterleafError(f"this {kind} has {model.n_outputs_} outputs; expected one: fit one tree per output")
    if np.any(getattr(arrays, "is_categorical", False)) or getattr(model, "categorical_features", None) is not None:
        raise CounterleafError(f"this {kind} has categorical splits, which a Tree cannot hold; encode the categories first")
    labels = getattr(model, "classes_", None)
    check_nodes(model, arrays, kind, 1 if labels is None else len(labels))
    n, inner = arrays.node_count, np.flatnonzero(arrays.children_left >= 0)
    threshold = arrays.threshold[inner]
    # an infinite threshold separates missing values only: all numbers go one way
    real = np.isfinite(threshold)
    bias = np.zeros(n)
    bias[inner] = np.where(real, -threshold, -np.sign(threshold))
    weights = _projections(arrays)
    if weights is None:
        weights = CSR.from_entries(inner, arrays.feature[inner], real, (n, arrays.n_features))
    shares = arrays.value[:, 0, :]
    if labels is None:
        value, outputs = None, Outputs("value", shares[:, 0])
    else:
        value, outputs = shares.argmax(axis=1), Outputs("probability", _normalised(shares))
    tree = Tree(
        arrays.children_left, arrays.children_right, weights, bias, value, labels, "left", dtype="float32", outputs=outputs
    )
    return _probed(model, tree, kind)


def _projections(arrays: Any) -> Any:
    """Return the (nodes, columns) weights of an oblique tree, None for an axis-aligned one."""
    if not hasattr(arrays, "get_projection_matrix"):
        return None
    return CSR.of(np.asarray(arrays.get_projection_matrix(), np.float64))


def _normalised(shares: Array) -> Array:
    """Return the distribution of every node, as predict_proba computes it."""
    total = shares.sum(axis=1, keepdims=True)
    total[total == 0.0] = 1.0
    return np.asarray(np.where(np.isclose(total, 1.0, rtol=1e-9, atol=0), shares, shares / total))


def check_nodes(model: Any, arrays: Any, kind: str, outputs: int) -> None:
    """Check the indices of the nodes, which scikit-learn follows unchecked and a file can set to anything."""
    leaf, n = arrays.children_left < 0, arrays.n_features
    sound = (
        n == model.n_features_in_
        and arrays.value.shape[1:] == (1, outputs)
        and (arrays.children_left[leaf] == -1).all()
        and (_projections(arrays) is not None or ((arrays.feature[~leaf] >= 0) & (arrays.feature[~leaf] < n)).all())
    )
    if not sound:
        raise CounterleafError(f"this {kind} has nodes whose indices are out of range: the file is damaged; fit it again")


def _probed(model: Any, tree: Tree, kind: str) -> Tree:
    """Send rows on both sides of every split through the model itself, and compare the route and what the leaf holds."""
    axis_aligned = bool((np.diff(tree.weights.indptr) <= 1).all()) and _projections(model.tree_) is None
    rows, reached = rows_at_splits(tree) if axis_aligned and tree.n_nodes > 1 else (random_rows(tree), None)
    with quiet():
        there = np.asarray(model.apply(rows))
        if reached is not None:
            path = model.decision_path(rows).tocsr()
            routed = np.asarray(path[np.arange(len(rows)), reached]).all() if len(rows) else True
        else:
            routed = np.array_equal(there, tree.apply(rows))
        if not routed:
            raise CounterleafError(f"this {kind} does not route rows as its thresholds say; report your scikit-learn version")
        assert tree.outputs is not None
        held = tree.outputs.intercept[there]
        if not tree.is_regression:
            same = np.array_equal(np.asarray(model.predict_proba(rows)), held)
            return tree if same else replace(tree, outputs=None)
        if not np.array_equal(np.asarray(model.predict(rows)), held[:, 0]):
            raise CounterleafError(f"this {kind} does not predict the values of its leaves; report your scikit-learn version")
    return tree


READER = Reader(
    classes=(
        ("sklearn.", ("DecisionTreeClassifier", "DecisionTreeRegressor")),
        ("treeple.", _OBLIQUE),
        ("sktree.", _OBLIQUE),
    ),
    tree=read,
    gaps=gaps,
    guard=guard,
)
