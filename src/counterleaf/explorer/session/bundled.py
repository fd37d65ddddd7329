"""The bundled scenes, and MNIST from a folder of the user."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from sklearn.datasets import load_digits

from counterleaf import datasets
from counterleaf.datasets import samples
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.scene import Scene
from counterleaf.learn import TAOClassifier
from counterleaf.storage.files import write
from counterleaf.table.frames import Frame, make_frame, take

_MNIST_ROWS = 10_000  # to train the tree on


def bundled_scenes(row: int | None) -> list[Scene]:
    """German Credit, which opens with ``row``, Adult and scikit-learn's digits."""
    german, adult = datasets.load_german_credit(), datasets.load_adult()
    digits = make_frame(load_digits().data, [f"p{row}_{column}" for row in range(8) for column in range(8)])
    loans = _table_scene("german", "German Credit", "Would the bank grant this loan?", german.split()[1], "granted")
    census = _table_scene("adult", "Adult", "Does this person earn more than 50,000 dollars?", adult.split()[1], ">50K")
    return [
        loans if row is None else replace(loans, first_row=loans.check_row(row)),
        census,
        Scene("digits", "Digits", "Which digit is this?", samples.load("digits"), digits, shape=(8, 8)),
    ]


def _table_scene(key: str, title: str, about: str, rows: Frame, target: str) -> Scene:
    """A scene that opens with the first row that the model does not predict as the target."""
    scene = Scene(key, title, about, samples.load(key), rows, target=target, locked_features=samples.IMMUTABLE[key])
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
    return Scene("mnist", "MNIST", "Which digit is this?", explainer, X_test, shape=(28, 28))
