"""What ``counterleaf inspect`` says about an ensemble."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from counterleaf.answer.tree_text import one_line
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_SHOWN = 12  # classes
_TINY = 1e-300  # a least score that means: more than 0
_LINKS = {
    "share": "each sum is the probability of its class",
    "logistic": "a logistic function of the sum is a probability",
    "softmax": "a softmax of the sums is a probability for each class",
    "exp": "the prediction is exp of the sum",
    "identity": "the sum is the prediction",
    "none": "the sums have no probabilities",
}


def report(path: Path, model: Ensemble, starts: Array) -> str:
    """Return the size of an ensemble, its classes, and how it adds up its trees, one line each.

    Parameters
    ----------
    path : Path
        The file, for the first line.
    model : Ensemble
        The ensemble.
    starts : array
        Where the variables of each feature begin.

    Returns
    -------
    str
        The lines.
    """
    inner = model.left >= 0
    per_tree = len(inner) / model.n_trees
    labels = [one_line(label) for label in model.classes.tolist()]
    shown = ", ".join(labels[:_SHOWN] + [f"... {len(labels) - _SHOWN} more"] * (len(labels) > _SHOWN))
    return "\n".join(
        [
            f"{path}: an ensemble of {model.n_trees:,} trees over {len(starts) - 1:,} features",
            f"  predicts  {'numbers' if model.is_regression else shown}",
            f"  nodes     {len(inner):,}, of which {int((~inner).sum()):,} are leaves; {per_tree:,.0f} per tree on average",
            f"  depth     {_depth(model)}",
            f"  splits    {model.splits.n_nodes // 2:,} different ones, used {int(inner.sum()):,} times",
            f"  sums      {_sums(model)}",
        ]
    )


def features(explainer: Explainer) -> str:
    """Return the schema, each feature with the number of different splits that use it, and of the nodes with these splits.

    Parameters
    ----------
    explainer : Explainer
        An explainer of an ensemble.

    Returns
    -------
    str
        The lines.
    """
    model, starts = explainer.tree, explainer.schema.starts
    size = model.splits.n_nodes // 2
    indptr, indices = model.splits.weights.indptr, model.splits.weights.indices
    feature = np.full(size, -1)
    used = np.flatnonzero(np.diff(indptr[: size + 1]) > 0)  # all variables of a split belong to one feature
    feature[used] = np.searchsorted(starts, indices[indptr[used]], side="right") - 1
    splits, nodes = Counter(feature.tolist()), Counter(feature[model.split[model.split >= 0]].tolist())
    head, *lines = str(explainer.schema).splitlines()
    notes = [
        f"in {nodes[d]:,} node{'s' * (nodes[d] > 1)}, {splits[d]:,} different {_split(explainer, d)}{'s' * (splits[d] > 1)}"
        if nodes[d]
        else "unused"
        for d in range(len(lines))
    ]
    return "\n".join([head, *(f"{line}; {note}" for line, note in zip(lines, notes, strict=True))])


def _split(explainer: Explainer, d: int) -> str:
    return "threshold" if isinstance(explainer.schema.features[d], Numeric) else "split"


def _depth(model: Ensemble) -> str:
    """The largest number of splits on a way to a leaf, and the average of that over the trees."""
    deepest = np.zeros(model.n_trees, np.int64)
    node, tree, depth = model.roots, np.arange(model.n_trees), 0
    while len(node):
        deepest[tree] = depth
        inner = model.left[node] >= 0
        below = np.concatenate([model.left[node[inner]], model.right[node[inner]]])
        node, first = np.unique(below, return_index=True)
        tree, depth = np.tile(tree[inner], 2)[first], depth + 1
    return f"{deepest.max()}" + (
        "" if deepest.min() == deepest.max() else f" in the deepest tree, {deepest.mean():.1f} on average"
    )


def _sums(model: Ensemble) -> str:
    """How the ensemble adds up its trees, and what it makes of the sums, in words."""
    scoring, scores = model.scoring, len(model.start)
    added = "one sum over all trees" if scores == 1 else f"{scores} sums, one for each class"
    mean = f", divided by {scoring.divisor:g}" if scoring.divisor != 1.0 else ""
    start = ", from a start of its own" if np.any(model.start) and scores == 1 else ""
    start = ", from starts of their own" if np.any(model.start) and scores > 1 else start
    wins = {
        "value": "",
        "largest": "; the largest wins",
        "threshold": f"; {_second(model)} wins {'above 0' if 0 < scoring.cut < _TINY else f'from {scoring.cut:g} on'}",
    }[scoring.kind]
    return f"{added}, in {scoring.dtype}{start}{mean}{wins}; {_LINKS[scoring.link]}"


def _second(model: Ensemble) -> str:
    return one_line(model.classes.tolist()[1]) if len(model.classes) == 2 else "the second class"
