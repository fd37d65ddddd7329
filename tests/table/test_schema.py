import dataclasses
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterleaf as cl


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.Numeric("a", 2, 1), "expected lower <= upper"),
        (lambda: cl.Numeric("a", math.nan), "expected lower <= upper"),
        (lambda: cl.Numeric("a", math.inf), "no finite number"),
        (lambda: cl.Numeric("a", "low"), "a bound is 'low'; expected a number"),
        (lambda: cl.Numeric(1), "expected a string"),
        (lambda: cl.Schema(None), "features is None; expected a list of features"),
        (lambda: cl.Schema([]), "at least one feature"),
        (lambda: cl.Schema(["a"]), "entry 0 is a str"),
        (lambda: cl.Schema([cl.Numeric("a"), cl.Numeric("a")]), "'a' is in the schema twice"),
        (lambda: cl.Schema.infer(pd.DataFrame({"a": [1.0, np.inf]})), "column 'a' of the data holds infinity"),
        (lambda: cl.Schema.infer(pd.DataFrame({"a": [np.nan]})), "column 'a' of the data has no value at all"),
    ],
)
def test_bad_schemas_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        make()


def test_infer_finds_names_and_ranges():
    schema = cl.Schema.infer(pd.DataFrame({"a": [1, 3], "b": [0.5, -2.0]}))
    assert schema.names == ["a", "b"]
    assert [(f.lower, f.upper) for f in schema] == [(1.0, 3.0), (-2.0, 0.5)]
    assert cl.Schema.infer(np.zeros((2, 2)), bounds=False).features[1] == cl.Numeric("x1")


def test_encode_and_decode_are_inverses():
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])
    rows = [
        {"b": 2, "a": 1.5},
        [1.5, 2],
        np.array([1.5, 2.0], np.float32),
        pd.Series([2.0, 1.5], index=["b", "a"]),
        pd.DataFrame({"b": [2], "a": [1.5]}, index=["r"]),
    ]
    for row in rows:
        x = schema.encode(row)
        assert x.tolist() == [1.5, 2.0]
        again = schema.decode(x, row)
        assert type(again) is type(row)
        if isinstance(row, pd.DataFrame):
            pd.testing.assert_frame_equal(again, row)
        elif isinstance(row, pd.Series):
            pd.testing.assert_series_equal(again, row)
        else:
            assert np.array_equal(list(again), list(row))


MIXED = pd.DataFrame(
    {
        "age": pd.array([20, 61, 33], dtype="int8"),
        "pay": np.array([1.5, 2.0, np.nan], np.float32),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "job": ["cook", "clerk", None],
        "owner": [True, False, True],
        "school": pd.Categorical(["HS", "BA", "HS"], categories=["none", "HS", "BA"], ordered=True),
        "city": pd.Categorical(["Rome", "Oslo", "Rome"]),
    }
)


def test_infer_prints_what_it_guessed():
    told = [
        "7 features, as guessed from the data:",
        "  age     whole number, 20 to 61",
        "  pay     number, 1.5 to 2",
        "  count   whole number, 1 to 3",
        "  job     one of 2: clerk, cook, may be missing",
        "  owner   yes or no",
        "  school  3 levels: none < HS < BA",
        "  city    one of 2: Oslo, Rome",
    ]
    assert str(cl.Schema.infer(MIXED)).split("\n") == told
    plain = MIXED.drop(columns="school").astype({"job": object, "city": object})
    same = [line.split(maxsplit=1) for line in [*told[1:6], told[7]]]
    assert [line.split(maxsplit=1) for line in str(cl.Schema.infer(pl.from_pandas(plain))).split("\n")[1:]] == same
    assert str(cl.Schema([cl.Numeric("a", lower=0, step=0.5), cl.Numeric("b", upper=3)])).split("\n") == [
        "2 features:",
        "  a  number in steps of 0.5, at least 0",
        "  b  number, at most 3",
    ]
    assert cl.Schema.infer(np.array([[1, 2], [3, 4]])).features[0] == cl.Numeric("x0", 1, 3, integer=True)
    assert cl.Schema.infer(np.array([["a", 1.5], ["b", 2]], object)).features[0] == cl.Categorical("x0", ["a", "b"])


def test_encode_and_decode_are_inverses_on_tables_and_keep_types():
    schema = dataclasses.replace(cl.Schema.infer(MIXED), fills={"pay": 1.75, "count": 2.0})
    other = schema.encode(MIXED.iloc[[1]])
    for i in range(3):
        frame = MIXED.iloc[[i]]
        table = pl.from_pandas(MIXED)[i]
        for row in (frame, frame.iloc[0], frame.iloc[0].to_dict(), frame.iloc[0].tolist(), frame.to_numpy(object)[0], table):
            x = schema.encode(row)
            again = schema.decode(x, row)
            assert type(again) is type(row)
            assert np.array_equal(schema.encode(again), x)
            new = schema.decode(other, row)
            assert np.array_equal(schema.encode(new), other)
            if isinstance(row, pd.DataFrame):
                pd.testing.assert_frame_equal(again, row)
                assert new.dtypes.equals(row.dtypes)
            elif isinstance(row, pd.Series):
                pd.testing.assert_series_equal(again, row)
            elif isinstance(row, pl.DataFrame):
                assert again.equals(row, null_equal=True)
                assert again.schema == row.schema == new.schema


def test_a_name_that_is_nearly_right_gets_a_hint():
    schema = cl.Schema([cl.Numeric("age"), cl.Numeric("hours-per-week")])
    with pytest.raises(
        cl.CounterleafError, match=r"the features are 'age', 'hours-per-week'; did you mean 'hours-per-week'\?$"
    ):
        schema.index("hours")
    with pytest.raises(cl.CounterleafError, match=r"the features are 'age', 'hours-per-week'$"):
        schema.index("zebra")


def test_whole_numbers_with_gaps_are_whole_numbers():
    table = pd.DataFrame({"calls": [1.0, np.nan, 3.0], "rate": [1.5, np.nan, 3.0], "real": [1.0, 2.0, 3.0]})
    assert [feature.integer for feature in cl.Schema.infer(table)] == [True, False, False]
