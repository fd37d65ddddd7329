"""Rows of any type as vectors, and vectors as rows of that type."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.mixed_table import MIXED

import counterleaf as cl
from counterleaf.table.schema import encode_table

AB = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])


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


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (pd.DataFrame({"a": [1, 2], "b": [1, 2]}), "the frame has 2 rows; explain takes one"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the row has two columns named 'a'; names must differ"),
        (pd.Series([1, 2], index=["a", "a"]), "the row names the feature 'a' twice; names must differ"),
        ({"a": 1, "c": 2}, r"the row lacks the features \['b'\] and has the other columns \['c'\]; expected the features"),
        ([1, 2, 3], r"the row has shape \(3,\); expected 2 numbers, one per feature"),
        ([[1, 2]], r"the row has shape \(1, 2\); expected 2 numbers, one per feature"),
        (np.ones((1, 2)), r"the row has shape \(1, 2\); expected 2 numbers, one per feature"),
        (3.0, "the row is 3.0; expected a dict, a Series, a one-row frame or numbers"),
        ("ab", "the row is 'ab'; expected a dict, a Series, a one-row frame or numbers"),
        ([1, "2"], "feature 'b' is '2'; expected a number"),
        ([1, 1j], "feature 'b' is 1j; expected a number"),
        ([1, None], "feature 'b' of the row is nan; expected a finite number: fill it in first"),
        (np.array([1, np.inf]), "feature 'b' of the row is inf; expected a finite number: fill it in first"),
    ],
)
def test_rows_that_do_not_fit_get_one_clear_line(row, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        AB.encode(row)


def test_columns_that_the_model_ignores_may_be_in_the_row():
    schema = dataclasses.replace(AB, columns=("a", "note", "b"))
    for row in ({"a": 1, "note": "x", "b": 2}, {"b": 2, "a": 1}, [1, "x", 2], pd.Series({"a": 1, "note": "x", "b": 2})):
        assert schema.encode(row).tolist() == [1.0, 2.0]
    assert schema.values([1, "x", 2]) == [1, 2]
    assert schema.decode(np.array([1.0, 3.0]), [1, "x", 2]) == [1, "x", 3]


def test_integers_of_any_type_are_checked_to_be_whole():
    schema = cl.Schema([cl.Numeric("n", integer=True)])
    for value in (2, 2.0, np.int8(2), np.float32(2)):
        assert schema.encode([value]).tolist() == [2.0]
    with pytest.raises(cl.CounterleafError, match=r"feature 'n' is 2\.5; expected a whole number"):
        schema.encode([2.5])


def test_tables_are_encoded_as_their_rows_are():
    schema = cl.Schema.infer(MIXED)
    codes = encode_table(schema, MIXED)
    filled = dataclasses.replace(schema, fills=dict.fromkeys(schema.names, -1.0))
    rows = np.array([filled.codes(MIXED.iloc[[k]]) for k in range(len(MIXED))])
    np.testing.assert_array_equal(np.where(np.isnan(codes), -1.0, codes), rows)
    with pytest.raises(cl.CounterleafError, match="data lacks the column 'b'"):
        encode_table(AB, pd.DataFrame({"a": [1]}))
    with pytest.raises(cl.CounterleafError, match="data has 3 columns; expected 2, one per feature"):
        encode_table(AB, np.ones((1, 3)))
