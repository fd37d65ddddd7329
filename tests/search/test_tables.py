"""Questions on tables: every leaf against an independent solver, and the meaning of features, costs and constraints."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.seeds import seeds, share
from support.table_cases import table_case
from support.table_referee import brute_optima, leaf_optima

import counterleaf as cl

JOBS = ["clerk", "cook", "smith"]
# right iff 0.1 age + 2 [cook] + 3 [smith] >= 5
TREE = cl.Tree(
    [1, -1, -1],
    [2, -1, -1],
    [[0.1, 0, 2, 3], [0] * 4, [0] * 4],
    [-5.0, 0, 0],
    [-1, 0, 1],
    classes=["no", "yes"],
    closed="right",
)
SCHEMA = cl.Schema([cl.Numeric("age", 0, 100, integer=True), cl.Categorical("job", JOBS)])
ROW = {"age": 10, "job": "clerk"}


def ask(row=ROW, tree=TREE, schema=SCHEMA, **question):
    return cl.Explainer(tree, schema=schema).explain(row, **{"target": "yes", **question})


def explain(case, **more):
    question = {
        "target": list(case.target),
        "cost": case.cost(),
        "constraints": case.constraints(),
        "count": None,
        "distinct": "leaves",
        **more,
    }
    return cl.Explainer(case.tree, schema=case.schema).explain(case.row, **question)


def disagreements(case, answer, optima, thin=()):
    """The errors of an answer that should hold every target leaf, from the optimum of each leaf."""
    found = {c.leaf: c for c in answer}
    wrong = [f"status {answer.status}"] if answer.status == "limit" else []
    wrong += [] if answer.certificate.check() else ["the proof fails"]
    for leaf, best in optima.items():
        if leaf in thin:
            continue
        if (leaf in found) != math.isfinite(best):
            wrong.append(f"leaf {leaf}: ours {found.get(leaf)}, optimum {best}")
        elif leaf in found:
            c = found[leaf]
            size = 1e-7 * abs(best) + 1e-11  # the referee's tolerance where the optimum is 0
            if abs(c.cost - best) > size or not c.cost - size <= c.lower_bound <= c.cost or not c.confirmed:
                wrong.append(f"leaf {leaf}: cost {c.cost}, bound {c.lower_bound}, optimum {best}, confirmed {c.confirmed}")
            if not case.obeys(case.schema.codes(c.row)).all():
                wrong.append(f"leaf {leaf}: {c.row} breaks a rule")
    return wrong + [f"leaf {leaf} is not a target" for leaf in found.keys() - optima.keys()]


@pytest.mark.slow
def test_the_cheapest_leaves_have_the_optima_of_an_independent_solver():
    """The proof of question 4 takes a minute to check, so this test compares costs; the others check their proofs too."""
    for seed in seeds(5):
        case = table_case(np.random.default_rng(seed))
        optima, thin = leaf_optima(case)
        answer = explain(case, count=3)
        best = sorted(cost for cost in optima.values() if math.isfinite(cost))[:3]
        assert not thin, seed
        assert answer.status == ("optimal" if best else "infeasible"), seed
        assert np.allclose([c.cost for c in answer], best, rtol=1e-7, atol=1e-11), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", [5, 100, 200, 300, 400, 500])
def test_every_leaf_has_the_optimum_of_an_independent_solver(first):
    for seed in seeds(first, first + 15):
        case = table_case(np.random.default_rng(seed))
        optima, thin = leaf_optima(case)
        assert not disagreements(case, explain(case), optima, thin), seed


@pytest.mark.parametrize("seed", seeds(4))
def test_wide_tables_have_the_optimum_of_an_independent_solver(seed):
    case = table_case(np.random.default_rng(9000 + seed), groups=8, numerics=4, depth=6, axis="oblique")
    answer = explain(case, count=3)
    optima, thin = leaf_optima(case)
    best = sorted((cost, leaf) for leaf, cost in optima.items() if math.isfinite(cost) and leaf not in thin)
    assert answer.certificate.check()
    assert np.allclose([c.cost for c in answer], [cost for cost, _ in best[:3]], rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("axis", ["axis", "oblique"])
def test_tables_without_free_numbers_agree_with_brute_force(axis):
    tried = 0
    for seed in seeds(5000, 5040):
        case = table_case(np.random.default_rng(seed), groups=4, categories=5, numerics=0, axis=axis)
        optima = brute_optima(case)
        if optima is None:
            continue
        tried += 1
        assert not disagreements(case, explain(case), optima), seed
    assert tried > share(20)


def test_costs_mean_what_the_design_says():
    free = {"constraints": cl.fix("age", 20)}
    for cost, expected in [
        (cl.L1(), 10 + 2),
        (cl.L2(), 100 + 2),
        (cl.L1({"job": 3, "age": 0}), 6),
        (cl.L1(up=1, down={"job": 4, "age": 1}), 10 + 5),
        (cl.L1({"age": 0}) + 0.5 * cl.L2({"age": 0}), 3),
        (cl.L1({"age": 0}) + cl.LinearCost({"job=smith": -1}), 1),
    ]:
        best = ask(cost=cost, **free)[0]
        assert best.changes == {"age": (10, 20), "job": ("clerk", "smith")}
        assert best.cost == pytest.approx(expected, abs=1e-12)
    data = pd.DataFrame({"age": [0, 100], "job": ["clerk", "cook"]})
    named = cl.Explainer(TREE, data=data, schema=SCHEMA)
    for cost in (cl.L1("range"), cl.L2("range"), None):
        price = 0.1 if not isinstance(cost, cl.L2) else 0.01
        assert named.explain(ROW, target="yes", cost=cost, **free)[0].cost == pytest.approx(price + 1)


def test_a_table_of_costs_replaces_the_usual_one():
    costs = pd.DataFrame([[0, 9, 1.5], [1, 0, 1], [1, 1, 0]], index=JOBS, columns=JOBS)
    nested = {old: dict(line) for old, line in costs.T.to_dict().items()}
    for table in (costs, nested, costs.to_numpy()):
        schema = cl.Schema([cl.Numeric("age", 0, 100), cl.Categorical("job", JOBS, costs=table)])
        assert ask(schema=schema, cost=cl.L1({"age": 0.0}))[0].cost == 0.0
        both = ask(schema=schema, cost=cl.L1({"age": 1.0, "job": 2.0}), constraints=cl.between("age", 10, 20))
        assert both[0].cost == pytest.approx(10 + 3)


def level_tree(cut):
    return cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-cut, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def test_levels_pay_per_level_and_know_their_order():
    levels = ["none", "school", "college", "doctor"]
    schema = cl.Schema([cl.Ordinal("education", levels)])

    def up(**question):
        return ask({"education": "none"}, level_tree(1.5), schema, **question)

    assert up(cost=cl.L1())[0].changes == {"education": ("none", "college")}
    assert up(cost=cl.L1())[0].cost == 2.0
    assert up(cost=cl.L2(3.0))[0].cost == 12.0
    assert up(constraints=cl.only_increase("education", by=3))[0].row == {"education": "doctor"}
    assert up(constraints=cl.between("education", "doctor", "doctor"))[0].row == {"education": "doctor"}
    assert up(constraints=cl.between("education", "none", "school")).status == "infeasible"
    assert up(constraints=cl.only_decrease("education")).status == "infeasible"
    assert up(constraints=cl.linear({"education": 1}, ">=", 2.5))[0].row == {"education": "doctor"}
    dear = cl.Schema([cl.Ordinal("education", levels, costs=[[0, 1, 9, 2], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]])])
    assert ask({"education": "none"}, level_tree(1.5), dear, cost=cl.L1())[0].row == {"education": "doctor"}


def test_yes_or_no_is_one_column():
    schema = cl.Schema([cl.Boolean("owner")])
    best = ask({"owner": False}, level_tree(0.5), schema, cost=cl.L2())[0]
    assert (best.changes, best.cost, best.row["owner"] is True) == ({"owner": (False, True)}, 1.0, True)
    assert ask({"owner": 0}, level_tree(0.5), schema)[0].row == {"owner": 1}


def test_a_step_makes_answers_sayable():
    for step, expected in [(None, 44.99), (0.5, 45.0), (5, 45.0), (100, 100.0), (0.1, 45.0)]:
        schema = cl.Schema([cl.Numeric("hours", 0, 168, step=step)])
        best = ask({"hours": 40.0}, level_tree(44.99), schema)[0]
        assert best.row == {"hours": expected}
        assert best.cost == pytest.approx((expected - 40) ** 2)
    schema = cl.Schema([cl.Numeric("hours", step=0.1)])
    assert ask({"hours": 0.0}, level_tree(0.25), schema)[0].row == {"hours": 0.3}  # as typed, not 0.30000000000000004
    # a source off the grid may stay; a number that moves goes to the grid
    schema = cl.Schema([cl.Numeric("hours", step=5)])
    assert ask({"hours": 42.0}, level_tree(41.0), schema, target=["yes", "no"])[0].changes == {}
    assert ask({"hours": 42.0}, level_tree(43.0), schema)[0].row == {"hours": 45.0}
    assert ask({"hours": 42.0}, level_tree(41.0), schema, target="no")[0].row == {"hours": 40.0}


@pytest.mark.parametrize(
    ("constraints", "changes"),
    [
        ([cl.freeze("job")], {"age": (10, 50)}),
        ([cl.fix("job", "cook")], {"age": (10, 30), "job": ("clerk", "cook")}),
        ([cl.allow("job", ["cook", "clerk"])], {"age": (10, 30), "job": ("clerk", "cook")}),
        ([cl.forbid("job", ["smith"])], {"age": (10, 30), "job": ("clerk", "cook")}),
        ([cl.max_changes(1)], {"age": (10, 50)}),
        ([cl.only_increase("age", by=45)], {"age": (10, 55)}),
        ([cl.implies(cl.changed("job"), cl.only_increase("age", by=12))], {"age": (10, 22), "job": ("clerk", "smith")}),
        ([cl.implies(cl.changed("job"), cl.freeze("age"))], {"age": (10, 50)}),
        ([cl.implies(cl.changed("age"), cl.allow("job", ["cook"]))], {"age": (10, 30), "job": ("clerk", "cook")}),
        ([cl.linear({"job=smith": 10, "age": 1}, ">=", 33)], {"age": (10, 23), "job": ("clerk", "smith")}),
        ([cl.linear({"job=smith": 1}, "<=", 0)], {"age": (10, 30), "job": ("clerk", "cook")}),
        ([cl.linear({"job=smith": 1, "job=cook": 1}, "==", 0)], {"age": (10, 50)}),
    ],
    ids=str,
)
def test_constraints_on_tables(constraints, changes):
    answer = ask(cost=cl.L1({"job": 0.5}), constraints=constraints)
    assert answer[0].changes == changes
    assert answer.certificate.check()
    assert cl.Explanation.from_json(answer.to_json()).certificate.check()


def test_conflicts_name_table_constraints():
    constraints = [cl.between("age", 0, 30), cl.forbid("job", ["smith", "cook"]), cl.only_increase("age")]
    assert ask(constraints=constraints).conflict == (constraints[0], constraints[1])
    constraints = [cl.max_changes(1), cl.forbid("job", ["smith"]), cl.between("age", 0, 40)]
    assert str(ask(constraints=constraints).conflict) == "(max_changes(1), between('age', 0, 40))"
    constraints = [cl.implies(cl.changed("job"), cl.freeze("age")), cl.implies(cl.changed("age"), cl.allow("job", ["cook"]))]
    stuck = ask(constraints=[*constraints, cl.between("age", 0, 40)])
    assert str(stuck.conflict[0]) == "implies(changed('job'), freeze('age'))"
    assert "max_changes(1)" in str(ask(constraints=[cl.max_changes(1), cl.between("age", 0, 40)]))


def test_among_takes_tables_with_categories():
    rows = pd.DataFrame({"job": ["smith", "clerk", "cook"], "age": [90, 51, 10]})
    for table in (rows, pl.from_pandas(rows)):
        assert ask(constraints=cl.among(table), cost=cl.L1())[0].row == {"age": 51, "job": "clerk"}


def test_ties_go_by_leaf_index():
    # two leaves, each one category away at the same cost
    tree = cl.Tree(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [[0, 1.0, 0], [0] * 3, [0, 0, 1.0], [0] * 3, [0] * 3],
        [-0.5, 0, -0.5, 0, 0],
        [-1, 0, -1, 1, 1],
        classes=["no", "yes"],
    )
    swapped = cl.Tree(tree.right, tree.left, -tree.weights.toarray(), -tree.bias, tree.value, tree.classes, closed="left")
    for one in (tree, swapped):
        answer = ask({"job": "clerk"}, one, cl.Schema([cl.Categorical("job", JOBS)]), count=None)
        assert [c.leaf for c in answer] == sorted(c.leaf for c in answer)


def test_a_missing_value_stays_or_is_filled_in_but_never_chosen():
    schema = cl.Schema([cl.Categorical("job", ["clerk", "cook"], missing=True)])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[0, 1.0, 2.0], [0] * 3, [0] * 3], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    assert ask({"job": "clerk"}, tree, schema)[0].row == {"job": "cook"}
    assert ask({"job": None}, tree, schema, target="no")[0].row == {"job": "clerk"}
    assert ask({"job": math.nan}, tree, schema, target=["no", "yes"])[0].changes == {}
    assert ask({"job": "clerk"}, tree, schema, constraints=cl.forbid("job", ["cook"])).status == "infeasible"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"row": {"age": 10, "job": "king"}}, "feature 'job' is 'king'; expected one of 'clerk', 'cook', 'smith'"),
        ({"row": {"age": 10, "job": 3}}, "feature 'job' is 3; expected one of"),
        ({"row": {"age": 10, "job": {"clerk"}}}, "feature 'job' is {'clerk'}; expected one of"),
        ({"row": {"age": 10.5, "job": "cook"}}, "feature 'age' is 10.5; expected a whole number"),
        ({"row": {"age": "ten", "job": "cook"}}, "feature 'age' is 'ten'; expected a number"),
        ({"row": {"age": 10, "job": None}}, "feature 'job' of the row is missing and the model has no route for that"),
        ({"row": {"age": None, "job": "cook"}}, "feature 'age' of the row is nan; expected a finite number"),
        ({"constraints": cl.allow("job", ["king"])}, "feature 'job' has no value 'king'; expected one of"),
        ({"constraints": cl.allow("age", [3])}, r"allow\('age', \[3\]\): feature 'age' is a number; use between or fix"),
        ({"constraints": cl.only_increase("job")}, "feature 'job' has categories without an order; use allow or forbid"),
        ({"constraints": cl.between("age", "a", "b")}, "feature 'age' is a number; 'a' is not"),
        ({"constraints": cl.fix("job", 7)}, "feature 'job' has no value 7"),
        ({"constraints": cl.linear({"job": 1}, ">=", 0)}, "feature 'job' is a category, not a number; name one of"),
        ({"constraints": cl.linear({"job=king": 1}, ">=", 0)}, "feature 'job' has no value 'king'; expected one of"),
        ({"constraints": [cl.changed("job")]}, r"changed\('job'\) is a condition; use it in implies"),
        ({"constraints": cl.implies(cl.changed("pay"), cl.freeze("age"))}, "no feature 'pay'"),
        ({"cost": cl.LinearCost([1.0, 2.0])}, "LinearCost got an array for a table with categories; expected a dict"),
        ({"cost": cl.Quadratic(np.eye(4))}, r"Q has shape \(4, 4\); expected \(1, 1\), one row per numeric feature"),
    ],
)
def test_bad_questions_get_one_clear_line(question, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        ask(**question)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.max_changes(-1), "max_changes got -1; expected a whole number from 0"),
        (lambda: cl.max_changes(1.5), "max_changes got 1.5"),
        (lambda: cl.allow("job", "clerk"), r"^the list of values of allow is 'clerk'; expected a list such as \['a', 'b'\]$"),
        (lambda: cl.forbid("job", []), "forbid got no values"),
        (lambda: cl.only_increase("age", by=-1), "by= of only_increase is -1; expected 0 or more"),
        (
            lambda: cl.implies(cl.max_changes(1), cl.freeze("age")),
            r"implies got the condition max_changes\(1\); expected changed, becomes or stays, or a constraint on single",
        ),
        (
            lambda: cl.implies(cl.changed("a"), cl.changed("b")),
            r"implies got the consequence changed\('b'\); expected a constraint such as freeze\('age'\); it is a condition",
        ),
        (
            lambda: cl.Categorical("job", "clerk"),
            r"^feature 'job': the list of its values is 'clerk'; expected a list such as \['a', 'b'\]$",
        ),
        (lambda: cl.Categorical("job", []), "has no values"),
        (lambda: cl.Categorical("job", ["a", "a"]), "lists 'a' twice"),
        (lambda: cl.Categorical("job", ["a", None]), "leave it out and set missing=True"),
        (lambda: cl.Categorical("job", [["a"]]), r"^feature 'job': a value is \['a'\]; expected text or a number$"),
        (lambda: cl.Categorical(3, ["a"]), "a feature is named 3; expected a string"),
        (lambda: cl.Categorical("job", ["a", "b"], costs=[[0, 1]]), r"costs has shape \(1, 2\); expected \(2, 2\)"),
        (lambda: cl.Categorical("job", ["a", "b"], costs="dear"), "costs is 'dear'; expected a square table"),
        (lambda: cl.Categorical("job", ["a", "b"], costs={"a": {"b": 1}}), "costs has no entry from 'b' to 'a'"),
        (lambda: cl.Categorical("job", ["a", "b"], costs={"a": 1}), r"costs\['a'\] is 1; expected \{to: cost\}"),
        (lambda: cl.Categorical("job", ["a", "b"], costs={"a": {"b": "x"}}), "a cost is 'x'; expected a number"),
        (lambda: cl.Categorical("job", ["a", "b"], costs=[[0, -1], [1, 0]]), "costs must be finite, 0 or more"),
        (lambda: cl.Numeric("a", step=0), "step is 0; expected a number above 0"),
        (lambda: cl.Numeric("a", integer=True, step=0.5), "step 0.5 and integer=True; expected a whole step"),
        (lambda: cl.Schema.infer(pd.DataFrame([[1, 2]], columns=["a", "a"])), "data has two columns named 'a'"),
        (
            lambda: cl.Schema.infer(pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])})),
            "column 'd' of the data holds datetime64",
        ),
        (lambda: cl.Explainer(TREE, schema=cl.Schema([cl.Numeric("a"), cl.Boolean("b")])), "2 features; the model"),
        (
            lambda: cl.Explainer(TREE, data=pd.DataFrame({"a": [1], "b": [2], "c": [3], "d": ["x"]})),
            "column 'd' of the data holds text, and this model takes numbers: pass the whole pipeline",
        ),
    ],
)
def test_bad_parts_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        make()


def test_a_category_that_earns_is_chosen_though_nothing_has_to_change():
    answer = ask(target="no", cost=cl.L1() + cl.LinearCost({"job=cook": -5}))
    assert (answer[0].cost, answer[0].row["job"], answer.certificate.check()) == (-3.0, "cook", True)


def test_steps_from_the_source_land_on_the_grid():
    schema = cl.Schema([cl.Numeric("hours", 0, 1, step=0.1)])
    answer = ask({"hours": 0.1}, level_tree(0.15), schema, constraints=cl.only_increase("hours", by=0.2))
    assert answer[0].row == {"hours": 0.3}


@pytest.mark.parametrize(
    ("feature", "value"),
    [
        (cl.Numeric("n", 0, 1e16, integer=True), 5),
        (cl.Numeric("n", 0, 1e14, step=0.001), 5.0),
        (cl.Numeric("n", integer=True), 10**16),
    ],
)
def test_numbers_beyond_the_finest_grid_do_not_hang(feature, value):
    answer = ask({"n": value}, level_tree(8.5), cl.Schema([feature]), target=["no", "yes"], count=2, distinct="leaves")
    assert len(answer) == 2
    assert answer.certificate.check()


def crossing():
    """ "yes" needs x0 + x1 >= 1 and x0 - x1 < 1."""
    weights = [[1.0, 1.0], [0, 0], [1.0, -1.0], [0, 0], [0, 0]]
    return cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-1.0, 0, -1.0, 0, 0], [-1, 0, -1, 1, 0], ["no", "yes"])


@pytest.mark.parametrize(
    ("constraint", "cost"),
    [
        (cl.max_changes(1), 10.0),  # the cheapest point changes x0 alone, and its leaf is open there
        (cl.max_changes(2), 1.0),
        (cl.implies(cl.changed("x0"), cl.between("x1", 0, 5)), 1.0),
        (cl.implies(cl.changed("x0"), cl.fix("x1", 2)), 10.0),
    ],
)
def test_a_leaf_is_not_given_up_where_another_choice_is_left(constraint, cost):
    explainer = cl.Explainer(crossing())
    answer = explainer.explain([0.0, 0.0], target="yes", cost=cl.L1({"x0": 1, "x1": 10}), constraints=[constraint])
    assert answer[0].cost == pytest.approx(cost, rel=1e-9)
    assert answer.certificate.check()
    many = explainer.explain_many(np.zeros((2, 2)), target="yes", cost=cl.L1({"x0": 1, "x1": 10}), constraints=[constraint])
    assert many["cost"].tolist() == [answer[0].cost] * 2


def test_a_change_that_costs_nothing_counts_as_one():
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], np.eye(2)[[0, 0, 1, 0, 0]], [-1.0, 0, -1.0, 0, 0], [-1, 0, -1, 0, 1])
    for free in ({"x0": 1.0, "x1": 0.0}, {"x0": 0.0, "x1": 0.0}):
        stuck = cl.Explainer(tree).explain([0.0, 0.0], target=1, cost=cl.L2(free), constraints=[cl.max_changes(1)])
        assert stuck.status == "infeasible"
        assert stuck.certificate.check()


def test_columns_that_no_split_names_do_not_fork():
    """The source lies on the face of a split, so that its leaf is searched to the end."""
    taken = []
    for extra in range(4):
        features = [cl.Categorical("a", ["p", "q"]), cl.Categorical("b", ["p", "q"])]
        features += [cl.Numeric(f"n{k}", 0, 20, integer=True) for k in range(extra)]
        weights = np.zeros((3, 4 + extra))
        weights[0, [0, 2]] = 1.0, -1.0
        tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, np.zeros(3), [-1, 0, 1], closed="left")
        row = {"a": "p", "b": "p", **{f"n{k}": 10 for k in range(extra)}}
        answer = cl.Explainer(tree, schema=cl.Schema(features)).explain(row, target=1)
        assert answer[0].changes == {"b": ("p", "q")}
        taken.append(answer.certificate.findings.answer.taken)
    assert len(set(taken)) == 1
