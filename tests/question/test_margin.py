"""Margins in the units of features: an answer stays valid when every feature moves by less than its distance."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds

import counterleaf as cl

TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[2.0, 1.0], [0, 0], [0, 0]], [-4.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def corners(row, distances):
    """The row with every number moved to either end of its distance."""
    return [np.array(row) + np.array(signs) * distances for signs in itertools.product((-1, 1), repeat=len(row))]


@pytest.mark.parametrize("seed", seeds(12))
def test_a_whole_box_around_the_answer_has_the_class(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) * [1, 100, 0.01]
    model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, (X / [1, 100, 0.01]).sum(axis=1) > 0)
    explainer, distances = cl.Explainer(model), np.array([0.05, 2.0, 0.0])
    for row in X[:8]:
        target = not model.predict(row[None])[0]
        answer = explainer.explain(row, target=target, margin={"x0": 0.05, 1: 2})
        if answer.status == "infeasible":
            continue
        assert answer.certificate.check()
        assert (model.predict(corners(answer[0].row, 0.9999 * distances)) == target).all()
        assert answer[0].cost >= explainer.explain(row, target=target)[0].cost
        many = explainer.explain_many(row[None], target=target, margin={"x0": 0.05, "x1": 2.0})
        assert many["cost"][0] == answer[0].cost


def test_distances_add_up_at_an_oblique_split():
    answer = cl.Explainer(TREE).explain([0.0, 0.0], target="yes", cost=cl.L1(), margin={"x0": 0.5, "x1": 1.0})
    assert answer[0].row == pytest.approx([3.0, 0.0])  # 2 x0 + x1 - 4 >= 2 * 0.5 + 1
    assert answer.certificate.check()
    assert "with a margin of 0.5 of x0, 1 of x1" in str(answer)
    assert "margin: 0.5 of x0, 1 of x1" in answer.words
    again = cl.Explanation.from_json(answer.to_json())
    assert again.certificate.check()
    assert str(again) == str(answer)


def test_a_share_of_each_range():
    X = np.column_stack([np.linspace(0, 10, 50), np.tile(np.linspace(0, 1000, 10), 5)])
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, X[:, 0] > 5)
    explainer = cl.Explainer(model, data=X)
    threshold = model.tree_.threshold[0]
    answer = explainer.explain([1.0, 1.0], target=True, margin="10%")
    assert answer[0].row[0] == pytest.approx(threshold + 1.0)
    assert explainer.explain([1.0, 1.0], target=True, margin={"x0": 1.0})[0].cost == pytest.approx(answer[0].cost)


def test_units_are_those_of_the_table_in_a_pipeline():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"income": rng.gamma(2, 1000, 400), "age": rng.integers(20, 70, 400), "job": rng.choice(list("abc"), 400)}
    )
    y = np.where((frame["income"] > 2500) & (frame["age"] > 30), "yes", "no")
    columns = make_column_transformer(
        (make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), ["income"]),
        (OneHotEncoder(), ["job"]),
        remainder="passthrough",
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(frame, y)
    explainer = cl.Explainer(model, data=frame)
    row = frame[model.predict(frame) == "no"].iloc[0]
    answer = explainer.explain(row, target="yes", margin={"income": 500, "age": 1})
    best = answer.best.row
    for money, years in itertools.product((-499, 0, 499), (-0.9, 0, 0.9)):
        moved = best.to_frame().T.assign(income=best["income"] + money, age=best["age"] + years)
        assert model.predict(moved.astype({"income": float, "age": float}))[0] == "yes"
    assert answer.certificate.check()


def test_margins_with_leaves_that_compute():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = LogisticRegression().fit(X, X.sum(axis=1) > 0)
    answer = cl.Explainer(model).explain([-1.0, -1.0], target=True, margin={"x0": 0.2, "x1": 0.1})
    assert all(model.predict(corners(answer[0].row, np.array([0.1999, 0.0999]))))
    assert answer.certificate.check()


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ({"x0": -1}, "the margin of 'x0' is -1; expected 0 or more"),
        ({"x0": "a"}, "the margin of 'x0' is 'a'"),
        ({"z": 1}, "'z'"),
        ("1 %%", "expected a number, a dict by feature, or a percentage"),
        ("-1%", "expected a number, a dict by feature, or a percentage"),
        ("1%", "is a share of the range of the data; pass data= to Explainer, or numbers"),
        (-0.5, "margin is -0.5; expected 0 or more"),
        ("a", "expected a number, a dict by feature, or a percentage"),
    ],
)
def test_margins_that_make_no_sense(margin, message):
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Explainer(TREE).explain([0.0, 0.0], target="yes", margin=margin)


def test_a_margin_of_a_category():
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"]
    )
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x"), cl.Categorical("job", ["a", "b"])]))
    with pytest.raises(cl.CounterleafError, match="margin names feature 'job', which is not a number; leave it out"):
        explainer.explain({"x": 0.0, "job": "a"}, target="yes", margin={"job": 1})
