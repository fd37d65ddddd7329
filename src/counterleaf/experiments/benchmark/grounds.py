"""The bundled data sets with every number from 0 to 1, so that one cost means the same to every tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterleaf import datasets
from counterleaf.table.features import Numeric
from counterleaf.experiments.paper import grounds
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_LOADERS: dict[str, Callable[[], datasets.Dataset]] = {
    "breast": datasets.load_breast_cancer,
    "spambase": datasets.load_spambase,
    "letter": datasets.load_letter,
    "adult": datasets.load_adult,
    "german": datasets.load_german_credit,
}
IMAGES = (grounds.MNIST, grounds.STAND_IN)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A data set as the benchmark asks about it."""

    key: str
    title: str
    schema: Schema  # numbers from 0 to 1
    frame: pd.DataFrame | None  # the rows in words where there are categories
    X: Array  # (rows, columns of a tree)
    y: Array
    train: Array  # places of rows
    test: Array
    strictest: tuple[str, ...]  # the features that the paper's last level of constraints freezes
    low: Array  # X = (the data's own numbers - low) / width
    width: Array
    source: grounds.Ground  # as the paper's experiments have it: what trees are learned on
    shape: tuple[int, int] | None

    @property
    def spans(self) -> tuple[slice, ...]:
        """The 0/1 columns of each category."""
        return tuple(self.schema.span(d) for d, feature in enumerate(self.schema) if not isinstance(feature, Numeric))

    def table(self, places: Array) -> Any:
        """Rows as ``explain_many`` takes them: a frame where there are categories, else an array."""
        return self.X[places] if self.frame is None else self.frame.iloc[places]


def names() -> list[str]:
    """The sets that come along; the digits of scikit-learn stand in for MNIST."""
    return [*_LOADERS, grounds.STAND_IN]


def load(key: str, seed: int, mnist: Path | None = None) -> Ground:
    """A set, split as in the reproduction."""
    source = grounds.load(key, seed, mnist)
    whole = source.schema if key in IMAGES else _LOADERS[key]().schema
    number = np.array([isinstance(feature, Numeric) for feature in whole for _ in range(feature.size)])
    lower, upper = whole.bounds()
    low = np.where(number, lower, 0.0)
    width = np.where(number & (upper > lower), upper - lower, 1.0)
    schema = Schema([Numeric(f.name, 0.0, 1.0) if isinstance(f, Numeric) else f for f in source.schema])
    if source.table is None:  # there the numbers are from 0 to 1 already
        X, frame = source.X, None
    else:
        X, frame = (source.X - low) / width, pd.DataFrame(source.table)[schema.names].copy()
        for d, feature in enumerate(schema):
            if isinstance(feature, Numeric):
                frame[feature.name] = X[:, schema.span(d).start]
    return Ground(
        key=key,
        title=source.title,
        schema=schema,
        frame=frame,
        X=X,
        y=source.y,
        train=source.train,
        test=source.test,
        strictest=source.levels[-1],
        low=low,
        width=width,
        source=source,
        shape=source.shape,
    )
