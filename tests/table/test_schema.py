"""Schemas: their checks, names and variables."""

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.Schema(None), "features is None; expected a list of features"),
        (lambda: cl.Schema([]), "at least one feature"),
        (lambda: cl.Schema(["a"]), "entry 0 is a str"),
        (lambda: cl.Schema([cl.Numeric("a"), cl.Numeric("a")]), "'a' is in the schema twice"),
    ],
)
def test_bad_schemas_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        make()


def test_a_name_that_is_nearly_right_gets_a_hint():
    schema = cl.Schema([cl.Numeric("age"), cl.Numeric("hours-per-week")])
    with pytest.raises(
        cl.CounterleafError, match=r"the features are 'age', 'hours-per-week'; did you mean 'hours-per-week'\?$"
    ):
        schema.index("hours")
    with pytest.raises(cl.CounterleafError, match=r"the features are 'age', 'hours-per-week'$"):
        schema.index("zebra")


JOB, SCHOOL = cl.Categorical("job", ["clerk", "cook"]), cl.Ordinal("school", ["none", "HS", "BA"])
TABLE = cl.Schema([cl.Numeric("pay", 0, 9), JOB, SCHOOL, cl.Boolean("owner")])


def test_variables_and_columns():
    assert TABLE.variables[:4] == ["pay", "job=clerk", "job=cook", "school=none"]
    assert TABLE.span(2) == slice(3, 6)
    x = TABLE.encode({"pay": 2.5, "job": "cook", "school": "BA", "owner": True})
    assert x.tolist() == [2.5, 0, 1, 0, 0, 1, 0, 1]
    assert (TABLE.columns_of() @ x).tolist() == [2.5, 0, 1, 2, 1]
    assert TABLE.gather(x).tolist() == [2.5, 1, 2, 1]
    assert TABLE.spread(TABLE.gather(x)[None])[0].tolist() == x.tolist()
    assert TABLE.changed(x, TABLE.encode({"pay": 2.5, "job": "clerk", "school": "BA", "owner": False})) == [1, 3]


def test_terms_of_a_sum():
    assert TABLE.terms("pay") == {0: 1.0}
    assert TABLE.terms("school") == {4: 1.0, 5: 2.0}
    assert TABLE.terms("job=cook") == {2: 1.0}
    with pytest.raises(cl.CounterleafError, match="'job=smith': feature 'job' has no value 'smith'; expected one of 'clerk', "):
        TABLE.terms("job=smith")
    with pytest.raises(cl.CounterleafError, match="feature 'job' is a category, not a number; name one of its values"):
        TABLE.terms("job")
    gap = cl.Schema([cl.Boolean("owner", missing=True)])
    with pytest.raises(cl.CounterleafError, match="feature 'owner' may be missing, which is not a level; name a value"):
        gap.terms("owner")
    with pytest.raises(cl.CounterleafError, match="a tree has no column for a missing level"):
        gap.columns_of()


def test_one_number_per_feature():
    assert TABLE.vector(2, "weights", 1.0).tolist() == [2, 2, 2, 2]
    assert TABLE.vector({"job": 3}, "weights", 1.0).tolist() == [1, 3, 1, 1]
    assert TABLE.vector(pd.Series({"job": 3}), "weights", 1.0).tolist() == [1, 3, 1, 1]
    assert TABLE.vector(pd.Series([1, 2, 3, 4]), "weights", 1.0).tolist() == [1, 2, 3, 4]
    with pytest.raises(cl.CounterleafError, match=r"weights has shape \(2,\); expected 4 numbers, one per feature"):
        TABLE.vector(np.ones(2), "weights", 1.0)
    with pytest.raises(cl.CounterleafError, match="weights is 'x'; expected a number, an array or a dict by feature name"):
        TABLE.vector("x", "weights", 1.0)


def test_other_names_for_the_same_features():
    renamed = TABLE.renamed(["a", "b", "c", "d"])
    assert renamed.names == ["a", "b", "c", "d"]
    assert [type(f) for f in renamed] == [type(f) for f in TABLE]
    assert renamed.features[1].values == JOB.values
