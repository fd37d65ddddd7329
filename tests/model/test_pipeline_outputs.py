"""The outputs of leaves through the steps of a pipeline: probabilities, values and linear functions of the raw columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from support.fold_cases import Learner
from support.probed_cases import NUMBERS, Linear, X, Y, answers_hold, loans, random_rows

import counterleaf as cl
from counterleaf.model.outputs import Outputs
from counterleaf.model.pipelines.fold import fold
from counterleaf.model.pipelines.steps import survey
from counterleaf.table.encoding import encode_table

THREE = pd.cut(np.log(X["pay"]) + X["age"] / 40, 3, labels=False).to_numpy()
FRONTS = {
    "scaled": lambda: make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job"])),
    "ordinal": lambda: make_column_transformer((MinMaxScaler(), NUMBERS), (OrdinalEncoder(), ["job"])),
    "targets": lambda: make_column_transformer((TargetEncoder(), ["job"]), (StandardScaler(), NUMBERS)),
    "bins": lambda: make_column_transformer(
        (KBinsDiscretizer(4), ["age", "hours"]), (StandardScaler(), ["pay"]), (OneHotEncoder(), ["job"])
    ),
    "only bins": lambda: make_column_transformer((KBinsDiscretizer(4), ["age", "hours"])),
    "components": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(sparse_output=False), ["job"])), PCA(4)
    ),
    "tilted": lambda: make_column_transformer(
        (FunctionTransformer(lambda Z: 2.0 * Z - 3.0), ["age"]), (StandardScaler(), ["pay"])
    ),
}


def folded(model):
    found = survey(model)
    schema = cl.Schema.infer(X[found.names], finite=found.finite, leave=found.unused)
    return schema, fold(found, schema, X[found.names])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", FRONTS)
def test_linear_models_over_the_raw_columns(name, labels):
    model = make_pipeline(FRONTS[name](), Linear()).fit(X, labels)
    schema, found = folded(model)
    rows, _ = loans(1500, seed=8)
    points = schema.spread(encode_table(schema, rows))
    assert found.tree.predict(points).tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(found.tree.predict_proba(points), model.predict_proba(rows), rtol=0, atol=1e-12)
    assert not found.exact or name == "only bins"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FRONTS)
def test_answers_of_linear_models(name):
    model = make_pipeline(FRONTS[name](), Linear()).fit(X, Y)
    explainer = cl.Explainer(model, data=X)
    answers_hold(explainer, model, range(6))


def test_trees_with_linear_leaves_and_values():
    rng = np.random.default_rng(4)
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(sparse_output=False), ["job"])).fit(X)
    made = encode.transform(X)
    left = np.array([1, 3, -1, -1, -1])
    right = np.array([2, 4, -1, -1, -1])
    weights = np.zeros((5, 7))
    weights[0, 1], weights[1, 4] = 1.0, 1.0
    for kind, count in (("value", 1), ("softmax", 3), ("score", 3)):
        outputs = Outputs(kind, rng.normal(size=(5, count)), rng.normal(size=(5 * count, 7)))
        value, classes = (None, None) if kind == "value" else ([-1, -1, 0, -1, -1], ["a", "b", "c"])
        tree = cl.Tree(left, right, weights, [0.2, -0.5, 0, 0, 0], value, classes, outputs=outputs)
        schema, found = folded(Pipeline([("encode", encode), ("tree", Learner(tree))]))
        points = schema.spread(encode_table(schema, X))
        assert found.tree.outputs.kind == kind
        expected = tree.predict(made)
        if kind == "value":
            np.testing.assert_allclose(found.tree.predict(points), expected, rtol=1e-12, atol=1e-12)
        else:
            assert found.tree.predict(points).tolist() == expected.tolist()


def test_constant_outputs_stay_exact():
    scale = StandardScaler().fit(X[["age", "pay"]])
    outputs = Outputs("probability", [[0, 0], [0.9, 0.1], [0.2, 0.8]])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0], [0, 0], [0, 0]], [-0.1, 0, 0], [-1, 0, 1], outputs=outputs)
    model = Pipeline([("scale", scale), ("tree", Learner(tree))])
    schema, found = folded(model)
    assert found.exact
    points = schema.spread(encode_table(schema, X))
    made = scale.transform(X[["age", "pay"]])
    assert found.tree.predict_proba(points).tolist() == tree.predict_proba(made).tolist()


def test_values_of_bins_are_copied_with_their_leaves():
    bins = KBinsDiscretizer(4, encode="onehot-dense").fit(X[["hours"]])
    outputs = Outputs("value", [0.0, 1.5, -2.5])
    weights = np.zeros((3, 4))
    weights[0, 2] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-0.5, 0, 0], outputs=outputs)
    model = Pipeline([("bins", bins), ("tree", Learner(tree))])
    schema, found = folded(model)
    assert found.tree.n_nodes == 5
    points = schema.spread(encode_table(schema, X[["hours"]]))
    assert found.tree.predict(points).tolist() == tree.predict(bins.transform(X[["hours"]])).tolist()


def test_a_split_on_a_sum_of_bins_is_exact():
    model = make_pipeline(make_column_transformer((KBinsDiscretizer(5), ["hours"])), Linear()).fit(X, Y)
    explainer = cl.Explainer(model, data=X)
    rows = random_rows(explainer)
    points = explainer.schema.spread(encode_table(explainer.schema, rows))
    assert explainer.tree.predict(points).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (FunctionTransformer(np.log1p), r"column 'hours' goes through a curve \(FunctionTransformer\) before the model sums"),
        (SplineTransformer(), r"column 'hours' .*list its values in the schema, as in Ordinal\('hours', \[\.\.\.\]\)"),
    ],
)
def test_a_sum_of_curves_is_refused(step, reason):
    model = make_pipeline(make_column_transformer((step, ["hours"]), (StandardScaler(), ["pay"])), Linear()).fit(X, Y)
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        cl.Explainer(model, data=X)
    assert "\n" not in str(caught.value)


def test_a_curve_that_is_straight_within_the_bounds():
    clip = FunctionTransformer(lambda Z: Z.clip(X["hours"].min(), X["hours"].max()) / 10)
    model = make_pipeline(make_column_transformer((clip, ["hours"]), (StandardScaler(), ["pay"])), Linear()).fit(X, Y)
    explainer = cl.Explainer(model, data=X)
    assert explainer.schema.domains == {"hours": (X["hours"].min(), X["hours"].max())}
    answers_hold(explainer, model, range(4))
    with pytest.raises(cl.CounterleafError, match="feature 'hours' of the row is 200; the model takes numbers from"):
        explainer.explain({**X.iloc[0], "hours": 200.0})


def test_a_curve_over_listed_values_is_a_sum():
    model = make_pipeline(
        make_column_transformer((FunctionTransformer(np.log1p), ["age"]), (StandardScaler(), ["pay"])), Linear()
    )
    model = model.fit(X, Y)
    schema = cl.Schema([cl.Ordinal("age", list(range(18, 80))), cl.Numeric("pay", 0, 1e5)])
    explainer = cl.Explainer(model, schema=schema)
    assert all(explainer.explain(row)[0].confirmed for row in X[["age", "pay"]].head(5).to_dict("records"))


def test_too_many_pieces(monkeypatch):
    monkeypatch.setattr("counterleaf.model.pipelines.fold._MOST_NODES", 3000)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 8)), columns=list("abcdefgh"))
    model = make_pipeline(KBinsDiscretizer(10), Linear()).fit(wide, (wide.sum(axis=1) > 0).astype(int))
    with pytest.raises(
        cl.CounterleafError, match="the steps cut the numbers of the table into pieces, and the tree needs more"
    ):
        cl.Explainer(model, data=wide)
