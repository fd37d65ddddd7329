"""Features guessed from data, and how widely the columns vary."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
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
        "7 features, as guessed from the data:",
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
