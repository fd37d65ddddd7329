"""A data set from the user's files: a model and a table of rows."""

from __future__ import annotations

import hashlib
from pathlib import Path

from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.answers.goals import read_goal
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.storage.constraint_files import load_constraints
from counterleaf.storage.models import read_model, read_rows, read_table
from counterleaf.table.features import Numeric
from counterleaf.table.frames import Frame
from counterleaf.table.schema import Schema


def user_scene(
    model: Path, data: Path | None, row: int, shape: tuple[int, int] | None, constraints: Path | None = None
) -> Scene:
    """The data set of a counterleaf JSON file: an explainer, or a plain tree with its data; and of a file of constraints."""
    loaded = read_model(model)
    if isinstance(loaded, Explainer):
        explainer, rows = loaded, None if data is None else read_rows(data, loaded.schema)
    else:
        explainer, rows = _explain_plain_model(loaded, data)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:10]  # links and kept steps belong to this model only
    about = f"What would change the answer of {model.name}?"
    limits = () if constraints is None else tuple(load_constraints(constraints))
    scene = Scene(f"user-{digest}", model.stem, about, explainer, rows, row, shape=shape, constraints=limits)
    _check_shape(shape, explainer.schema)
    check_scene(scene)
    return scene


def check_scene(scene: Scene) -> None:
    """Raise now, before the page opens, for a first row, a goal or a constraint that the model cannot use."""
    labels = list(map(str, scene.explainer.tree.classes.tolist()))
    if len(set(labels)) < len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise CounterleafError(f"two classes of {scene.title} read {twice!r}; expected classes with different names")
    values = scene.values(scene.first_row, {})
    scene.predict(values)
    classes = [] if scene.target is None else [scene.target]
    goal = read_goal(scene, Question(scene=scene.key, target=classes, at_least=scene.at_least, at_most=scene.at_most), values)
    if scene.constraints:
        scene.explainer.explain(values, target=goal.target, constraints=scene.constraints, max_nodes=1)


def _explain_plain_model(tree: Tree | Ensemble, data: Path | None) -> tuple[Explainer, Frame | None]:
    """An explainer of a tree or an ensemble without feature names, which takes the columns of the data in their order."""
    if data is None:
        return Explainer(tree), None
    rows = read_table(data)
    schema = Schema.infer(rows)
    width = len(schema) if schema.numeric else schema.columns_of().shape[0]
    if width != tree.n_features:
        raise CounterleafError(
            f"{data} encodes to {width} columns, but the model has {tree.n_features}; remove the columns that it does not use, "
            f"such as the label, or save the model with explainer.to_json(), which stores the column names"
        )
    return Explainer(tree, data=rows, schema=schema), rows


def _check_shape(shape: tuple[int, int] | None, schema: Schema) -> None:
    if shape is None:
        return
    size = shape[0] * shape[1]
    if size != len(schema):
        raise CounterleafError(f"shape {shape[0]}x{shape[1]} has {size} pixels, but the model has {len(schema)} features")
    categorical = [feature.name for feature in schema if not isinstance(feature, Numeric)]
    if categorical:
        raise CounterleafError(f"an image needs numeric features; {categorical[0]!r} is not numeric: remove --shape")
