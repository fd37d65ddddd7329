"""The user's own model and rows, from files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.scene import Scene
from counterleaf.model.tree import Tree
from counterleaf.storage.models import read_model, read_rows, read_table
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema


def own(model: Path, data: Path | None, row: int, shape: tuple[int, int] | None) -> Scene:
    """The user's own model, as counterleaf JSON: an Explainer's, or a plain tree's with its data."""
    found = read_model(model)
    if isinstance(found, Tree):
        explainer, rows = _plain_tree(found, data)
    else:
        explainer, rows = found, None if data is None else read_rows(data, found.schema)
    key = f"own-{hashlib.sha256(model.read_bytes()).hexdigest()[:10]}"  # links and kept steps are about this model only
    about = f"What would change the answer of {model.name}?"
    scene = Scene(key, model.stem, about, explainer, rows, row, shape=shape)
    scene.checked(row)
    _check_shape(shape, explainer.schema)
    scene.label(scene.values(row, {}))  # a row that cannot be asked about is told now, not on the page
    return scene


def _plain_tree(tree: Tree, data: Path | None) -> tuple[Explainer, pd.DataFrame | None]:
    """A tree knows no names: the columns of the data are its own, all of them and in its order."""
    if data is None:
        return Explainer(tree), None
    rows = read_table(data)
    schema = Schema.infer(rows)
    width = len(schema) if schema.numeric else schema.columns_of().shape[0]
    if width != tree.n_features:
        raise CounterleafError(
            f"{data} makes {width} columns of a tree, and this tree has {tree.n_features}; leave out what it does not know, "
            f"such as the label, or save the model with explainer.to_json(), which knows its columns by name"
        )
    return Explainer(tree, data=rows, schema=schema), rows


def _check_shape(shape: tuple[int, int] | None, schema: Schema) -> None:
    if shape is None:
        return
    held = shape[0] * shape[1]
    if held != len(schema):
        raise CounterleafError(f"shape {shape[0]}x{shape[1]} holds {held} pixels; the model has {len(schema)} features")
    words = [feature.name for feature in schema if not isinstance(feature, Numeric)]
    if words:
        raise CounterleafError(f"a picture is made of numbers; {words[0]!r} is none: leave the shape out")
