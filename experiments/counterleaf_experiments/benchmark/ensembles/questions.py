"""The questions about one model: rows and the classes that they should get; and the check of an answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import alternate, row_cost
from counterleaf_experiments.benchmark.ensembles.models import EnsembleData


@dataclass(frozen=True, eq=False)
class Cell:
    """A model on a data set, and the questions about it."""

    data: EnsembleData
    recipe: str
    model: Any
    places: Array  # indices of the rows to explain
    targets: tuple[int, ...]  # the class that each of them should get

    @property
    def title(self) -> str:
        """The data and the model in a few words."""
        return f"{self.data.title}, {self.recipe}"

    def source(self, k: int) -> Array:
        """The columns of row k."""
        return np.asarray(self.data.X[self.places[k]])

    def valid_cost(self, k: int, x: Array | None) -> float:
        """The cost of an answer; NaN unless each category has one of its values and the model predicts the target."""
        data = self.data
        return row_cost(self.model, data.spans, data.weight, 1, self.source(k), self.targets[k], x)

    def changes(self, k: int, x: Array | None) -> int:
        """The number of columns that an answer changes."""
        return 0 if x is None else int((x != self.source(k)).sum())

    @property
    def digest(self) -> str:
        """Identify the model by its probabilities on the test rows, and the cost by its weights."""
        content = self.model.predict_proba(self.data.X[self.data.test]), self.data.weight
        return hashlib.sha256(b"".join(np.ascontiguousarray(part, np.float64).tobytes() for part in content)).hexdigest()


def draw(data: EnsembleData, recipe: str, model: Any, rows: int, seed: int) -> Cell:
    """Draw test rows whose predicted classes alternate.

    The target is the other class, or one drawn at random among several others. The first rows do not depend on ``rows``.
    """
    rng = np.random.default_rng(seed)
    places = rng.permutation(data.test)
    predicted = np.asarray(model.predict(data.X[places]), np.int64)
    places = places[alternate(predicted)][:rows]
    classes = int(data.y.max()) + 1
    now = np.asarray(model.predict(data.X[places]), np.int64)
    targets = (now + rng.integers(1, classes, size=len(data.test))[: len(now)]) % classes
    return Cell(data, recipe, model, places, tuple(targets.tolist()))
