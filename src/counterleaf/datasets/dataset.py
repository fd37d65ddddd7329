"""``Dataset``: rows, labels, features and origin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.table.features import Categorical, Feature, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

Split = tuple[pd.DataFrame, pd.DataFrame, "pd.Series[Any]", "pd.Series[Any]"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table with its labels, as returned by the loaders of ``counterleaf.datasets``.

    Parameters
    ----------
    name : str
        The name of the data set.
    data : DataFrame
        The features, one row per case.
    target : Series
        The labels, in the order of the rows.
    schema : Schema
        The features with their bounds and categories.
    n_train : int or None
        Number of rows, at the front, of the official training part; None if there is no official split.
    origin : str
        Where the data come from.
    citation : str
        How to cite the data.
    licence : str
        The licence of the data.
    shape : tuple of (int, int) or None, default=None
        Height and width if each row is an image.

    Examples
    --------
    >>> from counterleaf.datasets import load_letter
    >>> letter = load_letter()
    >>> letter
    <Letter: 20,000 rows, 16 features, 26 classes; the first 15,000 rows train>
    >>> X_train, X_test, y_train, y_test = letter.split()
    >>> len(X_train), len(X_test)
    (15000, 5000)
    """

    name: str
    data: pd.DataFrame
    target: pd.Series[Any]
    schema: Schema
    n_train: int | None
    origin: str
    citation: str
    licence: str
    shape: tuple[int, int] | None = None

    def __repr__(self) -> str:
        """The name and size in one line."""
        rows, features = self.data.shape
        train = f"; the first {self.n_train:,} rows train" if self.n_train else ""
        return f"<{self.name}: {rows:,} rows, {features} features, {self.target.nunique()} classes{train}>"

    def split(self, random_state: int | None = 0) -> Split:
        """Split the data set into a training and a test part.

        The official parts are used if there are any; otherwise a random fifth of each class is the test part.

        Parameters
        ----------
        random_state : int or None, default=0
            Seed of a random split.

        Returns
        -------
        tuple of (DataFrame, DataFrame, Series, Series)
            X_train, X_test, y_train and y_test.
        """
        if self.n_train is not None:
            n = self.n_train
            return self.data.iloc[:n], self.data.iloc[n:], self.target.iloc[:n], self.target.iloc[n:]
        train, test = _split_each_class(self.target.to_numpy(), random_state)
        return self.data.iloc[train], self.data.iloc[test], self.target.iloc[train], self.target.iloc[test]


def _split_each_class(labels: Array, random_state: int | None) -> tuple[Array, Array]:
    """The positions of the training and the test rows, as ``train_test_split`` of scikit-learn draws them.

    Without scikit-learn, whose import takes longer than everything else that the explorer does at its start.
    """
    rng = np.random.RandomState(random_state)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    n_test = math.ceil(0.2 * len(labels))
    n_trains = _apportion(counts, len(labels) - n_test, rng)
    n_tests = _apportion(counts - n_trains, n_test, rng)
    train, test = [], []
    for k, (n, m) in enumerate(zip(n_trains, n_tests, strict=True)):
        rows = np.flatnonzero(codes == k)[rng.permutation(counts[k])]
        train.append(rows[:n])
        test.append(rows[n : n + m])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


def _apportion(counts: Array, size: int, rng: np.random.RandomState) -> Array:
    """Divide a size in the ratio of the counts; classes with the largest remainders get one row more, ties at random."""
    exact = counts / counts.sum() * size
    parts: Array = np.floor(exact).astype(int)
    missing, remainders = size - int(parts.sum()), exact - np.floor(exact)
    for value in np.sort(np.unique(remainders))[::-1]:
        if missing <= 0:
            break
        tied = np.flatnonzero(remainders == value)
        n = min(len(tied), missing)
        parts[rng.choice(tied, size=n, replace=False)] += 1
        missing -= n
    return parts


def infer_schema(data: pd.DataFrame) -> Schema:
    """The features of a table: numbers within their observed range, integer if all are; the categories that occur, sorted."""
    features: list[Feature] = []
    for name, column in data.items():
        values = column.dropna()
        if pd.api.types.is_numeric_dtype(values):
            whole = bool((values % 1 == 0).all())
            features.append(Numeric(str(name), float(values.min()), float(values.max()), integer=whole))
        else:
            features.append(Categorical(str(name), sorted(values.unique()), missing=len(values) < len(column)))
    return Schema(features)
