"""Ensembles over the variables of a schema predict what the user's model predicts, alone and at the end of pipelines."""

import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from support.forest_cases import MIXED, WORDS, check_points, same, table

from counterleaf import Boolean, Categorical, Numeric, Ordinal, Schema
from counterleaf.model.adapter import adapt

pytestmark = pytest.mark.slow  # the whole file takes many seconds

FRAME, Y = table()
PLAIN, _ = table(categories=False)
NUMBERS = ["age", "pay", "hours"]
FULL = ["age", "pay"]


def forest(**options):
    return RandomForestClassifier(**{"n_estimators": 8, "max_depth": 5, "random_state": 0, **options})


def boosted(**options):
    return HistGradientBoostingClassifier(**{"max_iter": 8, "max_leaf_nodes": 8, "random_state": 0, **options})


def lightgbm(**options):
    module = pytest.importorskip("lightgbm")
    return module.LGBMClassifier(**{"n_estimators": 8, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, **options})


def xgboost(**options):
    return pytest.importorskip("xgboost").XGBClassifier(
        **{"n_estimators": 8, "max_depth": 3, "enable_categorical": True, **options}
    )


@pytest.mark.parametrize("make", [forest, boosted, lightgbm, xgboost])
def test_a_model_of_numbers_with_gaps(make):
    adapter = same(make().fit(FRAME[NUMBERS], Y), FRAME[NUMBERS])
    assert not adapter.takes_rows
    assert len(adapter.routes.feature) == adapter.tree.splits.n_nodes


def test_a_model_of_arrays_and_several_classes():
    X = PLAIN[FULL].to_numpy(float)
    model = ExtraTreesClassifier(6, max_depth=6, random_state=0).fit(X, (X[:, 0] // 25).astype(int))
    check_points(adapt(model, X, None, True))


def test_regression():
    for model in (RandomForestRegressor(5, random_state=0), GradientBoostingRegressor(n_estimators=9)):
        same(model.fit(PLAIN[FULL], PLAIN["pay"]), PLAIN[FULL], missing=(), exact=False)


@pytest.mark.parametrize("make", [lightgbm, xgboost, lambda: boosted(categorical_features="from_dtype")])
def test_categories_that_the_model_takes_itself(make):
    """Categories, missing ones too, next to numbers that may be missing; the model gets frames with the types of the fit."""
    adapter = same(make().fit(FRAME, Y), FRAME)
    kinds = {feature.name: feature for feature in adapter.schema}
    assert isinstance(kinds["job"], Categorical)
    assert kinds["job"].values == ("clerk", "cook", "nurse", "smith")
    assert kinds["city"].missing
    assert not kinds["job"].missing
    assert len(np.unique(adapter.tree.splits.weights.indices)) > len(NUMBERS)  # some splits are on categories


def test_codes_that_the_model_takes_for_categories():
    codes = PLAIN[FULL].assign(code=np.random.default_rng(0).choice([3, 7, 11, 20], len(PLAIN)))
    y = np.isin(codes["code"], [3, 11]) ^ (codes["age"] > 60)
    for model in (boosted(categorical_features=["code"]).fit(codes, y), lightgbm().fit(codes, y, categorical_feature=["code"])):
        adapter = same(model, codes, missing=())
        assert adapter.schema.features[2].values == (3, 7, 11, 20)


def encoded(**options):
    parts = [("o", OrdinalEncoder(**options), WORDS)]
    return ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoded_missing_value": -2},
        {"handle_unknown": "use_encoded_value", "unknown_value": -1, "encoded_missing_value": 9},
    ],
)
@pytest.mark.parametrize("names", [False, True])
def test_an_encoder_before_a_model_of_categories(options, names):
    steps = encoded(**options).set_output(transform="pandas") if names else encoded(**options)
    same(make_pipeline(steps, boosted(categorical_features=WORDS if names else [0, 1, 2])).fit(PLAIN, Y), PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM warns about negative codes
        model = make_pipeline(steps, lightgbm()).fit(PLAIN, Y, lgbmclassifier__categorical_feature=[0, 1, 2])
    same(model, PLAIN)


def test_categories_that_a_pipeline_passes_on():
    steps = ColumnTransformer([("n", StandardScaler(), NUMBERS)], remainder="passthrough", verbose_feature_names_out=False)
    same(make_pipeline(steps.set_output(transform="pandas"), lightgbm()).fit(FRAME, Y), FRAME)


PREPARATIONS = {
    "one-hot": lambda: make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job", "size"])),
    "ordinal": lambda: make_column_transformer(
        (OrdinalEncoder(), ["size"]), (MinMaxScaler(clip=True), FULL), ("passthrough", ["hours"])
    ),
    "indicator": lambda: make_column_transformer((SimpleImputer(add_indicator=True), ["hours"]), (StandardScaler(), FULL)),
    "logarithm": lambda: make_column_transformer((FunctionTransformer(np.log), ["pay"]), (StandardScaler(), ["hours", "age"])),
    "negative": lambda: ColumnTransformer([("n", StandardScaler(), NUMBERS)], transformer_weights={"n": -2.0}),
}


@pytest.mark.parametrize("make", [forest, boosted, lightgbm])
@pytest.mark.parametrize("name", PREPARATIONS)
def test_a_pipeline_with_a_number_that_may_be_missing(name, make):
    same(make_pipeline(PREPARATIONS[name](), make()).fit(PLAIN, Y), PLAIN)


def test_an_imputer_fills_in_what_is_missing():
    model = make_pipeline(make_column_transformer((SimpleImputer(), ["hours"]), (OneHotEncoder(), ["job"])), forest()).fit(
        PLAIN, Y
    )
    adapter = same(model, PLAIN, missing=())
    assert adapter.schema.fills["hours"] == pytest.approx(PLAIN["hours"].mean())


@pytest.mark.parametrize("encode", ["onehot", "ordinal"])
def test_bins_are_several_cuts(encode):
    steps = make_column_transformer((KBinsDiscretizer(6, encode=encode), FULL), (OneHotEncoder(), ["job"]))
    adapter = same(make_pipeline(steps, forest()).fit(PLAIN, Y), PLAIN, missing=())
    shared = np.concatenate([adapter.tree.left, adapter.tree.right])
    assert (np.bincount(shared[shared >= 0]).max() > 1) == (encode == "onehot")
    assert (adapter.routes is None) == (encode == "onehot")


def test_a_step_that_falls_and_rises():
    steps = make_column_transformer((FunctionTransformer(lambda Z: np.abs(Z - 50)), ["age"]), (StandardScaler(), ["pay"]))
    same(make_pipeline(steps, lightgbm()).fit(PLAIN, Y), PLAIN, missing=())


def test_a_search_and_a_schema():
    schema = Schema([Numeric("age", 0, 120), Categorical("job", ["cook", "clerk"]), Boolean("flag")])
    frame = PLAIN[["age", "job"]].assign(flag=Y == 1)
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), ("passthrough", ["age", "flag"]))
    model = GridSearchCV(make_pipeline(steps, boosted()), {}, cv=2).fit(frame, Y)
    adapter = adapt(model, frame, schema, True)
    check_points(adapter)
    assert adapter.schema.width == 5


def test_levels_and_values_of_a_model_of_numbers():
    """One column per category, one for all levels."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.normal(size=200)]).astype(float)
    X = np.column_stack([X[:, 0], X[:, 1], 1 - X[:, 1], X[:, 2]])
    model = forest().fit(X, (X[:, 0] + X[:, 1] * 2 + X[:, 3] > 1).astype(int))
    schema = Schema([Ordinal("level", ["S", "M", "L"]), Categorical("kind", ["a", "b"]), Numeric("z")])
    adapter = adapt(model, None, schema, True)
    x = schema.spread(np.column_stack([rng.integers(0, 3, 99), rng.integers(0, 2, 99), rng.normal(size=99)]))
    assert np.array_equal(adapter.tree.predict(x), adapter.predictions(x, []))


def test_an_ensemble_is_a_model_itself():
    read = adapt(forest().fit(PLAIN[FULL], Y), None, None, True).tree
    adapter = adapt(read, None, None, True)
    assert adapter.model is read
    check_points(adapter)


def test_all_columns_at_once():
    """Categories, gaps, a pipeline and regression with the exponential as its link."""
    model = HistGradientBoostingRegressor(max_iter=9, loss="poisson", categorical_features=WORDS)
    same(make_pipeline(encoded().set_output(transform="pandas"), model).fit(PLAIN[MIXED], PLAIN["pay"]), PLAIN, exact=False)
