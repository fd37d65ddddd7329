"""The frame that ``explain_many`` returns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterleaf as cl
from counterleaf.table.output import COLUMNS, STATUSES, Results, results_frame
from counterleaf.table.rows import TableRows

ROWS = pd.DataFrame({"a": [1.0, 2.0], "b": [5, 6]}, index=["x", "y"])


@pytest.mark.parametrize("rows", [ROWS, pl.from_pandas(ROWS), ROWS.to_numpy()], ids=["pandas", "polars", "array"])
def test_one_line_per_row_and_gaps_without_an_answer(rows):
    results = Results(2)
    results.status[0], results.leaves[0], results.counts[0] = STATUSES.index("optimal"), 2, 1
    results.costs[0] = results.bounds[0] = 0.5
    results.confirmed[0], results.sources[0], results.words[0] = True, 0, "a 1 -> 3"
    results.column(0)[0] = 3.0
    results.problems[1] = "feature 'a' of the row is inf"
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b", integer=True)])
    frame = results_frame(results, TableRows(rows, schema), np.array(["no", "yes"]), np.array([-1, 0, 1]))
    assert list(frame.columns) == [*COLUMNS, "problem", "a"]
    first, second = frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_dict("records")
    assert [first[name] for name in COLUMNS] == ["optimal", 0.5, 0.5, 2, "no", "yes", 1, "a 1 -> 3", True]
    assert first["a"] == 3.0
    assert second["status"] == "invalid"
    assert second["problem"] == "feature 'a' of the row is inf"
    assert all(pd.isna(second[name]) for name in ("cost", "leaf", "label", "n_changed", "confirmed", "a"))
    assert isinstance(frame, pl.DataFrame) == isinstance(rows, pl.DataFrame)
    if isinstance(rows, pd.DataFrame):
        assert frame.index.equals(rows.index)
