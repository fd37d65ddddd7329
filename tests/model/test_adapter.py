"""An explainer with other features gives the answers of a new one, without reading the model again."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.pipeline_cases import NUMBERS, PREPARATIONS, fitted, people
from support.seeds import seeds
from support.strategies import random_case

import counterleaf as cl


def summary(answer):
    content = json.loads(answer.to_json())
    return {name: value for name, value in content.items() if name != "digest"}


def other(rng, feature):
    """The feature with everything changed that may change."""
    if not isinstance(feature, cl.Numeric):
        n = len(feature.values)
        costs = rng.uniform(0.1, 2, (n, n)) * (1 - np.eye(n))
        rest = () if isinstance(feature, cl.Boolean) else (feature.values,)
        return type(feature)(feature.name, *rest, costs, feature.missing)
    width = min(feature.upper - feature.lower, 1e6)
    low = max(feature.lower, -1e6) - rng.uniform(0, 1) * width
    kind = rng.choice(["plain", "step", "whole", "whole step"])
    if kind == "plain":
        return cl.Numeric(feature.name, low, low + 3 * width)
    if kind == "step":
        return cl.Numeric(feature.name, low, low + 3 * width, step=float(f"{width / 40:.1g}"))
    return cl.Numeric(feature.name, low, np.inf, integer=True, step=None if kind == "whole" else 2)


@pytest.mark.slow
@pytest.mark.parametrize("which", PREPARATIONS)
def test_with_features_equals_a_new_explainer_on_pipelines(which):
    model, table = fitted(*PREPARATIONS[which], "pandas")
    explainer = cl.Explainer(model, data=table)
    rng = np.random.default_rng(3)
    for _ in range(2):  # draws of new features for each of the pipelines: every kind of feature many times over
        some = [other(rng, f) for f in explainer.schema if rng.random() < 0.6]
        ours = explainer.with_features(*some)
        theirs = cl.Explainer(model, data=table, schema=explainer.schema.replace(*some))
        assert ours.schema == theirs.schema
        assert ours.tree.to_json() == theirs.tree.to_json()
        assert ours.tree is explainer.tree
        assert ours.model is model
        for k in range(4):
            try:
                expected = summary(theirs.explain(table.iloc[[k]], count=2))
            except cl.CounterleafError as error:  # a fraction in a feature of whole numbers
                with pytest.raises(cl.CounterleafError) as raised:
                    ours.explain(table.iloc[[k]], count=2)
                assert str(raised.value) == str(error)  # noqa: PT017  # both may also answer
                continue
            assert summary(ours.explain(table.iloc[[k]], count=2)) == expected
        ours, theirs = (one.explain_many(table[:20], progress=False) for one in (ours, theirs))
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


def test_with_features_equals_a_new_explainer_on_oblique_pipelines():
    frame, y = people()
    table = frame[[*NUMBERS, "job"]]
    steps = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), NUMBERS))
    model = make_pipeline(steps, cl.TAOClassifier(max_depth=3, random_state=0)).fit(table, y)
    explainer = cl.Explainer(model, data=table)
    new = (
        cl.Numeric("pay", 0, 1e6, step=500),
        cl.Numeric("age", 16, 99),
        cl.Categorical("job", explainer.schema.features[3].values, 1 - np.eye(4)),
    )
    ours, theirs = explainer.with_features(*new), cl.Explainer(model, data=table, schema=explainer.schema.replace(*new))
    assert ours.tree.to_json() == theirs.tree.to_json()
    for k in range(8):
        for cost in (None, cl.L2("std")):
            assert summary(ours.explain(table.iloc[k], cost=cost)) == summary(theirs.explain(table.iloc[k], cost=cost))
    assert summary(explainer.explain(table.iloc[0])) != summary(ours.explain(table.iloc[0]))


def test_with_features_equals_a_new_explainer_on_trees():
    for seed in seeds(20):
        rng = np.random.default_rng(seed)
        case = random_case(rng)
        some = [other(rng, f) for f in case.schema if rng.random() < 0.5 and f.upper < np.inf]
        some = [f for f in some if not f.integer]
        ours = cl.Explainer(case.tree, schema=case.schema).with_features(*some)
        theirs = cl.Explainer(case.tree, schema=case.schema.replace(*some))
        question = {"target": case.target, "cost": case.cost if not some else cl.L1(), "margin": case.margin}
        assert summary(ours.explain(case.row, **question)) == summary(theirs.explain(case.row, **question))


def test_an_explainer_from_json_takes_features_too():
    frame, y = people()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[["age", "pay"]], y)
    explainer = cl.Explainer(model, data=frame[["age", "pay"]])
    new = cl.Numeric("pay", 0, 1e6, step=1000)
    ours = cl.Explainer.from_json(explainer.to_json()).with_features(new)
    assert ours.to_json() == explainer.with_features(new).to_json()
    assert summary(ours.explain(frame[["age", "pay"]].iloc[0])) == summary(
        explainer.with_features(new).explain(frame[["age", "pay"]].iloc[0])
    )


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (["age"], r"with_features got 'age'; expected features such as Numeric\('age', 18, 90\)$"),
        ([cl.Numeric("age"), cl.Numeric("age", 1, 2)], "with_features got feature 'age' twice; pass it once"),
        ([cl.Numeric("height")], "no feature 'height'; the features are 'age', 'job', 'owner'"),
        (
            [cl.Categorical("age", [1, 2])],
            "feature 'age' is Categorical and was Numeric; with_features keeps the kind: pass schema=",
        ),
        ([cl.Ordinal("job", ["cook", "nurse"])], "feature 'job' is Ordinal and was Categorical; with_features keeps the kind"),
        ([cl.Numeric("job")], "feature 'job' is Numeric and was Categorical; with_features keeps the kind"),
        (
            [cl.Boolean("owner", missing=True)],
            "has the values False, True, or none and had the values False, True; with_features keeps",
        ),
        (
            [cl.Categorical("job", ["nurse", "cook"])],
            "has the values 'nurse', 'cook' and had the values 'cook', 'nurse'; with_features",
        ),
    ],
)
def test_what_would_need_another_tree_is_refused(features, words):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1, 0, 1], [0] * 4, [0] * 4], [-1.0, 0, 0], [-1, 0, 1])
    schema = cl.Schema([cl.Numeric("age"), cl.Categorical("job", ["cook", "nurse"]), cl.Boolean("owner")])
    with pytest.raises(cl.CounterleafError, match=words):
        cl.Explainer(tree, schema=schema).with_features(*features)
