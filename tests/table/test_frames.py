"""One set of functions for pandas frames, polars frames and arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterleaf as cl
from counterleaf.table import frames

PANDAS = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]}, index=[7, 8, 9])
POLARS = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
BOTH = pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])


def test_kinds_of_data():
    data = [PANDAS, POLARS, PANDAS["a"], PANDAS.iloc[0], {"a": 1}, [1, 2], np.ones(2), POLARS["a"]]
    assert [frames.is_frame(one) for one in data] == [True, True] + [False] * 6
    assert [frames.is_polars(one) for one in data] == [False, True] + [False] * 6
    assert [frames.is_series(one) for one in data] == [False, False, True, True] + [False] * 4


@BOTH
def test_parts_of_a_frame(frame):
    assert frames.column_names(frame) == ["a", "b"]
    assert [name for name, _ in frames.columns(frame)] == ["a", "b"]
    assert frames.column_names(frames.select(frame, ["b", "zebra"])) == ["b"]
    assert frames.cells_of(frames.take(frame, [2, 0])["a"]) == [3, 1]
    assert frames.cells_of(frames.take(frame, slice(1, 3))["a"]) == [2, 3]
    assert frames.first_row(frame) == {"a": 1, "b": "x"}
    assert frames.records(frame)[2] == {"a": 3, "b": "z"}
    assert len(frames.concat([frame, frame])) == 6
    assert frames.numbers_of(frame["a"], "a").tolist() == [1.0, 2.0, 3.0]
    assert [frames.kind_of(frame[name]) for name in ("a", "b")] == ["i", "O"]
    with pytest.raises(cl.CounterleafError, match="column 'b' of the data holds 'x'; expected numbers"):
        frames.numbers_of(frame["b"], "b")


@BOTH
def test_a_copy_does_not_follow_the_original(frame):
    original = frames.copy_of(frame)
    copy = frames.copy_of(original)
    if isinstance(original, pd.DataFrame):
        original.loc[7, "a"] = 100
    else:
        original[0, "a"] = 100
    assert frames.first_row(original)["a"] == 100
    assert frames.first_row(copy)["a"] == 1
    assert frames.copy_of((1, 2)) == (1, 2)


def test_rows_of_one_type_are_stacked():
    one, two = PANDAS.iloc[[0]], PANDAS.iloc[[1]]
    assert [len(part) for part in frames.stacked([one, two])] == [2]
    assert [len(part) for part in frames.stacked([one, two.astype({"a": float})])] == [1, 1]
    one, two = POLARS[0], POLARS[1]
    assert [len(part) for part in frames.stacked([one, two])] == [2]
    assert [len(part) for part in frames.stacked([one, two.cast({"a": pl.Float64})])] == [1, 1]


def test_frames_are_made_of_dicts_lists_and_arrays():
    made = frames.make_frame([{"a": 1}, {"a": None}], index=["x", "y"], types={"a": "Int64"})
    assert str(made["a"].dtype) == "Int64"
    assert made.index.tolist() == ["x", "y"]
    assert frames.records(frames.make_frame([[1, "x"]], names=["a", "b"])) == [{"a": 1, "b": "x"}]
    assert frames.records(frames.make_frame(np.array([[1.0, 2.0]]), names=["a", "b"])) == [{"a": 1.0, "b": 2.0}]


def test_counts_of_pairs():
    table = frames.cross_table(["y", "n", "y"], ["y", "y", "y"], ("truth", "predicted"))
    assert table.loc["y", "y"] == 2
    assert (table.index.name, table.columns.name) == ("truth", "predicted")


def test_kinds_of_numbers():
    table = pd.DataFrame({"b": [True], "i": [1], "f": [1.5], "c": [1j], "t": ["x"]})
    assert [frames.number_kind(table[name]) for name in table] == ["bool", "int", "float", "complex", ""]
    nullable = table[["b", "i", "f"]].astype({"b": "boolean", "i": "Int64", "f": "Float64"})
    assert [frames.number_kind(nullable[name]) for name in nullable] == ["bool", "int", "float"]
    assert frames.number_kind(pd.Series([True, False], dtype="category")) == ""


def test_levels_of_categories():
    assert frames.levels_of(pd.Series(["x"], dtype="category")) == (["x"], False)
    assert frames.levels_of(pd.Series(pd.Categorical(["x"], ["y", "x"], ordered=True))) == (["y", "x"], True)
    assert frames.levels_of(PANDAS["a"]) == frames.levels_of(POLARS["a"]) == frames.levels_of(np.ones(2)) == (None, False)


def test_names_of_rows_and_columns():
    square = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "b"])
    assert frames.axis_names(square) == (("a", "b"), ("a", "b"))
    assert frames.axis_names(pd.DataFrame([[1, 2], [3, 4]])) is None
    assert frames.axis_names(np.ones((2, 2))) is None
    assert frames.nested(square) == {"a": {"a": 1, "b": 2}, "b": {"a": 3, "b": 4}}
    assert frames.by_name(pd.Series({"a": 1})) == {"a": 1}
    assert isinstance(frames.by_name(pd.Series([1, 2])), pd.Series)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "data has two columns named 'a'; names must differ"),
        (pd.DataFrame({"a": []}), r"data has shape \(0, 1\); expected a table with rows and columns"),
        (np.ones(3), r"data has shape \(3,\); expected a table with rows and columns"),
        ([[1], [2, 3]], r"data has shape \(0,\); expected a table with rows and columns"),
    ],
)
def test_tables_without_columns_get_one_clear_line(data, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        frames.columns(data)


def test_rows_are_narrowed_to_the_floats_that_hold_them():
    frame = pd.DataFrame({10: [0.5, 0.1, np.nan], "b": [0.1, 0.5, 0.25], "c": [1.0, 2.0, 3.0]})
    types = {"10": np.dtype(np.float32), "b": pd.Float32Dtype(), "c": np.dtype(float)}
    found = {tuple(at.tolist()): [str(dtype) for dtype in part.dtypes] for at, part in frames.narrow_columns(frame, types)}
    assert found == {
        (0,): ["float32", "float64", "float64"],
        (1,): ["float64", "Float32", "float64"],
        (2,): ["float32", "Float32", "float64"],
    }
    ((at, part),) = frames.narrow_columns(frame, {"c": np.dtype(float)})
    assert at.tolist() == [0, 1, 2]
    assert part is frame


def test_nullable_columns_are_numbers_with_gaps():
    frame = pd.DataFrame({"n": pd.array([1, None], "Int64"), "owns": pd.array([None, True], "boolean"), "x": [0.5, 1.5]})
    assert np.array_equal(frames.matrix_of(frame), [[1, np.nan, 0.5], [np.nan, 1, 1.5]], equal_nan=True)
    assert frames.matrix_of([[1, 2]]).dtype == np.float64


def test_the_iso_text_of_a_date_is_that_date():
    frame = pd.DataFrame({"day": ["2020-01-02T00:00:00", None], "note": ["2020-01-02", "x"]})
    days = pd.Series(pd.to_datetime(["2020-01-02", None])).dtype
    typed = frames.with_types(frame, {"day": days, "note": days})
    assert typed["day"].dtype == days
    assert typed["note"].to_list() == ["2020-01-02", "x"]
