"""Answers for several margins: the same as one by one, in the order of the margins."""

import math

import numpy as np
import pytest
from support.seeds import seeds
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
MARGINS = [0.2, 0.0, 0.05, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
@pytest.mark.parametrize("block", seeds(3))
def test_a_path_is_what_single_questions_give(make, block):
    for seed in range(20 * block, 20 * block + 20):
        case = make(np.random.default_rng(seed))
        explainer = cl.Explainer(case.tree, schema=case.schema)
        question = {"target": case.target, "cost": case.cost, "constraints": case.constraints, "count": 3}
        path = explainer.explain_margins(case.row, margins=MARGINS, **question)
        assert path.margins == tuple(MARGINS)
        for margin, answer in zip(MARGINS, path, strict=True):
            single = explainer.explain(case.row, margin=margin, **question)
            assert answer.status == single.status, seed
            assert [c.cost for c in answer] == pytest.approx([c.cost for c in single], rel=1e-9, abs=1e-10), seed
            assert answer.certificate.check() == single.certificate.check(), seed


def test_costs_rise_with_the_margin_and_the_warm_start_saves_work():
    margins, warm, cold = [0.0, 0.01, 0.02, 0.03], 0, 0
    for seed in seeds(10):
        case = random_case(np.random.default_rng(seed), features=20, depth=8)
        explainer = cl.Explainer(case.tree)
        path = explainer.explain_margins(case.row, margins=margins, cost=cl.L2(), target=case.target)
        costs = [answer[0].cost for answer in path if len(answer)]
        assert costs == sorted(costs)
        singles = [explainer.explain(case.row, margin=margin, cost=cl.L2(), target=case.target) for margin in margins]
        warm += sum(taken_up(answer) for answer in path)
        cold += sum(taken_up(answer) for answer in singles)
    assert warm < 0.7 * cold  # half, when this was written


def taken_up(answer):
    return answer.certificate.findings.answer.taken


def test_margins_that_leave_no_room_say_so():
    schema = cl.Schema([cl.Numeric("x", 0, 1), cl.Numeric("y", 0, 1)])
    path = cl.Explainer(LINE, schema=schema).explain_margins([0.0, 0.0], margins=[0.0, 1.0, 1.5], target="yes")
    assert [str(answer.status) for answer in path] == ["optimal", "optimal", "infeasible"]
    assert "with a margin of 1.5" in str(path[2])
    assert str(path).splitlines()[-1].split() == ["1.5", "no", "row", "(infeasible)"]
    assert path[2].certificate.check()


def test_as_a_table_and_a_frame():
    path = cl.Explainer(LINE).explain_margins([0.0, 0.0], margins=[0.0, 1.0], target="yes")
    assert [line.split() for line in str(path).splitlines()] == [
        ["margin", "cost", "model", "says", "changed", "features"],
        ["0", "0.5", "yes", "2"],
        ["1", "2", "yes", "2"],
    ]
    frame = path.to_frame()
    assert frame["margin"].tolist() == [0.0, 1.0]
    assert frame["x0"].tolist() == pytest.approx([0.5, 1.0])
    assert frame["status"].tolist() == ["optimal", "optimal"]
    assert len(path) == 2
    assert len(path[:1]) == 1


def test_the_plot_shows_cost_against_margin():
    schema = cl.Schema([cl.Numeric("x", 0, 1), cl.Numeric("y", 0, 1)])
    path = cl.Explainer(LINE, schema=schema).explain_margins([0.0, 0.0], margins=[0.0, 0.5, 1.0, 2.0], target="yes")
    (axes,) = path.plot().axes
    assert axes.get_xlabel() == "margin"
    assert axes.lines[0].get_ydata()[:3] == pytest.approx([0.5, 1.125, 2.0])
    assert math.isnan(axes.lines[0].get_ydata()[3])


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([], "margins is empty; expected at least one"),
        (0.5, "margins is 0.5; expected a list of numbers"),
        ([0.0, -1.0], "margin is -1.0; expected 0 or more"),
        ({0.1: 2}, "margins is {0.1: 2}; expected a list of numbers"),
        ([0.0, "wide"], "a margin is 'wide'; expected a number"),
        ([0.0, float("nan")], "a margin is nan; expected a finite number"),
    ],
)
def test_bad_margins(margins, message):
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Explainer(LINE).explain_margins([0.0, 0.0], margins=margins, target="yes")
