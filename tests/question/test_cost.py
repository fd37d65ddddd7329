"""The ``multiplier`` of a cost: it has the effect of multiplied weights, for every kind of weights."""

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl
from counterleaf.question.costs.prices import lower_cost
from counterleaf.table.infer import Spreads

COSTS = np.array([[0, 1, 4], [2, 0, 1], [3, 3, 0]])
SCHEMA = cl.Schema(
    [
        cl.Numeric("age", 0, 100, integer=True),
        cl.Numeric("pay"),
        cl.Categorical("job", ["cook", "nurse", "smith"], missing=True),
        cl.Ordinal("school", ["none", "HS", "BA", "MA"]),
        cl.Boolean("owner"),
        cl.Categorical("city", ["Oslo", "Rome", "Bonn"], COSTS),
    ]
)
SPREADS = Spreads(*(np.array([60.0, 3e4, 2.0, 3.0, 1.0, 2.0]) * k for k in (1.0, 0.3, 0.25)))
MULTIPLIER = np.array([5.0, 0.5, 3.0, 0.0, 7.0, 2.0])


def lowered(cost):
    prices = lower_cost(cost, SCHEMA, SPREADS)
    return prices.rows, prices.moves


@pytest.mark.parametrize("norm", [cl.L1, cl.L2])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"weights": 2.0},
        {"weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        {"weights": {"age": 2.0, "job": 3.0}},
        {"weights": "range"},
        {"weights": "std"},
        {"weights": "mad"},
        {"up": {"age": 3.0}, "down": 2.0},
        {"up": "range", "down": "mad"},
    ],
)
def test_multipliers_work_with_every_kind_of_weights(norm, arguments):
    rows, moves = lowered(norm(**arguments))
    for factor in (1.0, 0.3):
        scaled_rows, scaled_moves = lowered(factor * norm(**arguments, multiplier=MULTIPLIER))
        by_variable = np.repeat(MULTIPLIER, [1, 1, 4, 4, 2, 3])
        np.testing.assert_allclose(scaled_rows, factor * rows * by_variable, rtol=1e-15)
        for d, before, after in zip((2, 3, 4, 5), moves, scaled_moves, strict=True):
            np.testing.assert_allclose(after, factor * before * MULTIPLIER[d], rtol=1e-15)


def test_a_category_under_a_named_weight_costs_its_factor():
    _, (job, school, owner, city) = lowered(cl.L1("range", multiplier={"job": 3, "city": 2}))
    assert job.tolist() == (3.0 * (1 - np.eye(4))).tolist()
    assert school[0].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert owner[0].tolist() == [0, 1]
    assert city.tolist() == (2.0 * COSTS).tolist()


def test_multipliers_come_in_any_form_and_are_copied():
    expected = lowered(cl.L1("range", multiplier=[5, 1, 3, 1, 1, 1]))
    array = np.array([5.0, 1, 3, 1, 1, 1])
    forms = [{"age": 5, "job": 3}, pd.Series({"job": 3.0, "age": 5}), array, pd.Series(array), {0: 5, 2: 3}]
    costs = [cl.L1("range", multiplier=arguments) for arguments in forms]
    array[:] = 99
    forms[0]["age"] = 99
    for cost in costs:
        rows, moves = lowered(cost)
        assert np.array_equal(rows, expected[0])
        assert all(map(np.array_equal, moves, expected[1]))
    assert np.array_equal(lowered(cl.L2("std"))[0], lowered(cl.L2("std", multiplier={}))[0])


def test_an_answer_keeps_away_from_what_is_dear():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 50), "hours": rng.integers(0, 60, 50)})
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-100.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, data=frame, infer_bounds=False)
    row = {"age": 40, "hours": 40}
    for dear, moved in (("age", "hours"), ("hours", "age")):
        answer = explainer.explain(row, target="yes", cost=cl.L1("range", multiplier={dear: 5}))
        assert answer[0].changes == {moved: (40, 60)}
        assert answer.certificate.check()
    free = explainer.explain(row, target="yes", cost=cl.L1("range", multiplier={"age": 0}))
    assert (free[0].cost, list(free[0].changes)) == (0.0, ["age"])


@pytest.mark.parametrize("norm", [cl.L1, cl.L2])
@pytest.mark.parametrize(
    ("times", "words"),
    [
        ({"age": -1}, "multiplier of 'age' is -1.0; expected 0 or more"),
        ({"age": np.inf}, "multipliers of 'age' is inf; expected a finite number"),
        ([1, 1, np.nan, 1, 1, 1], "multiplier of 'job' is nan; expected a finite number"),
        ({"age": "dear"}, "multipliers of 'age' is 'dear'; expected a number"),
        ({"height": 2}, "no feature 'height'; the features are"),
        ([1.0, 2.0], r"multipliers has shape \(2,\); expected 6 numbers, one per feature"),
        ("range", "multipliers is 'range'; expected a number, an array or a dict by feature name"),
    ],
)
def test_factors_that_make_no_sense_are_refused(norm, times, words):
    with pytest.raises(cl.CounterleafError, match=f"{words}") as error:
        lowered(norm("range", multiplier=times))
    assert "\n" not in str(error.value)
