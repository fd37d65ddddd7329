"""The data and the models of the part on ensembles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import column_weights
from counterleaf_experiments.benchmark.scaled_data import load_scaled

WDBC = "wdbc"
DEFAULT = "default forest"
TWO_CLASSES = ("adult", "german", "breast", "spambase", WDBC)
SETS = (*TWO_CLASSES, "letter", "digits")


@dataclass(frozen=True, eq=False)
class EnsembleData:
    """A data set with numbers from 0 to 1 and labels from 0.

    The columns are float32 values, the precision in which both libraries compare with thresholds, so that a tool that compares
    in double precision sees the same rows.
    """

    key: str
    title: str
    schema: Schema
    frame: pd.DataFrame | None  # the rows with their categories; None if all features are numeric
    X: Array  # (rows, columns of a model)
    y: Array  # whole numbers from 0
    train: Array  # indices of rows
    test: Array

    @property
    def spans(self) -> tuple[slice, ...]:
        """The 0/1 columns of each category."""
        return tuple(self.schema.span(d) for d, feature in enumerate(self.schema) if not isinstance(feature, Numeric))

    @cached_property
    def weight(self) -> Array:
        """The cost of a change by 1 in each column: a change of category moves two columns and costs 1."""
        return column_weights(self.schema)

    def row(self, place: int) -> Any:
        """A row in the form that ``explain`` accepts."""
        return self.X[place] if self.frame is None else self.frame.iloc[place].to_dict()


def load(key: str, seed: int) -> EnsembleData:
    """Load a set; the seed splits it if there is no official split."""
    if key == WDBC:
        return _diagnostic(seed)
    data = load_scaled(key, seed)
    X, frame = _single(data.X), data.frame
    if frame is not None:
        frame = frame.copy()
        for d, feature in enumerate(data.schema):
            if isinstance(feature, Numeric):
                frame[feature.name] = X[:, data.schema.span(d).start]
    y = np.unique(data.y, return_inverse=True)[1]
    return EnsembleData(key, data.title, data.schema, frame, X, y, data.train, data.test)


def _diagnostic(seed: int) -> EnsembleData:
    """The diagnostic Breast Cancer data of scikit-learn: 30 measurements."""
    found = load_breast_cancer()
    names = tuple(str(name) for name in found.feature_names)
    return from_numbers(WDBC, "Breast Cancer (diagnostic)", found.data, found.target, names, seed)


def from_numbers(key: str, title: str, X: Array, y: Array, names: tuple[str, ...], seed: int) -> EnsembleData:
    """Scale numbers to 0 to 1, and split the rows at random."""
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = _single((X - low) / np.where(high > low, high - low, 1.0))
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    return EnsembleData(key, title, Schema([Numeric(name, 0.0, 1.0) for name in names]), None, scaled, y, train, test)


def _single(X: Array) -> Array:
    """The nearest float32 values, in double precision."""
    return np.asarray(X, np.float32).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to fit a model."""

    title: str
    make: Callable[[int], Any]  # from the seed
    sets: tuple[str, ...] = TWO_CLASSES

    def fit(self, data: EnsembleData, seed: int) -> Any:
        """Fit the model to the training rows; raises ImportError if its library is not installed."""
        return self.make(seed).fit(data.X[data.train], data.y[data.train])


def _forest(trees: int, depth: int | None) -> Callable[[int], Any]:
    """A forest of scikit-learn."""
    return lambda seed: RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=seed)


def _xgboost(trees: int, depth: int) -> Callable[[int], Any]:
    """Boosted trees of XGBoost."""

    def make(seed: int) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=seed)

    return make


RECIPES = (
    Recipe("forest 50 x 4", _forest(50, 4)),
    Recipe("forest 100 x 6", _forest(100, 6)),
    Recipe(DEFAULT, _forest(100, None)),
    Recipe("XGBoost 100 x 4", _xgboost(100, 4)),
    Recipe("XGBoost 300 x 3", _xgboost(300, 3)),
    Recipe("XGBoost 300 x 6", _xgboost(300, 6)),
    Recipe("forest 50 x 8", _forest(50, 8), ("letter", "digits")),
    Recipe("XGBoost 20 x 4", _xgboost(20, 4), ("letter", "digits")),
)


def size(model: Any) -> tuple[int, int]:
    """The number of trees and of leaves."""
    if isinstance(model, RandomForestClassifier):
        return len(model.estimators_), sum(int(tree.get_n_leaves()) for tree in model.estimators_)
    lines = model.get_booster().get_dump()
    return len(lines), sum(text.count("leaf=") for text in lines)
