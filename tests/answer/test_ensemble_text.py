"""Explanations of ensembles in words: what is about single leaves does not appear."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterleaf as cl

X, Y = load_iris(return_X_y=True, as_frame=True)
ROW = X.iloc[0]


@pytest.fixture(scope="module")
def explainer():
    return cl.Explainer(RandomForestClassifier(10, random_state=0).fit(X, np.array(["a", "b", "c"])[Y]), data=X)


def test_an_answer_has_the_leaf_0(explainer):
    answer = explainer.explain(ROW, target="c")
    assert [one.leaf for one in answer] == [0]
    assert str(answer).endswith("Your model confirms it: it says c for this row.")
    assert answer.to_frame()["leaf"].tolist()[1:] == [0]


def test_alternatives(explainer):
    said = str(explainer.explain(ROW, count=2, target="c"))
    assert "keeps at least one feature an earlier answer changes" in said or "No further alternative exists" in said
    assert "leaf of the tree" not in said


def test_support_is_about_the_leaves_of_all_trees(explainer):
    said = str(explainer.explain(ROW, target="c", support=3))
    assert "Proved: no allowed change to leaves of 3 or more rows of the data costs less than this one" in said


def test_a_conflict(explainer):
    said = str(explainer.explain(ROW, target="c", constraints=[cl.freeze(*X.columns[2:]), cl.max_changes(3)]))
    assert "This constraint rules it out: freeze(" in said
    assert said.endswith("This is proved.")


def test_nothing_reaches_a_probability():
    short = RandomForestClassifier(4, max_depth=1, random_state=0).fit(X, np.array(["a", "b", "c"])[Y])
    said = str(cl.Explainer(short, data=X).explain(ROW, target=cl.probability("b", at_least=0.99)))
    assert said == (
        "No row within the feature bounds makes the model give b a probability of at least 0.99, even without constraints. "
        "(Unless others were given, the bounds are the ranges seen in the data; infer_bounds=False lifts them.) This is proved."
    )


def test_nothing_reaches_a_value():
    data, numbers = load_diabetes(return_X_y=True, as_frame=True)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(data, numbers)
    said = str(cl.Explainer(model).explain(data.iloc[0], target=cl.value(at_least=1e6)))
    assert said == "No row makes the model predict a value of at least 1000000, even without constraints. This is proved."


def test_a_search_that_stops_early(explainer):
    said = str(explainer.explain(ROW, target="c", max_nodes=1))
    assert "leaf" not in said


def test_a_pipeline_of_trees_is_not_drawn_as_one():
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(2, random_state=0)).fit(X, Y)
    with pytest.raises(cl.CounterleafError, match="the pipeline ends with an ensemble; expected a single tree to show"):
        cl.export_text(piped)
