"""The trees of the benchmark, over columns from 0 to 1: scikit-learn's, and oblique trees learned here or read from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from counterleaf.errors import CounterleafError
from counterleaf.model.tree import Tree
from counterleaf.types import Array
from counterleaf_experiments.benchmark.scaled_data import ScaledData
from counterleaf_experiments.paper.trees import OBLIQUE, learn_tree

_LEAVES = {"breast": 10, "spambase": 90, "letter": 500, "adult": 100, "german": 30}


def axis_aligned(data: ScaledData, seed: int) -> Any:
    """Fit a DecisionTreeClassifier of about the size that pruning leaves."""
    model = DecisionTreeClassifier(max_leaf_nodes=_LEAVES.get(data.key, 100), random_state=seed)
    return model.fit(data.X[data.train], data.y[data.train])


def oblique(data: ScaledData, seed: int, saved: Path, user_trees: Path | None) -> Tree:
    """Read ``user_trees/<set>.json``, in the units of the data; else learn a tree as for the paper and save it in ``saved``."""
    if user_trees is not None and (path := user_trees / f"{data.key}.json").exists():
        try:
            tree = Tree.from_json(path.read_text())
        except CounterleafError as error:
            raise CounterleafError(f"{path}: {error}") from None
        columns = data.X.shape[1]
        if tree.n_features != columns:
            raise CounterleafError(f"{path}: the tree has {tree.n_features} columns; {data.title} has {columns}")
        return _rescaled(tree, data.low, data.width)
    tree = learn_tree(data.original, OBLIQUE, seed, saved).tree
    return tree if data.frame is None else _rescaled(tree, data.low, data.width)


def _rescaled(tree: Tree, low: Array, width: Array) -> Tree:
    """The same tree over (x - low) / width."""
    weights = replace(tree.weights, data=tree.weights.data * width[tree.weights.indices])
    bias = tree.bias + tree.weights @ low
    return Tree(tree.left, tree.right, weights, bias, tree.value, tree.classes, tree.closed, tree.dtype)
