"""The paper's data sets as its experiments use them: columns, splits and the features constrained at three levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf import datasets
from counterleaf.datasets import Dataset
from counterleaf.table.encoding import encode_table
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

MNIST = "mnist"
STAND_IN = "digits"  # scikit-learn's 8 x 8 digits, where there is no MNIST
Levels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A data set ready for an experiment."""

    key: str
    title: str
    schema: Schema  # numbers are continuous, as in the paper
    table: Any  # the rows in the user's words where there are categories, else None
    X: Array  # (rows, columns of a tree)
    y: Array
    train: Array  # places of rows
    test: Array
    levels: Levels  # the features frozen at each of three levels
    official: bool  # the split is the data set's own
    shape: tuple[int, int] | None = None

    def row(self, place: int) -> Any:
        """A row as ``explain`` takes it."""
        return self.X[place] if self.table is None else self.table[place]

    def share(self, level: int) -> float:
        """The percentage of columns that a level freezes."""
        frozen = sum(self.schema.features[self.schema.index(name)].size for name in self.levels[level])
        return 100.0 * frozen / float(self.X.shape[1])


def load(key: str, seed: int, mnist: Path | None = None, download: bool = False) -> Ground:
    """One of the paper's data sets; the seed draws the split where there is no official one, and what is constrained."""
    if key == MNIST:
        return _images(key, datasets.load_mnist(mnist, download=download), seed)
    if key == STAND_IN:
        return _images(key, _digits(), seed)
    loader, levels = _TABLES[key]
    return _table(key, loader(), seed, levels)


def names() -> list[str]:
    """The sets that come along, in the paper's order."""
    return list(_TABLES)


def _table(key: str, data: Dataset, seed: int, levels: Levels | tuple[int, int]) -> Ground:
    schema = _continuous(data.schema)
    X = encode_table(schema, data.data)
    table = None
    if schema.numeric:  # the paper's distances are those of features from 0 to 1
        lower, upper = schema.bounds()
        X = (X - lower) / np.where(upper > lower, upper - lower, 1.0)
        schema = Schema([Numeric(name, 0.0, 1.0) for name in schema.names])
    else:  # ... and of raw numbers where there are categories
        table, X = data.data.to_dict("records"), schema.spread(X)
    if isinstance(levels[0], int):
        levels = _random_levels(schema.names, levels, seed)
    return _ground(key, data, seed, schema, table, X, levels)


def _images(key: str, data: Dataset, seed: int) -> Ground:
    X = data.data.to_numpy(np.float64)
    train = data.split(seed)[0].index.to_numpy()
    blank = [name for name, used in zip(data.schema.names, X[train].any(axis=0), strict=True) if not used]
    others = [name for name in data.schema.names if name not in set(blank)]
    more = np.random.default_rng(seed).permutation(others)[: round(200 / 784 * X.shape[1])].tolist()
    return _ground(key, data, seed, data.schema, None, X, ((), tuple(blank), (*blank, *more)))


def _ground(key: str, data: Dataset, seed: int, schema: Schema, table: Any, X: Array, levels: Any) -> Ground:
    train, test = (part.index.to_numpy() for part in data.split(seed)[:2])
    return Ground(
        key, data.name, schema, table, X, data.target.to_numpy(), train, test, levels, data.n_train is not None, data.shape
    )


def _continuous(schema: Schema) -> Schema:
    whole = [f for f in schema if isinstance(f, Numeric) and f.integer]
    return schema.replace(*(Numeric(f.name, f.lower, f.upper) for f in whole))


def _random_levels(names: list[str], sizes: tuple[int, ...], seed: int) -> Levels:
    """Nothing, then features drawn at random, then these and more."""
    order = np.random.default_rng(seed).permutation(names).tolist()
    return ((), *(tuple(order[:size]) for size in sizes))


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    data, target = load_digits(return_X_y=True, as_frame=True)
    schema = Schema([Numeric(name, 0.0, 1.0) for name in data.columns])
    return Dataset(
        name="Digits 8 by 8",
        data=data / 16.0,
        target=target,
        schema=schema,
        n_train=None,
        origin="scikit-learn, load_digits (UCI, Optical Recognition of Handwritten Digits, test part)",
        citation="Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits. doi:10.24432/C50P49",
        licence="CC BY 4.0",
        shape=(8, 8),
    )


_TABLES: dict[str, tuple[Callable[[], Dataset], Any]] = {  # the paper's appendix: features, or how many at random
    "adult": (datasets.load_adult, ((), ("race", "sex"), ("race", "sex", "marital-status"))),
    "breast": (datasets.load_breast_cancer, (1, 2)),
    "spambase": (datasets.load_spambase, (10, 30)),
    "letter": (datasets.load_letter, (4, 10)),
    "german": (
        datasets.load_german_credit,
        ((), ("personal_status_and_sex",), ("personal_status_and_sex", "credit_history")),
    ),
}
