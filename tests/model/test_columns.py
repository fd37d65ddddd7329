"""Columns that a model drops, lacks or never saw: treated the same for every kind of row, for tables and for data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.probed_cases import X, Y

import counterleaf as cl

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
DROPPING = {
    "known": lambda: make_column_transformer((StandardScaler(), ["pay", "age"]), (OneHotEncoder(), ["job"])),
    "probed": lambda: make_column_transformer((FunctionTransformer(np.log1p), ["pay", "age"]), (OneHotEncoder(), ["job"])),
}
ROWS = {
    "as fitted": X.iloc[[3]],
    "without the dropped columns": X.iloc[[3]][["pay", "job", "age"]],
    "with other columns": X.iloc[[3]].assign(note="hello", weight=3.5),
}
KINDS = {
    "frame": lambda row: row,
    "Series": lambda row: row.iloc[0],
    "dict": lambda row: row.iloc[0].to_dict(),
    "polars": pl.from_pandas,
}
DATA = {
    "as fitted": X,
    "without the dropped columns": X[["age", "pay", "job"]],
    "with other columns": X.assign(label=Y),
    "none": None,
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("front", DROPPING)
def test_dropped_and_other_columns(front, data):
    model = make_pipeline(DROPPING[front](), TREE).fit(X, Y)
    explainer = cl.Explainer(model, data=DATA[data])
    assert explainer.schema.names == ["age", "pay", "job"]
    for row in ROWS.values():
        for kind in KINDS.values():
            like = kind(row)
            best = explainer.explain(like)[0]
            assert best.confirmed
            assert type(best.row) is type(like)
            assert list(
                best.row if isinstance(best.row, dict) else best.row.keys() if kind is KINDS["Series"] else best.row.columns
            ) == list(row.columns)
        table = pd.concat([row] * 3)
        for rows in (table, pl.from_pandas(table)):
            assert list(explainer.explain_many(rows)["confirmed"]) == [True] * 3


def test_other_columns_keep_their_values():
    model = make_pipeline(DROPPING["known"](), TREE).fit(X, Y)
    best = cl.Explainer(model, data=X).explain(ROWS["with other columns"])[0]
    assert best.row[["hours", "month", "note", "weight"]].iloc[0].tolist() == [*X.iloc[3][["hours", "month"]], "hello", 3.5]


def test_other_columns_for_a_model_of_numbers():
    numbers = X[["age", "pay"]]
    model = TREE.fit(numbers, Y)
    explainer = cl.Explainer(model, data=X)
    best = explainer.explain(X.iloc[0].to_dict())[0]
    assert best.confirmed
    assert list(best.row) == list(X.columns)
    assert explainer.explain_many(X.head(4))["confirmed"].all()
    assert explainer.explain(X.iloc[[0]])[0].cost == cl.Explainer(model, data=numbers).explain(numbers.iloc[[0]])[0].cost


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (
            lambda e, m: e.explain(X.iloc[[0]].drop(columns="pay")),
            r"the row lacks the features \['pay'\]; expected the features",
        ),
        (
            lambda e, m: e.explain({"age": 3, "job": "cook", "PAY": 1}),
            r"lacks the features \['pay'\] and has the other columns \['PAY'\]",
        ),
        (
            lambda e, m: e.explain([1, 2]),
            r"the row has 2 values; expected 5, one per column \['age', 'pay', 'hours', 'job', 'month'\]",
        ),
        (lambda e, m: e.explain_many(X.drop(columns="pay")), r"the frame lacks the columns \['pay'\]; expected the columns"),
        (
            lambda e, m: cl.Explainer(m, data=X.drop(columns="pay")),
            r"data lacks the columns \['pay'\]; the pipeline was fitted on",
        ),
        (
            lambda e, m: cl.Explainer(TREE.fit(X[["age", "pay"]], Y), data=X[["age"]]),
            r"data lacks the columns \['pay'\]; the model was fitted on \['age', 'pay'\]",
        ),
        (
            lambda e, m: cl.Explainer(TREE.fit(X[["age", "pay"]], Y), data=X[["pay", "age"]]),
            r"data has its columns in another order: \['pay', 'age'\]; the model was fitted on \['age', 'pay'\]",
        ),
    ],
)
def test_columns_that_are_not_there_are_named(question, reason):
    model = make_pipeline(DROPPING["known"](), TREE).fit(X, Y)
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        question(cl.Explainer(model, data=X), model)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_pipeline_without_names_takes_the_columns_in_order():
    model = make_pipeline(StandardScaler(), TREE).fit(X[["age", "pay"]].to_numpy(), Y)
    explainer = cl.Explainer(model, data=X[["age", "pay"]])
    for row in (X.iloc[[0]][["age", "pay"]], X.iloc[0].to_dict(), list(X[["age", "pay"]].iloc[0])):
        assert explainer.explain(row)[0].confirmed
    assert explainer.explain_many(X[["age", "pay"]].head(3))["confirmed"].all()


def test_long_lists_of_columns_end_with_an_ellipsis():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 30)), columns=[f"c{k}" for k in range(30)])
    model = make_pipeline(StandardScaler(), TREE).fit(wide, wide["c0"] > 0)
    with pytest.raises(cl.CounterleafError, match=r"data lacks the columns \['c0', .*\.\.\. 17 more\]; .*\.\.\. 22 more\]"):
        cl.Explainer(model, data=wide[[f"c{k}" for k in range(25, 30)]])
