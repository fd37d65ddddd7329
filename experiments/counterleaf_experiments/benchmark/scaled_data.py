"""The bundled data sets with every number scaled to 0 to 1, so that a cost has the same meaning for every tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterleaf import datasets
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array
from counterleaf_experiments.paper.data import MNIST, STAND_IN, PaperData, load_data

_LOADERS: dict[str, Callable[[], datasets.Dataset]] = {
    "breast": datasets.load_breast_cancer,
    "spambase": datasets.load_spambase,
    "letter": datasets.load_letter,
    "adult": datasets.load_adult,
    "german": datasets.load_german_credit,
}
IMAGES = (MNIST, STAND_IN)


@dataclass(frozen=True, slots=True, eq=False)
class ScaledData:
    """A data set in the form of the benchmark."""

    key: str
    title: str
    schema: Schema  # numbers from 0 to 1
    frame: pd.DataFrame | None  # the rows with their categories; None if all features are numeric
    X: Array  # (rows, columns of a tree)
    y: Array
    train: Array  # indices of rows
    test: Array
    strictest: tuple[str, ...]  # the features that the paper's last level of constraints freezes
    low: Array  # X = (original numbers - low) / width
    width: Array
    original: PaperData  # the data of the paper's experiments, from which trees are learned
    shape: tuple[int, int] | None

    @property
    def spans(self) -> tuple[slice, ...]:
        """The 0/1 columns of each category."""
        return tuple(self.schema.span(d) for d, feature in enumerate(self.schema) if not isinstance(feature, Numeric))

    def table(self, places: Array) -> Any:
        """Rows in the form that ``explain_many`` accepts: a frame if there are categories, else an array."""
        return self.X[places] if self.frame is None else self.frame.iloc[places]


def bundled_names() -> list[str]:
    """The bundled sets, and the digits of scikit-learn as a substitute for MNIST."""
    return [*_LOADERS, STAND_IN]


def load_scaled(key: str, seed: int, mnist: Path | None = None) -> ScaledData:
    """Load a set, split as in the paper's experiments."""
    original = load_data(key, seed, mnist)
    schema_before = original.schema if key in IMAGES else _LOADERS[key]().schema
    number = np.array([isinstance(feature, Numeric) for feature in schema_before for _ in range(feature.size)])
    lower, upper = schema_before.bounds()
    low = np.where(number, lower, 0.0)
    width = np.where(number & (upper > lower), upper - lower, 1.0)
    schema = Schema([Numeric(f.name, 0.0, 1.0) if isinstance(f, Numeric) else f for f in original.schema])
    if original.table is None:  # then the numbers already go from 0 to 1
        X, frame = original.X, None
    else:
        X, frame = (original.X - low) / width, pd.DataFrame(original.table)[schema.names].copy()
        for d, feature in enumerate(schema):
            if isinstance(feature, Numeric):
                frame[feature.name] = X[:, schema.span(d).start]
    return ScaledData(
        key=key,
        title=original.title,
        schema=schema,
        frame=frame,
        X=X,
        y=original.y,
        train=original.train,
        test=original.test,
        strictest=original.levels[-1],
        low=low,
        width=width,
        original=original,
        shape=original.shape,
    )
