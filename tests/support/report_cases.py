"""A table of applicants with groups, its model, and the figures of a report recomputed with pandas alone."""

import functools

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

RULES = (
    cl.freeze("age", "owner"),
    cl.between("savings", 0, 6000),
    cl.only_increase("hours", at_most=12),
)


def applicants(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "hours": rng.integers(0, 60, n),
            "savings": rng.gamma(2, 3000, n).round(2),
            "job": rng.choice(["clerk", "cook", "nurse", "smith"], n),
            "owner": rng.random(n) < 0.4,
            "sex": rng.choice(["f", "m"], n),
        }
    )
    frame.loc[frame["sex"] == "f", "savings"] = (frame.loc[frame["sex"] == "f", "savings"] * 0.7).round(2)
    return frame


FEATURES = ["age", "hours", "savings", "job", "owner"]


@functools.cache
def bank():
    """The explainer of a small model."""
    data = applicants(1000, 1)[FEATURES]
    points = data["savings"] / 1000 + data["hours"] / 10 + 3 * data["owner"] + 2 * data["job"].isin(["nurse", "smith"])
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=16, random_state=0))
    return cl.Explainer(model.fit(data, np.where(points > 11, "granted", "refused")), data=data)


def smallest_covering(values, share):
    """The least value that at least a share of the values do not exceed."""
    values = sorted(values)
    return next(value for k, value in enumerate(values, 1) if k >= share * len(values) - 1e-9) if values else np.nan


def figures_of(answers, target="granted"):
    """The figures of one group, from the lines of ``explain_many``."""
    has = answers["source_label"].astype(str) == target
    can = ~has & answers["cost"].notna()
    cannot = ~has & (answers["status"] == "infeasible")
    costs = answers.loc[can, "cost"].tolist()
    affected = costs + [np.inf] * int(cannot.sum())
    return {
        "rows": len(answers),
        "has": int(has.sum()),
        "can": int(can.sum()),
        "cannot": int(cannot.sum()),
        "share_cannot": cannot.mean(),
        "share_reaching": can.sum() / (can.sum() + cannot.sum()),
        "cost_q25": smallest_covering(costs, 0.25),
        "cost_median": smallest_covering(costs, 0.5),
        "cost_q75": smallest_covering(costs, 0.75),
        "cost_mean": np.mean(costs),
        "changes_mean": answers.loc[can, "n_changed"].astype(float).mean(),
        "changes_median": smallest_covering(answers.loc[can, "n_changed"].tolist(), 0.5),
        "half_without_target": smallest_covering(affected, 0.5),
        "half_of_group": smallest_covering(affected + [0.0] * int(has.sum()), 0.5),
    }
