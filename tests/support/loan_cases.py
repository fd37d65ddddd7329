"""A table of loans with every kind of feature, trees over it, and an answer that changes all of them."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

JOBS, SCHOOLS = ["cook", "clerk", "nurse", "self-employed"], ["none", "HS", "BA", "MA"]
SCHEMA = cl.Schema(
    [
        cl.Categorical("job", JOBS),
        cl.Ordinal("education", SCHOOLS),
        cl.Boolean("owner"),
        cl.Numeric("age", 18, 90, integer=True),
        cl.Numeric("rate", 0, 10, step=0.1),
        cl.Numeric("pay"),
    ]
)
ROW = {"job": "cook", "education": "HS", "owner": False, "age": 40, "rate": 0.1, "pay": 100.0}
COLUMNS = [*(f"job={job}" for job in JOBS), "education", "owner", "age", "rate", "pay"]


def chain(*splits, schema=SCHEMA, names=COLUMNS):
    """An explainer of a tree that says "yes" where every split, ({column: weight}, bias), is at least 0."""
    n = 2 * len(splits) + 1
    left, right = np.full((2, n), -1)
    weights, bias, value = np.zeros((n, len(names))), np.zeros(n), np.zeros(n, int)
    for k, (terms, offset) in enumerate(splits):
        left[2 * k], right[2 * k], bias[2 * k] = 2 * k + 1, 2 * k + 2, offset
        for name, weight in terms.items():
            weights[2 * k, names.index(name)] = weight
    value[-1] = 1
    return cl.Explainer(cl.Tree(left, right, weights, bias, value, classes=["no", "yes"]), schema=schema)


EVERY = chain(
    ({"job=self-employed": 1}, -0.5),
    ({"education": 1}, -1.5),
    ({"owner": 1}, -0.5),
    ({"age": 1}, -44.2),
    ({"rate": 1}, -0.25),
    ({"pay": 1}, -149.9871),
).explain(ROW, target="yes", cost=cl.L1())


def loan():
    """A pipeline on a table of loans, and the table."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"job": rng.choice(JOBS, 300), "age": rng.integers(18, 70, 300), "hours": rng.integers(20, 120, 300) / 2}
    )
    score = frame["hours"] / 20 + frame["job"].map(dict(zip(JOBS, (-1, 1, 0.5, 0.2), strict=True)))
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "hours"]))
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0))
    return model.fit(frame, np.where(score > 2.2, "granted", "refused")), frame
