"""Features: bounds, grids, values and tables of costs."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterleaf as cl


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.Numeric("a", 2, 1), "expected lower <= upper"),
        (lambda: cl.Numeric("a", math.nan), "a bound is nan; expected a number"),
        (lambda: cl.Numeric("a", math.inf), "no finite number"),
        (lambda: cl.Numeric("a", "low"), "a bound is 'low'; expected a number"),
        (lambda: cl.Numeric(1), "expected a string"),
    ],
)
def test_bad_features_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        make()


def test_a_grid_has_the_decimals_of_its_step():
    assert 3 * cl.Numeric("a", step=0.1).grid == Fraction(3, 10)
    assert cl.Numeric("a", integer=True).grid == 1
    assert cl.Numeric("a").grid is None


def test_tables_of_costs_from_dicts_frames_and_arrays_are_the_same():
    costs = [[0.0, 1.0], [3.0, 0.0]]
    named = {"clerk": {"cook": 1}, "cook": {"clerk": 3}}
    frame = pd.DataFrame(costs, index=["clerk", "cook"], columns=["clerk", "cook"])
    for form in (costs, np.array(costs), named, frame, frame[["cook", "clerk"]], pl.DataFrame(costs, orient="row")):
        assert cl.Categorical("job", ["clerk", "cook"], costs=form).costs == ((0.0, 1.0), (3.0, 0.0))
    with pytest.raises(cl.CounterleafError, match=r"costs must be finite, .*; use forbid\(\) to rule values out"):
        cl.Boolean("owner", costs=[[0, math.inf], [1, 0]])
    with pytest.raises(cl.CounterleafError, match="costs has no entry from 'cook' to 'clerk'; add it"):
        cl.Categorical("job", ["clerk", "cook"], costs={"clerk": {"cook": 1}})


def test_a_missing_value_has_the_last_position():
    job = cl.Categorical("job", ["clerk", "cook"], missing=True)
    assert [job.place(value) for value in ("clerk", "cook", None, math.nan, pd.NA)] == [0, 1, 2, 2, 2]
    assert [job.column(k) for k in range(job.size)] == ["job=clerk", "job=cook", "job=(missing)"]
    with pytest.raises(cl.CounterleafError, match="feature 'owner' of the row is missing and the model has no route"):
        cl.Boolean("owner").place(None)
