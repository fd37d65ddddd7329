"""A model to explore, with rows to start from: those that come along, MNIST from a folder, or the user's own files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterleaf import datasets
from counterleaf.errors import CounterleafError
from counterleaf.explain import Explainer
from counterleaf.features import Feature, Numeric, is_missing
from counterleaf.files import read_frame, write
from counterleaf.learn import TAOClassifier
from counterleaf.schema import Array, Schema
from counterleaf.sheet import Sheet
from counterleaf.tree import Tree

_BLOCK = 2000  # rows that are asked about together
_LEARNED = 10_000  # digits of MNIST


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A model that can be asked, and a table of rows to ask about; without rows, one in the middle of the bounds."""

    key: str
    title: str
    about: str
    explainer: Explainer
    rows: pd.DataFrame | None
    first: int = 0  # the row to open with
    target: str | None = None  # the class to ask for at first; None: any but the row's own
    shape: tuple[int, int] | None = None  # of the picture that a row is

    @property
    def size(self) -> int:
        return 1 if self.rows is None else len(self.rows)

    def checked(self, row: int) -> int:
        """The number of a row that there is."""
        if not 0 <= row < self.size:
            raise CounterleafError(f"row {row} of {self.title}: there are {self.size} rows; expected 0 to {self.size - 1}")
        return row

    def values(self, row: int, edits: Mapping[str, float | None]) -> dict[str, Any]:
        """A row with its edits, by feature name."""
        schema = self.explainer.schema
        self.checked(row)
        unknown = [name for name in edits if name not in schema.names]
        if unknown:
            raise CounterleafError(f"no feature {unknown[0]!r} to edit in {self.title}")
        line = None if self.rows is None else self.rows.iloc[row]
        out = {}
        for feature in schema:
            if feature.name in edits:
                out[feature.name] = _value(feature, edits[feature.name])
            else:
                value = _middle(feature) if line is None else line[feature.name]
                out[feature.name] = value.item() if hasattr(value, "item") else value
        return out

    def label(self, values: dict[str, Any]) -> str:
        """What the model says of a row."""
        tree = self.explainer.tree
        return str(tree.classes[tree.value[tree.leaf_of(self.explainer.schema.encode(values))]])

    def find(self, start: int, way: int, says: str | None) -> int | None:
        """The next row, in one direction, of which the model says this; rows that it cannot read are passed over."""
        if self.rows is None:
            return 0
        sheet, at = Sheet(self.rows, self.explainer.schema), start
        while 0 <= at < self.size:
            block = slice(at, min(at + _BLOCK, self.size)) if way > 0 else slice(max(at + 1 - _BLOCK, 0), at + 1)
            fits = np.flatnonzero(self._fits(sheet.codes(block), says))
            if len(fits):
                return block.start + int(fits[0 if way > 0 else -1])
            at = block.stop if way > 0 else block.start - 1
        return None

    def _fits(self, codes: Array, says: str | None) -> Array:
        """Of which of some rows, given by their codes, the model says this."""
        tree = self.explainer.tree
        fits: Array = np.isfinite(codes).all(axis=1)
        if says is not None:
            leaves = tree.apply(self.explainer.schema.spread(codes[fits]))
            fits[fits] = np.array([str(label) == says for label in tree.classes.tolist()])[tree.value[leaves]]
        return fits


def _value(feature: Feature, given: float | None) -> Any:
    """A value from the number that stands for it."""
    if given is None:
        return None
    if isinstance(feature, Numeric):
        return int(given) if feature.integer and given.is_integer() else given
    if not given.is_integer() or not 0 <= given < feature.size:
        raise CounterleafError(f"feature {feature.name!r} is set to its value number {given:g}; it has {feature.size}, from 0")
    return feature.values[int(given)] if given < len(feature.values) else None


def _middle(feature: Feature) -> Any:
    """A value to begin with: half-way between the bounds, or the first one."""
    if not isinstance(feature, Numeric):
        return feature.values[0]
    ends = [end for end in (feature.lower, feature.upper) if abs(end) < float("inf")]
    middle = sum(ends) / len(ends) if ends else 0.0
    grid = feature.grid
    return middle if grid is None else min(max(round(middle / grid) * float(grid), feature.lower), feature.upper)


def code(feature: Feature, value: Any) -> float | None:
    """The number that stands for a value; the inverse of what edits do."""
    if isinstance(feature, Numeric):
        return None if is_missing(value) else float(value)
    return float(feature.place(value))


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
        Scene("digits", "Digits", "Which digit is this?", _archive("digits"), digits, shape=(8, 8)),
    ]


def _opened(key: str, title: str, about: str, rows: pd.DataFrame, target: str) -> Scene:
    """A scene that opens on the first row of which the model does not say the target."""
    scene = Scene(key, title, about, _archive(key), rows.reset_index(drop=True), target=target)
    other = next(str(label) for label in scene.explainer.tree.classes if str(label) != target)
    return replace(scene, first=scene.find(0, 1, other) or 0)


def _archive(name: str) -> Explainer:
    return Explainer.from_json((resources.files("counterleaf.explorer") / "files" / f"{name}.json").read_text("utf-8"))


def own(model: Path, data: Path | None, row: int, shape: tuple[int, int] | None) -> Scene:
    """The user's own model, as counterleaf JSON: an Explainer's, or a plain tree's with its data."""
    text = model.read_text(encoding="utf-8", errors="replace")
    rows = None if data is None else read_frame(data)
    if rows is not None:
        rows.columns = rows.columns.map(str)
        if not len(rows):
            raise CounterleafError(f"{data} has no rows; expected at least one to start from")
    explainer = _plain_tree(text, rows) if _is_tree(text) else Explainer.from_json(text)
    names = explainer.schema.names
    if rows is not None:
        missing = [name for name in names if name not in rows.columns]
        if missing:
            raise CounterleafError(f"{data} lacks the columns {missing[:8]}; the model needs {names[:8]}")
        rows = rows[names]
    scene = Scene("own", model.stem, f"What would change the answer of {model.name}?", explainer, rows, row, shape=shape)
    scene.checked(row)
    if shape is not None and shape[0] * shape[1] != len(names):
        raise CounterleafError(
            f"shape {shape[0]}x{shape[1]} holds {shape[0] * shape[1]} pixels; the model has {len(names)} features"
        )
    words = [feature.name for feature in explainer.schema if not isinstance(feature, Numeric)]
    if shape is not None and words:
        raise CounterleafError(f"a picture is made of numbers; {words[0]!r} is none: leave the shape out")
    scene.label(scene.values(row, {}))  # a row that cannot be asked about is told now, not on the page
    return scene


def _is_tree(text: str) -> bool:
    try:
        return bool(json.loads(text).get("format") == "counterleaf-tree")
    except (ValueError, AttributeError, RecursionError):
        return False  # whatever it is, the reader of archives tells


def _plain_tree(text: str, rows: pd.DataFrame | None) -> Explainer:
    tree = Tree.from_json(text)
    if rows is None:
        return Explainer(tree)
    return Explainer(tree, data=rows, schema=Schema.infer(rows))


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
