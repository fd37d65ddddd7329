"""The data sets of a session: the bundled ones, MNIST, the user's files, and what the user opens on the page."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import counterleaf as cl
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.datasets import samples
from counterleaf.errors import brief
from counterleaf.explorer.session.answers.goals import read_goal
from counterleaf.explorer.session.requests import PageQuestion
from counterleaf.explorer.session.rows.pasted import check_characters, read_pasted, typical_row
from counterleaf.explorer.session.scene import Scene, SceneSource
from counterleaf.packed_arrays import limited_memory
from counterleaf.storage.files import write
from counterleaf.storage.models import model_of, read_model, read_rows, read_table
from counterleaf.table.features import control_character
from counterleaf.table.frames import Frame, make_frame, take

MOST_SCENES = 20
_MOST_TITLE = 40  # characters
_MOST_MEMORY = 1 << 28  # bytes of the arrays of a model
_MOST_CLASSES = 1000
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MNIST_ROWS = 10_000  # to train the tree on
_LOAN = "Would the bank grant this loan?"
_INCOME = "Does this person earn more than 50,000 dollars?"
_DIGIT = "Which digit is this?"


def bundled_scenes(row: int | None) -> list[SceneSource]:
    """German Credit, which opens with ``row``, Adult and scikit-learn's digits; each is loaded when it is first opened."""

    def german() -> Scene:
        rows = cl.datasets.load_german_credit().split()[1]
        loans = _table_scene("german", "German Credit", _LOAN, rows, "granted", "Application")
        return loans if row is None else replace(loans, first_row=loans.check_row(row))

    def adult() -> Scene:
        return _table_scene("adult", "Adult", _INCOME, cl.datasets.load_adult().split()[1], ">50K", "Person")

    def digits() -> Scene:
        from sklearn.datasets import load_digits  # takes most of a second to import

        images = make_frame(load_digits().data, [f"p{row}_{column}" for row in range(8) for column in range(8)])
        return Scene("digits", "Digits", _DIGIT, samples.load("digits"), images, shape=(8, 8), noun="Image")

    return [
        SceneSource("german", "German Credit", _LOAN, "Application", "class", german),
        SceneSource("adult", "Adult", _INCOME, "Person", "class", adult),
        SceneSource("digits", "Digits", _DIGIT, "Image", "class", digits),
    ]


def _table_scene(key: str, title: str, about: str, rows: Frame, target: str, noun: str) -> Scene:
    locked = samples.IMMUTABLE[key]
    scene = Scene(key, title, about, samples.load(key), rows, target=target, locked_features=locked, noun=noun)
    other = next(str(label) for label in scene.explainer.tree.classes if str(label) != target)
    return replace(scene, first_row=scene.find(0, 1, other) or 0)


def mnist_scene(folder: Path) -> Scene:
    """Handwritten digits of 28 x 28 pixels, with a tree that is trained once and cached."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "counterleaf" / "mnist.json"
    digits = cl.datasets.load_mnist(folder)
    X_train, X_test, y_train, _ = digits.split()
    try:
        explainer = cl.Explainer.from_json(cache.read_text(encoding="utf-8"))
    except (OSError, cl.CounterleafError):
        sys.stderr.write(f"counterleaf: training a tree on {_MNIST_ROWS:,} digits of MNIST, once on this machine\n")
        learner = cl.TAOClassifier(max_depth=6, alpha=4, random_state=0, n_jobs=-1)
        rows, labels = (take(part, slice(_MNIST_ROWS)) for part in (X_train, y_train))
        explainer = cl.Explainer(learner.fit(rows, labels), data=rows, schema=digits.schema)
        write(cache, explainer.to_json())
    return Scene("mnist", "MNIST", _DIGIT, explainer, X_test, shape=(28, 28), noun="Image")


def user_scene(
    model: Path, data: Path | None, row: int, shape: tuple[int, int] | None, constraints: Path | None = None
) -> Scene:
    """The data set of a counterleaf JSON file: an explainer, or a plain tree with its data; and of a file of constraints."""
    loaded = read_model(model)
    if isinstance(loaded, cl.Explainer):
        explainer, rows = loaded, None if data is None else read_rows(data, loaded.schema)
    else:
        explainer, rows = _explain_plain_model(loaded, data)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:10]  # links and kept steps belong to this model only
    about = f"What would change the answer of {model.name}?"
    limits = () if constraints is None else tuple(cl.load_constraints(constraints))
    scene = Scene(f"user-{digest}", model.stem, about, explainer, rows, row, shape=shape, constraints=limits)
    if shape is not None and shape[0] * shape[1] != len(explainer.schema):
        size = f"{shape[0]}x{shape[1]} has {shape[0] * shape[1]} pixels"
        raise cl.CounterleafError(f"shape {size}, but the model has {len(explainer.schema)} features")
    categorical = [feature.name for feature in explainer.schema if not isinstance(feature, cl.Numeric)]
    if shape is not None and categorical:
        raise cl.CounterleafError(f"an image needs numeric features; {categorical[0]!r} is not numeric: remove --shape")
    check_scene(scene)
    return scene


def _explain_plain_model(tree: Any, data: Path | None) -> tuple[cl.Explainer, Frame | None]:
    """An explainer of a tree or an ensemble without feature names, which takes the columns of the data in their order."""
    if data is None:
        return cl.Explainer(tree), None
    rows = read_table(data)
    schema = cl.Schema.infer(rows)
    width = len(schema) if schema.numeric else schema.columns_of().shape[0]
    if width != tree.n_features:
        raise cl.CounterleafError(
            f"{data} encodes to {width} columns, but the model has {tree.n_features}; remove the columns that it does not use, "
            f"such as the label, or save the model with explainer.to_json(), which stores the column names"
        )
    return cl.Explainer(tree, data=rows, schema=schema), rows


def check_scene(scene: Scene) -> None:
    """Raise now, before the page opens, for a first row, a goal or a constraint that the model cannot use."""
    labels = list(map(str, scene.explainer.tree.classes.tolist()))
    if len(set(labels)) < len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise cl.CounterleafError(f"two classes of {scene.title} read {twice!r}; expected classes with different names")
    values = scene.values(scene.first_row, {})
    scene.outcome(values)
    classes = [] if scene.target is None else [scene.target]
    question = PageQuestion(scene=scene.key, target=classes, at_least=scene.at_least, at_most=scene.at_most)
    goal = read_goal(scene, question, values)
    if scene.constraints:
        scene.explainer.explain(values, target=goal.target, constraints=scene.constraints, max_nodes=1)


def open_model(name: str, text: str) -> Scene:
    """Read a model from its JSON, which is not trusted, and return its data set, with one row in the middle of the bounds."""
    shown = _title(name, "the file")
    if _SURROGATE.search(text):
        with suppress(json.JSONDecodeError, RecursionError):  # ``model_of`` reports these
            check_characters(shown, json.loads(text))
    with limited_memory(_MOST_MEMORY):
        loaded = model_of(text, shown)
    raise_if_stopped()
    explainer = loaded if isinstance(loaded, cl.Explainer) else cl.Explainer(loaded)
    raise_if_stopped()
    _check_names(shown, explainer)
    title = _title(PurePath(name).stem, "model")
    scene = Scene(f"open-{_digest(text)}", title, f"What would change the answer of {shown}?", explainer, None)
    check_scene(scene)
    raise_if_stopped()
    return scene


def _check_names(shown: str, explainer: cl.Explainer) -> None:
    """Refuse names that would change how the text around them reads, and more classes than the page can list."""
    classes = explainer.tree.classes.tolist()
    if len(classes) > _MOST_CLASSES:
        raise cl.CounterleafError(
            f"{shown} has {len(classes):,} classes; the page shows at most {_MOST_CLASSES:,}: pass the file to the command"
        )
    names = {"class": classes, "feature": explainer.schema.names}
    names |= {f"value of {f.name!a}": f.values for f in explainer.schema if not isinstance(f, cl.Numeric)}
    for what, texts in names.items():
        wrong = next((text for text in map(str, texts) if control_character(text)), None)
        if wrong is not None:
            raise cl.CounterleafError(
                f"{shown}: the {what} {brief(wrong)} contains the control character {control_character(wrong)!a}; "
                f"expected one line of text"
            )


def open_rows(scene: Scene, name: str, text: str | None) -> tuple[Scene, list[str]]:
    """The data set with other rows, and sentences about how they were understood."""
    schema = scene.explainer.schema
    if text is None:
        rows, notes = typical_row(scene.rows, schema), ["1 row with typical values; edit them in the table of features."]
        title = f"{scene.title}: new row"
    else:
        rows, notes = read_pasted(_title(name, "the text"), text, schema)
        title = f"{scene.title}: {_title(PurePath(name).stem, 'pasted rows')}"
    raise_if_stopped()
    key = f"rows-{_digest(scene.key, title, text or '')}"
    return replace(scene, key=key, title=title, rows=rows, first_row=0), notes


def _title(name: str, otherwise: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    if not line:
        return otherwise
    return line if len(line) <= _MOST_TITLE else f"{line[: _MOST_TITLE - 3]}..."


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:10]
