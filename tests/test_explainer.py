import concurrent.futures

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds
from support.strategies import random_case, random_tree

import counterleaf as cl

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
ORIGIN = np.zeros(2)


def solve(row=ORIGIN, tree=LINE, schema=None, **question):
    return cl.Explainer(tree, schema=schema).explain(row, **{"target": "yes", **question})


# queries and answers


@pytest.mark.parametrize(
    ("question", "cost"),
    [
        ({"cost": cl.L2()}, 0.5),
        ({"cost": cl.L1()}, 1.0),
        ({"cost": cl.L1([1.0, 3.0])}, 1.0),
        ({"cost": cl.L1({"x0": 3.0})}, 1.0),
        ({"cost": cl.L2({1: 3.0})}, 0.75),
        ({"cost": cl.L1() + 2 * cl.L2()}, 2.0),
        ({"cost": sum([cl.L1(), cl.L2() * 2])}, 2.0),
        ({"cost": cl.L1(up=2.0, down=0.1)}, 2.0),
        ({"cost": cl.L2(), "margin": 1.0}, 2.0),
        ({"cost": cl.L2(), "target": {"yes": 0.25}}, 0.75),
        ({"cost": cl.L2(), "target": {"yes": 0.0, "no": 0.1}}, 0.1),
        ({"cost": cl.L2(), "constraints": [cl.freeze("x1")]}, 1.0),
        ({"cost": cl.L2(), "constraints": cl.freeze(1)}, 1.0),
        ({"cost": cl.L2(), "constraints": [cl.fix("x1", 0.25)]}, 0.625),
        ({"cost": cl.L2(), "constraints": [cl.only_decrease("x1")]}, 1.0),
        ({"cost": cl.L2(), "constraints": [cl.between("x1", -1, 0.2)]}, 0.68),
        ({"cost": cl.L2(), "constraints": [cl.linear({"x0": 1, "x1": -1}, "==", 0.5)]}, 0.625),
        ({"cost": cl.L2(), "constraints": [cl.linear({"x0": 2}, "<=", 0.4)]}, 0.68),
        ({"cost": cl.L2(), "constraints": [cl.linear({"x0": -2}, ">=", -0.4)]}, 0.68),
        ({"cost": cl.L1() + cl.LinearCost([-0.5, 0.0]), "constraints": [cl.between(0, -5, 5)]}, 0.5),
    ],
)
def test_costs_and_constraints_by_hand(question, cost):
    answer = solve(**question)
    assert answer[0].cost == pytest.approx(cost, abs=1e-9)
    assert answer[0].confirmed
    assert answer.status == "optimal"
    assert answer.certificate.check()


def test_named_weights_divide_by_the_spread_of_the_data():
    data = pd.DataFrame({"a": [0.0, 1.0, 2.0, 10.0], "b": [5.0, 5.0, 5.0, 5.0]})
    explainer = cl.Explainer(LINE, data=data, infer_bounds=False)
    row = {"a": 0.0, "b": 0.0}
    only_a = [cl.freeze("b")]
    cost = {name: explainer.explain(row, cost=cl.L1(name), constraints=only_a)[0].cost for name in ("range", "std", "mad")}
    assert cost == pytest.approx({"range": 0.1, "std": 1 / data["a"].std(ddof=0), "mad": 1.0})
    assert explainer.explain(row, cost=cl.L2("range"), constraints=only_a)[0].cost == pytest.approx(0.01)
    assert explainer.explain(row, cost=cl.L1("mad"), constraints=[cl.freeze("a")])[0].cost == pytest.approx(1.0)
    assert explainer.explain(row, constraints=only_a)[0].cost == pytest.approx(0.1)  # the default where there is data


def test_inferred_ranges_are_bounds_widened_to_hold_the_row():
    data = pd.DataFrame({"a": [0.0, 0.2], "b": [0.0, 0.3]})
    assert cl.Explainer(LINE, data=data).explain({"a": 0.0, "b": 0.0}).status == "infeasible"
    answer = cl.Explainer(LINE, data=data).explain({"a": 0.0, "b": 5.0}, target="no")
    assert answer[0].changes["b"][0] == 5.0
    assert cl.Explainer(LINE, data=data, infer_bounds=False).explain({"a": 0.0, "b": 0.0})[0].confirmed


def test_the_class_it_already_has_returns_the_row_itself():
    row = np.array([0.7, 0.3])  # on the face itself
    answer = solve(row)
    assert answer[0].row.tobytes() == row.tobytes()
    assert (answer[0].cost, answer[0].changes) == (0.0, {})
    assert "Nothing has to change" in str(answer)


def test_the_same_class_at_lower_cost():
    """The footnote of section 3.3: still a yes, for less."""
    answer = solve([3.0, 1.0], cost=cl.LinearCost([1.0, 0.0]), constraints=[cl.freeze("x1")])
    assert answer[0].row[0] == pytest.approx(0.0, abs=1e-12)
    assert answer[0].cost == pytest.approx(-3.0)
    assert answer.certificate.check()


def test_a_cost_unbounded_at_the_root_may_be_bounded_in_every_target_leaf():
    box = cl.Schema([cl.Numeric("x0", lower=0), cl.Numeric("x1", lower=0)])
    answer = solve(schema=box, target="no", cost=cl.LinearCost([-1.0, -2.0]))
    assert answer[0].cost == pytest.approx(-2.0)
    assert answer.certificate.check()


def test_a_cost_without_a_floor_is_refused_with_the_feature():
    with pytest.raises(cl.CounterleafError, match="keeps decreasing as feature 'x1' moves"):
        solve(cost=cl.LinearCost([0.0, -1.0]))
    stump = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
    with pytest.raises(cl.CounterleafError, match="keeps decreasing as feature 'x1' moves"):
        solve(tree=stump, target=1, cost=cl.L2([1, 0]) + cl.LinearCost([0.0, 1.0]))


def test_a_source_outside_the_box_gets_an_answer_inside():
    schema = cl.Schema([cl.Numeric("x0", 0, 1), cl.Numeric("x1", 0, 1)])
    answer = solve([-3.0, 7.0], schema=schema, cost=cl.L2())
    assert answer[0].row == [0.0, 1.0]
    assert answer[0].cost == 45.0


def test_leaves_come_in_order_of_cost_and_equal_ones_by_number():
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [[1.0], [0], [1.0], [0], [0]], [1, 0, -1, 0, 0], [-1, 1, -1, 0, 1])
    answer = solve([0.0], tree=tree, target=1, count=None, cost=cl.L1())
    assert [c.leaf for c in answer] == [4, 1]  # left is open: one float further
    assert answer[0].cost == 1.0
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [[1.0], [0], [1.0], [0], [0]], [1, 0, -1, 0, 0], [-1, 0, -1, 1, 2])
    assert [c.leaf for c in solve([0.0], tree=tree, target=[0, 1, 2], count=2, distinct="leaves")] == [3, 4]
    weights = [[1.0, 0], [0, 1], [0, 1], *[[0, 0]] * 4]
    twins = cl.Tree(
        [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], weights, [0, -1, -1, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 0, 1]
    )
    answer = solve(ORIGIN, tree=twins, target=1, count=None, cost=cl.L1())
    assert [(c.leaf, c.cost) for c in answer] == [(4, 1.0), (6, 1.0)]


def test_count_limits_and_none_takes_all():
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 7, 4, 3, "oblique", np.ones(4))
    every = solve(np.zeros(4), tree=tree, target=[0, 1, 2], count=None)
    for count in (1, 2, 5):
        some = solve(np.zeros(4), tree=tree, target=[0, 1, 2], count=count, distinct="leaves")
        assert [c.leaf for c in some] == [c.leaf for c in every[:count]]
    assert every.certificate.check()


def test_among_chooses_a_row_of_the_table():
    rows = np.array([[1.0, 1.0], [0.9, 0.9], [0.1, 0.1], [0.5, 0.6]])
    answer = solve(constraints=[cl.among(rows)], cost=cl.L2())
    assert answer[0].row.tolist() == [0.5, 0.6]
    assert answer.certificate.check()
    answer = solve(constraints=[cl.among(rows), cl.between("x0", 0.8, 1)], cost=cl.L2())
    assert answer[0].row.tolist() == [0.9, 0.9]
    frame = pd.DataFrame(rows[:, ::-1], columns=["x1", "x0"])
    assert solve(constraints=[cl.among(frame), cl.linear({"x0": 1, "x1": 1}, ">=", 1.9)])[0].row.tolist() == [1.0, 1.0]
    nothing = solve(constraints=[cl.among(rows[2:3])])
    assert nothing.status == "infeasible"
    assert nothing.certificate.check()


def test_no_such_row_is_a_status_with_a_proof():
    frozen = solve(constraints=[cl.freeze("x0", "x1")])
    never = solve(tree=cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0], classes=["no", "yes"]))
    crossed = solve(constraints=[cl.between("x0", 2, 3), cl.between("x0", 0, 1)])
    alone = solve(tree=cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0]), target=None)
    for answer in (frozen, never, crossed, alone):
        assert answer.status == "infeasible"
        assert len(answer) == 0
        assert answer.certificate.check()
        assert "This is proved" in str(answer)


def test_a_leaf_between_two_equal_splits_holds_no_row():
    """Right of a split and left of the same split: the closed problem is feasible, the model never goes there."""
    tree = cl.Tree(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [[1.0, 2.0], [0, 0], [1.0, 2.0], [0, 0], [0, 0]],
        [-1, 0, -1, 0, 0],
        [-1, 0, -1, 1, 0],
    )
    answer = solve(tree=tree, target=1)
    assert answer.status == "infeasible"
    assert answer.certificate.check()


def test_float32_oblique_trees_are_confirmed():
    rng = np.random.default_rng(0)
    grown = random_tree(rng, 5, 6, 3, "oblique", np.ones(6))
    tree = cl.Tree(grown.left, grown.right, grown.weights, grown.bias, grown.value, grown.classes, "left", "float32")
    for row in rng.normal(size=(20, 6)):
        answer = solve(row, tree=tree, target=None)
        assert answer[0].confirmed
        assert answer[0].cost == pytest.approx(answer[0].lower_bound, rel=1e-4, abs=1e-6)  # float32 has 24 bits


def stump(w, b, **how):
    return cl.Tree([1, -1, -1], [2, -1, -1], [w, [0] * len(w), [0] * len(w)], [b, 0, 0], [-1, 0, 1], **how)


@pytest.mark.parametrize("cost", [cl.L1(), cl.L2(), cl.L1() + cl.L2()])
@pytest.mark.parametrize("row", [[1.0, 1.0], [0.0, 0.0], [3.0, 6.0], [-0.5, 0.5]])
def test_a_split_through_the_origin(cost, row):
    for label in (0, 1):
        answer = solve(row, tree=stump([1.0, 2.0], 0.0), target=label, cost=cost)
        assert answer.status == "optimal"
        assert answer[0].confirmed
        assert answer.certificate.check()


@pytest.mark.parametrize("relation", ["==", "<=", ">="])
@pytest.mark.parametrize("norm", [cl.L2() + 0.5 * cl.L1(), cl.L1(), cl.L2()])
def test_whole_numbers_meet_kinks_and_breaks_exactly(relation, norm):
    rng = np.random.default_rng(0)
    for _ in range(100):
        row, coef = rng.integers(-3, 4, 2).astype(float), rng.integers(1, 4, 2)
        rule = cl.linear({0: coef[0], 1: coef[1]}, relation, int(rng.integers(-5, 6)))
        answer = solve(row, tree=stump([1.0, 0.0], -100.0), target=0, cost=norm, constraints=[rule])
        assert answer.status == "optimal"
        assert answer.certificate.check()


@pytest.mark.parametrize("cost", [cl.L1(), cl.L2()])
def test_a_source_on_the_faces_of_several_leaves(cost):
    weights = [[1.0, 1], [0, 0], [1, -1], [0, 0], [0, 0]]
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-2.0, 0, 0, 0, 0], [-1, 0, -1, 1, 1], closed="left")
    answer = solve([1.0, 1.0], tree=tree, target=1, cost=cost)
    assert answer[0].cost < 1e-12
    assert answer.certificate.check()


@pytest.mark.parametrize("cost", [cl.L1(), cl.L2()])
def test_a_region_that_only_touches_the_box(cost):
    """On the corner w @ x + b is 0, and closed="left" keeps that for the other side."""
    schema = cl.Schema([cl.Numeric("a", -3, -1), cl.Numeric("b", -1, 1)])
    answer = solve([-3.0, -1.0], tree=stump([2.0, 1.0], 1.0, closed="left"), schema=schema, target=1, cost=cost)
    assert answer.status == "infeasible"
    assert answer.certificate.check()


def test_a_row_through_the_origin_next_to_a_cut_there():
    rule = cl.linear({0: 1, 1: -1}, "==", 0)
    answer = solve([-1.0, -1.0], tree=stump([1.0, 0.0], 0.0, closed="left"), target=1, constraints=[rule])
    assert answer[0].confirmed
    assert answer.certificate.check()


def test_columns_named_by_numbers_are_names_first():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=[1, 2, 3])
    tree = stump([1.0, 1.0, 1.0], -2.0)
    explainer = cl.Explainer(tree, data=data, infer_bounds=False)
    answer = explainer.explain(dict.fromkeys([1, 2, 3], 0.0), target=1, constraints=[cl.freeze(1), cl.freeze(3)])
    assert answer[0].row == {1: 0.0, 2: 2.0, 3: 0.0}


def test_a_feature_named_twice_counts_with_the_sum():
    answer = solve(constraints=[cl.linear({"x0": 1, 0: 1, "x1": 1}, "==", 4)], cost=cl.L2())
    assert 2 * answer[0].row[0] + answer[0].row[1] == pytest.approx(4)
    assert answer.certificate.check()


@pytest.mark.parametrize("seed", seeds(8))
def test_among_is_a_plain_loop_over_the_rows(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, (60, 4)).astype(float)  # many ties
    model = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(rows, rng.integers(0, 3, 60))
    explainer, labels, leaves = cl.Explainer(model), model.predict(rows), model.apply(rows)
    for source in rows[:6]:
        prices = {0: 0.5, 1: 0.0, 2: 3.0}
        allowed = (rows[:, 0] == source[0]) | (rows[:, 0] == source[0] + 1)
        allowed &= rows[:, 1] + rows[:, 2] <= 7
        best = {}
        for cost, leaf in sorted(
            (np.abs(row - source).sum() + prices[label], leaf)
            for row, label, leaf in zip(rows[allowed], labels[allowed], leaves[allowed], strict=True)
        ):
            best.setdefault(leaf, cost)
        expected = sorted((cost, leaf) for leaf, cost in best.items())
        limits = [cl.among(rows), cl.between("x0", source[0], source[0] + 1), cl.linear({"x1": 1, "x2": 1}, "<=", 7)]
        for count in (1, 2, 3, None):
            answer = explainer.explain(source, target=prices, cost=cl.L1(), constraints=limits, count=count, distinct="leaves")
            assert [(found.cost, found.leaf) for found in answer] == expected[:count]
            assert answer.certificate.check()


def test_among_with_earnings_is_proved():
    rows = [[1.0, 1.0], [2.0, 2.0], [-5.0, 0.0]]
    answer = solve(constraints=[cl.among(rows)], cost=cl.LinearCost([-1.0, 0.0]), target=["no", "yes"], count=None)
    assert [c.cost for c in answer] == [-2.0, 5.0]
    assert answer.certificate.check()


def test_a_cost_and_an_answer_do_not_change_with_the_callers_arrays():
    weights, row = np.ones(2), np.zeros(2)
    cost = cl.L1(weights)
    weights[:] = [5.0, 1.0]
    explainer = cl.Explainer(LINE)
    answer = explainer.explain(row, target="yes", cost=cost + cl.L1([0.0, 1.0]))
    row[:] = 9.0
    assert answer[0].changes == {"x0": (0.0, 1.0)}
    assert answer.source_values == {"x0": 0.0, "x1": 0.0}


@pytest.mark.parametrize(
    "row", [(0.0, 0.0), np.zeros(2, object), pd.Series([0, 0], index=["x0", "x1"], dtype="Int64"), [False, 0]]
)
def test_rows_of_other_kinds_are_taken(row):
    assert solve(row)[0].cost == pytest.approx(0.5)


# limits, determinism


def test_a_limit_gives_the_best_so_far_and_a_valid_bound():
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 8, 10, 4, "oblique", np.ones(10))
    whole = solve(np.zeros(10), tree=tree, target=[0, 1, 2, 3], count=40, distinct="leaves")
    seen = 0
    for states in (1, 5, 20, 60):
        part = solve(np.zeros(10), tree=tree, target=[0, 1, 2, 3], count=40, distinct="leaves", max_nodes=states)
        assert part.status == "limit"
        assert part.lower_bound <= whole.lower_bound + 1e-12
        assert part.certificate.check()
        assert len(part) >= seen
        seen = len(part)
    assert seen > 0
    assert solve(np.zeros(10), tree=tree, target=[0, 1, 2, 3], count=None, time_limit=1e-9).status == "limit"
    assert (
        solve(np.zeros(10), tree=tree, target=[0, 1, 2, 3], count=40, distinct="leaves", time_limit=60.0)[0].cost
        == whole[0].cost
    )
    assert "The search stopped before it found a change" in str(solve(np.ones(10) * 9, tree=tree, max_nodes=1, target=3))


@pytest.mark.parametrize("seed", seeds(5))
def test_the_same_question_gives_the_same_bits_from_every_thread(seed):
    case = random_case(np.random.default_rng(seed))
    explainer = cl.Explainer(case.tree, schema=case.schema)

    def once(_):
        answer = explainer.explain(case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=None)
        return answer.to_json()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(once, range(12)))) == 1


# bad input

IRIS_X, IRIS_Y = load_iris(return_X_y=True, as_frame=True)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"row": [np.nan, 0.0]}, "'x0' of the row is nan; expected a finite number"),
        ({"row": [0.0, np.inf]}, "'x1' of the row is inf"),
        ({"row": [0.0]}, "shape \\(1,\\); expected 2 numbers"),
        ({"row": [[0.0, 1.0]]}, "shape \\(1, 2\\)"),
        ({"row": ["a", 0.0]}, "feature 'x0' is 'a'; expected a number"),
        ({"row": ["0.5", 0.0]}, "feature 'x0' is '0.5'; expected a number"),
        ({"row": [0, 10**400]}, "feature 'x1' is 1000"),
        ({"row": object()}, "expected a dict, a Series"),
        ({"row": pd.Series([0.0, 1.0, 2.0], index=["x0", "x1", "x1"])}, "names the feature 'x1' twice"),
        ({"target": [["yes"]]}, "expected a class, a list of classes"),
        ({"constraints": [cl.linear({"x0": 1, 0: -1}, ">=", 1)]}, "the coefficients cancel"),
        ({"constraints": [cl.linear({"x0": 1e-300}, ">=", 1e30)]}, "scale the constraint"),
        ({"row": {"x0": 0.0}}, "lacks the features \\['x1'\\]"),
        ({"row": {"x0": 0.0, "z": 1.0}}, "lacks the features \\['x1'\\] and has the other columns \\['z'\\]"),
        ({"row": pd.DataFrame({"x0": [0.0, 1.0], "x1": [0.0, 1.0]})}, "has 2 rows"),
        ({"target": "maybe"}, "no class 'maybe'; the model's classes are 'no', 'yes'"),
        ({"target": []}, "target is empty"),
        ({"target": {"yes": "cheap"}}, "cost of class 'yes' is 'cheap'"),
        ({"target": {"yes": np.inf}}, "finite number: leave out"),
        ({"cost": "L1"}, "cost is 'L1'; expected L1, L2"),
        ({"cost": cl.L1(-1.0)}, "weight of 'x0' is -1.0; expected 0 or more"),
        ({"cost": cl.L1([1.0, np.nan])}, "weight of 'x1' is nan"),
        ({"cost": cl.L1([1.0])}, "has shape \\(1,\\); expected 2 numbers"),
        ({"cost": cl.L1({"z": 1.0})}, "no feature 'z'; the features are 'x0', 'x1'"),
        ({"cost": cl.L1({"x0": "much"})}, "'x0' is 'much'; expected a number"),
        ({"cost": cl.L1("mad")}, "needs data to measure"),
        ({"cost": -1 * cl.L2()}, "factor -1.0; expected 0 or more"),
        ({"cost": cl.LinearCost([np.inf, 0])}, "LinearCost coef of 'x0' is inf"),
        ({"cost": cl.L2(object())}, "expected a number, an array or a dict"),
        ({"constraints": [cl.freeze("z")]}, "no feature 'z'"),
        ({"constraints": [cl.freeze(7)]}, "no feature 7"),
        ({"constraints": ["freeze"]}, "is a str; expected freeze"),
        ({"constraints": "freeze"}, "expected a list such as"),
        ({"constraints": [cl.among(np.ones((2, 3)))]}, "rows of 3 numbers; expected 2"),
        ({"constraints": [cl.among(pd.DataFrame({"a": [1.0], "b": [1.0]}))]}, "among got the columns \\['a', 'b'\\]"),
        ({"count": 0}, "count is 0"),
        ({"count": True}, "count is True"),
        ({"margin": -1.0}, "margin is -1.0"),
        ({"margin": "wide"}, "margin is 'wide'; expected a number"),
        ({"time_limit": 0}, "time_limit is 0.0"),
        ({"max_nodes": 0}, "max_nodes is 0"),
    ],
)
def test_bad_questions_get_one_clear_line(question, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        solve(**question)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.between("a", 2, 1), "no number lies between"),
        (
            lambda: cl.between("a", "low", 1),
            "^a bound of 'a' is 'low'; expected a number, because the other bound is 1, or two levels$",
        ),
        (lambda: cl.between("a", np.nan, 1), "^a bound of 'a' is nan; expected a number$"),
        (lambda: cl.fix("a", np.inf), "expected a finite number"),
        (lambda: cl.freeze(), "name at least one"),
        (
            lambda: cl.freeze({"a": 1}),
            r"^a feature of freeze is {'a': 1}; expected names or a list of names, as in freeze\('age', \.\.\.\)$",
        ),
        (lambda: cl.between("a"), r"between\('a'\) has no bound; pass lower, upper or both"),
        (lambda: cl.within("a", None, None), r"within\('a', None, None\) has no limit; pass the least change"),
        (lambda: cl.within("a", 2, 1), r"within\('a', 2, 1\): no change lies between; expected lower <= upper"),
        (lambda: cl.within("a", "5%", "-5%"), r"within\('a', '5%', '-5%'\): no change lies between"),
        (
            lambda: cl.within("a", "5", None),
            r"a limit of within\('a'\) is '5'; expected a number, or a percentage such as '10%'",
        ),
        (lambda: cl.within("a", "1e999%", None), r"a limit of within\('a'\) is inf; expected a finite number"),
        (lambda: cl.only_increase("a", at_most="-5%"), "at_most= of only_increase is '-5%'; expected 0"),
        (lambda: cl.only_increase("a", by="10%", at_most="5%"), "at_most= of only_increase is '5%'; expected '10%' or more"),
        (lambda: cl.only_decrease("a", by="ten%"), "by= of only_decrease is 'ten%'; expected a number, or a percentage"),
        (lambda: cl.becomes("a", np.nan), "the value that 'a' becomes is nan; expected a finite number"),
        (lambda: cl.linear({}, ">=", 0), "expected a dict"),
        (lambda: cl.linear({"a": 0}, ">=", 0), "all 0"),
        (lambda: cl.linear({"a": 1}, ">", 0), "relation '>'"),
        (lambda: cl.linear({"a": "x"}, ">=", 0), "coefficient of 'a' is 'x'"),
        (lambda: solve(constraints=cl.among([["a", "b"]])), "column 'x0' of the data holds 'a'; expected numbers"),
        (lambda: solve(constraints=cl.among([[np.nan, 1.0]])), "among got NaN or infinity in column 'x0'"),
        (lambda: cl.L1("iqr"), 'expected "range", "std", "mad"'),
        (lambda: cl.L2(1.0, up=2.0), "one or the other"),
        (lambda: "a" * cl.L2(), "factor of a cost is 'a'"),
        (lambda: cl.Explainer(LINE, data=np.ones((3, 3))), "data has 3 columns; the model needs 2"),
        (lambda: cl.Explainer(LINE, data=np.ones(3)), "expected a table"),
        (lambda: cl.Explainer(LINE, schema=[cl.Numeric("a")]), "expected Schema"),
        (
            lambda: cl.Explainer(
                DecisionTreeClassifier().fit(IRIS_X, IRIS_Y), schema=cl.Schema([cl.Numeric(n) for n in IRIS_X.columns[::-1]])
            ),
            "the model was fitted on",
        ),
        (lambda: cl.Explainer(LINE, schema=cl.Schema([cl.Numeric("a")])), "schema has 1 features; the model needs 2"),
        (
            lambda: cl.Explainer(DecisionTreeClassifier().fit(IRIS_X, IRIS_Y), data=IRIS_X[IRIS_X.columns[::-1]]),
            "the model was fitted on",
        ),
        (
            lambda: cl.Explainer(DecisionTreeClassifier().fit(IRIS_X, IRIS_Y)).explain([1e39, 0.0, 0.0, 0.0]),
            "takes float32",
        ),
    ],
)
def test_bad_parts_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        make()
