"""Features inferred from data, and how widely the columns vary."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.mixed_table import MIXED

import counterleaf as cl
from counterleaf.table.infer import Spreads


def test_infer_finds_names_and_ranges():
    schema = cl.Schema.infer(pd.DataFrame({"a": [1, 3], "b": [0.5, -2.0]}))
    assert schema.names == ["a", "b"]
    assert [(f.lower, f.upper) for f in schema] == [(1.0, 3.0), (-2.0, 0.5)]
    assert cl.Schema.infer(np.zeros((2, 2)), bounds=False).features[1] == cl.Numeric("x1")


def test_infer_prints_what_it_guessed():
    printed = [
        "7 features, inferred from the data:",
        "  age     whole number, 20 to 61",
        "  pay     number, 1.5 to 2, may be missing",
        "  count   whole number, 1 to 3, may be missing",
        "  job     one of 2: clerk, cook, may be missing",
        "  owner   yes or no",
        "  school  3 levels: none < HS < BA",
        "  city    one of 2: Oslo, Rome",
    ]
    assert str(cl.Schema.infer(MIXED)).split("\n") == printed
    plain = MIXED.drop(columns="school").astype({"job": object, "city": object})
    same = [line.split(maxsplit=1) for line in [*printed[1:6], printed[7]]]
    assert [line.split(maxsplit=1) for line in str(cl.Schema.infer(pl.from_pandas(plain))).split("\n")[1:]] == same
    assert str(cl.Schema([cl.Numeric("a", lower=0, step=0.5), cl.Numeric("b", upper=3)])).split("\n") == [
        "2 features:",
        "  a  number in steps of 0.5, at least 0",
        "  b  number, at most 3",
    ]
    assert cl.Schema.infer(np.array([[1, 2], [3, 4]])).features[0] == cl.Numeric("x0", 1, 3, integer=True)
    assert cl.Schema.infer(np.array([["a", 1.5], ["b", 2]], object)).features[0] == cl.Categorical("x0", ["a", "b"])


def test_whole_numbers_with_gaps_are_whole_numbers():
    table = pd.DataFrame({"calls": [1.0, np.nan, 3.0], "rate": [1.5, np.nan, 3.0], "real": [1.0, 2.0, 3.0]})
    assert [feature.integer for feature in cl.Schema.infer(table)] == [True, False, False]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ([1.0, np.inf], "column 'a' of the data holds infinity; expected finite numbers"),
        ([np.nan], "column 'a' of the data has no value at all; drop it"),
        ([None], "column 'a' of the data has no value at all; drop it"),
        (pd.to_datetime(["2020-01-01"]), "column 'a' of the data holds datetime64.*: convert or drop it"),
    ],
)
def test_columns_that_are_not_features(column, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        cl.Schema.infer(pd.DataFrame({"a": column}))


def test_objects_are_numbers_booleans_or_categories_by_their_values():
    table = pd.DataFrame({"n": [1, 2.5], "i": [1, None], "b": [True, None], "m": [2, "x"]}, dtype=object)
    assert list(cl.Schema.infer(table)) == [
        cl.Numeric("n", 1, 2.5),
        cl.Numeric("i", 1, 1, integer=True, missing=True),
        cl.Boolean("b", missing=True),
        cl.Categorical("m", [2, "x"]),
    ]
    assert list(cl.Schema.infer(table, finite=["n"], leave=["i", "b", "m"])) == [cl.Categorical("n", [1, 2.5])]


def test_a_spread_of_zero_is_replaced():
    X = np.array([[1.0, 5.0, np.nan, 0.0], [3.0, 5.0, np.nan, 0.0], [8.0, 5.0, np.nan, 9.0]])
    spreads = Spreads.of(X)
    assert spreads.range.tolist() == [7.0, 1.0, 1.0, 9.0]
    assert spreads.mad.tolist() == [2.0, 1.0, 1.0, 9.0]
    assert spreads.std.tolist() == [np.std(X[:, 0]), 1.0, 1.0, np.std(X[:, 3])]


def test_the_range_is_that_of_the_middle_98_percent():
    X = np.column_stack([np.arange(1000.0), np.r_[np.zeros(999), 5.0], np.r_[np.arange(999.0), 1e9]])
    X[::10, 0] = np.nan
    known = np.sort(X[:, 0][~np.isnan(X[:, 0])])
    low, high = np.quantile(known, [0.01, 0.99], method="inverted_cdf")
    assert Spreads.of(X).range.tolist() == [high - low, 5.0, 980.0]  # a span of 0 is replaced by the full range
    few = np.column_stack([np.r_[np.zeros(98), 1e6]])
    assert Spreads.of(few).range.tolist() == [1e6]  # with fewer than 100 rows, the greatest less the least
    assert Spreads.of(np.r_[few, [[0.0]]]).range.tolist() == [1e6]  # 100 rows: a span of 0
    assert Spreads.of(np.arange(100.0)[:, None]).range.tolist() == [98.0]
    assert Spreads.of(np.full((200, 1), 3.0)).range.tolist() == [1.0]


@pytest.mark.parametrize(
    ("column", "listed"),
    [
        ([36, 60] * 15, (36.0, 60.0)),
        ([36.0, 60.0] * 15, (36.0, 60.0)),
        ([36.0, np.nan] * 28 + [60.0] * 2, (36.0, 60.0)),
        ([0.5, -1.0, 2.25] * 10, (-1.0, 0.5, 2.25)),
        ([1, 2, 4, 8, 16, 32, 64, 128] * 4, (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)),
        ([36, 60] * 14 + [36], None),  # 29 rows
        ([36] * 29 + [60], None),  # 60 appears once
        ([1, 2, 3] * 10, None),  # consecutive
        ([0.0, 1.0] * 15, None),
        ([7.5] * 30, None),  # one value
        (list(range(0, 18, 2)) * 4, None),  # nine values
        ([True, False] * 15, None),
    ],
)
def test_few_numbers_are_a_list(column, listed):
    (feature,) = cl.Schema.infer(pd.DataFrame({"x": column}))
    assert getattr(feature, "values", None) == (listed or ((False, True) if column[0] is True else None))
    if listed:
        assert (feature.lower, feature.upper) == (listed[0], listed[-1])
        assert cl.Schema.infer(pd.DataFrame({"x": column}), bounds=False).features[0].values is None
        whole = all(isinstance(value, int) for value in column) or bool(np.isnan(column).any())
        assert feature.integer == whole


def test_a_list_is_printed():
    schema = cl.Schema.infer(pd.DataFrame({"term": [36, 60] * 20, "rate": [0.5, None, 1.25, 1.25] * 10}))
    assert str(schema).split("\n") == [
        "2 features, inferred from the data:",
        "  term  one of the numbers 36, 60",
        "  rate  one of the numbers 0.5, 1.25, may be missing",
    ]
    assert str(cl.Schema([cl.Numeric("x", values=range(20))])).endswith("one of the numbers 0, 1, 2, 3, 4, 5, ... 14 more")


@pytest.mark.parametrize(
    ("column", "money"),
    [
        (np.arange(40) * 1.37, True),
        (np.cumsum(np.full(40, 0.01)) + 0.1, True),  # to rounding
        (np.r_[np.arange(40) * 1.37, np.nan], True),
        (-np.arange(40) * 12345.67, True),
        (np.arange(29) * 1.37, False),  # 29 rows
        (np.arange(40) * 1.3, False),  # multiples of 0.1
        (np.arange(40) * 1.375, False),
        (np.arange(40), False),  # whole numbers stay whole
        (np.arange(40) * 1.37e15, False),
        (np.arange(40) * 1e300, False),
    ],
)
def test_money_is_in_cents_for_axis_aligned_trees(column, money):
    data = pd.DataFrame({"pay": column, "age": np.linspace(18, 70, len(column))})
    stump = {"left": [1, -1, -1], "right": [2, -1, -1], "bias": [-1.0, 0, 0], "value": [-1, 0, 1]}
    straight = cl.Tree(weights=[[1.0, 0.0], [0, 0], [0, 0]], **stump)
    oblique = cl.Tree(weights=[[1.0, 1.0], [0, 0], [0, 0]], **stump)
    if np.isnan(column).any():
        with pytest.raises(cl.CounterleafError, match="data has NaN or infinity in column 'pay'"):
            cl.Explainer(straight, data=data)
        return
    assert cl.Explainer(straight, data=data).schema.features[0].step == (0.01 if money else None)
    assert cl.Explainer(straight, data=data.to_numpy()).schema.features[0].step == (0.01 if money else None)
    assert cl.Explainer(straight, data=data, infer_bounds=False).schema.features[0].step == (0.01 if money else None)
    assert cl.Explainer(oblique, data=data).schema.features[0].step is None
    assert cl.Explainer(straight, data=data, schema=cl.Schema.infer(data)).schema.features[0].step is None
    leaves = cl.Outputs("value", [[0.0], [1.0], [2.0]], [[0, 0], [1, 0], [0, 0]])
    linear = cl.Tree(weights=[[1.0, 0.0], [0, 0], [0, 0]], **{**stump, "value": None}, outputs=leaves)
    assert cl.Explainer(linear, data=data).schema.features[0].step is None


def test_money_in_a_pipeline():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"pay": np.round(rng.gamma(2, 1000, 200), 2), "age": rng.integers(18, 70, 200)})
    data["job"] = rng.choice(["cook", "clerk"], 200)
    granted = np.where(data.pay > 1500, "yes", "no")
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["pay"]), remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=3)).fit(data, granted)
    explainer = cl.Explainer(model, data=data)
    assert [getattr(f, "step", None) for f in explainer.schema] == [0.01, None, None]
    answer = explainer.explain(data[granted == "no"].iloc[0], target="yes")
    assert answer[0].confirmed
    assert answer.certificate.check()
    assert round(answer[0].row["pay"], 2) == answer[0].row["pay"]
    linear = make_pipeline(encode, LogisticRegression()).fit(data, granted)
    assert cl.Explainer(linear, data=data).schema.features[0].step is None
