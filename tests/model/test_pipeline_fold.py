"""Pipelines folded into one tree, which predicts what the pipeline predicts, on the table and on both sides of every cut."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import set_config
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import ExtraTreeClassifier
from support.fold_cases import FULL, NUMBERS, TEXT, Learner, as_table, labels, people, same, schema_of, stump, tree

from counterleaf import Boolean, Categorical, Numeric, Ordinal, Schema, Tree
from counterleaf.model.cuts import cuts
from counterleaf.model.pipelines.fold import fold
from counterleaf.model.pipelines.probing import frame_of
from counterleaf.model.pipelines.steps import survey
from counterleaf.table.schema import encode_table

pytestmark = pytest.mark.slow  # the whole file takes many seconds

PREPARATIONS = {
    "one-hot": lambda: ColumnTransformer([("n", StandardScaler(), FULL), ("c", OneHotEncoder(), TEXT)]),
    "dense": lambda: ColumnTransformer([("n", RobustScaler(), FULL), ("c", OneHotEncoder(sparse_output=False), TEXT)]),
    "drop first": lambda: ColumnTransformer([("n", MaxAbsScaler(), FULL), ("c", OneHotEncoder(drop="first"), TEXT)]),
    "if binary": lambda: ColumnTransformer([("c", OneHotEncoder(drop="if_binary"), ["flag", "job"])], remainder="drop"),
    "drop array": lambda: ColumnTransformer([("c", OneHotEncoder(drop=["cook", "S"]), TEXT), ("n", MinMaxScaler(), FULL)]),
    "rare": lambda: ColumnTransformer(
        [("c", OneHotEncoder(min_frequency=0.1, handle_unknown="infrequent_if_exist"), TEXT), ("n", "passthrough", FULL)]
    ),
    "few": lambda: ColumnTransformer([("c", OneHotEncoder(max_categories=2, drop="first"), TEXT), ("n", "passthrough", FULL)]),
    "ignore": lambda: ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), [*TEXT, "city", "code"])]),
    "ordinal": lambda: ColumnTransformer(
        [("o", OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]), ("n", StandardScaler(with_mean=False), FULL)]
    ),
    "ordinal gaps": lambda: ColumnTransformer(
        [("o", OrdinalEncoder(encoded_missing_value=-2), ["city"]), ("n", StandardScaler(with_std=False), FULL)]
    ),
    "ordinal nan": lambda: ColumnTransformer([("o", OrdinalEncoder(), ["city"]), ("n", "passthrough", FULL)]),
    "ordinal unknown": lambda: ColumnTransformer(
        [
            ("o", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=20), ["job"]),
            ("n", "drop", FULL),
        ],
        remainder="drop",
    ),
    "clip": lambda: ColumnTransformer([("n", MinMaxScaler((-3, 5), clip=True), FULL), ("c", OneHotEncoder(), TEXT)]),
    "negative": lambda: ColumnTransformer(
        [("n", StandardScaler(), FULL), ("c", OneHotEncoder(), TEXT)], transformer_weights={"n": -0.1, "c": 3.0}
    ),
    "mean": lambda: ColumnTransformer(
        [("n", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS), ("c", OneHotEncoder(), TEXT)]
    ),
    "median": lambda: make_column_transformer((SimpleImputer(strategy="median"), NUMBERS), (OneHotEncoder(), ["city"])),
    "frequent": lambda: ColumnTransformer(
        [
            ("n", SimpleImputer(strategy="most_frequent"), NUMBERS),
            ("c", make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder()), ["city"]),
        ]
    ),
    "constant": lambda: ColumnTransformer(
        [
            ("n", SimpleImputer(strategy="constant", fill_value=-5.0), NUMBERS),
            (
                "c",
                make_pipeline(SimpleImputer(missing_values=None, strategy="constant", fill_value="?"), OneHotEncoder()),
                ["city"],
            ),
        ]
    ),
    "nested": lambda: Pipeline(
        [
            (
                "prep",
                ColumnTransformer(
                    [("n", Pipeline([("a", "passthrough"), ("b", RobustScaler())]), FULL), ("c", OrdinalEncoder(), TEXT)]
                ),
            ),
            (
                "again",
                make_pipeline(MaxAbsScaler(), ColumnTransformer([("x", StandardScaler(), [0, -1])], remainder="passthrough")),
            ),
            ("none", None),
        ]
    ),
    "twice": lambda: ColumnTransformer(
        [("a", OneHotEncoder(), ["code", "job"]), ("b", StandardScaler(), ["code", "age"]), ("c", OrdinalEncoder(), ["job"])]
    ),
    "slice": lambda: ColumnTransformer([("n", StandardScaler(), slice(0, 3)), ("c", OneHotEncoder(), slice(4, 6))]),
    "positions": lambda: ColumnTransformer([("n", StandardScaler(), [2, 0]), ("c", OneHotEncoder(), [-4, 4])]),
    "mask": lambda: ColumnTransformer(
        [("n", StandardScaler(), [True] * 3 + [False] * 6), ("c", OneHotEncoder(), [False] * 7 + [True, False])]
    ),
    "remainder": lambda: ColumnTransformer(
        [("c", OneHotEncoder(), ["job", "size", "city"])], remainder=make_pipeline(SimpleImputer(), MinMaxScaler())
    ),
    "identity": lambda: make_pipeline(
        FunctionTransformer(), ColumnTransformer([("f", FunctionTransformer(), FULL), ("c", OneHotEncoder(), ["flag"])])
    ),
    "passed": lambda: ColumnTransformer(
        [("c", OneHotEncoder(), ["job", "size", "city"]), ("h", "drop", ["hours"])], remainder="passthrough"
    ),
    "selected": lambda: make_pipeline(
        ColumnTransformer([("n", StandardScaler(), FULL), ("c", OneHotEncoder(), TEXT)]),
        VarianceThreshold(0.01),
        SelectKBest(k=4),
    ),
    "label slice": lambda: ColumnTransformer(
        [("n", StandardScaler(), slice("age", "tiny")), ("c", OneHotEncoder(), slice("job", "size"))]
    ),
    "selector": lambda: ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
            ("c", OneHotEncoder(), make_column_selector(pattern="job|size")),
        ]
    ),
}
BY_PANDAS = [(name, kind) for name in ("label slice", "selector") for kind in ("polars", "array")]
CASES = [(name, kind) for name in PREPARATIONS for kind in ("pandas", "polars", "array")]
CASES = [case for case in CASES if case not in BY_PANDAS]


def by_place(step):
    """The same step with positions in place of names."""
    names = list(people(3).columns)
    if isinstance(step, Pipeline):
        return Pipeline([(name, by_place(inner)) for name, inner in step.steps])
    if isinstance(step, ColumnTransformer):
        spec = [
            (
                name,
                inner,
                [names.index(c) for c in columns] if isinstance(columns, list) and isinstance(columns[0], str) else columns,
            )
            for name, inner, columns in step.transformers
        ]
        return ColumnTransformer(spec, remainder=step.remainder, transformer_weights=step.transformer_weights)
    return step


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_step_on_every_table(name, kind):
    prepare = by_place(PREPARATIONS[name]()) if kind == "array" else PREPARATIONS[name]()
    table = as_table(people(), kind)
    model = Pipeline([("prep", prepare), ("tree", tree(min_samples_leaf=2))]).fit(table, labels())
    same(model, table)


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(output, kind):
    table = as_table(people(), kind)
    prepare = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            ("c", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), [*TEXT, "city"]),
        ]
    )
    second = ColumnTransformer([("s", MinMaxScaler(), ["n__age", "n__pay"])], remainder="passthrough")
    model = make_pipeline(prepare, second, tree()).set_output(transform=output).fit(table, labels())
    same(model, table)
    with_config = make_pipeline(prepare, tree()).fit(table, labels())
    set_config(transform_output=output)
    try:
        same(with_config, table)
    finally:
        set_config(transform_output="default")


def test_a_tree_alone_or_as_the_only_step():
    frame, y = people()[[*FULL, "flag"]], labels()
    found, _ = same(Pipeline([("tree", tree())]).fit(frame, y), frame)
    assert found.named
    assert not found.finite
    same(Pipeline([("none", "passthrough"), ("tree", ExtraTreeClassifier(random_state=0))]).fit(frame, y), frame)
    inner = Pipeline([("scale", StandardScaler()), ("tree", tree())])
    same(Pipeline([("prep", RobustScaler()), ("model", inner)]).fit(frame, y), frame)
    X = frame.to_numpy(float)
    found, _ = same(Pipeline([("tree", tree())]).fit(X, y), X)
    assert (found.names, found.named) == (["x0", "x1", "x2", "x3"], False)
    same(Pipeline([("scale", StandardScaler()), ("leaf", tree())]).fit(X, np.zeros(len(X))), X)
    wide = pd.DataFrame(X)  # scikit-learn does not count the columns 0, 1, 2, 3 as names
    same(make_pipeline(StandardScaler(), tree()).fit(wide, y), wide)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("step", [StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, lambda: "passthrough"])
def test_numbers_of_every_size(step, scale):
    rng = np.random.default_rng(3)
    X = rng.normal(rng.normal(size=3) * scale * 100, scale, (300, 3))
    X[:, 2] = np.round(X[:, 2] / scale * 4) * scale  # steps, so that cuts lie between equal numbers
    same(Pipeline([("scale", step()), ("tree", tree())]).fit(X, labels(300)), X, Schema([Numeric(f"x{k}") for k in range(3)]))


def test_a_tree_that_takes_missing_numbers_has_no_fill_but_routes_missing_categories():
    frame = people()[["age", "hours", "city"]]
    model = make_pipeline(
        ColumnTransformer([("o", OrdinalEncoder(), ["city"])], remainder="passthrough"), tree(min_samples_leaf=3)
    ).fit(frame, labels())
    _, folded = same(model, frame.dropna(subset=["hours"]))
    assert folded.fills == {}
    parted = np.where(frame["hours"].isna(), 0, 1 + (frame["age"] > 50))  # the root separates missing values
    model = make_pipeline(FunctionTransformer(), tree()).fit(frame[["age", "hours"]], parted)
    assert np.isinf(model[-1].tree_.threshold).any()
    same(model, frame[["age", "hours"]].dropna())


def test_a_missing_number_scaled_before_it_is_filled_has_no_raw_number():
    frame = people()[["age", "hours"]]
    model = make_pipeline(StandardScaler(), SimpleImputer(), tree()).fit(frame, labels())
    _, folded = same(model, frame.dropna())
    assert folded.fills == {}


def test_an_empty_column_is_dropped_by_the_imputer():
    frame = people()[["age", "hours", "pay"]].assign(pay=np.nan)
    with pytest.warns(UserWarning, match="without any observed values"):
        model = make_pipeline(SimpleImputer(), StandardScaler(), tree()).fit(frame, labels())
    schema = Schema([Numeric("age"), Numeric("hours"), Numeric("pay")])
    folded = fold(model, schema, frame)
    assert survey(model).unused == {"pay"}
    X = np.nan_to_num(encode_table(schema, frame), nan=folded.fills["hours"])
    filled = frame.assign(pay=0.0)
    with pytest.warns(UserWarning, match="without any observed values"):
        assert folded.tree.predict(X).tolist() == model.predict(filled).tolist()


def test_missing_values_marked_by_nan_or_none():
    y = labels()
    cities = people()["city"]
    for column in (cities, cities.astype("str"), cities.fillna(np.nan), cities.astype("category")):
        frame = pd.DataFrame({"city": column, "age": people()["age"]})
        for encoder in (OneHotEncoder(), OrdinalEncoder(encoded_missing_value=7)):
            model = make_pipeline(ColumnTransformer([("c", encoder, ["city"])], remainder="passthrough"), tree()).fit(frame, y)
            found, folded = same(model, frame)
            bare = fold(model, schema_of(found, frame))  # without a table to look at
            assert bare.tree.to_json() == folded.tree.to_json()
        table = frame[["city"]].to_numpy(object)
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), tree()).fit(table, y)
        found, folded = same(model, table)
        assert fold(found, schema_of(found, table)).tree.to_json() == folded.tree.to_json()
    numbers = pd.DataFrame({"code": people()["code"].where(people()["age"] > 30), "age": people()["age"]})
    model = make_pipeline(ColumnTransformer([("c", OneHotEncoder(), ["code"])], remainder="passthrough"), tree()).fit(
        numbers, y
    )
    found, folded = same(model, numbers)
    assert fold(found, schema_of(found, numbers)).tree.to_json() == folded.tree.to_json()


def test_a_mark_for_missing_categories():
    frame = people()[["age", "job"]].replace({"job": {"smith": "?"}})
    fill = SimpleImputer(missing_values="?", strategy="most_frequent")
    model = make_pipeline(
        ColumnTransformer([("c", make_pipeline(fill, OneHotEncoder()), ["job"])], remainder="passthrough"), tree()
    )
    model.fit(frame, labels())
    same(model, frame)


def test_kinds_of_pandas_columns():
    frame = people().assign(
        age=lambda f: f["age"].astype("Int64"),
        job=lambda f: f["job"].astype("category"),
        size=lambda f: pd.Categorical(f["size"], ["S", "M", "L"], ordered=True),
        pay=lambda f: f["pay"].astype(np.float32).astype(float),
        code=lambda f: f["code"].astype(np.int8),
    )
    prepare = ColumnTransformer(
        [
            ("n", StandardScaler(), ["age", "pay", "code", "flag"]),
            ("c", OneHotEncoder(), ["job"]),
            ("o", OrdinalEncoder(), ["size"]),
        ]
    )
    model = make_pipeline(prepare, tree()).fit(frame, labels())
    same(model, frame)
    schema = [f if f.name != "size" else Ordinal("size", ["S", "M", "L"]) for f in schema_of(survey(model), frame)]
    schema = [f if f.name != "code" else Categorical("code", [3, 7, 11, 100]) for f in schema]
    assert isinstance(schema[-2], Boolean)
    same(model, frame, Schema(schema[::-1]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_categories_that_a_lenient_encoder_has_not_seen(kind):
    frame = people()[["age", "job", "size"]]
    table = as_table(frame, kind)
    lenient = [
        OneHotEncoder(handle_unknown="ignore", drop="first"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    ]
    for encoder in lenient:
        model = make_pipeline(ColumnTransformer([("c", encoder, [1, 2])], remainder="passthrough"), tree()).fit(table, labels())
        found = survey(model)
        known = schema_of(found, table)
        schema = Schema([known.features[0], Categorical(known.names[1], ["cook", "pilot", "smith"]), known.features[2]])
        folded = fold(found, schema, table)
        rows = [[33.0, job, size] for job in ("cook", "pilot", "smith") for size in ("S", "M", "L")]
        made = frame_of(rows, found, table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unknown categories
            expected = model.predict(made).tolist()
        assert folded.tree.predict(schema.spread(encode_table(schema, made))).tolist() == expected


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weight", [3.7, -0.013])
def test_an_axis_aligned_tree_of_counterleaf(closed, dtype, weight):
    X = people()[["age", "pay"]]
    scale = StandardScaler().fit(X)
    bare = stump([0, weight], 0.01, closed, dtype)
    model = Pipeline([("scale", scale), ("tree", Learner(bare))])
    schema = Schema([Numeric("age"), Numeric("pay")])
    for last in (model, Pipeline([("scale", scale), ("tree", bare)])):
        folded = fold(last, schema, X)
        assert folded.exact
        assert folded.tree.closed == "left"
        _, _, low, high = cuts(folded.tree)
        rows = pd.DataFrame({"age": 0.0, "pay": [low[0], high[0], *X["pay"]]})
        expected = bare.predict(scale.transform(rows))
        assert expected[0] != expected[1]
        assert folded.tree.predict(rows.to_numpy()).tolist() == expected.tolist()


@pytest.mark.parametrize("closed", ["left", "right"])
def test_an_oblique_tree_folds_up_to_rounding(closed):
    rng = np.random.default_rng(0)
    frame = people()
    prepare = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler()), NUMBERS),
            ("p", "passthrough", ["age", "flag"]),
            ("c", OneHotEncoder(sparse_output=False), [*TEXT, "city"]),
            ("o", OrdinalEncoder(), ["job"]),
        ]
    ).fit(frame)
    encoded = prepare.transform(frame).astype(float)
    width = encoded.shape[1]
    n = 31
    weights = rng.normal(size=(n, width))
    weights[:, 4] /= 50  # age as it is
    weights[3] = weights[4] = weights[5] = 0
    weights[3, 1] = -2.0  # a split on one number,
    weights[4, 6:9] = [1, -1, 2]  # on categories of one feature,
    left = np.array([2 * i + 1 if i < 15 else -1 for i in range(n)])
    bias = np.where(np.arange(n) == 3, 0.5, rng.normal(size=n) * 0.3)  # and at node 5 on nothing
    tree = Tree(left, np.where(left < 0, -1, left + 1), weights, bias, rng.integers(0, 4, n), closed=closed)
    model = Pipeline([("prep", prepare), ("tree", Learner(tree))])
    schema = schema_of(survey(model), frame)
    folded = fold(model, schema, frame)
    assert not folded.exact
    assert folded.tree.closed == closed
    X = encode_table(schema, frame)
    hours = schema.names.index("hours")
    X[np.isnan(X[:, hours]), hours] = folded.fills["hours"]
    assert folded.tree.predict(schema.spread(X)).tolist() == tree.predict(encoded).tolist()
    inner = tree.weights.toarray() @ encoded.T
    outer = folded.tree.weights.toarray() @ schema.spread(X).T + folded.tree.bias[:, None]
    slanted = [0, 1, 2, *range(6, 15)]
    np.testing.assert_allclose(outer[slanted], (inner + bias[:, None])[slanted], rtol=0, atol=1e-12)


def test_an_oblique_tree_on_categories_only():
    frame = people()[["job", "size"]]
    encode = OneHotEncoder(sparse_output=False).fit(frame)
    last = stump([1.0, -1, 2, 0, 0.5, -1.5, 1], -0.6, "right")
    model = Pipeline([("encode", encode), ("tree", last)])
    schema = schema_of(survey(model), frame)
    folded = fold(model, schema, frame)
    expected = last.predict(encode.transform(frame))
    assert set(expected) == {"no", "yes"}
    assert folded.tree.predict(schema.spread(encode_table(schema, frame))).tolist() == expected.tolist()
