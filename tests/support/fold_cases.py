"""A table of every kind of column, and the folded tree of a pipeline compared with the pipeline on it."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn.tree import DecisionTreeClassifier

from counterleaf import Numeric, Schema, Tree
from counterleaf.model.cuts import cuts
from counterleaf.model.pipelines.fold import fold
from counterleaf.model.pipelines.probing import frame_of
from counterleaf.model.pipelines.steps import survey
from counterleaf.table.schema import encode_table

NUMBERS = ["age", "pay", "tiny", "hours"]
FULL = ["age", "pay", "tiny"]
TEXT = ["job", "size"]


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "pay": rng.lognormal(size=n) * 1e6,
            "tiny": rng.normal(size=n) * 1e-6,
            "hours": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 9, n)),
            "job": rng.choice(["cook", "clerk", "nurse", "smith"], n, p=[0.5, 0.3, 0.17, 0.03]),
            "size": rng.choice(["S", "M", "L"], n),
            "city": pd.Series(rng.choice(np.array(["Rome", "Oslo", None]), n), dtype=object),
            "flag": rng.random(n) < 0.4,
            "code": rng.choice([3, 7, 11], n),
        }
    )


def labels(n=240, seed=1):
    return np.random.default_rng(seed).integers(0, 9, n)


def tree(**options):
    return DecisionTreeClassifier(random_state=0, **options)


def as_table(frame, kind):
    if kind == "polars":
        return pl.from_pandas(frame)
    return frame if kind == "pandas" else frame.to_numpy()


def schema_of(found, table):
    return Schema.infer(table, finite=found.finite)


def same(model, table, schema=None, rows=200, seed=5):
    """Compare the folded tree with the pipeline: on the table, on shuffled cells, and on both sides of every cut."""
    found = survey(model)
    schema = schema or schema_of(found, table)
    folded = fold(found, schema, table)
    assert folded.tree.n_features == schema.width
    assert folded.exact
    assert folded.tree.closed == "left"
    assert folded.tree.dtype == "float64"
    rng = np.random.default_rng(seed)
    fills = [folded.fills.get(name) for name in schema.names]
    cells = []
    for feature, fill in zip(schema, fills, strict=True):
        if isinstance(feature, Numeric):
            low, high = max(feature.lower, -1e9), min(feature.upper, 1e9)
            column = rng.uniform(low, high, rows)
            column = np.floor(column).tolist() if feature.integer else column.tolist()
            if fill is not None:
                column[0] = column[1] = None
        else:
            column = [[*feature.values, None][k] for k in rng.integers(0, feature.size, rows)]
        cells.append(column)
    made = [list(row) for row in zip(*cells, strict=True)]
    starts = {int(start): d for d, start in enumerate(schema.starts[:-1])}
    where, _, low_side, high_side = cuts(folded.tree)
    for node in np.flatnonzero(where >= 0):
        d = starts.get(int(where[node]))
        if d is not None and isinstance(schema.features[d], Numeric) and np.isfinite(low_side[node]):
            for value in (low_side[node], high_side[node]):
                row = list(made[rng.integers(rows)])
                row[d] = float(value)
                made.append(row)
    order = [schema.index(name) for name in found.names] if found.named else range(len(schema))
    for rows_in in (table, frame_of([[row[d] for d in order] for row in made], found, table)):
        X = encode_table(Schema([Numeric(f.name) if isinstance(f, Numeric) else f for f in schema]), rows_in)
        for d, fill in enumerate(fills):
            unused = schema.names[d] in found.unused
            X[np.isnan(X[:, d]), d] = 0.0 if unused else np.nan if fill is None else fill
        assert folded.tree.predict(schema.spread(X)).tolist() == model.predict(rows_in).tolist()
    return found, folded


def stump(weights, bias, closed, dtype="float64"):
    weights = np.array([weights, np.zeros_like(weights), np.zeros_like(weights)], dtype=float)
    return Tree([1, -1, -1], [2, -1, -1], weights, [bias, 0, 0], [-1, 0, 1], ["no", "yes"], closed=closed, dtype=dtype)


class Learner:
    """A user-written estimator that holds a Tree."""

    def __init__(self, tree):
        self.tree_ = tree

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.tree_.predict(np.asarray(X))
