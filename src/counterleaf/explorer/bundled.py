"""The scenes that come along, and MNIST from a folder."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from counterleaf import datasets
from counterleaf.datasets import samples
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.scene import Scene
from counterleaf.learn import TAOClassifier
from counterleaf.storage.files import write

_LEARNED = 10_000  # digits of MNIST


def bundled(row: int | None) -> list[Scene]:
    """German Credit, which opens on ``row``, Adult and scikit-learn's digits."""
    from sklearn.datasets import load_digits

    german, adult = datasets.load_german_credit(), datasets.load_adult()
    digits, _ = load_digits(return_X_y=True, as_frame=True)
    digits.columns = pd.Index([f"p{row}_{column}" for row in range(8) for column in range(8)])
    loans = _opened("german", "German Credit", "Would the bank grant this loan?", german.split()[1], "granted")
    census = _opened("adult", "Adult", "Does this person earn more than 50,000 dollars?", adult.split()[1], ">50K")
    return [
        loans if row is None else replace(loans, first=loans.checked(row)),
        census,
        Scene("digits", "Digits", "Which digit is this?", samples.load("digits"), digits, shape=(8, 8)),
    ]


def _opened(key: str, title: str, about: str, rows: pd.DataFrame, target: str) -> Scene:
    """A scene that opens on the first row of which the model does not say the target."""
    scene = Scene(key, title, about, samples.load(key), rows.reset_index(drop=True), target=target, locked=samples.GIVEN[key])
    other = next(str(label) for label in scene.explainer.tree.classes if str(label) != target)
    return replace(scene, first=scene.find(0, 1, other) or 0)


def mnist(folder: Path) -> Scene:
    """Handwritten digits of 28 x 28 pixels, with a tree learned from some of them, once on a machine."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "counterleaf" / "mnist.json"
    digits = datasets.load_mnist(folder)
    X_train, X_test, y_train, _ = digits.split()
    try:
        explainer = Explainer.from_json(kept.read_text(encoding="utf-8"))
    except (OSError, CounterleafError):
        sys.stderr.write(f"counterleaf: learning a tree from {_LEARNED:,} digits of MNIST, once on this machine\n")
        learner = TAOClassifier(max_depth=6, alpha=4, random_state=0, n_jobs=-1)
        some = X_train.iloc[:_LEARNED]
        explainer = Explainer(learner.fit(some, y_train.iloc[:_LEARNED]), data=some, schema=digits.schema)
        write(kept, explainer.to_json())
    return Scene("mnist", "MNIST", "Which digit is this?", explainer, X_test.reset_index(drop=True), shape=(28, 28))
