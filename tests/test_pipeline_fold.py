import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import set_config
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from counterleaf import Boolean, Categorical, CounterleafError, Numeric, Ordinal, Schema, Tree, probing
from counterleaf.cuts import cuts
from counterleaf.pipeline import fold, frame_of, is_pipeline, survey
from counterleaf.tables import codes

NUMBERS = ["age", "pay", "tiny", "hours"]
FULL = ["age", "pay", "tiny"]
TEXT = ["job", "size"]


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "pay": rng.lognormal(size=n) * 1e6,
            "tiny": rng.normal(size=n) * 1e-6,
            "hours": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 9, n)),
            "job": rng.choice(["cook", "clerk", "nurse", "smith"], n, p=[0.5, 0.3, 0.17, 0.03]),
            "size": rng.choice(["S", "M", "L"], n),
            "city": pd.Series(rng.choice(np.array(["Rome", "Oslo", None]), n), dtype=object),
            "flag": rng.random(n) < 0.4,
            "code": rng.choice([3, 7, 11], n),
        }
    )


def labels(n=240, seed=1):
    return np.random.default_rng(seed).integers(0, 9, n)


def tree(**options):
    return DecisionTreeClassifier(random_state=0, **options)


def as_table(frame, kind):
    if kind == "polars":
        return pl.from_pandas(frame)
    return frame if kind == "pandas" else frame.to_numpy()


def schema_of(found, table):
    return Schema.infer(table, finite=found.finite)


def same(model, table, schema=None, rows=200, seed=5):
    """Compare the folded tree with the pipeline: on the table, on shuffled cells, and on both sides of every cut."""
    found = survey(model)
    schema = schema or schema_of(found, table)
    folded = fold(found, schema, table)
    assert folded.tree.n_features == schema.width
    assert folded.exact
    assert folded.tree.closed == "left"
    assert folded.tree.dtype == "float64"
    rng = np.random.default_rng(seed)
    fills = [folded.fills.get(name) for name in schema.names]
    cells = []
    for feature, fill in zip(schema, fills, strict=True):
        if isinstance(feature, Numeric):
            low, high = max(feature.lower, -1e9), min(feature.upper, 1e9)
            column = rng.uniform(low, high, rows)
            column = np.floor(column).tolist() if feature.integer else column.tolist()
            if fill is not None:
                column[0] = column[1] = None
        else:
            column = [[*feature.values, None][k] for k in rng.integers(0, feature.size, rows)]
        cells.append(column)
    made = [list(row) for row in zip(*cells, strict=True)]
    starts = {int(start): d for d, start in enumerate(schema.starts[:-1])}
    where, _, low_side, high_side = cuts(folded.tree)
    for node in np.flatnonzero(where >= 0):
        d = starts.get(int(where[node]))
        if d is not None and isinstance(schema.features[d], Numeric) and np.isfinite(low_side[node]):
            for value in (low_side[node], high_side[node]):
                row = list(made[rng.integers(rows)])
                row[d] = float(value)
                made.append(row)
    order = [schema.index(name) for name in found.names] if found.named else range(len(schema))
    for given in (table, frame_of([[row[d] for d in order] for row in made], found, table)):
        X = codes(given, Schema([Numeric(f.name) if isinstance(f, Numeric) else f for f in schema]))
        for d, fill in enumerate(fills):
            unused = schema.names[d] in found.unused
            X[np.isnan(X[:, d]), d] = 0.0 if unused else np.nan if fill is None else fill
        assert folded.tree.predict(schema.spread(X)).tolist() == model.predict(given).tolist()
    return found, folded


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


def test_a_tree_alone_or_in_a_pipeline_of_its_own():
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
    wide = pd.DataFrame(X)  # columns 0, 1, 2, 3 are no names to scikit-learn
    same(make_pipeline(StandardScaler(), tree()).fit(wide, y), wide)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("step", [StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, lambda: "passthrough"])
def test_numbers_of_every_size(step, scale):
    rng = np.random.default_rng(3)
    X = rng.normal(rng.normal(size=3) * scale * 100, scale, (300, 3))
    X[:, 2] = np.round(X[:, 2] / scale * 4) * scale  # steps, so that cuts lie between equal numbers
    same(Pipeline([("scale", step()), ("tree", tree())]).fit(X, labels(300)), X, Schema([Numeric(f"x{k}") for k in range(3)]))


def test_survey_says_what_becomes_of_each_column():
    frame = people()
    prepare = ColumnTransformer(
        [
            ("a", OneHotEncoder(), ["city", "job"]),
            ("b", OrdinalEncoder(categories=[["smith", "nurse", "cook", "clerk", "king"]]), ["job"]),
            ("n", SimpleImputer(), ["hours"]),
        ]
    )
    model = make_pipeline(prepare, tree()).fit(frame, labels())
    found = survey(model)
    assert found.names == list(frame.columns)
    assert found.named
    assert found.finite == {"city", "job"}
    assert found.unused == {"age", "pay", "tiny", "size", "flag", "code"}
    assert found.known == {"job": ["clerk", "cook", "nurse", "smith"], "city": ["Oslo", "Rome"]}
    assert found.tree is model[-1]
    assert is_pipeline(model)
    assert not is_pipeline(model[-1])
    folded = fold(model, schema_of(found, frame), frame)
    assert folded.fills == {"hours": pytest.approx(frame["hours"].mean(), rel=1e-15)}
    assert folded.tree.left.tolist() == model[-1].tree_.children_left.tolist()
    assert folded.tree.classes.tolist() == model.classes_.tolist()


def test_a_tree_that_takes_missing_numbers_has_no_fill_but_routes_missing_categories():
    frame = people()[["age", "hours", "city"]]
    model = make_pipeline(
        ColumnTransformer([("o", OrdinalEncoder(), ["city"])], remainder="passthrough"), tree(min_samples_leaf=3)
    ).fit(frame, labels())
    _, folded = same(model, frame.dropna(subset=["hours"]))
    assert folded.fills == {}
    parted = np.where(frame["hours"].isna(), 0, 1 + (frame["age"] > 50))  # the root parts off what is missing
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
    X = np.nan_to_num(codes(frame, schema), nan=folded.fills["hours"])
    filled = frame.assign(pay=0.0)
    with pytest.warns(UserWarning, match="without any observed values"):
        assert folded.tree.predict(X).tolist() == model.predict(filled).tolist()


def test_missing_values_told_by_nan_or_none():
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
        given = frame_of(rows, found, table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unknown categories
            told = model.predict(given).tolist()
        assert folded.tree.predict(schema.spread(codes(given, schema))).tolist() == told


# trees that are not scikit-learn's


def stump(weights, bias, closed, dtype="float64"):
    weights = np.array([weights, np.zeros_like(weights), np.zeros_like(weights)], dtype=float)
    return Tree([1, -1, -1], [2, -1, -1], weights, [bias, 0, 0], [-1, 0, 1], ["no", "yes"], closed=closed, dtype=dtype)


class Learner:
    """An estimator of one's own that holds a Tree."""

    def __init__(self, tree):
        self.tree_ = tree

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.tree_.predict(np.asarray(X))


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weight", [3.7, -0.013])
def test_an_axis_aligned_tree_of_our_own(closed, dtype, weight):
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
        told = bare.predict(scale.transform(rows))
        assert told[0] != told[1]
        assert folded.tree.predict(rows.to_numpy()).tolist() == told.tolist()


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
    X = codes(frame, schema)
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
    told = last.predict(encode.transform(frame))
    assert set(told) == {"no", "yes"}
    assert folded.tree.predict(schema.spread(codes(frame, schema))).tolist() == told.tolist()


# frames


def test_frame_of_keeps_the_types_of_the_table():
    frame = people().astype({"job": "category", "age": np.int8})
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), ["job"])]), tree()).fit(frame, labels()))
    row = [30.0, 1.5, 2, None, "cook", "S", None, True, 7]
    made = frame_of([row, row], found, frame)
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    assert made["city"].tolist() == [None, None]
    odd = frame_of([[300.0, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, frame)
    assert [str(odd[name].dtype) for name in ("age", "job", "flag", "code")] == ["float64", "object", "object", "float64"]
    bare = frame_of([row], found, None)
    assert list(bare.columns) == list(frame.columns)
    assert bare["age"].tolist() == [30.0]
    many = frame_of([row], found, pl.from_pandas(frame))
    assert many.schema == pl.from_pandas(frame).schema
    odd = frame_of([[30.5, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, pl.from_pandas(frame))
    assert odd["age"].to_list() == [30.5]
    assert odd["job"].to_list() == ["pilot"]


def test_frame_of_arrays():
    X = people()[["age", "hours"]].to_numpy()
    found = survey(make_pipeline(SimpleImputer(), tree()).fit(X, labels()))
    np.testing.assert_array_equal(frame_of([[1, None], [2, 3.5]], found, X), [[1, np.nan], [2, 3.5]])
    mixed = people()[["age", "city"]].to_numpy()
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), [1])]), tree()).fit(mixed, labels()))
    assert frame_of([[1.0, None], [2.0, "Oslo"]], found, mixed).tolist() == [[1.0, None], [2.0, "Oslo"]]
    assert frame_of([[1.0, np.nan], [2.0, "Oslo"]], found, None).tolist() == [[1.0, None], [2.0, "Oslo"]]


# refusals


def refused(step, match, columns=FULL):
    frame = people()[columns]
    model = Pipeline([("first", FunctionTransformer()), ("it", step), ("tree", tree())]).fit(frame, labels())
    with pytest.raises(CounterleafError, match=match) as caught:
        survey(model)
    assert "\n" not in str(caught.value)


def custom(base):
    return type("Doubler", (base,), {"transform": lambda self, X: 2 * X, "fit": lambda self, X, y=None: self})()


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (PCA(), r"step 'it' of the pipeline \(PCA\) cannot be folded: it mixes columns; apply it to the table beforehand"),
        (PolynomialFeatures(), r"step 'it' .*\(PolynomialFeatures\) cannot be folded: it mixes columns"),
        (Normalizer(), r"step 'it' .*\(Normalizer\) cannot be folded: it mixes columns"),
        (KNNImputer(), r"step 'it' .*\(KNNImputer\) cannot be folded: it mixes columns"),
        (KBinsDiscretizer(2, strategy="uniform"), r"\(KBinsDiscretizer\) cannot be folded: only scalers, encoders"),
        (
            TargetEncoder(target_type="continuous"),
            r"\(TargetEncoder\) cannot be folded: only scalers, encoders, imputers and selections of columns can; apply it",
        ),
        (
            custom(StandardScaler),
            r"\(Doubler\) cannot be folded: only scalers, encoders, imputers and selections of columns can; apply",
        ),
        (
            FunctionTransformer(np.abs),
            r"step 'it' of the pipeline \(FunctionTransformer with func=absolute\) cannot be folded: its function is"
            " not the identity; transform the column beforehand",
        ),
        (
            SimpleImputer(add_indicator=True),
            r"\(SimpleImputer with add_indicator=True\) cannot be folded: add_indicator=True makes columns that",
        ),
        (
            make_pipeline(StandardScaler(), OneHotEncoder()),
            r"step 'it__onehotencoder' .* column 'age' is scaled before it; encode the",
        ),
        (
            ColumnTransformer([("n", make_pipeline(PCA()), ["age"])]),
            r"step 'it__n__pca' of the pipeline \(PCA\) cannot be folded",
        ),
    ],
)
def test_steps_that_cannot_be_folded_are_named(step, match):
    refused(step, match)


def test_what_is_no_tree_is_refused():
    frame, y = people()[FULL], labels()
    for last in (RandomForestClassifier(3), LogisticRegression(max_iter=3), DecisionTreeRegressor(), StandardScaler()):
        match = rf"step 'end' of the pipeline \({type(last).__name__}\) cannot be folded: it is not a single classification"
        with pytest.raises(CounterleafError, match=match):
            survey(Pipeline([("scale", StandardScaler()), ("end", last)]))
    with pytest.raises(CounterleafError, match="the pipeline has no steps; expected it to end with a decision tree"):
        survey(Pipeline([("a", "passthrough")]))
    with pytest.raises(CounterleafError, match="got a DecisionTreeClassifier; expected a fitted scikit-learn Pipeline"):
        survey(tree().fit(frame, y))


def test_what_is_not_fitted_or_not_together():
    frame, y = people()[FULL], labels()
    unfitted = "this Pipeline is not fitted; call fit first"
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(StandardScaler(), tree()))
    fitted = tree().fit(frame.to_numpy(), y)
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(StandardScaler(), fitted))
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])]), fitted))
    one, two = StandardScaler().fit(frame[["age"]]), StandardScaler().fit(frame[["age", "pay"]])
    with pytest.raises(CounterleafError, match="the steps make 1 columns but the tree takes 3; fit the pipeline as a whole"):
        survey(make_pipeline(one, fitted))
    match = r"step 'b' of the pipeline \(StandardScaler\) was fitted on 2 columns but gets 1; fit the pipeline as a whole"
    with pytest.raises(CounterleafError, match=match):
        survey(Pipeline([("a", one), ("b", two), ("tree", fitted)]))


def test_schemas_that_do_not_fit():
    frame, y = people()[["age", "job", "city", "hours"]], labels()
    strict = ColumnTransformer([("c", OneHotEncoder(), ["job"])], remainder="drop")
    model = make_pipeline(strict, tree()).fit(frame, y)
    rest = [Categorical("city", ["Rome"], missing=True), Numeric("hours")]
    with pytest.raises(
        CounterleafError, match="category 'pilot' of column 'job' is unseen by the encoder; leave it out or fit"
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook", "pilot"]), *rest]), frame)
    with pytest.raises(CounterleafError, match="category 'pilot' of column 'job' is unseen by the encoder"):
        fold(model, Schema([Numeric("age"), Categorical("job", ["pilot"]), *rest]), frame)
    with pytest.raises(
        CounterleafError, match=r"feature 'job' may be missing, but the pipeline refuses that .*; add a SimpleImputer"
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook"], missing=True), *rest]), frame)
    with pytest.raises(
        CounterleafError, match="feature 'job' is a number in the schema, but the pipeline encodes its values; make it"
    ):
        fold(model, Schema([Numeric("age"), Numeric("job"), *rest]), frame)
    with pytest.raises(
        CounterleafError, match="the schema has the features 'age', 'city'; the pipeline was fitted on the columns 'age'"
    ):
        fold(model, Schema([Numeric("age"), rest[0]]), frame)
    assert fold(model, Schema([Categorical("job", ["cook"])]), frame).exact  # the others are dropped
    scaled = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["age"])]), tree()).fit(frame, y)
    with pytest.raises(
        CounterleafError, match="the pipeline fails on 'old' in column 'age': could not convert string to float"
    ):
        fold(scaled, Schema([Categorical("age", [3, "old"]), Categorical("job", ["cook"]), *rest]), frame)
    marked = make_pipeline(ColumnTransformer([("n", SimpleImputer(missing_values=-1), ["age"])]), tree()).fit(frame, y)
    with pytest.raises(CounterleafError, match="feature 'age' is a number, but an imputer takes -1 for missing; make that NaN"):
        fold(marked, Schema([Numeric("age"), Categorical("job", ["cook"]), *rest]), frame)
    marked = make_pipeline(StandardScaler(), SimpleImputer(missing_values=0.0), tree()).fit(frame[["age"]], y)
    with pytest.raises(CounterleafError, match=r"feature 'age' is a number, but an imputer takes 0\.0 for missing"):
        fold(marked, Schema([Numeric("age")]))
    both = frame.assign(city=pd.Series([None, np.nan, *["Rome"] * 238], dtype=object))
    with pytest.raises(
        CounterleafError, match=r"^column 'city' of the data tells missing values by None and nan, two things to an"
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook"]), *rest]), both)


def test_a_clipped_number_has_no_place_in_an_oblique_split():
    frame = people()[["age", "pay"]]
    clip = MinMaxScaler(clip=True).fit(frame)
    model = Pipeline([("clip", clip), ("tree", stump([1.0, 2.0], -0.5, "left"))])
    with pytest.raises(
        CounterleafError, match="column 'age' is clipped by MinMaxScaler, and the tree has oblique splits on it; use"
    ):
        fold(model, Schema([Numeric("age"), Numeric("pay")]), frame)


def test_steps_that_do_not_do_what_they_should(monkeypatch):
    frame, y = people()[["age", "pay"]], labels()
    schema = Schema([Numeric("age"), Numeric("pay")])
    model = make_pipeline(StandardScaler(), tree(max_depth=3)).fit(frame, y)
    scale = model[0]
    honest = scale.transform
    scale.transform = lambda X: honest(X)[:, [0, 1, 1]]
    with pytest.raises(CounterleafError, match=r"the pipeline fails on 1.0 in column 'age': X has 3 features"):
        fold(model, schema, frame)
    scale.transform = lambda X: honest(X)[:, ::-1]
    with pytest.raises(
        CounterleafError, match="column 'age' changes what the steps make of 'pay'; report your scikit-learn version"
    ):
        fold(model, schema, frame)
    scale.transform = lambda X: honest(X) if len(X) == 1 else honest(X)[:, :1]
    with pytest.raises(CounterleafError, match="the pipeline fails on rows of the schema: X has 1 features"):
        fold(model, schema, frame)
    scale.transform = honest
    first = probing.first
    monkeypatch.setattr(probing, "first", lambda *given: np.nextafter(first(*given), np.inf))
    with pytest.raises(CounterleafError, match="the pipeline routes rows otherwise than its steps tell; report"):
        fold(model, schema, frame)
