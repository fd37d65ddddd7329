"""Tables of every kind of column, pipelines of every step, and the checks of an answer about them."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn.compose import ColumnTransformer
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
from sklearn.tree import DecisionTreeClassifier

JOBS = ["clerk", "cook", "nurse", "smith"]
SCHOOLS = ["none", "HS", "BA", "MA"]
NUMBERS = ["age", "pay", "rate"]


def people(n=150, seed=0):
    """A table of every kind of column, and labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "pay": np.round(rng.lognormal(10.5, 0.7, n), 2),  # about 1e5
            "rate": rng.random(n) / 1000,
            "hours": np.where(rng.random(n) < 0.15, np.nan, np.round(rng.normal(40, 9, n), 1)),
            "job": rng.choice(JOBS, n, p=[0.4, 0.3, 0.25, 0.05]),
            "school": rng.choice(SCHOOLS, n),
            "city": pd.Series(rng.choice(np.array(["Oslo", "Rome", None]), n), dtype=object),
            "owner": rng.random(n) < 0.4,
        }
    )
    score = frame["age"] / 20 + frame["pay"] / 5e4 + frame["rate"] * 900 + frame["hours"].fillna(40) / 20
    score += frame["school"].map(SCHOOLS.index) + (frame["job"] == "nurse") + frame["owner"] + (frame["city"] == "Oslo")
    return frame, np.where(score + rng.normal(0, 0.4, n) > score.median(), "yes", "no")


def gaps(encoder=None):
    fill = SimpleImputer(missing_values=None, strategy="most_frequent")
    return make_pipeline(fill, encoder or OneHotEncoder())


# name: (columns, function that makes the preparation); `at` turns names into positions if the table has no names
PREPARATIONS = {
    "standard": (
        [*NUMBERS, "job"],
        lambda at: ColumnTransformer([("n", StandardScaler(), at(*NUMBERS)), ("c", OneHotEncoder(), at("job"))]),
    ),
    "min-max, drop first": (
        [*NUMBERS, "job", "school"],
        lambda at: ColumnTransformer(
            [("n", MinMaxScaler((-1, 3)), at(*NUMBERS)), ("c", OneHotEncoder(drop="first"), at("job", "school"))]
        ),
    ),
    "clip, if binary": (
        [*NUMBERS, "job", "owner"],
        lambda at: ColumnTransformer(
            [("c", OneHotEncoder(drop="if_binary"), at("job", "owner")), ("n", MinMaxScaler(clip=True), at(*NUMBERS))]
        ),
    ),
    "robust, rare": (
        [*NUMBERS, "job", "school"],
        lambda at: ColumnTransformer(
            [
                ("n", RobustScaler(), at(*NUMBERS)),
                ("c", OneHotEncoder(min_frequency=0.15, handle_unknown="infrequent_if_exist"), at("job", "school")),
            ]
        ),
    ),
    "largest, unknown ignored": (
        [*NUMBERS, "job", "city"],
        lambda at: ColumnTransformer(
            [
                ("n", MaxAbsScaler(), at(*NUMBERS)),
                ("c", OneHotEncoder(handle_unknown="ignore", sparse_output=False), at("job", "city")),
            ]
        ),
    ),
    "ordinal": (
        [*NUMBERS, "school", "job"],
        lambda at: ColumnTransformer(
            [
                ("s", OrdinalEncoder(categories=[SCHOOLS]), at("school")),
                ("j", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), at("job")),
            ],
            remainder="passthrough",
        ),
    ),
    "ordinal with gaps": (
        ["age", "city", "pay"],
        lambda at: ColumnTransformer(
            [("o", OrdinalEncoder(encoded_missing_value=-2), at("city")), ("n", "passthrough", at("age", "pay"))]
        ),
    ),
    "mean": (
        ["age", "hours", "job"],
        lambda at: ColumnTransformer(
            [("n", make_pipeline(SimpleImputer(), StandardScaler()), at("age", "hours")), ("c", OneHotEncoder(), at("job"))]
        ),
    ),
    "median and most frequent": (
        ["age", "hours", "pay", "city"],
        lambda at: ColumnTransformer(
            [("n", SimpleImputer(strategy="median"), at("hours")), ("c", gaps(), at("city"))], remainder="passthrough"
        ),
    ),
    "constant": (
        ["age", "hours", "city"],
        lambda at: ColumnTransformer(
            [
                ("n", SimpleImputer(strategy="constant", fill_value=-1.0), at("age", "hours")),
                (
                    "c",
                    make_pipeline(SimpleImputer(missing_values=None, strategy="constant", fill_value="?"), OneHotEncoder()),
                    at("city"),
                ),
            ]
        ),
    ),
    "yes or no as it is": (
        ["age", "owner", "rate", "school"],
        lambda at: ColumnTransformer([("c", OneHotEncoder(), at("school"))], remainder="passthrough"),
    ),
    "identity": (
        ["age", "pay", "owner"],
        lambda at: ColumnTransformer(
            [
                ("f", FunctionTransformer(), at("age", "pay")),
                ("c", make_pipeline(FunctionTransformer(), OneHotEncoder()), at("owner")),
            ]
        ),
    ),
    "nested": (
        [*NUMBERS, "hours", "job", "city", "owner"],
        lambda at: Pipeline(
            [
                (
                    "first",
                    ColumnTransformer(
                        [
                            (
                                "n",
                                Pipeline([("fill", SimpleImputer()), ("not", "passthrough"), ("s", RobustScaler())]),
                                at(*NUMBERS, "hours"),
                            ),
                            (
                                "c",
                                ColumnTransformer(
                                    [("j", OneHotEncoder(drop="first"), [0]), ("c", gaps(OrdinalEncoder()), [1])]
                                ),
                                at("job", "city"),
                            ),
                        ],
                        remainder="passthrough",
                        sparse_threshold=0,
                    ),
                ),
                (
                    "again",
                    make_pipeline(
                        MaxAbsScaler(), ColumnTransformer([("x", StandardScaler(), [0, 2])], remainder="passthrough")
                    ),
                ),
                ("none", None),
            ]
        ),
    ),
    "weighted": (
        [*NUMBERS, "school"],
        lambda at: ColumnTransformer(
            [("n", StandardScaler(), at(*NUMBERS)), ("c", OneHotEncoder(), at("school"))],
            transformer_weights={"n": -0.5, "c": 2},
        ),
    ),
}
DROPPING = {
    "the rest": lambda at: ColumnTransformer([("n", StandardScaler(), at("age", "pay")), ("c", OneHotEncoder(), at("job"))]),
    "by word": lambda at: ColumnTransformer(
        [
            ("n", StandardScaler(), at("age", "pay")),
            ("c", OneHotEncoder(), at("job")),
            ("d", "drop", at("rate", "city", "owner")),
        ]
    ),
}


def fitted(columns, prepare, kind, depth=6, output=None):
    """(pipeline, table) for columns of ``people`` as a pandas or polars frame or as an array."""
    frame, y = people()
    frame = frame[columns]
    place = (lambda *names: [columns.index(name) for name in names]) if kind == "array" else lambda *names: list(names)
    table = pl.from_pandas(frame) if kind == "polars" else frame if kind == "pandas" else frame.to_numpy()
    steps = prepare(place)
    if output:
        steps.set_output(transform=output)
    return make_pipeline(steps, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(table, y), table


def taken(table, i, form):
    """Row i of a table in some form."""
    if form == "frame":
        return table[[i]] if isinstance(table, pl.DataFrame) else table.iloc[[i]]
    if form == "dict":
        return table.row(i, named=True) if isinstance(table, pl.DataFrame) else table.iloc[i].to_dict()
    if form == "series":
        return table.iloc[i]
    if form == "list":
        return list(table.row(i)) if isinstance(table, pl.DataFrame) else list(table.iloc[i])
    return table[i]


def cells(row):
    """The values of a row in any form."""
    if isinstance(row, pl.DataFrame):
        return list(row.row(0))
    if isinstance(row, pd.DataFrame):
        return [row[name].iloc[0] for name in row.columns]
    return list(row.values()) if isinstance(row, dict) else list(row)


def back(row, table):
    """The row as a table of the kind that the pipeline was fitted on."""
    if isinstance(row, (pl.DataFrame, pd.DataFrame)):
        return row
    if isinstance(table, np.ndarray):
        return row[None]
    values = dict(zip(table.columns, cells(row), strict=True))
    if isinstance(table, pl.DataFrame):
        return pl.DataFrame({name: pl.Series([value], dtype=table[name].dtype) for name, value in values.items()})
    return pd.DataFrame({name: pd.Series([value], dtype=table[name].dtype) for name, value in values.items()})


def identical(a, b):
    return type(a) is type(b) and (a == b or (a != a and b != b) or (a is pd.NA and b is pd.NA))


def confirm(pipeline, table, answer, row, names):
    """Check that the pipeline predicts the label, and that types and all cells that did not change are as they were."""
    assert answer.status == "optimal"
    assert answer.certificate.check() is True
    for one in answer:
        assert one.confirmed
        assert pipeline.predict(back(one.row, table)).tolist() == [one.label]
        assert type(one.row) is type(row)
        if isinstance(row, pd.DataFrame):
            assert one.row.dtypes.to_dict() == row.dtypes.to_dict()
            assert one.row.index.equals(row.index)
        elif isinstance(row, pl.DataFrame):
            assert one.row.schema == row.schema
        elif isinstance(row, (np.ndarray, pd.Series)):
            assert one.row.dtype == row.dtype
        for name, old, new in zip(names, cells(row), cells(one.row), strict=True):
            if name in one.changes:
                assert one.changes[name] == (old, new) or old != old or old is None
                assert new != old
                assert isinstance(new, type(old)) or old is None or old != old
            else:
                assert identical(old, new), name
