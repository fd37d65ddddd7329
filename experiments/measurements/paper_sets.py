"""The data of ``learners.py``: the paper's five tables, and MNIST if its folder is next to the repository."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterleaf import datasets

MNIST = Path(__file__).resolve().parents[3] / "shared/data/mnist"


@dataclass
class DataSet:
    """A data set with an official training part, or with stratified 80/20 splits."""

    name: str
    read: Callable  # () -> rows, labels, and the number of training rows or None
    depths: tuple[int, ...]  # of the trees; the first is the paper's
    grid: dict  # settings of TAO that cross-validation compares; a quick run uses the first two of each
    seeds: int
    scaled: bool = True
    paper: dict = field(default_factory=dict)  # the paper's table 6, test error in %
    trials: str = ""  # test error of TAO in the trials before this estimator

    @property
    def small(self) -> bool:
        """Cheap enough for ten splits and for cross-validation in each."""
        return self.seeds > 3

    def parts(self, seeds: int) -> Iterator[tuple]:
        """Yield (seed, training rows, labels, test rows, labels); medians and scales come from the training part."""
        X, labels, n_train = self.read()
        y = np.unique(labels, return_inverse=True)[1]
        for seed in range(seeds):
            if n_train is None:
                train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
            else:
                train, test = np.arange(n_train), np.arange(n_train, len(y))
            steps = [SimpleImputer(strategy="median"), *([StandardScaler()] if self.scaled else [])]
            prepare = make_pipeline(*steps).fit(X[train])
            yield seed, prepare.transform(X[train]), y[train], prepare.transform(X[test]), y[test]


def _paper(load, **options):
    """A set as numbers, followed by a 0/1 column per category."""
    found = load(**options)
    return pd.get_dummies(found.data).to_numpy(float), found.target.to_numpy(), found.n_train


def _german():
    """German Credit with the columns in the order of the codes."""
    X, labels, n_train = _paper(datasets.load_german_credit, codes=True)
    return X, labels == "bad", n_train


def _grid(depths, alpha=(1.0, 0.3, 3.0, 10.0), init=("auto", "classes"), **others):
    """The settings of TAO that cross-validation compares."""
    return {"max_depth": list(depths), "alpha": list(alpha), "init": list(init), **others}


_PAPER = [
    DataSet(
        "breast",  # 699 rows: the 16 missing bare nuclei become the training part's median
        partial(_paper, datasets.load_breast_cancer, missing="keep"),
        (3,), _grid((3,), (1.0, 3.0, 10.0)), 10, paper={"tao": 2.1, "cart": 2.6, "forest": 2.1}, trials="4.00 ± 1.25",
    ),
    DataSet("german", _german, (8,), _grid((8, 1, 2)), 10,
            paper={"tao": 18.5, "cart": 23.5, "forest": 21.9}, trials="25.0 ± 2.1"),
    DataSet(
        "spambase", partial(_paper, datasets.load_spambase),
        (5,), _grid((5, 3), (1.0, 0.3, 3.0), ("auto", "classes", "random"), max_iter=[40]), 10,
        paper={"tao": 4.8, "cart": 7.6, "forest": 4.2}, trials="6.54 ± 0.85",
    ),
    DataSet(
        "letter", partial(_paper, datasets.load_letter),
        (12,), _grid((12,), (1.0, 0.1, 0.3), max_iter=[40]), 3,
        paper={"tao": 7.7, "cart": 12.1, "forest": 3.7}, trials="7.80 ± 0.25",
    ),
    DataSet("adult", partial(_paper, datasets.load_adult), (12, 8),
            _grid((12, 8), (1.0, 0.3, 3.0), ("auto",), ccp_alpha=[0.0, 2e-4, 5e-4]), 3,
            paper={"tao": 14.6, "cart": 14.7, "forest": 14.1}, trials="14.35 ± 0.10 (depth 8)"),
    DataSet(  # one scale for all pixels: unit deviations would exaggerate those at the border
        "mnist", partial(_paper, datasets.load_mnist, folder=MNIST), (9,), _grid((9,), (1.0, 2.0), ("auto",)), 1,
        scaled=False, paper={"tao": 5.2, "cart": 11.9, "forest": 3.1}, trials="4.86 (4.72-4.96)",
    ),
]  # fmt: skip
LONG = {"mnist"}  # takes minutes per fit: only with --all or --sets


def data_sets():
    """The available data sets by name."""
    return {each.name: each for each in _PAPER if each.name != "mnist" or MNIST.is_dir()}
