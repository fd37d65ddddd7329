"""Made-up rows as tables that a pipeline takes: every column in the type of the fitted one."""

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
)
from support.fold_cases import labels, people, tree

from counterleaf.model.pipelines.probing import frame_of
from counterleaf.model.pipelines.steps import survey


def test_frame_of_keeps_the_types_of_the_table():
    frame = people().astype({"job": "category", "age": np.int8})
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), ["job"])]), tree()).fit(frame, labels()))
    row = [30.0, 1.5, 2, None, "cook", "S", None, True, 7]
    made = frame_of([row, row], found, frame)
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    assert made["city"].tolist() == [None, None]
    odd = frame_of([[300.0, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, frame)
    assert [str(odd[name].dtype) for name in ("age", "job", "flag", "code")] == ["float64", "object", "object", "float64"]
    bare = frame_of([row], found, None)
    assert list(bare.columns) == list(frame.columns)
    assert bare["age"].tolist() == [30.0]
    many = frame_of([row], found, pl.from_pandas(frame))
    assert many.schema == pl.from_pandas(frame).schema
    odd = frame_of([[30.5, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, pl.from_pandas(frame))
    assert odd["age"].to_list() == [30.5]
    assert odd["job"].to_list() == ["pilot"]


def test_frame_of_arrays():
    X = people()[["age", "hours"]].to_numpy()
    found = survey(make_pipeline(SimpleImputer(), tree()).fit(X, labels()))
    np.testing.assert_array_equal(frame_of([[1, None], [2, 3.5]], found, X), [[1, np.nan], [2, 3.5]])
    mixed = people()[["age", "city"]].to_numpy()
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), [1])]), tree()).fit(mixed, labels()))
    assert frame_of([[1.0, None], [2.0, "Oslo"]], found, mixed).tolist() == [[1.0, None], [2.0, "Oslo"]]
    assert frame_of([[1.0, np.nan], [2.0, "Oslo"]], found, None).tolist() == [[1.0, None], [2.0, "Oslo"]]
