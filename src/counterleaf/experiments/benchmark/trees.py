"""The trees of the benchmark, over columns from 0 to 1: scikit-learn's, and oblique ones learned here or given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from counterleaf.experiments.benchmark.grounds import Ground
from counterleaf.errors import CounterleafError
from counterleaf.experiments.paper.trees import OBLIQUE, grow
from counterleaf.types import Array
from counterleaf.model.tree import Tree

_LEAVES = {"breast": 10, "spambase": 90, "letter": 500, "adult": 100, "german": 30}


def axis_aligned(ground: Ground, seed: int) -> Any:
    """A fitted DecisionTreeClassifier of about the size that pruning leaves."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_leaf_nodes=_LEAVES.get(ground.key, 100), random_state=seed)
    return model.fit(ground.X[ground.train], ground.y[ground.train])


def oblique(ground: Ground, seed: int, kept: Path, given: Path | None) -> Tree:
    """The tree of a file ``given/set.json`` in the data's own units, else one learned as in the reproduction and kept."""
    if given is not None and (path := given / f"{ground.key}.json").exists():
        try:
            tree = Tree.from_json(path.read_text())
        except CounterleafError as error:
            raise CounterleafError(f"{path}: {error}") from None
        columns = ground.X.shape[1]
        if tree.n_features != columns:
            raise CounterleafError(f"{path}: the tree has {tree.n_features} columns; {ground.title} has {columns}")
        return _moved(tree, ground.low, ground.width)
    tree = grow(ground.source, OBLIQUE, seed, kept).tree
    return tree if ground.frame is None else _moved(tree, ground.low, ground.width)


def _moved(tree: Tree, low: Array, width: Array) -> Tree:
    """The tree over (x - low) / width."""
    weights = replace(tree.weights, data=tree.weights.data * width[tree.weights.indices])
    bias = tree.bias + tree.weights @ low
    return Tree(tree.left, tree.right, weights, bias, tree.value, tree.classes, tree.closed, tree.dtype)
