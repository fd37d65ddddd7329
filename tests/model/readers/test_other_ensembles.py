"""Ensembles of XGBoost, LightGBM, CatBoost and YDF: the same scores bit for bit, or within a proven bound."""

import numpy as np
import pandas as pd
import pytest
from support.ensemble_cases import GAPPY, KIND, TWO, VALUE, X, same

import counterleaf as cl
from counterleaf.model.readers.table import as_model, categories_of, is_ensemble, read_ensemble

TABLES = [(X, TWO), (X, KIND), (GAPPY, TWO), (GAPPY, KIND)]
POSITIVE = abs(VALUE) + 0.1


def mixed():
    frame = pd.DataFrame(GAPPY, columns=list("abcde"))
    frame["b"] = pd.Categorical(np.array(["u", "vv", "w", "q"])[np.arange(240) % 4])
    frame.loc[::7, "b"] = np.nan
    codes = GAPPY.copy()
    codes[:, 1] = frame["b"].map({"q": 0.0, "u": 1.0, "vv": 2.0, "w": 3.0}).astype(float)
    return frame, codes, frame["b"].isin(["u", "q"]).astype(int) ^ TWO


def test_xgboost():
    xgb = pytest.importorskip("xgboost")
    for rows, labels in TABLES:
        found = same(xgb.XGBClassifier(n_estimators=8, max_depth=4).fit(rows, labels), rows, ulps=2)
        assert found.scoring.dtype == "float32"
    same(xgb.XGBRFClassifier(n_estimators=8, max_depth=4).fit(GAPPY, TWO), GAPPY, ulps=2)
    for objective in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"):
        same(xgb.XGBRegressor(n_estimators=8, objective=objective).fit(GAPPY, POSITIVE), GAPPY)
    found = read_ensemble(xgb.XGBRegressor(n_estimators=8, objective="count:poisson").fit(GAPPY, POSITIVE))
    assert found.scoring.link == "exp"
    dart = xgb.XGBRegressor(n_estimators=8, booster="dart", rate_drop=0.5).fit(X, VALUE)
    found = read_ensemble(dart)
    assert np.abs(found.predict(X) - dart.predict(X)).max() <= found.scoring.noise


def test_xgboost_stops_early_and_has_categories():
    xgb = pytest.importorskip("xgboost")
    model = xgb.XGBClassifier(n_estimators=40, early_stopping_rounds=2)
    model.fit(X[:200], TWO[:200], eval_set=[(X[200:], 1 - TWO[200:])], verbose=False)
    assert same(model, X, ulps=2).n_trees == model.best_iteration + 1
    frame, codes, target = mixed()
    model = xgb.XGBClassifier(n_estimators=8, enable_categorical=True, max_cat_to_onehot=2).fit(frame, target)
    assert categories_of(model) == {1: ["q", "u", "vv", "w"]}
    assert len(same(model, codes, ulps=2).subsets)


def test_boosters():
    xgb, lgb = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    for objective in ("multi:softprob", "multi:softmax"):
        same(xgb.train({"objective": objective, "num_class": 3}, xgb.DMatrix(GAPPY, KIND), 4), GAPPY, ulps=2)
    same(xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(GAPPY, TWO), 4), GAPPY)
    same(lgb.train({"objective": "multiclass", "num_class": 3, "verbose": -1}, lgb.Dataset(GAPPY, KIND), 4), GAPPY, ulps=2)
    same(lgb.train({"objective": "binary", "verbose": -1}, lgb.Dataset(GAPPY, TWO), 4), GAPPY)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    for rows, labels in TABLES:
        same(lgb.LGBMClassifier(n_estimators=8, verbose=-1).fit(rows, labels), rows, ulps=2)
    same(lgb.LGBMClassifier(n_estimators=8, verbose=-1, boosting_type="dart").fit(GAPPY, TWO), GAPPY, ulps=2)
    forest = lgb.LGBMClassifier(n_estimators=8, verbose=-1, boosting_type="rf", bagging_fraction=0.6, bagging_freq=1)
    same(forest.fit(GAPPY, KIND), GAPPY, ulps=2)
    for objective in ("regression", "regression_l1", "huber", "quantile", "mape"):
        same(lgb.LGBMRegressor(n_estimators=8, verbose=-1, objective=objective).fit(GAPPY, POSITIVE), GAPPY)
    frame, codes, target = mixed()
    model = lgb.LGBMClassifier(n_estimators=8, verbose=-1, min_data_per_group=5, cat_smooth=1).fit(frame, target)
    assert categories_of(model) == {1: ["q", "u", "vv", "w"]}
    assert len(same(model, codes, ulps=2).subsets)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide", "Depthwise"])
def test_catboost(policy):
    cb = pytest.importorskip("catboost")
    options = {"iterations": 8, "verbose": 0, "allow_writing_files": False, "grow_policy": policy}
    for rows, labels in (*TABLES, (X, np.array(["a", "b", "c"])[KIND]), (X, TWO > 0)):
        same(cb.CatBoostClassifier(**options).fit(rows, labels), rows, ulps=2)
    for mode in ("Min", "Max"):
        same(cb.CatBoostRegressor(**options, nan_mode=mode).fit(GAPPY, VALUE), GAPPY)
    model = cb.CatBoostRegressor(**options).fit(X, VALUE)
    model.set_scale_and_bias(1.7, 0.3)
    found = read_ensemble(model)
    assert np.abs(found.predict(X) - model.predict(X)).max() <= found.scoring.noise


@pytest.mark.parametrize("learner", ["RandomForestLearner", "GradientBoostedTreesLearner"])
def test_ydf(learner):
    ydf = pytest.importorskip("ydf")
    ydf.verbose(0)
    for rows, target in ((X, np.array(["n", "p"])[TWO]), (GAPPY, np.array(["a", "b", "c"])[KIND]), (GAPPY, VALUE)):
        table = {f"f{d}": rows[:, d].astype(np.float32) for d in range(5)} | {"t": target}
        task = ydf.Task.REGRESSION if target is VALUE else ydf.Task.CLASSIFICATION
        model = getattr(ydf, learner)(label="t", num_trees=7, task=task).train(table)
        found, real = read_ensemble(model), as_model(model)
        assert is_ensemble(model)
        assert found.scoring.noise > 0.0
        if target is VALUE:
            assert np.abs(found.predict(rows) - real.predict(rows)).max() <= found.scoring.noise
        else:
            scores = np.sort(found.predict_proba(rows), axis=1)
            clear = scores[:, -1] - scores[:, -2] > 1e-3
            assert np.array_equal(found.predict(rows)[clear], real.predict(rows)[clear])


@pytest.mark.parametrize("trees", [2, 6, 10])
def test_the_second_class_wins_a_tie_of_a_ydf_forest(trees):
    ydf = pytest.importorskip("ydf")
    ydf.verbose(0)
    table = {f"f{d}": X[:, d].astype(np.float32) for d in range(5)} | {"t": np.array(["n", "p"])[TWO]}
    model = ydf.RandomForestLearner(label="t", num_trees=trees, max_depth=4).train(table)
    found, real = read_ensemble(model), as_model(model)
    rows = np.random.default_rng(1).normal(size=(2000, 5)).astype(np.float32).astype(float)
    assert (np.abs(found.scores(rows) - 0.5) < 1e-6).any()
    assert np.array_equal(found.predict(rows), real.predict(rows))


def test_refusals():
    xgb, lgb, cb = (pytest.importorskip(name) for name in ("xgboost", "lightgbm", "catboost"))
    quiet = {"iterations": 2, "verbose": 0, "allow_writing_files": False}
    threshold = cb.CatBoostClassifier(**quiet).fit(X, TWO)
    threshold.set_probability_threshold(0.3)
    for model, message in (
        (xgb.XGBClassifier(), "this XGBClassifier is not fitted; call fit first"),
        (lgb.LGBMClassifier(), "this LGBMClassifier is not fitted; call fit first"),
        (cb.CatBoostClassifier(), "this CatBoostClassifier is not fitted; call fit first"),
        (
            xgb.XGBRegressor(n_estimators=2, objective="rank:pairwise").fit(X, TWO),
            "the objective 'rank:pairwise', which",
        ),
        (xgb.XGBRegressor(n_estimators=2, missing=-1.0).fit(X, VALUE), "takes -1.0 for missing; expected NaN"),
        (xgb.XGBRegressor(n_estimators=2).fit(X, X[:, :2]), "has 2 outputs; expected one: fit one model per output"),
        (lgb.LGBMRegressor(n_estimators=2, verbose=-1, reg_sqrt=True).fit(X, VALUE), "has the objective 'regression sqrt'"),
        (
            lgb.LGBMRegressor(n_estimators=2, verbose=-1, linear_tree=True).fit(X, VALUE),
            "has linear leaves; expected",
        ),
        (lgb.LGBMRegressor(n_estimators=2, verbose=-1, zero_as_missing=True).fit(X, VALUE), "takes 0 for missing"),
        (
            cb.CatBoostRegressor(**quiet, loss_function="RMSEWithUncertainty").fit(X, VALUE),
            "the loss 'RMSEWithUncertainty'",
        ),
        (threshold, "has a probability threshold of its own; expected 0.5: set_probability_threshold"),
    ):
        with pytest.raises(cl.CounterleafError, match=message):
            read_ensemble(model)
