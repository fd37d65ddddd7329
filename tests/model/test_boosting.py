"""Boosted models with one tree, read threshold for threshold and probed leaf for leaf."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.model.adapter import adapt
from counterleaf.model.readers.shared.leaf_probes import rows_at_splits
from counterleaf.model.readers.table import gap_routes, read_ensemble

FRAME, BENIGN = load_breast_cancer(return_X_y=True, as_frame=True)
FRAME = FRAME.iloc[:, :6]
CANCER = FRAME.to_numpy()
IRIS, KIND = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
LIBRARIES = ("hist", "xgboost", "lightgbm")


def made(library, task="Classifier", trees=1, **options):
    if library == "hist":
        kind = HistGradientBoostingClassifier if task == "Classifier" else HistGradientBoostingRegressor
        return kind(max_iter=trees, max_leaf_nodes=8, **options)
    module = pytest.importorskip(library)
    if library == "xgboost":
        return getattr(module, f"XGB{task}")(n_estimators=trees, max_depth=3, **options)
    return getattr(module, f"LGBM{task}")(n_estimators=trees, num_leaves=8, verbose=-1, **options)


def same(model, X):
    """Check a model's tree on random rows and at every split."""
    tree = cl.read_tree(model)
    edges, _ = rows_at_splits(tree)
    rows = np.vstack([np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (3000, X.shape[1])), edges])
    assert (tree.predict(rows) == model.predict(rows)).all()
    if not tree.is_regression:
        assert (tree.predict_proba(rows) == model.predict_proba(rows)).all()
    return tree


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_tree_is_read_exactly(library):
    same(made(library).fit(CANCER, BENIGN), CANCER)
    same(made(library, "Regressor").fit(DIABETES, PROGRESS), DIABETES)
    narrow = CANCER.astype(np.float32).astype(float)
    same(made(library).fit(narrow, BENIGN), narrow)


@pytest.mark.parametrize("library", LIBRARIES)
def test_several_trees_are_not_one(library):
    for model in (made(library).fit(IRIS, KIND), made(library, trees=3).fit(CANCER, BENIGN)):
        match = f"cannot read a {type(model).__name__}: it is an ensemble, not one Tree; use Explainer\\(model\\)"
        with pytest.raises(cl.CounterleafError, match=match):
            cl.read_tree(model)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_answers_are_confirmed(library):
    for X in (FRAME, CANCER):
        for model in (made(library), FixedThresholdClassifier(made(library), threshold=0.6)):
            explainer = cl.Explainer(model.fit(X, BENIGN), data=X)
            for k in range(0, 100, 10):
                answer = explainer.explain(X.iloc[k] if X is FRAME else X[k])
                assert not len(answer) or answer[0].confirmed
    model = CalibratedClassifierCV(made(library), ensemble=False).fit(CANCER, BENIGN)
    assert (cl.read_tree(model).predict_proba(CANCER) == model.predict_proba(CANCER)).all()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("wild", [False, True])
def test_where_a_missing_number_goes(library, gaps, wild):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0.2) ^ (X[:, 1] > -0.1)).astype(int)
    X[rng.random(X.shape) < gaps] = np.nan
    model = made(library, **({"min_child_samples": 3} if library == "lightgbm" and wild else {})).fit(X, y)
    feature, right = gap_routes(model)
    tree = cl.read_tree(model)
    assert right.shape == (tree.n_nodes,)
    rows = rng.normal(size=(500, 3))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    for row in rows:
        node = 0
        while tree.left[node] >= 0:
            x = row[feature[node]]
            x = np.float64(np.float32(x)) if tree.dtype == "float32" else x
            score = x * sum(tree.weights.row(node)[1]) + tree.bias[node]
            goes = right[node] if np.isnan(x) else score > 0 or (score == 0 and tree.closed == "right")
            node = tree.right[node] if goes else tree.left[node]
        assert (tree.outputs.intercept[node] == model.predict_proba(row[None])[0]).all()


def test_directions_of_other_models():
    gappy = IRIS.copy()
    gappy[::3, 2] = np.nan
    assert gap_routes("tree") is None
    assert gap_routes(RidgeClassifier().fit(IRIS, KIND)) is None
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(gappy, KIND)
    right = gap_routes(tree).right
    inner = tree.tree_.children_left >= 0
    assert (right[inner] == ~tree.tree_.missing_go_to_left[inner].astype(bool)).all()
    assert gap_routes(made("hist").fit(IRIS, KIND)) is None  # three trees in one


@pytest.mark.parametrize("library", LIBRARIES)
def test_models_that_are_not_fitted(library):
    name = type(made(library)).__name__
    with pytest.raises(cl.CounterleafError, match=f"this {name} is not fitted; call fit first"):
        cl.read_tree(made(library))


@pytest.mark.parametrize("library", LIBRARIES)
def test_categorical_splits_are_refused(library):
    X = FRAME.assign(size=pd.Categorical(np.where(CANCER[:, 0] > 15, "big", "small")))
    options = {"hist": {"categorical_features": "from_dtype"}, "xgboost": {"enable_categorical": True}}.get(library, {})
    model = made(library, **options).fit(X, BENIGN)
    with pytest.raises(
        cl.CounterleafError, match="has categorical splits, which a Tree cannot hold; encode the categories first"
    ):
        cl.read_tree(model)


def test_a_tree_that_was_pruned_is_read():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=1, tree_method="exact", gamma=1e4).fit(DIABETES, PROGRESS)
    tree = cl.read_tree(model)  # XGBoost keeps the places of the nodes that it cut off
    stored = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
    assert 1 < tree.n_nodes < len(stored["left_children"])
    assert (tree.predict(DIABETES) == model.predict(DIABETES)).all()


def test_the_only_tree_of_an_ensemble_has_its_nodes():
    ensemble = read_ensemble(HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=9).fit(DIABETES, PROGRESS))
    tree = ensemble.as_tree()
    assert (tree.apply(DIABETES) == ensemble.apply(DIABETES)[:, 0]).all()
    assert (tree.left == ensemble.left).all()
    assert (tree.right == ensemble.right).all()


def test_lightgbm_numbers_its_nodes_from_left_to_right():
    lightgbm = pytest.importorskip("lightgbm")
    tree = cl.read_tree(lightgbm.LGBMRegressor(n_estimators=1, num_leaves=9, verbose=-1).fit(DIABETES, PROGRESS))
    inner = np.flatnonzero(tree.left >= 0)
    assert (tree.left[inner] == inner + 1).all()
    assert (tree.right[inner] > tree.left[inner]).all()


def test_a_linear_tree_without_coefficients_has_constants():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=1, num_leaves=4, linear_tree=True, verbose=-1).fit(DIABETES, PROGRESS)
    assert (cl.read_tree(model).predict(DIABETES) == model.predict(DIABETES)).all()


def test_a_booster_predicts_numbers():
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3}, xgboost.DMatrix(FRAME, BENIGN), 1)
    found = adapt(booster, FRAME, None, True)
    assert (found.tree.predict(CANCER) == booster.predict(xgboost.DMatrix(FRAME))).all()
    assert (found.model.predict(FRAME) == booster.predict(xgboost.DMatrix(FRAME))).all()
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(FRAME, BENIGN), 1)
    assert (adapt(booster, FRAME, None, True).tree.predict(CANCER) == booster.predict(FRAME)).all()


def test_other_boosters_are_refused():
    xgboost = pytest.importorskip("xgboost")
    linear = xgboost.XGBClassifier(n_estimators=1, booster="gblinear").fit(CANCER, BENIGN)
    with pytest.raises(
        cl.CounterleafError, match="this XGBClassifier has a linear booster; expected trees: use booster='gbtree'"
    ):
        cl.read_tree(linear)
    zero = xgboost.XGBClassifier(n_estimators=1, missing=0).fit(CANCER, BENIGN)
    with pytest.raises(
        cl.CounterleafError, match=r"this XGBClassifier takes 0 for missing; expected NaN: fit it with missing=np.nan"
    ):
        cl.read_tree(zero)
    for strategy in ("one_output_per_tree", "multi_output_tree"):
        two = xgboost.XGBRegressor(n_estimators=1, multi_strategy=strategy).fit(DIABETES, np.c_[PROGRESS, PROGRESS])
        with pytest.raises(cl.CounterleafError, match="this XGBRegressor has 2 outputs; expected one: fit one"):
            cl.read_tree(two)
    lightgbm = pytest.importorskip("lightgbm")
    linear = lightgbm.LGBMRegressor(n_estimators=2, num_leaves=4, linear_tree=True, verbose=-1).fit(DIABETES, PROGRESS)
    with pytest.raises(
        cl.CounterleafError, match="this LGBMRegressor has linear leaves; expected constants: use linear_tree=False"
    ):
        cl.read_tree(linear)
    zero = lightgbm.LGBMClassifier(n_estimators=1, zero_as_missing=True, verbose=-1).fit(
        np.where(CANCER > 15, CANCER, 0), BENIGN
    )
    with pytest.raises(cl.CounterleafError, match="this LGBMClassifier takes 0 for missing; use zero_as_missing=False"):
        cl.read_tree(zero)
