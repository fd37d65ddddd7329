"""The user's own model and rows, from files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.explain import Explainer
from counterleaf.explorer.scene import Scene
from counterleaf.features import Numeric
from counterleaf.files import read_frame
from counterleaf.schema import Schema
from counterleaf.tree import Tree


def own(model: Path, data: Path | None, row: int, shape: tuple[int, int] | None) -> Scene:
    """The user's own model, as counterleaf JSON: an Explainer's, or a plain tree's with its data."""
    text = model.read_text(encoding="utf-8", errors="replace")
    if _format(text) == "counterleaf-tree":
        explainer, rows = _plain_tree(Tree.from_json(text), data)
    else:
        explainer = _explainer(model, text)
        rows = None if data is None else _columns(data, explainer.schema)
    key = f"own-{hashlib.sha256(text.encode()).hexdigest()[:10]}"  # links and kept steps are about this model only
    about = f"What would change the answer of {model.name}?"
    scene = Scene(key, model.stem, about, explainer, rows, row, shape=shape)
    scene.checked(row)
    _check_shape(shape, explainer.schema)
    scene.label(scene.values(row, {}))  # a row that cannot be asked about is told now, not on the page
    return scene


def _format(text: str) -> Any:
    try:
        return json.loads(text).get("format")
    except (ValueError, AttributeError, RecursionError):
        return None


def _explainer(model: Path, text: str) -> Explainer:
    if not _format(text):
        raise CounterleafError(
            f"{model} is no counterleaf JSON; expected what explainer.to_json() gives, as in "
            f"Path('model.json').write_text(explainer.to_json())"
        )
    return Explainer.from_json(text)


def _plain_tree(tree: Tree, data: Path | None) -> tuple[Explainer, pd.DataFrame | None]:
    """A tree knows no names: the columns of the data are its own, all of them and in its order."""
    if data is None:
        return Explainer(tree), None
    rows = _read(data, {})
    schema = Schema.infer(rows)
    width = len(schema) if schema.numeric else schema.columns_of().shape[0]
    if width != tree.n_features:
        raise CounterleafError(
            f"{data} makes {width} columns of a tree, and this tree has {tree.n_features}; leave out what it does not know, "
            f"such as the label, or save the model with explainer.to_json(), which knows its columns by name"
        )
    return Explainer(tree, data=rows, schema=schema), rows


def _columns(data: Path, schema: Schema) -> pd.DataFrame:
    """The features of a model among the columns of a file, words as words and numbers as numbers."""
    text = [f.name for f in schema if not isinstance(f, Numeric) and all(isinstance(value, str) for value in f.values)]
    rows = _read(data, dict.fromkeys(text, str))
    missing = [name for name in schema.names if name not in rows.columns]
    if missing:
        raise CounterleafError(f"{data} lacks the columns {missing[:8]}; the model needs {schema.names[:8]}")
    for feature in schema:
        column = rows[feature.name]
        if isinstance(feature, Numeric) and not pd.api.types.is_numeric_dtype(column):
            numbers = pd.to_numeric(column, errors="coerce")  # a word among them is told when its own row is asked about
            rows[feature.name] = numbers.astype(object).where(numbers.notna() | column.isna(), column)
    return rows[schema.names]


def _read(data: Path, types: dict[str, type]) -> pd.DataFrame:
    rows = read_frame(data, types)
    rows.columns = rows.columns.map(str)
    if not len(rows):
        raise CounterleafError(f"{data} has no rows; expected at least one to start from")
    return rows


def _check_shape(shape: tuple[int, int] | None, schema: Schema) -> None:
    if shape is None:
        return
    held = shape[0] * shape[1]
    if held != len(schema):
        raise CounterleafError(f"shape {shape[0]}x{shape[1]} holds {held} pixels; the model has {len(schema)} features")
    words = [feature.name for feature in schema if not isinstance(feature, Numeric)]
    if words:
        raise CounterleafError(f"a picture is made of numbers; {words[0]!r} is none: leave the shape out")
