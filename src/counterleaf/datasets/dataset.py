"""A data set: its rows and labels, its features, where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterleaf.table.features import Categorical, Feature, Numeric
from counterleaf.table.schema import Schema

Split = tuple[pd.DataFrame, pd.DataFrame, "pd.Series[Any]", "pd.Series[Any]"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table with its labels; the loaders of ``counterleaf.datasets`` make it.

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
    data: pd.DataFrame  # the features
    target: pd.Series[Any]  # the labels, in the same order
    schema: Schema
    n_train: int | None  # so many rows at the front are the official training part; None where there is no such part
    origin: str
    citation: str
    licence: str
    shape: tuple[int, int] | None = None  # of the picture that a row is

    def __repr__(self) -> str:
        rows, features = self.data.shape
        train = f"; the first {self.n_train:,} rows train" if self.n_train else ""
        return f"<{self.name}: {rows:,} rows, {features} features, {self.target.nunique()} classes{train}>"

    def split(self, random_state: int | None = 0) -> Split:
        """(X_train, X_test, y_train, y_test): the official parts, else a random fifth of each class to test on."""
        if self.n_train is not None:
            n = self.n_train
            return self.data.iloc[:n], self.data.iloc[n:], self.target.iloc[:n], self.target.iloc[n:]
        from sklearn.model_selection import train_test_split

        X_train, X_test, y_train, y_test = train_test_split(
            self.data, self.target, test_size=0.2, stratify=self.target, random_state=random_state
        )
        return X_train, X_test, y_train, y_test


def seen(data: pd.DataFrame) -> Schema:
    """The features of a table: numbers in the range seen, whole where all are; categories that occur, sorted."""
    features: list[Feature] = []
    for name, column in data.items():
        values = column.dropna()
        if pd.api.types.is_numeric_dtype(values):
            whole = bool((values % 1 == 0).all())
            features.append(Numeric(str(name), float(values.min()), float(values.max()), integer=whole))
        else:
            features.append(Categorical(str(name), sorted(values.unique()), missing=len(values) < len(column)))
    return Schema(features)
