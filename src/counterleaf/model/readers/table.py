"""Read the models of scikit-learn and of ``counterleaf.learn`` as trees."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

_PROBES = 4_000_000  # cells of the rows sent through the model to check its routing


def read_tree(model: Any) -> Tree:
    """Return the tree of a model, node for node.

    How a scikit-learn tree routes rows is checked by sending rows on both sides of every split through the installed model.

    Parameters
    ----------
    model : Tree, TAOClassifier, DecisionTreeClassifier or ExtraTreeClassifier
        A fitted model.

    Returns
    -------
    Tree
        The tree, with the node numbers of the model.

    Raises
    ------
    CounterleafError
        If the model is of another kind, is not fitted, or has splits that a Tree cannot represent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> read_tree(DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)).n_nodes
    5
    """
    if isinstance(model, Tree):
        return model
    kind = type(model).__name__
    tree = getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return tree
    if any(c.__module__.startswith("counterleaf.learn.") for c in type(model).__mro__):
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if any(c.__name__ == "DecisionTreeClassifier" and c.__module__.startswith("sklearn.") for c in type(model).__mro__):
        return _read_sklearn(model, kind)
    if any(c.__name__ == "Pipeline" and c.__module__.startswith("sklearn.") for c in type(model).__mro__):
        raise CounterleafError(
            "cannot read a Pipeline, whose tree uses the columns that its steps make: pass model[-1], or use Explainer(model)"
        )
    raise CounterleafError(
        f"cannot read a {kind}; expected a counterleaf Tree or TAOClassifier, a scikit-learn DecisionTreeClassifier or "
        f"ExtraTreeClassifier, or a Pipeline that ends with one"
        f"{': pass its best_estimator_' if hasattr(model, 'best_estimator_') else ''}"
    )


def _read_sklearn(model: Any, kind: str) -> Tree:
    arrays = getattr(model, "tree_", None)
    if arrays is None:
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if model.n_outputs_ != 1:
        raise CounterleafError(f"this {kind} has {model.n_outputs_} outputs; expected one: fit one tree per output")
    if np.any(getattr(arrays, "is_categorical", False)) or getattr(model, "categorical_features", None) is not None:
        raise CounterleafError(f"this {kind} has categorical splits, which a Tree cannot hold; encode the categories first")
    _check_nodes(model, arrays, kind)
    n = arrays.node_count
    inner = np.flatnonzero(arrays.children_left >= 0)
    threshold = arrays.threshold[inner]
    # an infinite threshold separates missing values only: all numbers go one way
    real = np.isfinite(threshold)
    bias = np.zeros(n)
    bias[inner] = np.where(real, -threshold, -np.sign(threshold))
    weights = CSR.from_entries(inner, arrays.feature[inner], real, (n, arrays.n_features))
    value = arrays.value[:, 0, :].argmax(axis=1)
    tree = Tree(
        arrays.children_left, arrays.children_right, weights, bias, value, model.classes_, closed="left", dtype="float32"
    )
    _probe(model, tree, kind)
    return tree


def _check_nodes(model: Any, arrays: Any, kind: str) -> None:
    """Check the indices of the nodes, which scikit-learn follows unchecked and a file can set to anything."""
    leaf, n = arrays.children_left < 0, arrays.n_features
    sound = (
        n == model.n_features_in_
        and arrays.value.shape[1:] == (1, len(model.classes_))
        and (arrays.children_left[leaf] == -1).all()
        and ((arrays.feature[~leaf] >= 0) & (arrays.feature[~leaf] < n)).all()
    )
    if not sound:
        raise CounterleafError(f"this {kind} has nodes whose indices are out of range: the file is damaged; fit it again")


def _probe(model: Any, tree: Tree, kind: str) -> None:
    """Send the last row left and the first row right of every split through the model itself."""
    feature, _, low_side, high_side = cuts(tree)
    most = max(_PROBES // tree.n_features, 1)
    rows: list[Array] = []
    reached: list[int] = []
    stack: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while stack and len(rows) < most:
        node, box = stack.pop()
        if tree.left[node] < 0:
            continue
        d = int(feature[node])
        low, high = box.get(d, (-np.inf, np.inf))
        for child, side in (
            (tree.left[node], (low, min(high, low_side[node]))),
            (tree.right[node], (max(low, high_side[node]), high)),
        ):
            if side[0] > side[1] or side[0] == np.inf or side[1] == -np.inf:
                continue
            within = {**box, d: side}
            row = np.zeros(tree.n_features)
            for k, (a, b) in within.items():
                row[k] = a if np.isfinite(a) else b if np.isfinite(b) else 0.0
            cut = side[1] if child == tree.left[node] else side[0]
            row[d] = cut if np.isfinite(cut) else row[d]
            rows.append(row)
            reached.append(int(child))
            stack.append((int(child), within))
    if not rows:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model may know its columns by name
        path = model.decision_path(np.array(rows)).tocsr()
    if not np.asarray(path[np.arange(len(rows)), reached]).all():
        raise CounterleafError(f"this {kind} does not route rows as its thresholds say; report your scikit-learn version")
