"""The rows of a batch: their codes, and rows rewritten in the types of their columns."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.mixed_table import MIXED

import counterleaf as cl
from counterleaf.table.rows import TableRows

SCHEMA = dataclasses.replace(cl.Schema.infer(MIXED), fills={"pay": 1.75, "count": 2.0})
WIDE = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])


@pytest.mark.parametrize("rows", [MIXED, pl.from_pandas(MIXED), MIXED.to_numpy(object)], ids=["pandas", "polars", "array"])
def test_codes_are_those_of_each_row(rows):
    sheet = TableRows(rows, SCHEMA)
    codes = sheet.codes(slice(0, 3))
    assert codes.tolist() == [SCHEMA.codes(sheet.one(k)).tolist() for k in range(sheet.n)]
    assert sheet.codes(slice(1, 2)).tolist() == codes[1:2].tolist()


@pytest.mark.parametrize("rows", [MIXED, pl.from_pandas(MIXED), MIXED.to_numpy(object)], ids=["pandas", "polars", "array"])
def test_rewritten_rows_have_the_new_codes_and_the_old_types(rows):
    sheet = TableRows(rows, SCHEMA)
    before = sheet.codes(slice(0, 3))
    after = before[[1, 1, 1]]
    again = sheet.rewritten(slice(0, 3), before, after)
    assert TableRows(again, SCHEMA).codes(slice(0, 3)).tolist() == after.tolist()
    if isinstance(rows, pd.DataFrame):
        assert again.dtypes.equals(rows.dtypes)
    elif isinstance(rows, pl.DataFrame):
        assert again.schema == rows.schema
    assert sheet.rewritten(slice(0, 3), before, before) is not None
    assert TableRows(rows, SCHEMA).codes(slice(0, 3)).tolist() == before.tolist()


def test_refused_cells_are_not_numbers():
    rows = pd.DataFrame({"a": [1, "2", None, b"3", 1j], "b": [1.0, 2.0, 3.0, 4.0, 5.0]}, dtype=object)
    codes = TableRows(rows, WIDE).codes(slice(0, 5))
    assert np.isnan(codes[:, 0]).tolist() == [False, False, True, False, False]
    assert np.isinf(codes[:, 0]).tolist() == [False, True, False, True, True]
    whole = cl.Schema([cl.Numeric("a", integer=True)])
    assert TableRows(np.array([[1.5], [2.0]]), whole).codes(slice(0, 2)).ravel().tolist() == [np.inf, 2.0]
    job = cl.Schema([cl.Categorical("job", ["clerk", "cook"])])
    found = TableRows(pd.DataFrame({"job": ["cook", "pilot", None, ["cook"]]}), job).codes(slice(0, 4)).ravel()
    assert found[0] == 1
    assert np.isnan(found[1:]).all()


def test_a_number_that_float32_cannot_hold_does_not_widen_other_rows():
    rows = pd.DataFrame({"a": np.ones(3, np.float32), "b": np.ones(3)})
    sheet = TableRows(rows, WIDE)
    before = sheet.codes(slice(0, 3))
    after = before + np.array([[0.1, 0], [0.5, 0], [0, 0.1]])
    assert [group.tolist() for group in sheet.groups(before, after)] == [[1, 2], [0]]
    assert sheet.rewritten([0], before[:1], after[:1])["a"].dtype == np.float64
    assert sheet.rewritten([1, 2], before[1:], after[1:])["a"].dtype == np.float32


def test_cells_without_an_answer_are_empty():
    rows = pd.DataFrame({"n": [1, 2], "b": [True, False], "job": ["clerk", "cook"]})
    sheet = TableRows(rows, cl.Schema.infer(rows))
    answered = np.array([True, False])
    columns = [sheet.changed(d, np.array([float(d != 1), np.nan]), answered) for d in range(3)]
    assert [str(column.dtype) for column in columns[:2]] == ["Int64", "boolean"]
    assert [column.tolist()[0] for column in columns] == [1, False, "cook"]
    assert all(column.isna().tolist() == [False, True] for column in columns)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the frame has two columns named 'a'; names must differ"),
        (
            pd.DataFrame({"a": [1], "c": [2]}),
            r"the frame lacks the columns \['b'\] and has the other columns \['c'\]; expected",
        ),
        (np.ones((2, 3)), "the rows have 3 columns; expected 2, one per feature"),
        (np.ones(3), r"the rows have shape \(3,\); expected a frame or a 2-D array"),
        ([[1], [1, 2]], r"the rows have shape \(0,\); expected a frame or a 2-D array"),
    ],
)
def test_tables_that_do_not_fit_get_one_clear_line(rows, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        TableRows(rows, WIDE)
