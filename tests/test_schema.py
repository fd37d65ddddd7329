import math

import numpy as np
import pandas as pd
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
        (lambda: cl.Schema(None), "made of a list"),
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
