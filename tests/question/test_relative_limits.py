"""Limits relative to the row: percentages, distances and levels, open sides, lists of names, single values."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.batch_cases import differences

import counterleaf as cl
from counterleaf.question.codec import constraint_in


def number_line(cut, sign=1.0):
    """ "yes" from ``cut`` on, or up to ``cut`` if the sign is -1."""
    return cl.Tree([1, -1, -1], [2, -1, -1], [[sign], [0], [0]], [-sign * cut, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right")


def ask(value, cut, constraint, feature=None, sign=1.0):
    schema = cl.Schema([feature or cl.Numeric("x")])
    explainer = cl.Explainer(number_line(cut, sign), schema=schema)
    answer = explainer.explain([value], target="yes", cost=cl.L1(), constraints=constraint)
    assert answer.certificate.check()
    return answer


@pytest.mark.parametrize(
    ("constraint", "shown"),
    [
        (cl.within("x", "-5%", "+10%"), "within('x', '-5%', '10%')"),
        (cl.within("x", None, 3), "within('x', None, 3)"),
        (cl.within("x", -1.5, None), "within('x', -1.5, None)"),
        (cl.only_increase("x", at_most=" 10 %"), "only_increase('x', at_most='10%')"),
        (cl.only_decrease("x", by="2.5%", at_most=7), "only_decrease('x', by='2.5%', at_most=7)"),
        (cl.between("x", 18, None), "between('x', lower=18)"),
        (cl.between("x", upper="high"), "between('x', upper='high')"),
        (cl.between("x", -math.inf, 3), "between('x', -inf, 3)"),
        (cl.freeze("a", ["b", "c"]), "freeze('a', 'b', 'c')"),
        (cl.freeze(pd.Index(["a", "b"])), "freeze('a', 'b')"),
        (cl.only_increase(["a", "b"], by=1), "only_increase('a', 'b', by=1)"),
        (cl.becomes("x", 3.0), "becomes('x', 3)"),
        (cl.stays("x"), "stays('x')"),
        (
            cl.implies(cl.becomes("job", "cook"), cl.implies(cl.stays("x"), cl.max_changes(1))),
            "implies(becomes('job', 'cook'), implies(stays('x'), max_changes(1)))",
        ),
    ],
    ids=str,
)
def test_a_constraint_is_printed_as_it_is_written(constraint, shown):
    assert str(constraint) == shown


def test_a_percentage_holds_bit_for_bit():
    """The bound is source + share * |source| in floats: reached exactly, and not passed by a single float."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        x, percent = float(rng.normal() * 10.0 ** rng.integers(-3, 6)), float(np.round(rng.uniform(0, 200), 1))
        bound = x + percent / 100 * abs(x)
        up = cl.only_increase("x", at_most=f"{percent}%")
        assert ask(x, bound, up)[0].row == [bound]
        assert ask(x, np.nextafter(bound, math.inf), up).status == "infeasible"
        bound = x - percent / 100 * abs(x)
        for down in (cl.only_decrease("x", at_most=f"{percent}%"), cl.within("x", f"-{percent}%", None)):
            assert ask(x, bound, down, sign=-1.0)[0].row == [bound]
            assert ask(x, np.nextafter(bound, -math.inf), down, sign=-1.0).status == "infeasible"


def test_a_least_change_in_percent():
    assert ask(200.0, 0.0, cl.only_increase("x", by="5%"))[0].row == [210.0]
    assert ask(-200.0, -999.0, cl.only_increase("x", by="5%"))[0].row == [-190.0]
    assert ask(-200.0, 999.0, cl.only_decrease("x", by="5%"), sign=-1.0)[0].row == [-210.0]
    assert ask(200.0, 0.0, cl.within("x", "5%", "10%"))[0].row == [210.0]


def test_a_percentage_of_0_is_0():
    assert ask(0.0, 0.0, cl.only_increase("x", at_most="10%"))[0].row == [0.0]
    assert ask(0.0, 0.1, cl.only_increase("x", at_most="10%")).status == "infeasible"
    assert ask(0.0, -1.0, cl.only_increase("x", by="10%"))[0].row == [0.0]


def test_percentages_end_on_the_grid():
    whole = cl.Numeric("x", 0, 999, integer=True)
    assert ask(33, 36, cl.only_increase("x", at_most="10%"), whole)[0].row == [36]
    assert ask(33, 37, cl.only_increase("x", at_most="10%"), whole).status == "infeasible"
    assert ask(33, 0, cl.only_increase("x", by="10%"), whole)[0].row == [37]
    tenths = cl.Numeric("x", 0, 99, step=0.1)
    assert ask(0.1, 0.3, cl.only_increase("x", at_most="200%"), tenths)[0].row == [0.3]
    for x in range(1, 300):  # what is a whole number but for rounding counts as that number
        for percent in (7, 10, 29, 57, 58, 115):
            if percent * x % 100 == 0:
                bound = x + percent * x // 100
                assert ask(x, bound, cl.only_increase("x", at_most=f"{percent}%"), whole)[0].row == [bound]


LEVELS = ["none", "school", "college", "doctor"]


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 2), (1, None), (None, -1), (-2, 0), (0, 0)])
def test_levels_are_counted(at, low, high):
    schema = cl.Schema([cl.Ordinal("school", LEVELS)])
    allowed = [k for k in range(4) if (low is None or k >= at + low) and (high is None or k <= at + high)]
    for cut in (-0.5, 0.5, 1.5, 2.5):
        answer = cl.Explainer(number_line(cut), schema=schema).explain(
            {"school": LEVELS[at]}, target="yes", cost=cl.L1(), constraints=cl.within("school", low, high)
        )
        best = min((k for k in allowed if k > cut), key=lambda k: abs(k - at), default=None)
        assert [c.row["school"] for c in answer] == ([] if best is None else [LEVELS[best]])


def test_a_gap_stays():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]).mask(rng.random((300, 2)) < 0.2)
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(
        X, np.where(X.a.fillna(0) + X.b.fillna(1) > 0, "y", "n")
    )
    explainer = cl.Explainer(model, data=X)
    rows = X[X.a.isna() & X.b.notna()][:20]
    limits = [
        cl.within("a", "-5%", "10%"),
        cl.only_increase("a", at_most="10%"),
        cl.only_increase("a", by="10%"),
        cl.within("a", -1, 1),
        cl.stays("a"),
    ]
    for limit in limits:
        many = explainer.explain_many(rows, constraints=limit, progress=False)
        assert not differences(explainer, rows, many, constraints=limit)
        assert "a" not in many.columns  # it never changes
        assert "optimal" in set(many["status"])
    with pytest.raises(
        cl.CounterleafError, match=r"within\('a', 1, 2\): feature 'a' of the row is missing, so it has no number"
    ):
        explainer.explain(rows.iloc[0], constraints=cl.within("a", 1, 2))


RELATIVE = [
    cl.within("a", "-50%", "+25%"),
    cl.only_increase("b", at_most="40%"),
    cl.only_decrease("c", by="1%", at_most=0.7),
    [cl.within("a", -0.5, None), cl.stays("b")],
    [cl.only_increase(["a", "b"]), cl.within("c", None, "20%")],
    [cl.between("a", lower=0), cl.between("b", upper=0.5)],
]


@pytest.mark.parametrize("constraints", RELATIVE, ids=str)
@pytest.mark.parametrize("oblique", [False, True])
def test_a_batch_answers_bit_for_bit_as_explain_does(constraints, oblique):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, np.where(X.a * X.b > 0, "yes", "no"))
    explainer = cl.Explainer(model, data=X)
    if oblique:
        weights = [[1.0, -0.5, 2.0], [0.3, 1.0, 0.0], [0] * 3, [0] * 3, [0] * 3]
        tree = cl.Tree([1, 2, -1, -1, -1], [4, 3, -1, -1, -1], weights, [-0.5, 0.2, 0, 0, 0], [-1, -1, 0, 1, 1], ["no", "yes"])
        explainer = cl.Explainer(tree, data=X)
    question = {"constraints": constraints, "cost": cl.L1("range") + 0.1 * cl.L2("range")}
    many = explainer.explain_many(X[:60], **question, progress=False)
    assert "optimal" in set(many["status"])
    assert not differences(explainer, X[:60], many, **question)


def test_limits_hold_for_each_row_of_a_batch():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, np.where(X.a + X.b > 0, "yes", "no"))
    many = cl.Explainer(model, data=X).explain_many(X, constraints=cl.within("a", "-20%", "+30%"), progress=False)
    found = many["status"] == "optimal"
    a, new = X.a[found].to_numpy(), many["a"][found].to_numpy()
    assert 20 < found.sum() < 300
    assert ((a - 0.2 * np.abs(a) <= new) & (new <= a + 0.3 * np.abs(a))).all()


def test_becomes_and_stays_as_constraints():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0, 3.0], [0] * 3, [0] * 3], [-5.0, 0, 0], [-1, 0, 1], ["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x"), cl.Categorical("job", ["clerk", "cook"])]))
    row = {"x": 0.0, "job": "clerk"}
    assert explainer.explain(row, target="yes", constraints=cl.becomes("job", "cook"))[0].row["job"] == "cook"
    assert explainer.explain(row, target="yes", constraints=cl.becomes("x", 7))[0].row["x"] == 7
    assert explainer.explain(row, target="yes", constraints=cl.stays("job"))[0].row["job"] == "clerk"
    assert explainer.explain(row, constraints=[cl.stays("x"), cl.stays("job")]).conflict == (cl.stays("x"),)


@pytest.mark.parametrize(
    "constraint",
    [
        *(one for entry in RELATIVE for one in (entry if isinstance(entry, list) else [entry])),
        cl.becomes("job", "cook"),
        cl.implies(cl.changed("a"), cl.linear({"a": 1, "b": 2}, ">=", 3)),
        cl.implies(cl.becomes("a", 2), cl.implies(cl.between("b", 1, None), cl.among([[1.0, 2.0, 3.0]]))),
        cl.implies(cl.allow("job", ["cook"]), cl.within("a", "-5%", 3)),
    ],
    ids=str,
)
def test_constraints_are_written_and_read(constraint):
    again = constraint_in(constraint.to_json(), "a constraint")
    assert str(again) == str(constraint)
    assert again.to_json() == constraint.to_json()
    if "among" not in str(constraint):
        assert again == constraint


def test_an_answer_is_read_back_from_json():
    limits = [cl.within("x", "-5%", "+10%"), cl.stays("x")]
    answer = cl.Explainer(number_line(2.0)).explain([3.0], target="yes", constraints=cl.within(0, "-5%", "+10%"))
    again = cl.Explanation.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert again.constraints == answer.constraints
    assert limits[0] == cl.within("x", "-5%", "10%")
