"""A large array of rows: the time of a batch of answers relative to the model's ``predict`` on the same rows."""

from __future__ import annotations

import statistics

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from counterleaf.explainer import Explainer
from counterleaf_experiments.benchmark.measurement import timed
from counterleaf_experiments.benchmark.scaled_data import ScaledData
from counterleaf_experiments.benchmark.tables import number, table_row

LEAVES = (20, 500)
_LAST_LETTER = "M"  # letters up to this one form one class, the others the second class
_REPEATS = 3


def measure(data: ScaledData, leaves: int, rows: int, seed: int) -> str:
    """Measure one tree with two classes over Letter's columns on resampled and jittered rows; returns a table line."""
    rng = np.random.default_rng(seed)
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
    model.fit(data.X[data.train], data.y[data.train] <= _LAST_LETTER)
    X = data.X[rng.integers(len(data.X), size=rows)]
    X = np.clip(X + rng.uniform(-0.03, 0.03, X.shape), 0.0, 1.0)
    explainer = Explainer(model, schema=data.schema)
    predict = statistics.median(timed(model.predict, X)[1] for _ in range(_REPEATS)) / 1e3
    cells = [f"{data.title}, axis-aligned, two classes, {model.get_n_leaves()} leaves", f"{rows:,}", number(predict)]
    for workers in (1, 2):
        explainer.explain_many(X[:100], n_jobs=workers, words=False, progress=False)  # prepares the tree
        taken = statistics.median(
            timed(explainer.explain_many, X, n_jobs=workers, words=False, progress=False)[1] for _ in range(_REPEATS)
        )
        cells += [number(taken / 1e3), number(taken / 1e3 / predict)]
    return table_row(cells)
