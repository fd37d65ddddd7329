"""only_increase and only_decrease with ``by=`` and ``at_most=``: numbers, grids, levels, conditions, batches and files."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.batch_cases import differences

import counterleaf as cl

LEVELS = ["none", "school", "college", "doctor"]


def number_line(cut):
    """ "yes" from ``cut`` on."""
    return cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-cut, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right")


def ask(row, cut, feature, constraint, target="yes", **more):
    explainer = cl.Explainer(number_line(cut), schema=cl.Schema([feature]))
    return explainer.explain(row, target=target, cost=cl.L1(), constraints=constraint, **more)


@pytest.mark.parametrize(
    ("constraint", "shown"),
    [
        (cl.only_increase("x", at_most=5), "only_increase('x', at_most=5)"),
        (cl.only_increase("x", by=1.5, at_most=5), "only_increase('x', by=1.5, at_most=5)"),
        (cl.only_decrease("x", at_most=0), "only_decrease('x', at_most=0)"),
        (cl.only_decrease("x", "y", by=2, at_most=2.5), "only_decrease('x', 'y', by=2, at_most=2.5)"),
        (cl.only_increase(0, by=0), "only_increase(0)"),
    ],
)
def test_a_constraint_is_printed_as_it_is_written(constraint, shown):
    assert repr(constraint) == str(constraint) == shown


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cl.only_increase("x", at_most=-1), "at_most= of only_increase is -1; expected 0 or more"),
        (lambda: cl.only_decrease("x", by=3, at_most=2), "at_most= of only_decrease is 2; expected 3 or more"),
        (lambda: cl.only_decrease("x", by=-2), "by= of only_decrease is -2; expected 0 or more"),
        (
            lambda: cl.only_increase("x", at_most="5"),
            "at_most= of only_increase is '5'; expected a number, or a percentage such",
        ),
        (lambda: cl.only_increase("x", at_most=np.inf), "at_most= of only_increase is inf; expected a finite number"),
        (lambda: cl.only_increase("x", by=np.nan), "by= of only_increase is nan; expected a finite number"),
        (lambda: cl.only_increase(at_most=5), "only_increase got no feature; name at least one"),
        (
            lambda: cl.only_decrease({"x"}, at_most=5),
            r"a feature of only_decrease is {'x'}; expected names or a list of names, as in only_decr",
        ),
        (lambda: cl.only_decrease([], at_most=5), "only_decrease got no feature; name at least one"),
    ],
)
def test_a_wrong_argument_is_refused(make, message):
    with pytest.raises(cl.CounterleafError, match=message):
        make()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("cut", "reached"), [(2.0, 2.0), (5.0, 5.0), (5.1, None)])
def test_a_number_changes_by_no_more_than_the_limit(sign, cut, reached):
    """Upwards from 10 to 10 + cut, or downwards by the same distance; a limit of 5 ends the reach."""
    way = cl.only_increase if sign > 0 else cl.only_decrease
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[float(sign)], [0], [0]], [-sign * 10 - cut, 0, 0], [-1, 0, 1], closed="right")
    answer = cl.Explainer(tree).explain([10.0], target=1, cost=cl.L1(), constraints=way(0, at_most=5))
    assert answer.certificate.check()
    assert [list(c.row) for c in answer] == ([] if reached is None else [[10.0 + sign * reached]])


def test_the_source_may_stay_and_the_other_direction_is_closed():
    limit = cl.only_increase("x", at_most=5)
    assert ask([3.0], 2.0, cl.Numeric("x"), limit)[0].changes == {}
    assert ask([3.0], 2.0, cl.Numeric("x"), limit, target="no").status == "infeasible"
    both = ask([3.0], 2.0, cl.Numeric("x"), cl.only_increase("x", by=1, at_most=5))
    assert both[0].row == [4.0]


@pytest.mark.parametrize("way", [cl.only_increase, cl.only_decrease])
def test_a_limit_of_0_freezes_bit_for_bit(way):
    x = 0.1 + 0.2
    assert ask([x], 0.25, cl.Numeric("x"), way("x", at_most=0))[0].row == [x]
    assert ask([x], 0.5, cl.Numeric("x"), way("x", at_most=0)).status == "infeasible"


def test_whole_numbers_and_steps_stop_at_the_last_point_within_the_limit():
    whole = cl.Numeric("x", 0, 99, integer=True)
    assert ask([10], 12.5, whole, cl.only_increase("x", at_most=3.5))[0].row == [13]
    assert ask([10], 13.5, whole, cl.only_increase("x", at_most=3.5)).status == "infeasible"
    tenths = cl.Numeric("x", 0, 99, step=0.1)
    assert ask([0.1], 0.3, tenths, cl.only_increase("x", at_most=0.2))[0].row == [0.3]  # 0.1 + 0.2 is 0.30000000000000004
    assert ask([0.3], 0.05, tenths, cl.only_decrease("x", at_most=0.2), target="no").status == "infeasible"


@pytest.mark.parametrize("source", LEVELS)
@pytest.mark.parametrize(("by", "most"), [(0, 0), (0, 1), (1, 1), (1, 2), (0, 9), (2, 9)])
@pytest.mark.parametrize("sign", [1, -1])
def test_levels_are_counted(source, by, most, sign):
    way = cl.only_increase if sign > 0 else cl.only_decrease
    schema, at = cl.Schema([cl.Ordinal("school", LEVELS)]), LEVELS.index(source)
    within = [k for k in range(len(LEVELS)) if by <= sign * (k - at) <= most]
    for cut in (0.5, 1.5, 2.5):
        for target, fits in (("yes", [k for k in within if k > cut]), ("no", [k for k in within if k < cut])):
            answer = cl.Explainer(number_line(cut), schema=schema).explain(
                {"school": source}, target=target, cost=cl.L1(), constraints=way("school", by=by, at_most=most)
            )
            best = min(fits, key=lambda k: abs(k - at), default=None)
            assert [c.row["school"] for c in answer] == ([] if best is None else [LEVELS[best]])
            assert answer.certificate.check()


def loan():
    """ "yes" iff income + 4 school + 3 [cook] >= 20."""
    weights = [[1.0, 4.0, 0.0, 3.0], [0] * 4, [0] * 4]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-20.0, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right")
    features = [
        cl.Numeric("income", 0, 50, integer=True),
        cl.Ordinal("school", LEVELS),
        cl.Categorical("job", ["clerk", "cook"]),
    ]
    return cl.Explainer(tree, schema=cl.Schema(features))


LIMITED = [
    cl.only_increase("income", at_most=9),
    cl.implies(cl.changed("job"), cl.only_increase("income", by=1, at_most=2)),
    cl.implies(cl.changed("school"), cl.only_decrease("income", at_most=3)),
]
PRICES = {"income": 1.0, "school": 3.0, "job": 2.0}


def by_enumeration(row):
    """The least cost over all rows that satisfy LIMITED, under L1(PRICES)."""
    best = np.inf
    for income, school, job in itertools.product(range(51), range(len(LEVELS)), (0, 1)):
        rise, levels = income - row["income"], school - LEVELS.index(row["school"])
        moved = job != (row["job"] == "cook")
        if not 0 <= rise <= 9 or (moved and not 1 <= rise <= 2) or (levels and not -3 <= rise <= 0):
            continue
        if income + 4 * school + 3 * job >= 20:
            best = min(best, abs(rise) + 3.0 * abs(levels) + 4.0 * moved)
    return best


def people():
    rows = itertools.product(range(0, 24, 3), LEVELS, ["clerk", "cook"])
    return pd.DataFrame(rows, columns=["income", "school", "job"])


def test_conditions_agree_with_enumeration():
    explainer, seen = loan(), set()
    for row in people().to_dict("records"):
        answer = explainer.explain(row, target="yes", cost=cl.L1(PRICES), constraints=LIMITED)
        best = by_enumeration(row)
        assert answer.status == ("optimal" if np.isfinite(best) else "infeasible"), row
        assert [c.cost for c in answer] == pytest.approx([best] * len(answer)), row
        assert answer.certificate.check()
        seen.add(str(answer.status))
    assert seen == {"optimal", "infeasible"}


@pytest.mark.parametrize("constraints", [LIMITED, LIMITED[:1], [cl.only_decrease("school", at_most=1), LIMITED[0]]], ids=str)
def test_a_batch_answers_bit_for_bit_as_explain_does(constraints):
    explainer, table = loan(), people()
    question = {"target": "yes", "cost": cl.L2(PRICES), "constraints": constraints}
    many = explainer.explain_many(table, **question, progress=False)
    assert "optimal" in set(many["status"])
    assert not differences(explainer, table, many, **question)


def test_axis_aligned_batches_answer_bit_for_bit_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, np.where(X.a * X.b > 0, "yes", "no"))
    explainer = cl.Explainer(model, data=X)
    question = {"constraints": [cl.only_increase("a", at_most=0.3), cl.only_decrease("b", by=0.1, at_most=0.7)]}
    many = explainer.explain_many(X[:80], **question, progress=False)
    assert set(many["status"]) == {"optimal", "infeasible"}
    assert not differences(explainer, X[:80], many, **question)


def test_a_limit_is_named_in_a_conflict():
    limits = [cl.only_increase("income", at_most=9), cl.freeze("job"), cl.only_increase("school", at_most=1), cl.max_changes(3)]
    answer = loan().explain({"income": 2, "school": "none", "job": "clerk"}, target="yes", constraints=limits)
    assert (answer.status, answer.certificate.check()) == ("infeasible", True)
    assert answer.conflict == (limits[0], limits[2])


def test_an_answer_is_read_back_from_json_with_its_limits():
    row = {"income": 14, "school": "none", "job": "clerk"}
    answer = loan().explain(row, target="yes", cost=cl.L1(PRICES), constraints=LIMITED)
    again = cl.Explanation.from_json(answer.to_json())
    assert again.certificate.check()
    assert again.to_json() == answer.to_json()
    assert [repr(one) for one in again.constraints] == [repr(one) for one in LIMITED]
    first = again.constraints[0]
    assert (first.lower, first.upper, first.from_lower, first.from_upper) == (0.0, 9.0, True, True)


def test_categories_have_no_order_to_increase_in():
    row = {"income": 14, "school": "none", "job": "clerk"}
    with pytest.raises(cl.CounterleafError, match="feature 'job' has categories without an order; use allow or forbid"):
        loan().explain(row, target="yes", constraints=cl.only_increase("job", at_most=1))


@pytest.mark.parametrize(
    ("feature", "step"),
    [(cl.Numeric("x0", 0, 90, integer=True), "has steps of 1"), (cl.Numeric("x0", 0, 90, step=5), "has steps of 5")],
)
@pytest.mark.parametrize("make", [lambda: cl.within("x0", -0.1, 0.1), lambda: cl.only_increase("x0", at_most=0.5)])
def test_a_limit_below_one_step_is_refused(feature, step, make):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-9.5, 0, 0], [-1, 0, 1])
    explainer = cl.Explainer(tree, schema=cl.Schema([feature]))
    line = f"{make()} leaves 'x0', which {step}, only the value that it has; for a share of the value pass a percentage such as"
    for ask in (
        lambda: explainer.explain([5.0], constraints=make()),
        lambda: explainer.explain_many(np.array([[5.0]]), constraints=make(), progress=False),
        lambda: explainer.explain_front([5.0], constraints=[make()]),
    ):
        with pytest.raises(cl.CounterleafError) as caught:
            ask()
        assert str(caught.value) == f"{line} '10%', to keep it pass freeze('x0')"
    for kept in (cl.within("x0", 0, 0), cl.within("x0", "-1%", "1%"), cl.stays("x0"), cl.freeze("x0")):
        assert explainer.explain([5.0], constraints=kept).status == "infeasible"
    assert cl.Explainer(tree).explain([9.45], constraints=cl.within("x0", -0.1, 0.1))[0].row == [9.5]
