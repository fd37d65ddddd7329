"""A large array of rows: how many times longer a batch of answers takes than the model's own ``predict`` on the same rows."""

from __future__ import annotations

import statistics

import numpy as np

from counterleaf.experiments.benchmark.grounds import Ground
from counterleaf.experiments.benchmark.line import timed
from counterleaf.experiments.benchmark.table import line, number
from counterleaf.explainer import Explainer

LEAVES = (20, 500)
_HALF = "M"  # letters up to this one are one class, the others the other
_REPEATS = 3


def measure(ground: Ground, leaves: int, rows: int, seed: int) -> str:
    """The line of one tree with two classes over Letter's columns; rows are drawn again, and moved so that all differ."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
    model.fit(ground.X[ground.train], ground.y[ground.train] <= _HALF)
    X = ground.X[rng.integers(len(ground.X), size=rows)]
    X = np.clip(X + rng.uniform(-0.03, 0.03, X.shape), 0.0, 1.0)
    explainer = Explainer(model, schema=ground.schema)
    predict = statistics.median(timed(model.predict, X)[1] for _ in range(_REPEATS)) / 1e3
    cells = [f"{ground.title}, axis-aligned, two classes, {model.get_n_leaves()} leaves", f"{rows:,}", number(predict)]
    for workers in (1, 2):
        explainer.explain_many(X[:100], n_jobs=workers, progress=False)  # prepares the tree
        taken = statistics.median(timed(explainer.explain_many, X, n_jobs=workers, progress=False)[1] for _ in range(_REPEATS))
        cells += [number(taken / 1e3), number(taken / 1e3 / predict)]
    return line(cells)
