"""Steps of any kind, which are probed: the folded tree predicts what the pipeline predicts, and answers are confirmed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier
from support.probed_cases import NUMBERS, Bins, X, Y, answers_hold, behind, same_as_pipeline

import counterleaf as cl

pytestmark = pytest.mark.slow  # the whole file takes many seconds


def cycle(frame):
    """A number of a cycle of twelve as a point on a circle."""
    turn = 2 * np.pi * np.asarray(frame, float) / 12
    return np.column_stack([np.sin(turn), np.cos(turn)])


def tilt(frame):
    return np.asarray(frame, float) @ np.array([[1.0, 2.0], [0.001, -0.002], [0.3, 0.3]])


ONE_COLUMN = {
    "log1p": (lambda: FunctionTransformer(np.log1p), ["pay"]),
    "sqrt": (lambda: FunctionTransformer(np.sqrt), ["pay"]),
    "power": (PowerTransformer, NUMBERS),
    "box-cox": (lambda: PowerTransformer("box-cox"), ["pay"]),
    "quantiles": (lambda: QuantileTransformer(n_quantiles=40), NUMBERS),
    "normal quantiles": (lambda: QuantileTransformer(n_quantiles=40, output_distribution="normal"), ["pay"]),
    "bins": (lambda: KBinsDiscretizer(5), NUMBERS),
    "dense bins": (lambda: KBinsDiscretizer(6, encode="onehot-dense", strategy="uniform"), ["hours", "age"]),
    "ordinal bins": (lambda: KBinsDiscretizer(5, encode="ordinal"), NUMBERS),
    "encoded bins": (lambda: make_pipeline(KBinsDiscretizer(5, encode="ordinal"), OneHotEncoder()), ["hours"]),
    "own bins": (Bins, ["age", "hours"]),
    "threshold": (lambda: Binarizer(threshold=40), ["hours", "age"]),
    "clip": (lambda: FunctionTransformer(lambda X: X.clip(20, 60)), ["age", "hours"]),
    "falling": (lambda: FunctionTransformer(lambda X: -np.sqrt(X)), ["pay"]),
    "square of positive numbers": (lambda: FunctionTransformer(np.square), ["pay"]),
    "cycle": (lambda: FunctionTransformer(cycle), ["month"]),
    "straight spline": (lambda: SplineTransformer(degree=1, n_knots=2), ["hours"]),
    "spline of whole numbers": (SplineTransformer, ["age"]),
    "targets": (TargetEncoder, ["job"]),
    "indicator": (lambda: SimpleImputer(add_indicator=True), NUMBERS),
    "union": (
        lambda: FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer(np.exp2)), ("c", KBinsDiscretizer(3))]),
        ["hours"],
    ),
    "weighted union": (
        lambda: FeatureUnion([("a", "passthrough"), ("b", FunctionTransformer(np.cbrt))], transformer_weights={"b": -2.0}),
        ["hours"],
    ),
    "missing": (lambda: FeatureUnion([("a", StandardScaler()), ("b", MissingIndicator(features="all"))]), ["hours"]),
    "selected": (
        lambda: make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", KBinsDiscretizer(4))]), SelectKBest(k=6)),
        ["age", "hours"],
    ),
}
SUMS = {
    "PCA": (lambda: make_pipeline(StandardScaler(), PCA(2)), NUMBERS),
    "white PCA": (lambda: make_pipeline(StandardScaler(), PCA(3, whiten=True), StandardScaler()), NUMBERS),
    "SVD": (lambda: make_pipeline(StandardScaler(), TruncatedSVD(2)), NUMBERS),
    "LDA": (LinearDiscriminantAnalysis, NUMBERS),
    "function": (lambda: FunctionTransformer(tilt), NUMBERS),
    "PCA of categories": (
        lambda: make_pipeline(
            make_column_transformer((OneHotEncoder(sparse_output=False), ["job"]), (StandardScaler(), ["age", "hours"])), PCA(3)
        ),
        ["job", "age", "hours"],
    ),
}


def explained(step, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of narrow bins, and of encoders
        model = behind(step, columns)
        explainer = cl.Explainer(model, data=X)
        same_as_pipeline(explainer, model)
        answers_hold(explainer, model)
    return explainer, model


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_steps_on_one_column_are_exact(name):
    make, columns = ONE_COLUMN[name]
    explainer, _ = explained(make(), columns)
    assert explainer._adapter.guard == 0.0


@pytest.mark.parametrize("name", SUMS)
def test_weighted_sums_of_columns_become_oblique_splits(name):
    make, columns = SUMS[name]
    explainer, model = explained(make(), columns)
    assert explainer._adapter.guard > 0.0
    assert explainer.tree.n_nodes == model[-1].tree_.node_count


@pytest.mark.parametrize("name", ["TargetEncoder", "WOEEncoder", "CountEncoder", "CatBoostEncoder", "BinaryEncoder"])
def test_category_encoders(name):
    encoders = pytest.importorskip("category_encoders")
    explained(getattr(encoders, name)(cols=["job"]), ["job"])


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_nested_steps_with_any_output(output):
    inner = make_column_transformer(
        (make_pipeline(FunctionTransformer(np.log1p, feature_names_out="one-to-one"), StandardScaler()), ["pay"]),
        (KBinsDiscretizer(4, encode="onehot-dense"), ["hours"]),
        remainder="passthrough",
    )
    outer = make_column_transformer(
        (make_pipeline(inner, StandardScaler()), NUMBERS),
        (OneHotEncoder(sparse_output=False), ["job"]),
        remainder="drop",
        verbose_feature_names_out=True,
    )
    model = make_pipeline(make_pipeline(outer, "passthrough"), DecisionTreeClassifier(max_depth=5, random_state=0))
    model = model.set_output(transform=output).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = cl.Explainer(model, data=X)
        same_as_pipeline(explainer, model)
        answers_hold(explainer, model, range(3))


def test_arrays_and_steps_without_data():
    Z = X[NUMBERS].to_numpy()
    model = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier(max_depth=4)).fit(Z, Y)
    with_data, without = cl.Explainer(model, data=Z), cl.Explainer(model)
    assert with_data.tree.to_json() == without.tree.to_json()
    assert with_data.explain(Z[0])[0].confirmed
    assert without.explain(Z[0])[0].confirmed


def test_samplers_of_imbalanced_learn_do_nothing_at_predict():
    over = pytest.importorskip("imblearn.over_sampling")
    pipelines = pytest.importorskip("imblearn.pipeline")
    steps = [StandardScaler(), over.RandomOverSampler(random_state=0), DecisionTreeClassifier(max_depth=4, random_state=0)]
    model = pipelines.make_pipeline(*steps).fit(X[NUMBERS], Y)
    explainer = cl.Explainer(model, data=X[NUMBERS])
    assert all(explainer.explain(X[NUMBERS].iloc[[k]])[0].confirmed for k in range(5))


def test_numbers_that_the_steps_do_not_take_are_out_of_reach():
    model = make_pipeline(FunctionTransformer(np.log), DecisionTreeClassifier(max_depth=3)).fit(X[["pay"]], Y)
    explainer = cl.Explainer(model, data=X[["pay"]])
    low, high = explainer.schema.domains["pay"]
    assert (low, high) == (5e-324, np.inf)
    with pytest.raises(
        cl.CounterleafError, match=r"feature 'pay' of the row is -3; the model takes numbers from 4.*e-324 to inf"
    ):
        explainer.explain({"pay": -3.0})
    many = explainer.explain_many(pd.DataFrame({"pay": [-3.0, 100.0]}))
    assert many["status"].tolist() == ["invalid", "optimal"]
    assert "the model takes numbers from" in many["problem"].iloc[0]
    again = cl.Explainer.from_json(explainer.to_json())
    assert again.schema.domains == explainer.schema.domains
    wide = explainer.with_features(cl.Numeric("pay"))
    assert wide.schema.bounds()[0][0] == 5e-324


def test_whole_numbers_tried_one_by_one_stay_whole():
    explainer = cl.Explainer(behind(FunctionTransformer(cycle), ["month"]), data=X)
    assert explainer.schema.domains == {"month": (1.0, 12.0)}
    with pytest.raises(cl.CounterleafError, match="feature 'month' is not whole, and the pipeline was read for its whole"):
        explainer.with_features(cl.Numeric("month", 1, 12))
    with pytest.raises(cl.CounterleafError, match="feature 'month' of the row is 13; the model takes numbers from 1 to 12"):
        explainer.explain({**X.iloc[0], "month": 13})


def product(frame):
    cells = np.asarray(frame, float)
    return cells[:, :1] * cells[:, 1:2]


@pytest.mark.parametrize(
    ("step", "columns", "reason"),
    [
        (FunctionTransformer(product), ["pay", "hours"], r"\(FunctionTransformer\) combine columns \('pay', 'hours', \.\.\.\)"),
        (
            FunctionTransformer(lambda X: X - X.mean()),
            ["pay"],
            r"\(FunctionTransformer\) make different numbers of a row depending on the other rows; expected steps that",
        ),
        (
            FunctionTransformer(np.sin),
            ["hours"],
            r"column 'hours' goes through a step \(FunctionTransformer\) that neither rises nor falls throughout and does not",
        ),
        (SplineTransformer(), ["hours"], r"column 'hours' goes through a step \(SplineTransformer\) that neither rises"),
    ],
)
def test_steps_that_cannot_be_folded_get_one_clear_line(step, columns, reason):
    model = behind(step, columns)
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        cl.Explainer(model, data=X)
    assert "\n" not in str(caught.value)


def test_steps_that_fail_on_every_row():
    def picky(frame):
        if np.asarray(frame).shape[0] != 200:
            raise ValueError("two hundred rows, please")
        return frame

    model = behind(FunctionTransformer(picky), ["hours"])
    with pytest.raises(
        cl.CounterleafError, match=r"fail on a row of the data alone \(two hundred rows, please\); expected steps"
    ):
        cl.Explainer(model, data=X)
    with pytest.raises(cl.CounterleafError, match=r"fail on every row that was tried \(two hundred rows, please\); pass data="):
        cl.Explainer(model, data=X.head(100))


def test_a_transformer_is_expected():
    model = make_pipeline(FunctionTransformer(), DecisionTreeClassifier()).fit(X[NUMBERS], Y)
    model.steps.insert(1, ("odd", object()))
    with pytest.raises(cl.CounterleafError, match=r"step 'odd' .*\(object\) cannot be folded: it has no method transform"):
        cl.Explainer(model, data=X)
