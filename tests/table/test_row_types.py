"""Rows keep their types: when they are rewritten, described and restored, and made up."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.mixed_table import MIXED

from counterleaf.table.row_types import (
    describe_row,
    describe_type,
    fitting,
    in_type_of,
    in_types_of,
    repeat_row,
    restore_row,
    restore_type,
    rewrite_row,
    table_like,
)

FRAME = MIXED[["age", "pay", "job", "owner"]]
ROWS = {
    "frame": FRAME.iloc[[1]],
    "categories": pd.DataFrame(
        {
            "kind": pd.Categorical(["b"], ["c", "b", "never"]),
            "size": pd.Categorical(["S"], ["S", "L"], ordered=True),
            "code": pd.Categorical([3], [7, 3]),
            "gap": pd.Categorical([None], ["p"]),
            "only": pd.Categorical(["only"]),
            "day": pd.Categorical(pd.to_datetime(["2020-01-02"]), pd.to_datetime(["2020-01-01", "2020-01-02"])),
            "text": pd.Categorical(["b"], pd.Index(["a", "b"], dtype=object)),
        }
    ),
    "polars": pl.from_pandas(FRAME)[1],
    "series": pd.Series({"a": 1, "b": 2}, name="r"),
    "nullable series": pd.Series({"a": 1, "b": 2}, dtype="Int64"),
    "objects": FRAME.iloc[1],
    "dict": {"a": 1, "b": "x"},
    "list": [1, 2.5],
    "tuple": (1, "x"),
    "array": np.array([1.5, 2.0], np.float32),
    "text": np.array(["a", "bc"]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_description_restores_the_row(row):
    again = restore_row(json.loads(json.dumps(describe_row(row))))
    assert type(again) is type(row)
    if isinstance(row, pd.DataFrame):
        pd.testing.assert_frame_equal(again, row)
    elif isinstance(row, pd.Series):
        pd.testing.assert_series_equal(again, row)
    elif isinstance(row, pl.DataFrame):
        assert again.equals(row)
        assert again.schema == row.schema
    else:
        assert np.array_equal(again, row) if isinstance(row, np.ndarray) else again == row
        assert getattr(again, "dtype", None) == getattr(row, "dtype", None)


def test_descriptions_that_cannot_be_trusted_are_refused():
    huge = {**describe_row(ROWS["array"]), "dtypes": ["<U99999999"]}
    with pytest.raises(ValueError, match="unknown type of column"):
        restore_row(huge)
    with pytest.raises(ValueError, match="unknown type of column"):
        restore_type("U99999999")
    with pytest.raises(ValueError, match="unknown type of column"):
        restore_type({"categories": ["a"], "ordered": False, "dtype": "<U99999999"})
    with pytest.raises(TypeError, match=r"^a column of type period\[D\]$"):
        describe_row(pd.DataFrame({"day": pd.period_range("2020", periods=1, freq="D")}))
    with pytest.raises(TypeError, match=r"^a column of type interval"):
        describe_type(pd.cut(pd.Series([1, 2, 3]), 2).dtype)
    with pytest.raises(TypeError, match="a polars column of type Date"):
        describe_row(pl.DataFrame({"d": [pd.Timestamp("2020-01-01").date()]}))
    with pytest.raises(TypeError, match="is a tuple"):
        describe_row({("a", "b"): 1})


def test_a_table_of_another_library_gets_the_types_and_the_gaps_of_the_data():
    data = pd.DataFrame({"town": pd.Series(["Ulm", None], dtype=object), "n": pd.array([1, 2], "Int64"), "note": [None, "x"]})
    came = pd.DataFrame({"town": pd.Series(["Ulm", None], dtype="str"), "n": [1.0, 2.0], "note": [np.nan, "x"]})
    found = in_types_of(came, data, ["town", "n"], {})
    assert found["town"].to_list() == ["Ulm", None]
    assert str(found["n"].dtype) == "Int64"
    assert np.isnan(found["note"].to_list()[0])  # not a feature: no step sees it


def test_values_take_the_type_of_the_old_one_if_that_changes_nothing():
    assert [in_type_of(2.0, old) for old in (1, 1.5, np.int8(1), True)] == [2, 2.0, 2, 2]
    assert isinstance(in_type_of(2.0, np.int8(1)), np.int8)
    assert in_type_of(2.5, 1) == in_type_of(2.5, np.int8(1)) == 2.5
    assert in_type_of(300.0, np.int8(1)) == 300.0
    assert in_type_of(True, False) is True
    assert fitting(2.0, np.dtype(np.int8)) == np.int8
    assert fitting(0.1, np.dtype(np.float32)) == np.float64


def test_rewritten_rows_keep_their_types():
    for name in ("series", "dict", "nullable series"):
        new = rewrite_row(ROWS[name], {"a": 5.0}, [])
        assert type(new) is type(ROWS[name])
        assert dict(new) == {**dict(ROWS[name]), "a": 5}
        assert getattr(new, "dtype", None) == getattr(ROWS[name], "dtype", None)
    assert rewrite_row(ROWS["tuple"], {"a": 5.0}, ["a", "b"]) == (5, "x")
    new = rewrite_row(ROWS["frame"], {"age": 30.0, "job": "smith"}, [])
    assert new.dtypes.equals(ROWS["frame"].dtypes)
    assert new.index.equals(ROWS["frame"].index)
    assert rewrite_row(ROWS["frame"], {"age": 30.5}, [])["age"].dtype == np.float64
    new = rewrite_row(ROWS["polars"], {"age": 30.0, "job": "smith"}, [])
    assert new.schema == ROWS["polars"].schema
    assert new.row(0)[::2] == (30, "smith")
    assert rewrite_row(ROWS["polars"], {"age": 30.5}, []).schema["age"] == pl.Float64


@pytest.mark.parametrize("data", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_made_up_rows_have_the_types_of_the_data(data):
    columns = [[40.0, 50.0], [1.5, 2.0], ["cook", None], [True, False]]
    made = table_like(data, columns, list(FRAME), True, {})
    assert type(made) is type(data)
    assert list(made.columns) == list(data.columns)
    assert made["age"].dtype == data["age"].dtype
    assert made["job"].dtype == data["job"].dtype
    many = repeat_row(made[:1] if isinstance(made, pd.DataFrame) else made[0], {1: np.array([7.0, 8.0, 9.0])})
    assert [list(many["age"]), list(many["pay"])] == [[40, 40, 40], [7.0, 8.0, 9.0]]


def test_made_up_rows_of_an_array():
    data = np.array([[1, "x"], [2, None]], object)
    made = table_like(data, [[1.0, 2.0], ["y", np.nan]], ["x0", "x1"], False, {})
    assert made.tolist() == [[1.0, "y"], [2.0, None]]
    assert repeat_row(np.ones((1, 2)), {0: np.array([3.0, 4.0])}).tolist() == [[3.0, 1.0], [4.0, 1.0]]
