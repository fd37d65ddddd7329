"""The paper's data sets in the form of its experiments: columns, splits, and the features frozen at three levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from counterleaf import datasets
from counterleaf.datasets import Dataset
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema, encode_table
from counterleaf.types import Array

MNIST = "mnist"
STAND_IN = "digits"  # scikit-learn's 8 x 8 digits, used if MNIST is not available
Levels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PaperData:
    """A data set ready for an experiment."""

    key: str
    title: str
    schema: Schema  # numbers are continuous, as in the paper
    table: Any  # the rows as dicts of the original values if there are categories, else None
    X: Array  # (rows, columns of a tree)
    y: Array
    train: Array  # indices of rows
    test: Array
    levels: Levels  # the features frozen at each of three levels
    official: bool  # the data set comes with its split
    shape: tuple[int, int] | None = None

    def row(self, index: int) -> Any:
        """A row in the form that ``explain`` accepts."""
        return self.X[index] if self.table is None else self.table[index]

    def share(self, level: int) -> float:
        """The percentage of columns that a level freezes."""
        frozen = sum(self.schema.features[self.schema.index(name)].size for name in self.levels[level])
        return 100.0 * frozen / float(self.X.shape[1])


def load_data(key: str, seed: int, mnist: Path | None = None, download: bool = False) -> PaperData:
    """Load one of the paper's data sets; the seed draws the frozen features, and the split if there is no official one."""
    if key == MNIST:
        return _images(key, datasets.load_mnist(mnist, download=download), seed)
    if key == STAND_IN:
        return _images(key, _digits(), seed)
    loader, levels = _TABLES[key]
    return _table(key, loader(), seed, levels)


def bundled_names() -> list[str]:
    """The bundled data sets, in the order of the paper."""
    return list(_TABLES)


def _table(key: str, dataset: Dataset, seed: int, levels: Levels | tuple[int, int]) -> PaperData:
    """A table: numbers scaled to 0 to 1 if there are no categories, else in their original units."""
    schema = _continuous(dataset.schema)
    X = encode_table(schema, dataset.data)
    table = None
    if schema.numeric:  # the paper measures distances on features from 0 to 1
        lower, upper = schema.bounds()
        X = (X - lower) / np.where(upper > lower, upper - lower, 1.0)
        schema = Schema([Numeric(name, 0.0, 1.0) for name in schema.names])
    else:  # ... and on raw numbers if there are categories
        table, X = dataset.data.to_dict("records"), schema.spread(X)
    if isinstance(levels[0], int):
        levels = _random_levels(schema.names, levels, seed)
    return _paper_data(key, dataset, seed, schema, table, X, levels)


def _images(key: str, dataset: Dataset, seed: int) -> PaperData:
    """Images: first the pixels that are always blank are frozen, then some more."""
    X = dataset.data.to_numpy(np.float64)
    train = dataset.split(seed)[0].index.to_numpy()
    blank = [name for name, used in zip(dataset.schema.names, X[train].any(axis=0), strict=True) if not used]
    others = [name for name in dataset.schema.names if name not in set(blank)]
    more = np.random.default_rng(seed).permutation(others)[: round(200 / 784 * X.shape[1])].tolist()
    return _paper_data(key, dataset, seed, dataset.schema, None, X, ((), tuple(blank), (*blank, *more)))


def _paper_data(key: str, dataset: Dataset, seed: int, schema: Schema, table: Any, X: Array, levels: Any) -> PaperData:
    """Combine the columns and levels of a data set with its split."""
    train, test = (part.index.to_numpy() for part in dataset.split(seed)[:2])
    return PaperData(
        key=key,
        title=dataset.name,
        schema=schema,
        table=table,
        X=X,
        y=dataset.target.to_numpy(),
        train=train,
        test=test,
        levels=levels,
        official=dataset.n_train is not None,
        shape=dataset.shape,
    )


def _continuous(schema: Schema) -> Schema:
    """The same features with continuous numbers."""
    whole = [f for f in schema if isinstance(f, Numeric) and f.integer]
    return schema.replace(*(Numeric(f.name, f.lower, f.upper) for f in whole))


def _random_levels(names: list[str], sizes: tuple[int, ...], seed: int) -> Levels:
    """No feature, then features drawn at random, then these and more."""
    order = np.random.default_rng(seed).permutation(names).tolist()
    return ((), *(tuple(order[:size]) for size in sizes))


def _digits() -> Dataset:
    """scikit-learn's 8 x 8 digits with grey levels from 0 to 1."""
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


_TABLES: dict[str, tuple[Callable[[], Dataset], Any]] = {  # the paper's appendix: features, or a number of random features
    "adult": (datasets.load_adult, ((), ("race", "sex"), ("race", "sex", "marital-status"))),
    "breast": (datasets.load_breast_cancer, (1, 2)),
    "spambase": (datasets.load_spambase, (10, 30)),
    "letter": (datasets.load_letter, (4, 10)),
    "german": (
        datasets.load_german_credit,
        ((), ("personal_status_and_sex",), ("personal_status_and_sex", "credit_history")),
    ),
}
