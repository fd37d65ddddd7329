"""The bundled scenes, and MNIST from a folder of the user."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from counterleaf import datasets
from counterleaf.datasets import samples
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.scene import Scene, SceneSource
from counterleaf.learn import TAOClassifier
from counterleaf.storage.files import write
from counterleaf.table.frames import Frame, make_frame, take

_MNIST_ROWS = 10_000  # to train the tree on
_LOAN = "Would the bank grant this loan?"
_INCOME = "Does this person earn more than 50,000 dollars?"
_DIGIT = "Which digit is this?"


def bundled_scenes(row: int | None) -> list[SceneSource]:
    """German Credit, which opens with ``row``, Adult and scikit-learn's digits; each is loaded when it is first opened."""

    def german() -> Scene:
        rows = datasets.load_german_credit().split()[1]
        loans = _table_scene("german", "German Credit", _LOAN, rows, "granted", "Application")
        return loans if row is None else replace(loans, first_row=loans.check_row(row))

    def adult() -> Scene:
        return _table_scene("adult", "Adult", _INCOME, datasets.load_adult().split()[1], ">50K", "Person")

    return [
        SceneSource("german", "German Credit", _LOAN, "Application", "class", german),
        SceneSource("adult", "Adult", _INCOME, "Person", "class", adult),
        SceneSource("digits", "Digits", _DIGIT, "Image", "class", _digits),
    ]


def _digits() -> Scene:
    from sklearn.datasets import load_digits  # takes most of a second to import

    digits = make_frame(load_digits().data, [f"p{row}_{column}" for row in range(8) for column in range(8)])
    return Scene("digits", "Digits", _DIGIT, samples.load("digits"), digits, shape=(8, 8), noun="Image")


def _table_scene(key: str, title: str, about: str, rows: Frame, target: str, noun: str) -> Scene:
    """A scene that opens with the first row that the model does not predict as the target."""
    locked = samples.IMMUTABLE[key]
    scene = Scene(key, title, about, samples.load(key), rows, target=target, locked_features=locked, noun=noun)
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
        sys.stderr.write(f"counterleaf: training a tree on {_MNIST_ROWS:,} digits of MNIST, once on this machine\n")
        learner = TAOClassifier(max_depth=6, alpha=4, random_state=0, n_jobs=-1)
        rows, labels = (take(part, slice(_MNIST_ROWS)) for part in (X_train, y_train))
        explainer = Explainer(learner.fit(rows, labels), data=rows, schema=digits.schema)
        write(cache, explainer.to_json())
    return Scene("mnist", "MNIST", _DIGIT, explainer, X_test, shape=(28, 28), noun="Image")
