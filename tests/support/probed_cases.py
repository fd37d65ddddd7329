"""A small table, and pipelines whose steps are probed, compared with the tree that they are folded into."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds

import counterleaf as cl
from counterleaf.model.cuts import cuts
from counterleaf.model.outputs import Outputs
from counterleaf.table.schema import encode_table

NUMBERS = ["age", "pay", "hours"]
JOBS = ["cook", "clerk", "nurse", "smith"]


def loans(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.lognormal(8, 1, n),
            "hours": rng.normal(40, 9, n),
            "job": rng.choice(JOBS, n),
            "month": rng.integers(1, 13, n),
        }
    )
    score = np.log(frame["pay"]) + frame["age"] / 20 + (frame["job"] == "cook") + np.sin(frame["month"] / 2)
    return frame, (score + rng.normal(0, 0.5, n) > 11).to_numpy().astype(int)


X, Y = loans()


class Bins(TransformerMixin, BaseEstimator):
    """A user's own step: whether a number is in the second or in the last of four bins."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        edges = [-np.inf, 25, 33.3, 60, np.inf]
        return np.column_stack([np.isin(pd.cut(X[c], edges, labels=False), [1, 3]) for c in X.columns]).astype(float)


class Linear(ClassifierMixin, BaseEstimator):
    """A logistic regression that shows its tree."""

    def fit(self, X, y):
        self.model_ = LogisticRegression(C=0.5, max_iter=3000).fit(X, y)
        self.classes_, w, b = self.model_.classes_, self.model_.coef_, self.model_.intercept_
        none = np.zeros((1, w.shape[1]))
        if len(b) == 1:
            outputs = Outputs("logistic", [0, b[0], b[0]], np.vstack([none, w, w]))
            bias, value = [b[0], 0, 0], [-1, 0, 1]
            weights = np.vstack([w, none, none])
            self.tree_ = cl.Tree([1, -1, -1], [2, -1, -1], weights, bias, value, self.classes_, "left", outputs=outputs)
        else:
            self.tree_ = cl.Tree([-1], [-1], none, [0.0], None, self.classes_, outputs=Outputs("softmax", [b], w))
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def behind(step, columns, last=None, rest=True):
    """A pipeline with a step on some columns, the other numbers as they are, and a tree."""
    others = [name for name in [*NUMBERS, "month"] if name not in columns] if rest else []
    front = make_column_transformer((step, columns), *([("passthrough", others)] if others else []))
    return make_pipeline(front, last or DecisionTreeClassifier(max_depth=5, random_state=0)).fit(X, Y)


def random_rows(explainer, n=2000, seed=3):
    """Rows within the ranges of the table, and rows with a number on either side of a split."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.uniform(X["pay"].min(), X["pay"].max(), n),
            "hours": rng.uniform(X["hours"].min(), X["hours"].max(), n),
            "job": rng.choice(JOBS, n),
            "month": rng.integers(1, 13, n),
        }
    )
    feature, _, low, high = cuts(explainer.tree)
    single = explainer._adapter.guard == 0.0
    variables = explainer.schema.variables
    edges = [(variables[f], side) for f, a, b in zip(feature, low, high, strict=True) if f >= 0 for side in (a, b)]
    edges = [(name, side) for name, side in edges if name in ("pay", "hours") and np.isfinite(side)] if single else []
    for k, (name, side) in enumerate(edges):
        rows.loc[k % n, name] = side
    return rows


def same_as_pipeline(explainer, model):
    """Compare the predictions on random rows and at the edges."""
    rows = random_rows(explainer)
    points = explainer.schema.spread(encode_table(explainer.schema, rows))
    assert explainer.tree.predict(points).tolist() == model.predict(rows).tolist()


def answers_hold(explainer, model, lines=range(8), tries=3000):
    """Check that every answer is confirmed, and that no random row costs less."""
    rng = np.random.default_rng(0)
    for line in seeds(lines.start, lines.stop):
        row = X.iloc[[line]]
        answer = explainer.explain(row)
        assert answer.certificate.check()
        if not len(answer):
            continue
        best = answer[0]
        assert best.confirmed
        label = model.predict(row)[0]
        assert model.predict(best.row)[0] != label
        rows = pd.concat([row] * tries, ignore_index=True)
        for name in explainer.schema.names:
            changed = rng.random(tries) < 0.5
            rows.loc[changed, name] = rng.choice(X[name].to_numpy(), changed.sum())
        other = rows[model.predict(rows) != label]
        if len(other):
            assert best.cost <= cheapest(explainer, row, other) * (1 + 1e-9)


def cheapest(explainer, row, others):
    """The least cost of some rows as answers to a row, under the cost that an explainer has by default."""
    least = np.inf
    total = np.zeros(len(others))
    for name in explainer.schema.names:
        old, new = row[name].iloc[0], others[name].to_numpy()
        if isinstance(explainer.schema.features[explainer.schema.index(name)], cl.Numeric):
            low, high = np.quantile(X[name], [0.01, 0.99], method="inverted_cdf")
            total += np.abs(new - old) / (high - low)
        else:
            total += new != old
    return min(least, total.min())
