"""The bundled data sets, and MNIST from a folder of the user."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf import datasets
from counterleaf.datasets import samples
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.scene import Scene, SceneSource
from counterleaf.model.outputs import Outputs
from counterleaf.storage.files import write
from counterleaf.table.frames import Frame, make_frame, take
from counterleaf.table.rows import TableRows

_MNIST_ROWS = 10_000  # to train the tree on
_LOAN = "Would the bank grant this loan?"
_INCOME = "Does this person earn more than 50,000 dollars?"
_DIGIT = "Which digit is this?"


def bundled_scenes(row: int | None) -> list[SceneSource]:
    """German Credit, which opens with ``row``, Adult and scikit-learn's digits; each is loaded when it is first opened."""

    def german() -> Scene:
        X_train, rows, y_train, _ = datasets.load_german_credit().split()
        explainer = with_shares(samples.load("german"), X_train, y_train.map({"good": "granted", "bad": "refused"}))
        loans = _table_scene("german", "German Credit", _LOAN, explainer, rows, "granted", "Application")
        return loans if row is None else replace(loans, first_row=loans.check_row(row))

    def adult() -> Scene:
        X_train, rows, y_train, _ = datasets.load_adult().split()
        explainer = with_shares(samples.load("adult"), X_train, y_train)
        return _table_scene("adult", "Adult", _INCOME, explainer, rows, ">50K", "Person")

    return [
        SceneSource("german", "German Credit", _LOAN, "Application", "class", german),
        SceneSource("adult", "Adult", _INCOME, "Person", "class", adult),
        SceneSource("digits", "Digits", _DIGIT, "Image", "class", _digits),
    ]


def _digits() -> Scene:
    from sklearn.datasets import load_digits  # takes most of a second to import

    digits = make_frame(load_digits().data, [f"p{row}_{column}" for row in range(8) for column in range(8)])
    return Scene("digits", "Digits", _DIGIT, samples.load("digits"), digits, shape=(8, 8), noun="Image")


def with_shares(explainer: Explainer, rows: Frame, labels: Any) -> Explainer:
    """The explainer of a tree whose leaves have probabilities: the shares of the classes among the training rows.

    They are those of scikit-learn's trees. Every leaf of the bundled trees has the class of the largest share.
    """
    tree, schema = explainer.tree, explainer.schema
    leaves = tree.apply(schema.spread(TableRows(rows, schema).codes(slice(0, len(rows)))))
    counts = np.zeros((tree.n_nodes, len(tree.classes)))
    for k, label in enumerate(tree.classes.tolist()):
        counts[:, k] = np.bincount(leaves[np.asarray(labels) == label], minlength=tree.n_nodes)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    made = replace(tree, outputs=Outputs("probability", shares))
    adapter = replace(explainer._adapter, model=made, tree=made)
    return Explainer._of(adapter, explainer.spreads, counts.sum(axis=1).astype(int))


def _table_scene(key: str, title: str, about: str, explainer: Explainer, rows: Frame, target: str, noun: str) -> Scene:
    """A data set that opens with the first row that the model does not predict as the target."""
    locked = samples.IMMUTABLE[key]
    scene = Scene(key, title, about, explainer, rows, target=target, locked_features=locked, noun=noun)
    other = next(str(label) for label in scene.explainer.tree.classes if str(label) != target)
    return replace(scene, first_row=scene.find(0, 1, other) or 0)


def mnist_scene(folder: Path) -> Scene:
    """Handwritten digits of 28 x 28 pixels, with a tree that is trained once and cached."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "counterleaf" / "mnist.json"
    digits = datasets.load_mnist(folder)
    X_train, X_test, y_train, _ = digits.split()
    try:
        explainer = Explainer.from_json(cache.read_text(encoding="utf-8"))
    except (OSError, CounterleafError):
        from counterleaf.learn import TAOClassifier  # imports scikit-learn, which takes most of a second

        sys.stderr.write(f"counterleaf: training a tree on {_MNIST_ROWS:,} digits of MNIST, once on this machine\n")
        learner = TAOClassifier(max_depth=6, alpha=4, random_state=0, n_jobs=-1)
        rows, labels = (take(part, slice(_MNIST_ROWS)) for part in (X_train, y_train))
        explainer = Explainer(learner.fit(rows, labels), data=rows, schema=digits.schema)
        write(cache, explainer.to_json())
    return Scene("mnist", "MNIST", _DIGIT, explainer, X_test, shape=(28, 28), noun="Image")
