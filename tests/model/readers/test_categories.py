"""Columns of categories: every answer is predicted by the user's own predict on the row as it is handed back."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.model.readers import catboost_trees

N = 400


def table():
    """Categories that are plain, ordered, rare, constant, unused or missing, among rare, constant and missing numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=N), "lots of": rng.integers(0, 40, N).astype(float)})
    frame["colour"] = pd.Categorical(rng.choice(["r", "g", "b"], N), ["never", "b", "r", "g"])
    frame["size"] = pd.Categorical(rng.choice(["S", "L"], N), ["S", "M", "L", "XL"], ordered=True)
    frame["street"] = pd.Categorical(["Pave"] * (N - 4) + ["Grvl"] * 4)
    frame["same"] = pd.Categorical(["only"] * N)
    frame["code"] = pd.Categorical(rng.choice([7, 3, 10], N))
    frame["gap"] = pd.Categorical(np.where(np.arange(N) % 9, rng.choice(["p", "q"], N), None))
    frame["pool"], frame["zero"] = [0] * (N - 4) + [1] * 4, 0.0
    frame["owner"] = rng.random(N) < 0.4
    frame["rooms"] = pd.array(rng.integers(0, 9, N), "Int64")
    frame["pay"] = np.where(np.arange(N) % 7, rng.normal(size=N), np.nan)
    return frame


FRAME = table()
SCORE = (
    FRAME["x"]
    + (FRAME["colour"] == "r")
    - 1.5 * (FRAME["size"] == "L")
    + FRAME["code"].astype(int) / 5
    + FRAME["owner"] * FRAME["pay"].fillna(0.5)
).to_numpy()
MIDDLE = float(np.median(SCORE))
LABEL = np.where(MIDDLE < SCORE, "yes", "no")
YES = (LABEL == "yes").astype(int)


def confirmed(model, data, predict=None, rows=range(3)):
    """Check the kinds of the features, and every answer by the user's own ``predict``; return the explainer."""
    explainer = cl.Explainer(model, data=data)
    predict = predict or model.predict
    for feature in explainer.schema:
        if isinstance(data[feature.name].dtype, pd.CategoricalDtype):
            assert isinstance(feature, cl.Ordinal if data[feature.name].dtype.ordered else cl.Categorical)
            assert set(feature.values) == set(data[feature.name].dropna())  # not those that no row has
    for i in rows:
        row = data.iloc[[i]]
        (before,) = np.ravel(predict(row))
        least = float(before) + 0.1 if explainer.tree.is_regression else None
        others = [label for label in explainer.tree.classes.tolist() if label != before]
        target = others[0] if least is None else cl.value(at_least=least)
        for answer in explainer.explain(row, target=target):
            (after,) = np.ravel(predict(answer.row))
            assert answer.confirmed
            assert after == target if least is None else after >= least
    return explainer


@pytest.mark.parametrize("columns", [["size"], ["street", "pool"], ["colour", "zero", "same"], list(FRAME.columns[2:])])
@pytest.mark.parametrize("trees", [1, 8])
def test_lightgbm(columns, trees, tmp_path):
    lgb = pytest.importorskip("lightgbm")
    data = FRAME[["x", "lots of", *columns]]
    options = {"n_estimators": trees, "verbose": -1, "num_leaves": 8, "min_data_per_group": 5, "cat_smooth": 1}
    model = lgb.LGBMClassifier(**options).fit(data, LABEL)
    confirmed(model, data)
    confirmed(lgb.LGBMRegressor(**options).fit(data, SCORE), data)
    model.booster_.save_model(tmp_path / "model.txt")
    for booster in (model.booster_, lgb.Booster(model_file=tmp_path / "model.txt")):
        assert confirmed(booster, data).tree.is_regression
    kinds = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6]))
    booster = lgb.LGBMClassifier(**options).fit(data, kinds).booster_
    confirmed(booster, data, lambda rows: booster.predict(rows).argmax(axis=1))


def test_lightgbm_needs_the_types_of_the_data_for_columns_without_splits():
    lgb = pytest.importorskip("lightgbm")
    data = FRAME[["x", "size", "street", "zero"]]
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1).fit(data, LABEL)
    match = (
        "was fitted on 2 categorical columns and the model does not tell which; pass data= as a pandas frame with the columns"
    )
    for known in (None, data.assign(size=0.0, street=0.0)):
        with pytest.raises(CounterleafError, match=match):
            cl.Explainer(model, data=known)
    with pytest.raises(CounterleafError, match="2 categorical columns and data has 1 categorical columns; pass data="):
        cl.Explainer(model, data=data.assign(size=0.0))


@pytest.mark.parametrize("columns", [["size"], ["colour", "zero", "same"], list(FRAME.columns[2:])])
@pytest.mark.parametrize("trees", [1, 8])
def test_xgboost(columns, trees, tmp_path):
    xgb = pytest.importorskip("xgboost")
    data = FRAME[["x", "lots of", *columns]]
    options = {"n_estimators": trees, "max_depth": 3, "enable_categorical": True, "max_cat_to_onehot": 2}
    model = xgb.XGBClassifier(**options).fit(data, YES)
    confirmed(model, data)
    confirmed(xgb.XGBRegressor(**options).fit(data, SCORE), data)
    booster = model.get_booster()
    for name in ("model.json", "model.ubj"):
        booster.save_model(tmp_path / name)
        again, stored = xgb.XGBClassifier(), xgb.Booster(model_file=tmp_path / name)
        again.load_model(tmp_path / name)
        confirmed(again, data)
        confirmed(stored, data, lambda rows, one=stored: one.predict(xgb.DMatrix(rows, enable_categorical=True)))
    confirmed(booster, data, lambda rows: booster.predict(xgb.DMatrix(rows, enable_categorical=True)))


def test_xgboost_with_vector_leaves():
    xgb = pytest.importorskip("xgboost")
    kinds = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6]))
    data = FRAME[["x", "pay", "rooms", "owner"]]
    model = xgb.XGBClassifier(n_estimators=6, max_depth=3, multi_strategy="multi_output_tree").fit(data, kinds)
    confirmed(model, data)
    booster = model.get_booster()
    confirmed(booster, data, lambda rows: booster.predict(xgb.DMatrix(rows)).argmax(axis=1))


@pytest.mark.parametrize("columns", [["size"], ["colour", "zero", "same"], list(FRAME.columns[2:])])
def test_histogram_boosting(columns):
    data = FRAME[["x", "lots of", *columns]]
    confirmed(HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=8).fit(data, LABEL), data)
    confirmed(HistGradientBoostingRegressor(max_iter=6, max_leaf_nodes=8).fit(data, SCORE), data)


def catboost_table():
    data = FRAME.drop(columns=["gap"]).astype({"colour": object, "rooms": float})
    return data, ["colour", "size", "street", "same", "code"]


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("option", [{"one_hot_max_size": 10}, {"max_ctr_complexity": 1}])
def test_catboost(policy, option, tmp_path):
    cb = pytest.importorskip("catboost")
    data, names = catboost_table()
    options = {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "grow_policy": policy, **option}
    model = cb.CatBoostClassifier(**options, cat_features=names).fit(data, LABEL)
    explainer = confirmed(model, data)
    assert explainer.tree.splits.weights.nnz > explainer.tree.splits.n_nodes // 2  # some splits are on categories
    model.save_model(str(tmp_path / "model.cbm"))
    confirmed(cb.CatBoostClassifier().load_model(str(tmp_path / "model.cbm")), data)
    confirmed(cb.CatBoostRegressor(**options, cat_features=names).fit(data, SCORE), data)
    kinds = np.array(["low", "mid", "top"])[np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6]))]
    confirmed(cb.CatBoostClassifier(**options, cat_features=names).fit(data, kinds), data)
    array = data[["x", "colour", "pay"]].to_numpy()
    model = cb.CatBoostClassifier(**options, cat_features=[1]).fit(array, LABEL)
    explainer = cl.Explainer(model, data=array)
    answer = explainer.explain(array[0], target="no" if model.predict(array[:1])[0] == "yes" else "yes")
    assert answer[0].confirmed
    assert model.predict(np.array([answer[0].row], object))[0] == answer[0].label


def test_catboost_refusals_name_the_column(monkeypatch):
    cb = pytest.importorskip("catboost")
    data, _ = catboost_table()
    data = data[["x", "colour", "code"]]
    target = (data["colour"].astype(str) + data["code"].astype(str)).isin(["r3", "g7", "b10"])
    options = {"iterations": 20, "verbose": 0, "allow_writing_files": False, "cat_features": ["colour", "code"]}
    mixed = cb.CatBoostClassifier(**options, one_hot_max_size=1).fit(data, target)
    stored = catboost_trees._stored(mixed)
    for one in stored["features_info"]["ctrs"]:  # as CatBoost writes statistics of two columns together
        one["elements"] = [{"cat_feature_index": k, "combination_element": "cat_feature_value"} for k in (0, 1)]
    with monkeypatch.context() as patch:
        patch.setattr(catboost_trees, "_stored", lambda model: stored)
        with pytest.raises(CounterleafError) as error:
            cl.Explainer(mixed, data=data)
    assert str(error.value) == (
        "this CatBoostClassifier combines the columns 'colour', 'code' in one split, and an ensemble needs splits on single "
        "columns; fit it with max_ctr_complexity=1"
    )
    model = cb.CatBoostClassifier(**options, one_hot_max_size=9).fit(data, target)
    with pytest.raises(CounterleafError, match="does not tell the categories of column 'colour'; pass data= with them, and"):
        cl.Explainer(model)
    with pytest.raises(CounterleafError, match="data lacks the column 'colour'; the model was fitted on"):
        cl.Explainer(model, data=data[["x", "code"]])
    features = [cl.Numeric("x"), cl.Categorical("colour", ["r", "new"]), cl.Categorical("code", [3, 7])]
    with pytest.raises(CounterleafError, match="does not tell where it sends 'new'; pass data= with rows that hold it"):
        cl.Explainer(model, data=data, schema=cl.Schema(features))


def test_a_row_with_an_unknown_category_is_one_clear_line():
    lgb = pytest.importorskip("lightgbm")
    data = FRAME[["x", "colour"]]
    explainer = cl.Explainer(lgb.LGBMClassifier(n_estimators=4, verbose=-1).fit(data, LABEL), data=data)
    with pytest.raises(CounterleafError, match=r"^feature 'colour' is 'pink'; expected one of 'b', 'r', 'g'$"):
        explainer.explain({"x": 0.0, "colour": "pink"}, target="yes")


def saved(model, path):
    model.save_model(path)
    return path.read_text()


def test_xgboost_json_without_xgboost(tmp_path):
    xgb = pytest.importorskip("xgboost")
    data = FRAME[["x", "colour", "size", "code", "pay"]]
    options = {"n_estimators": 8, "max_depth": 3, "enable_categorical": True, "max_cat_to_onehot": 2}
    model = xgb.XGBClassifier(**options).fit(data, YES)
    explainer = cl.Explainer.from_json(saved(model, tmp_path / "model.json"))
    assert explainer.schema.names == list(data.columns)
    assert explainer.schema.features[3].values == (3, 7, 10)
    assert type(explainer.model).__name__ == "Ensemble"  # the trees of the file confirm, not XGBoost
    for i in range(1, 6):
        row = data.iloc[[i]]
        answer = explainer.explain(row, target=1 - int(model.predict(row)[0]))
        assert answer.certificate.check()
        assert model.predict(answer[0].row)[0] == answer[0].label
    again = cl.Explainer.from_json(explainer.to_json())
    assert again.explain(data.iloc[1], target=0)[0].cost == explainer.explain(data.iloc[1], target=0)[0].cost


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "binary:logistic"},
        {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5},
        {"objective": "count:poisson"},
        {"objective": "multi:softprob", "num_class": 3},
        {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree", "tree_method": "hist"},
    ],
)
def test_the_scores_of_xgboost_json_are_within_their_noise(options, tmp_path):
    xgb = pytest.importorskip("xgboost")
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(300, 4)).astype(np.float32), rng.integers(0, options.get("num_class", 2), 300)
    booster = xgb.train(options, xgb.DMatrix(rows, labels), 20)
    tree = cl.Explainer.from_json(saved(booster, tmp_path / "model.json")).tree
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = np.asarray(booster.predict(xgb.DMatrix(rows), output_margin=True)).reshape(len(rows), -1)
    whole = ~np.isnan(rows).any(axis=1)
    assert np.abs(tree.scores(rows[whole].astype(float)) - found[whole]).max() <= tree.scoring.noise


def lacking():
    """Numbers and booleans that may be missing, in the nullable types of pandas, and a narrow number."""
    rng = np.random.default_rng(3)
    gaps = rng.random((3, N)) < 0.1
    owns, rooms = pd.array(rng.random(N) < 0.5, "boolean"), pd.array(rng.integers(0, 9, N), "Int64")
    owns[gaps[0]], rooms[gaps[1]] = pd.NA, pd.NA
    pay = np.where(gaps[2], np.nan, rng.normal(size=N)).astype(np.float32)
    data = pd.DataFrame({"x": FRAME["x"].astype(np.float32), "owns": owns, "rooms": rooms, "pay": pay})
    score = (
        data["x"] + owns.to_numpy(float, na_value=-1.0) + rooms.to_numpy(float, na_value=12.0) / 9 + np.nan_to_num(pay, nan=2.0)
    )
    return data, (score > score.median()).astype(int)


@pytest.mark.parametrize("kind", ["tree", "values", "forest", "histogram", "lightgbm", "lgb.Booster", "xgboost", "xgb.Booster"])
def test_nullable_booleans_with_gaps(kind):
    data, y = lacking()
    predict = None
    if kind in ("tree", "values", "forest", "histogram"):
        kinds = {
            "tree": DecisionTreeClassifier(max_depth=5),
            "values": DecisionTreeRegressor(max_depth=5),
            "forest": RandomForestClassifier(6, max_depth=4),
            "histogram": HistGradientBoostingClassifier(max_iter=6),
        }
        model = kinds[kind].fit(data, y)
    elif kind.startswith("l"):
        lgb = pytest.importorskip("lightgbm")
        model = lgb.LGBMClassifier(n_estimators=6, verbose=-1).fit(data, y)
        model = model.booster_ if kind == "lgb.Booster" else model
    else:
        xgb = pytest.importorskip("xgboost")
        model = xgb.XGBClassifier(n_estimators=6, max_depth=3).fit(data, y)
        if kind == "xgb.Booster":
            model = model.get_booster()
            predict = lambda rows: model.predict(xgb.DMatrix(rows))  # noqa: E731
    lacks = np.flatnonzero(data.isna().any(axis=1))[:6].tolist()
    explainer = confirmed(model, data, predict, [0, 1, *lacks])
    assert isinstance(explainer.schema.features[1], cl.Boolean)
    assert explainer.schema.features[1].missing


@pytest.mark.parametrize("trees", [1, 6])
def test_missing_numbers_beside_narrow_ones_and_categories(trees):
    lgb = pytest.importorskip("lightgbm")
    data, y = lacking()
    data = data.assign(colour=FRAME["colour"])
    lacks = np.flatnonzero(data.isna().any(axis=1))[:6].tolist()
    confirmed(lgb.LGBMClassifier(n_estimators=trees, verbose=-1).fit(data, y), data, rows=lacks)


@pytest.mark.parametrize("make", ["columns", "own"])
def test_categories_that_the_steps_of_a_pipeline_make(make):
    lgb = pytest.importorskip("lightgbm")
    names = ["x", "size", "colour", "street"]
    steps = {
        "columns": make_column_transformer(
            (StandardScaler(), ["x"]), ("passthrough", names[1:]), verbose_feature_names_out=False
        ),
        "own": FunctionTransformer(lambda rows: rows[names]),
    }[make]
    if make == "columns":
        steps.set_output(transform="pandas")
    model = make_pipeline(steps, lgb.LGBMClassifier(n_estimators=6, verbose=-1, min_data_per_group=5)).fit(FRAME, LABEL)
    confirmed(model, FRAME)


def test_catboost_in_a_pipeline():
    cb = pytest.importorskip("catboost")
    last = cb.CatBoostClassifier(iterations=6, verbose=0, allow_writing_files=False, cat_features=["kind"], one_hot_max_size=9)
    data = FRAME.assign(kind=FRAME["colour"].astype(object))
    model = make_pipeline(FunctionTransformer(lambda rows: rows[["x", "kind"]]), last).fit(data, LABEL)
    confirmed(model, data)


def test_catboost_of_an_array_explains_rows_of_a_frame():
    cb = pytest.importorskip("catboost")
    data = FRAME[["x", "colour"]].astype({"colour": object})
    model = cb.CatBoostClassifier(iterations=6, verbose=0, allow_writing_files=False, one_hot_max_size=9)
    model.fit(data.to_numpy(), LABEL, cat_features=[1])
    assert confirmed(model, data, lambda rows: model.predict(rows.to_numpy())).schema.names == ["x", "colour"]


def test_damaged_xgboost_json(tmp_path):
    xgb = pytest.importorskip("xgboost")
    text = saved(xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(FRAME[["x"]], YES), 2), tmp_path / "model.json")
    content = json.loads(text)
    content["learner"]["learner_model_param"]["num_feature"] = str(10**15)
    for broken, message in (
        ('{"learner": 1, "version": [3, 0, 0]}', "the XGBoost model is damaged or of an unknown version"),
        ('{"learner": {}, "version": [3, 0, 0]}', "the XGBoost model is damaged or of an unknown version"),
        (json.dumps(content), "1 names for 1000000000000000 columns"),
        (text.replace('"split_indices":[0', '"split_indices":[99'), "the XGBoost model is damaged or of an unknown version"),
        (text.replace("binary:logistic", "rank:ndcg"), "has the objective 'rank:ndcg', which is not supported"),
    ):
        with pytest.raises(CounterleafError, match=message) as error:
            cl.Explainer.from_json(broken)
        assert "\n" not in str(error.value)
    assert math.isfinite(cl.Explainer.from_json(text).tree.scoring.noise)
