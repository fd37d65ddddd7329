"""A data set: rows, labels, features and origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterleaf.table.features import Categorical, Feature, Numeric
from counterleaf.table.schema import Schema

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
        from sklearn.model_selection import train_test_split  # loading a table does not need scikit-learn

        X_train, X_test, y_train, y_test = train_test_split(
            self.data, self.target, test_size=0.2, stratify=self.target, random_state=random_state
        )
        return X_train, X_test, y_train, y_test


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
