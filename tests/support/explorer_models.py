"""A session for every kind of model: constant, linear and softmax leaves, forests, boosted trees, pipelines with gaps."""

import functools

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.explorer_cases import small_session
from support.output_cases import random_tree

import counterleaf as cl

N = 160


@functools.cache
def table():
    """People with numbers and one category, their class, one of three kinds, and their wage."""
    rng = np.random.default_rng(7)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "hours": rng.integers(5, 60, N).astype(float),
            "income": rng.normal(30000, 9000, N).round(2),
            "job": rng.choice(["clerk", "cook", "nurse"], N),
        }
    )
    score = rows["income"] / 9000 + rows["hours"] / 20 + 2 * (rows["job"] == "nurse") + rng.normal(0, 0.4, N)
    wage = (400 + 12 * rows["hours"] + 0.02 * rows["income"] + 150 * (rows["job"] == "cook")).round(2)
    kind = np.array(["low", "middle", "high"])[np.digitize(score, np.quantile(score, [0.4, 0.7]))]
    return rows, np.where(score > score.median(), "granted", "refused"), kind, wage


NUMBERS = ["age", "hours", "income"]


def _numbers():
    return table()[0][NUMBERS]


def _piped(model, y, gaps=False):
    rows = table()[0].copy()
    if gaps:
        rows.loc[::7, "income"] = np.nan
        rows.loc[::11, "hours"] = np.nan
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()) if gaps else "passthrough"
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), (numbers, NUMBERS))
    return cl.Explainer(make_pipeline(columns, model).fit(rows, y), data=rows), rows


def _linear(kind, classes):
    rng = np.random.default_rng(classes)
    tree = random_tree(rng, 4, kind, classes)
    schema = cl.Schema([cl.Numeric(f"x{d}", -4, 4) for d in range(4)])
    return cl.Explainer(tree, schema=schema), pd.DataFrame(rng.normal(size=(40, 4)).round(3), columns=schema.names)


def _fitted(model, y):
    return cl.Explainer(model.fit(_numbers(), y), data=_numbers()), _numbers()


MAKERS = {
    "class tree": lambda: _piped(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0), table()[1]),
    "three classes": lambda: _fitted(DecisionTreeClassifier(max_leaf_nodes=16, random_state=0), table()[2]),
    "value tree": lambda: _piped(DecisionTreeRegressor(max_leaf_nodes=20, random_state=0), table()[3]),
    "pipeline with gaps": lambda: _piped(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0), table()[1], gaps=True),
    "value linear": lambda: _linear("value", 1),
    "logistic leaves": lambda: _linear("logistic", 2),
    "softmax leaves": lambda: _linear("softmax", 3),
    "score leaves": lambda: _linear("score", 3),
    "forest": lambda: _fitted(RandomForestClassifier(12, max_leaf_nodes=8, random_state=0), table()[1]),
    "forest of three classes": lambda: _fitted(RandomForestClassifier(9, max_leaf_nodes=6, random_state=0), table()[2]),
    "boosted": lambda: _fitted(GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0), table()[1]),
    "boosted, three classes": lambda: _fitted(
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0), table()[2]
    ),
    "histogram boosting": lambda: _gappy_boosting(),
    "value forest": lambda: _fitted(RandomForestRegressor(8, max_leaf_nodes=8, random_state=0), table()[3]),
    "value boosted": lambda: _fitted(GradientBoostingRegressor(n_estimators=10, max_depth=2, random_state=0), table()[3]),
    "logarithm of a value": lambda: _fitted(
        TransformedTargetRegressor(DecisionTreeRegressor(max_leaf_nodes=12, random_state=0), func=np.log, inverse_func=np.exp),
        table()[3],
    ),
}


def _gappy_boosting():
    rows = _numbers().copy()
    rows.loc[::5, "income"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5, min_samples_leaf=5, random_state=0)
    return cl.Explainer(model.fit(rows, table()[1]), data=rows), rows


@functools.cache
def model_session(name, limit=30.0):
    return small_session(*MAKERS[name](), limit=limit)
