"""The decision trees inside the ensembles of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.readers.ensembles.assembly import Nodes
from counterleaf.model.readers.scikit_trees import check_nodes
from counterleaf.types import Array


def is_tree(model: Any) -> bool:
    """Whether a model is a decision tree of scikit-learn with splits on single columns."""
    known = ("DecisionTreeClassifier", "DecisionTreeRegressor")
    named = any(c.__name__ in known and c.__module__.startswith("sklearn.") for c in type(model).__mro__)
    return named and not hasattr(getattr(model, "tree_", None), "get_projection_matrix")


def trees_in(model: Any) -> list[Any]:
    """Return the fitted trees of an ensemble, a flat list.

    Raises
    ------
    CounterleafError
        If the model is not fitted, has several outputs, or consists of other models.
    """
    kind = type(model).__name__
    if getattr(model, "estimators_", None) is None:
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    held = model.estimators_
    found = list(held.ravel()) if isinstance(held, np.ndarray) else list(held)
    for one in found:
        if not is_tree(one):
            raise CounterleafError(
                f"cannot read this {kind}: it combines models such as {type(one).__name__}; expected decision trees inside"
            )
        if one.n_outputs_ != 1:
            raise CounterleafError(f"this {kind} has {one.n_outputs_} outputs; expected one: fit one model per output")
        if np.any(getattr(one.tree_, "is_categorical", False)):
            raise CounterleafError(f"this {kind} has trees with categorical splits; encode the categories first")
    return found


def nodes_of(tree: Any, value: Array, columns: Sequence[int] | Array | None = None) -> Nodes:
    """Return the nodes of one tree.

    Parameters
    ----------
    tree : object
        A fitted decision tree.
    value : (N, W) array
        What its nodes add to the scores.
    columns : sequence of int, optional
        The column of the ensemble for each column of the tree, by default the same.

    Returns
    -------
    Nodes
        The nodes.
    """
    arrays = tree.tree_
    check_nodes(tree, arrays, type(tree).__name__, len(getattr(tree, "classes_", (0,))))
    inner = arrays.children_left >= 0
    column = np.where(inner, arrays.feature, 0)
    column = column if columns is None else np.asarray(columns)[column]
    gap_right = inner & ~np.asarray(arrays.missing_go_to_left, bool)
    return Nodes(arrays.children_left, arrays.children_right, column, arrays.threshold, gap_right, value)


def shares_of(tree: Any) -> Array:
    """Return the (N, K) probabilities, or the (N, 1) values, that a tree predicts at each node."""
    return np.asarray(tree.tree_.value[:, 0, :])


def votes_of(tree: Any) -> Array:
    """Return the (N,) places of the class that a tree predicts at each node."""
    return np.asarray(shares_of(tree).argmax(axis=1))
