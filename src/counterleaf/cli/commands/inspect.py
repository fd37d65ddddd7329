"""``counterleaf inspect``: the size and the features of a model, and a drawing of a tree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterleaf.answer.tree_text import export_text, leaf_words, looks
from counterleaf.answer.tree_text import one_line as on_one_line
from counterleaf.cli.ensemble_report import features, report
from counterleaf.cli.shell import one_line, read_shape
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.plot.trees import plot_tree
from counterleaf.storage.files import aside
from counterleaf.storage.models import read_model
from counterleaf.types import Array

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
            typer.echo(report(model, tree, starts) + (f"\n\n{features(found)}" if isinstance(found, Explainer) else ""))
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
        typer.echo(_numbers(model, tree, starts))
        if isinstance(found, Explainer):
            typer.echo(f"\n{_features(found)}")
        typer.echo(f"\n{export_text(tree, names, max_depth=depth or _DEPTH, max_terms=terms)}")
        if png is not None:
            typer.echo(f"\nWrote {png}")


def _numbers(model: Path, tree: Tree, starts: Array) -> str:
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


def _features(explainer: Explainer) -> str:
    """The schema, each feature with the number of splits that use it, and whether leaves do."""
    tree, starts = explainer.tree, explainer.schema.starts
    assert isinstance(tree, Tree)
    uses = Counter(looks(tree, starts)[:, 1].tolist())
    slope = None if tree.outputs is None else tree.outputs.slope
    summed = set() if slope is None else set((np.searchsorted(starts, slope.indices, side="right") - 1).tolist())
    head, *lines = str(explainer.schema).splitlines()
    notes = []
    for d in range(len(lines)):
        splits = [f"in {uses[d]} split{'s' * (uses[d] > 1)}"] if uses[d] else []
        notes.append(" and ".join(splits + ["in linear leaves"] * (d in summed)) or "unused")
    return "\n".join([head, *(f"{line}; {note}" for line, note in zip(lines, notes, strict=True))])
