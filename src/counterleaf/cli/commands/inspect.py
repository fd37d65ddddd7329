"""``counterleaf inspect``: the size and the features of a model, how an ensemble adds up its trees, and a drawing of a tree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterleaf.answer.tree_text import export_text, leaf_words, looks
from counterleaf.answer.tree_text import one_line as on_one_line
from counterleaf.cli.shell import one_line, read_shape
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.plot.trees import plot_tree
from counterleaf.storage.files import aside
from counterleaf.storage.models import read_model
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
_DEPTH = 4  # levels that are drawn by default


def inspect(
    model: Annotated[Path, typer.Argument(help="The output of `train` or `convert`, or of `explainer.to_json()`.")],
    depth: Annotated[
        int | None, typer.Option(min=1, help=f"Number of levels of splits to show; by default {_DEPTH} as text.")
    ] = None,
    terms: Annotated[
        int, typer.Option(min=1, help="Number of terms to write for a split, those with the largest weights.")
    ] = 5,
    png: Annotated[Path | None, typer.Option(help="Also draw the tree in this file (.png, .svg or .pdf).")] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="HEIGHTxWIDTH", help="With --png: the columns are pixels, and each split is drawn as an image."),
    ] = None,
) -> None:
    """Show a model: its classes, leaves and depth, its features with their bounds and numbers of splits, and the tree.

    For an ensemble, it shows the number of trees and how they are added up in place of a tree.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf inspect model.json`
    - `counterleaf inspect model.json --depth 2 --png tree.png`
    """
    with one_line("nothing was written"):
        found = read_model(model)
        tree: Any = found.tree if isinstance(found, Explainer) else found
        names = found.schema if isinstance(found, Explainer) else None
        starts = np.arange(tree.n_features + 1) if names is None else names.starts
        if not tree.is_one_tree:
            if png is not None or depth is not None or shape is not None:
                raise CounterleafError(f"{model} is an ensemble, and --png, --shape and --depth draw single trees; omit them")
            typer.echo(
                _size_of_ensemble(model, tree, starts) + (f"\n\n{_features(found)}" if isinstance(found, Explainer) else "")
            )
            return
        sides = read_shape(shape)
        if png is not None:
            if png.suffix.lower() not in (".png", ".svg", ".pdf"):
                raise CounterleafError(f"--png is {png}; expected a name that ends in .png, .svg or .pdf")
            figure = plot_tree(tree, names, max_depth=depth, shape=None if sides is None else tuple(sides))
            with aside(png) as part:
                figure.savefig(part, format=png.suffix[1:].lower(), bbox_inches="tight", dpi=150)
        elif sides is not None:
            raise CounterleafError(f"--shape is {shape} without --png; expected --png with the file for the drawing")
        typer.echo(_size_of_tree(model, tree, starts))
        if isinstance(found, Explainer):
            typer.echo(f"\n{_features(found)}")
        typer.echo(f"\n{export_text(tree, names, max_depth=depth or _DEPTH, max_terms=terms)}")
        if png is not None:
            typer.echo(f"\nWrote {png}")


def _size_of_tree(model: Path, tree: Tree, starts: Array) -> str:
    inner = tree.left >= 0
    leaves = Counter(leaf_words(tree, int(leaf)) for leaf in tree.leaves)
    named = [on_one_line(label) for label in tree.classes.tolist()] + ["linear"] * (leaves["linear"] > 0)
    by_class = ", ".join(f"{label}: {leaves[label]:,}" for label in named)
    if tree.is_regression:
        by_class = f"linear: {leaves['linear']:,}" if leaves["linear"] else "values"
    per_split = len(looks(tree, starts)) / max(inner.sum(), 1)
    return "\n".join(
        [
            f"{model}: a tree over {len(starts) - 1:,} features",
            f"  leaves   {len(tree.leaves):,} ({by_class})",
            f"  depth    {tree.depth}",
            f"  splits   {inner.sum():,}, of {per_split:.1f} features each",
        ]
    )


def _size_of_ensemble(path: Path, model: Ensemble, starts: Array) -> str:
    inner = model.left >= 0
    per_tree = len(inner) / model.n_trees
    labels = [on_one_line(label) for label in model.classes.tolist()]
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


def _features(explainer: Explainer) -> str:
    """The schema, each feature with the number of splits that use it, and whether leaves do; or the nodes of an ensemble."""
    model, starts = explainer.tree, explainer.schema.starts
    head, *lines = str(explainer.schema).splitlines()
    uses = _uses_in_tree(model, starts) if isinstance(model, Tree) else _uses_in_ensemble(explainer, model, starts)
    return "\n".join([head, *(f"{line}; {uses.get(d, 'unused')}" for d, line in enumerate(lines))])


def _uses_in_tree(tree: Tree, starts: Array) -> dict[int, str]:
    uses = Counter(looks(tree, starts)[:, 1].tolist())
    notes = {d: f"in {count} split{'s' * (count > 1)}" for d, count in uses.items()}
    slope = None if tree.outputs is None else tree.outputs.slope
    for d in set() if slope is None else set((np.searchsorted(starts, slope.indices, side="right") - 1).tolist()):
        notes[d] = f"{notes[d]} and in linear leaves" if d in notes else "in linear leaves"
    return notes


def _uses_in_ensemble(explainer: Explainer, model: Ensemble, starts: Array) -> dict[int, str]:
    """The number of different splits over each feature, and of the nodes with these splits."""
    size = model.splits.n_nodes // 2
    indptr, indices = model.splits.weights.indptr, model.splits.weights.indices
    feature = np.full(size, -1)
    used = np.flatnonzero(np.diff(indptr[: size + 1]) > 0)  # all variables of a split belong to one feature
    feature[used] = np.searchsorted(starts, indices[indptr[used]], side="right") - 1
    splits, nodes = Counter(feature.tolist()), Counter(feature[model.split[model.split >= 0]].tolist())
    words = ["threshold" if isinstance(feature, Numeric) else "split" for feature in explainer.schema]
    return {
        d: f"in {count:,} node{'s' * (count > 1)}, {splits[d]:,} different {words[d]}{'s' * (splits[d] > 1)}"
        for d, count in nodes.items()
    }


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
    return on_one_line(model.classes.tolist()[1]) if len(model.classes) == 2 else "the second class"
