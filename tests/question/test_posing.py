"""A question as arrays: bounds, grids, prices of values, clauses and rows, recomputed by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from support.seeds import seeds
from support.strategies import random_case
from support.table_cases import table_case

import counterleaf as cl
from counterleaf.question.posing import pose
from counterleaf.search import search


def stump(schema):
    """A tree with one leaf, which every row reaches."""
    columns = sum(feature.size if isinstance(feature, cl.Categorical) else 1 for feature in schema)
    return cl.Tree([-1], [-1], np.zeros((1, columns)), [0.0], [0], classes=["yes"])


def problem_of(schema, row, cost, constraints=()):
    explainer = cl.Explainer(stump(schema), schema=schema)
    return explainer.explain(row, target="yes", cost=cost, constraints=constraints).certificate.problem


def loans():
    costs = [[0.0, 2.0, 5.0], [1.0, 0.0, 4.0], [3.0, 7.0, 0.0]]
    return cl.Schema(
        [
            cl.Numeric("age", 18, 90, integer=True),
            cl.Categorical("job", ["cook", "clerk", "none"], costs=costs),
            cl.Numeric("rate", -0.26, 4, step=0.5),
            cl.Numeric("term", values=[12, 24, 60]),
            cl.Ordinal("level", ["low", "mid", "high"]),
            cl.Numeric("debt"),
        ]
    )


LOAN = {"age": 40, "job": "clerk", "rate": 1.3, "term": 30, "level": "mid", "debt": -2.5}


def test_a_table_by_hand():
    cost = cl.L1({"age": 2.0, "level": 3.0}) + cl.L2({"debt": 0.5}) + cl.LinearCost({"job=none": 10.0, "debt": 1.0})
    limits = [
        cl.between("age", 20.5, 60.5),
        cl.between("rate", 0.3, 3.9),
        cl.forbid("job", ["none"]),
        cl.linear({"debt": 2.0, "age": 1.0}, "<=", 100.0),
        cl.linear({"rate": 1.0, "debt": 1.0}, "==", 3.0),
        cl.implies(cl.changed("age"), cl.between("term", 13, 59)),
        cl.max_changes(4),
    ]
    problem = problem_of(loans(), LOAN, cost, limits)
    q, table = problem.question, problem.table
    age, _, clerk, _, rate, term, _, mid, _, debt = range(10)
    assert q.features.source.tolist() == [40, 0, 1, 0, 1.3, 30, 0, 1, 0, -2.5]
    # whole numbers, halves or 1.3, and the list or 30
    assert q.features.lower.tolist() == [21, 0, 0, 0, 0.5, 12, 0, 0, 0, -math.inf]
    assert q.features.upper.tolist() == [60, 1, 1, 0, 3.5, 60, 1, 1, 1, math.inf]
    # "clerk" pays 1 or 4 out of the table of costs, doubled by weights up and down, and 10 for "none"; "mid" one level at 3
    L1, L2 = (1 + 1) / 2, (1 + 1) / 2
    moves = [(L1 + L2) * 1.0, 0.0, (L1 + L2) * 4.0 + 10.0]
    levels = [3.0 + 1.0, 0.0, 3.0 + 1.0]
    assert q.features.slope_up.tolist() == [2, *moves, 1, 1, *levels, 1 + 1]
    assert q.features.slope_down.tolist() == [-2, *moves, -1, -1, *levels, -1 + 1]
    assert q.features.curve_up.tolist() == q.features.curve_down.tolist() == [1, 0, 0, 0, 1, 1, 0, 0, 0, 0.5]
    # equalities first; "<=" turned round
    assert q.equal == 1
    assert q.indptr.tolist() == [0, 0, 2, 4]
    assert q.indices.tolist() == [rate, debt, age, debt]
    assert q.data.tolist() == [1, 1, -1, -2]
    assert q.bias.tolist() == [0, -3, 100]
    assert table.source_value.tolist() == [clerk, mid]
    assert table.charges.tolist() == [0] * 6
    assert (table.members.tolist(), table.most.tolist()) == ([[True] * 6], [4])
    # the age stays, or the term is 24 or 30
    assert table.clauses.tolist() == [[0, 1, 2]]
    assert (table.where.tolist(), table.lower.tolist(), table.upper.tolist()) == ([age, term], [40, 24], [40, 30])


def test_a_question_about_plain_numbers_has_no_table():
    schema = cl.Schema([cl.Numeric("a", 0, 9), cl.Numeric("b")])
    assert problem_of(schema, [3, 4], cl.L2()).table is None
    charged = problem_of(schema, [3, 4], cl.L2() + cl.Changes({"a": 2.0, "b": 0.0})).table
    assert (charged.charges.tolist(), charged.most.tolist(), charged.clauses.tolist()) == ([2, 0], [], [])
    assert problem_of(schema, [3, 4], cl.L2(), [cl.max_changes(1)]).table.charges.tolist() == [0, 0]


def test_inferred_bounds_hold_the_source():
    frame = pd.DataFrame({"a": [0.5, 2.5, 7.5], "n": [1, 3, 5]})
    explainer = cl.Explainer(cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0]), data=frame)
    for constraints in ([], [cl.between("n", 0, 4)]):
        question = explainer.explain([9.25, -2], target=0, constraints=constraints).certificate.problem.question
        assert question.features.lower.tolist() == [0.5, 0 if constraints else -2]
        assert question.features.upper.tolist() == [9.25, 4 if constraints else 5]


@pytest.mark.parametrize("job", [None, "cook"])
def test_a_missing_value_may_stay_but_not_be_chosen(job):
    schema = cl.Schema([cl.Categorical("job", ["cook", "clerk"], missing=True), cl.Numeric("a")])
    for constraints in ([], [cl.between("a", 0, 4)]):
        q = problem_of(schema, {"job": job, "a": 1.0}, cl.L1(), constraints).question
        assert q.features.source.tolist() == [job is not None, 0, job is None, 1]
        assert q.features.upper.tolist()[:3] == [1, 1, job is None]


@pytest.mark.parametrize("end", [math.inf, 3e38])
def test_a_bound_that_the_search_draws_nearer_stays_in_the_question(end):
    """Where a cost earns towards a bound beyond 1e38, the core searches up to 1e30 units; a file holds the bound itself."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
    schema = cl.Schema([cl.Numeric("a", -end, end), cl.Numeric("b", 0, 5)])
    answer = cl.Explainer(tree, schema=schema).explain([0.0, 1.0], target=1, cost=cl.L1() + cl.LinearCost([3.0, 0.0]))
    question = answer.certificate.problem.question
    assert (question.features.lower.tolist(), question.features.upper.tolist()) == ([-end, 0], [end, 5])
    assert question.features.slope_down.tolist() == [2, -1]
    assert answer.certificate.check()
    assert cl.Explanation.from_json(answer.to_json()).certificate.check()


@pytest.mark.parametrize("seed", seeds(40))
def test_bounds_are_the_outermost_numbers_of_their_grids(seed):
    """Against a scan of the multiples next to each bound."""
    case = table_case(np.random.default_rng(seed), off_grid=bool(seed % 2))
    explainer = cl.Explainer(case.tree, schema=case.schema)
    problem = explainer.explain(case.row, target=case.target, cost=case.cost(), max_nodes=1).certificate.problem
    q, source = problem.question, problem.source
    for d, feature in enumerate(case.schema):
        span = case.schema.span(d)
        if not isinstance(feature, cl.Numeric):
            assert q.features.lower[span].tolist() == [0.0] * feature.size
            assert q.features.upper[span].tolist() == [1.0] * feature.size
            continue
        low, high, v = feature.lower, feature.upper, span.start
        for end, side in ((low, min), (high, max)):
            if feature.grid is not None and math.isfinite(end):
                near = round(end / float(feature.grid))
                points = [k * feature.grid.numerator / feature.grid.denominator for k in range(near - 3, near + 4)]
                end = side(x for x in [*points, source[v]] if low <= x <= high)
            assert (q.features.lower if side is min else q.features.upper)[v] == end


@pytest.mark.parametrize("seed", seeds(40))
def test_prices_are_those_of_the_case(seed):
    case = table_case(np.random.default_rng(seed))
    explainer = cl.Explainer(case.tree, schema=case.schema)
    f = explainer.explain(case.row, target=case.target, cost=case.cost(), max_nodes=1).certificate.problem.question.features
    for d, (feature, price) in enumerate(zip(case.schema, case.prices(), strict=True)):
        span = case.schema.span(d)
        if isinstance(feature, cl.Numeric):
            posed = [float(line[span.start]) for line in (f.curve_up, f.curve_down, f.slope_up, f.slope_down)]
            assert posed == pytest.approx([price[0], price[1], price[2], -price[3]], rel=1e-14)
        else:
            assert f.slope_up[span].tolist() == f.slope_down[span].tolist() == pytest.approx(price.tolist(), rel=1e-14)


def test_every_question_has_arrays_of_its_own():
    """A reader who changes them changes neither the cost nor the constraints of the next question."""
    case = random_case(np.random.default_rng(5))
    explainer = cl.Explainer(case.tree, schema=case.schema)
    arguments = {"target": case.target, "cost": case.cost, "constraints": case.constraints}
    first, second = (explainer.explain(case.row, **arguments).certificate.problem.question.features for _ in range(2))
    for line in first:
        line[:] = 7.0
    third = explainer.explain(case.row, **arguments).certificate.problem.question.features
    assert [line.tobytes() for line in third] == [line.tobytes() for line in second]


def test_the_arrays_are_built_when_they_are_first_read(monkeypatch):
    built = []
    monkeypatch.setattr(search, "pose", lambda *arguments: built.append(1) or pose(*arguments))
    explainer = cl.Explainer(cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1]))
    answer = explainer.explain([0.0, 0.0], target=1)
    assert built == []
    assert answer.certificate.check()
    assert built == [1]
