"""The meaning of the core's claims: when a row holds, when a bound holds, and what the core leaves open."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.seeds import seeds, share

import counterleaf as cl

ONE = [1, -1, -1], [2, -1, -1]
TWO = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]


def money_tree():
    w = np.zeros((3, 4))
    w[0, 3] = 1.0
    return cl.Tree(*ONE, w, [-5.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def in_doubt(answer):
    return answer.certificate.findings.answer.doubt


@pytest.mark.parametrize("frozen", [True, False])
def test_an_identity_of_money_holds_to_rounding(frozen):
    features = [cl.Numeric("a", 0, 1e4), cl.Numeric("b", 0, 1e4), cl.Numeric("total", 0, 2e4), cl.Numeric("c", 0, 9)]
    explainer = cl.Explainer(money_tree(), schema=cl.Schema(features))
    constraints = [cl.linear({"a": 1, "b": 1, "total": -1}, "==", 0)] + ([cl.freeze("a", "b", "total")] if frozen else [])
    rng = np.random.default_rng(1)
    for a, b in rng.uniform(0, 1000, size=(200, 2)).round(2).tolist():
        answer = explainer.explain([a, b, round(a + b, 2), 1.0], target="yes", cost=cl.L1(), constraints=constraints)
        assert set(answer[0].changes) == {"c"}
        assert answer.lower_bound == answer[0].cost == 4.0
        assert not in_doubt(answer)


def test_a_row_that_is_missed_by_more_than_rounding_is_missed():
    explainer = cl.Explainer(money_tree())
    row, fixed = [0.1, 0.2, 0.3, 1.0], [cl.fix("x0", 0.1), cl.fix("x1", 0.2)]
    for rhs, status in ((0.3, "optimal"), (0.3 - 1e-6, "infeasible")):
        constraints = [*fixed, cl.linear({"x0": 1, "x1": 1}, "<=", rhs)]
        answer = explainer.explain(row, target="yes", cost=cl.L1(), constraints=constraints)
        assert (str(answer.status), in_doubt(answer)) == (status, False)


@pytest.mark.parametrize("cost", [cl.LinearCost([-1.0]), cl.L1() + cl.LinearCost([-2.0])])
def test_a_leaf_far_away_is_found_where_the_cost_falls(cost):
    tree = cl.Tree(*TWO, [[1.0], [0], [1.0], [0], [0]], [-2e12, 0, -3e12, 0, 0], [-1, 0, -1, 1, 0], classes=["no", "yes"])
    answer = cl.Explainer(tree).explain([0.0], target="yes", cost=cost)
    assert answer[0].cost == pytest.approx(-3e12, rel=1e-12)
    beyond = cl.Tree(*ONE, [[1.0], [0], [0]], [-2e12, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    with pytest.raises(cl.CounterleafError, match="unbounded"):
        cl.Explainer(beyond).explain([0.0], target="yes", cost=cost)


def test_of_several_best_rows_none_is_out_of_sight():
    tree = cl.Tree(*ONE, [[1.0, 1.0], [0, 0], [0, 0]], [-1.7e12, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    answer = cl.Explainer(tree).explain([0.0, 0.0], target="no", cost=cl.L1() + cl.LinearCost([-2.0, 0.0]))
    assert answer[0].cost == pytest.approx(-1.7e12, rel=1e-12)
    assert max(map(abs, answer[0].row)) < 1e13


@pytest.mark.parametrize("cost", [cl.L1(), cl.L2()])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_answers_hold_in_any_order_of_summation(cost, dtype):
    for seed in seeds(60):
        rng = np.random.default_rng(seed)
        width = int(rng.integers(3, 60))
        w = np.zeros((5, width))
        w[0], w[2] = rng.normal(size=(2, width))
        tree = cl.Tree(*TWO, w, [rng.normal(), 0, rng.normal(), 0, 0], [-1, 0, -1, 0, 1], dtype=dtype)
        answer = cl.Explainer(tree).explain(rng.normal(size=width), target=1, cost=cost)
        x = np.asarray(answer[0].row).astype(dtype).astype(float)
        assert answer.status == "optimal"
        for node in (0, 2):
            terms = [*(w[node] * x).tolist(), float(tree.bias[node])]
            for order in (terms, terms[::-1], sorted(terms), sorted(terms, key=abs)):
                assert sum(order) >= 0.0
            assert w[node] @ x + tree.bias[node] >= 0.0


def sliver(seed):
    rng = np.random.default_rng(seed)
    width, angle = int(rng.choice([2, 3])), 10.0 ** rng.uniform(-11, -5)
    w0, b0 = rng.normal(size=width), rng.normal()
    w1, b1 = -(w0 + angle * rng.normal(size=width)), -(b0 + 10.0 ** rng.uniform(-11, -5) * rng.normal())
    nothing = [0.0] * width
    tree = cl.Tree(*TWO, [w0, nothing, w1, nothing, nothing], [b0, 0, b1, 0, 0], [-1, 0, -1, 0, 1])
    return tree, rng.normal(size=width), [w0, w1], [b0, b1]


def exact_optimum(source, weights, biases, curved):
    """The least cost of the closed leaf, in rational numbers: the best of the points that are tight somewhere."""
    rows = [[Fraction(float(v)) for v in w] for w in weights]
    start, width = [Fraction(float(x)) for x in source], len(source)

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    miss = [-(Fraction(float(b)) + dot(a, start)) for a, b in zip(rows, biases, strict=True)]

    def at(entries):
        return [entries.get(j, Fraction(0)) for j in range(width)]

    points = [at({})]
    if curved:
        points += [[m / dot(a, a) * v for v in a] for a, m in zip(rows, miss, strict=True)]
        g, h, k = dot(rows[0], rows[0]), dot(rows[0], rows[1]), dot(rows[1], rows[1])
        p, q = (miss[0] * k - miss[1] * h) / (g * k - h * h), (g * miss[1] - h * miss[0]) / (g * k - h * h)
        points.append([p * a + q * b for a, b in zip(*rows, strict=True)])
    else:
        points += [at({j: m / a[j]}) for (a, m), j in itertools.product(zip(rows, miss, strict=True), range(width))]
        for i, j in itertools.combinations(range(width), 2):
            det = rows[0][i] * rows[1][j] - rows[0][j] * rows[1][i]
            one = (miss[0] * rows[1][j] - miss[1] * rows[0][j]) / det
            points.append(at({i: one, j: (rows[0][i] * miss[1] - rows[1][i] * miss[0]) / det}))
    inside = [d for d in points if all(dot(a, d) >= m for a, m in zip(rows, miss, strict=True))]
    return min(sum(v * v if curved else abs(v) for v in d) for d in inside)


@pytest.mark.slow
@pytest.mark.parametrize("curved", [False, True])
def test_a_bound_between_nearly_parallel_splits_holds_in_real_arithmetic(curved):
    certain = 0
    for seed in seeds(150):
        tree, source, weights, biases = sliver(seed)
        answer = cl.Explainer(tree).explain(source, target=1, cost=cl.L2() if curved else cl.L1())
        best = exact_optimum(source, weights, biases, curved)
        assert answer.status != "infeasible"
        assert Fraction(answer.lower_bound) <= best
        if answer.status == "optimal":
            certain += 1
            assert answer[0].cost <= float(best) * (
                1 + 1e-9
            )  # less if rounding sends a row there that exact arithmetic would not
    assert certain >= share(140)


def test_two_equal_splits_leave_nothing_between_them_for_sure():
    w = np.zeros((5, 3))
    w[0], w[2] = [0.3, -0.7, 0.1], [0.6, -1.4, 0.2]
    tree = cl.Tree(*TWO, w, [0.1, 0, 0.2, 0, 0], [-1, 0, -1, 1, 0], classes=["no", "yes"])  # yes: right, then left
    answer = cl.Explainer(tree).explain([1.0, 2.0, 3.0], target="yes", cost=cl.L1())
    assert (str(answer.status), in_doubt(answer)) == ("infeasible", False)


@pytest.mark.parametrize("cost", [cl.L1(), cl.L2()])
def test_weights_near_the_end_of_the_floats_do_not_overflow(cost):
    tree = cl.Tree(*ONE, [[1e160, 2e160], [0, 0], [0, 0]], [-3e160, 0, 0], [-1, 0, 1])
    answer = cl.Explainer(tree).explain([0.0, 0.0], target=1, cost=cost)
    assert answer[0].cost == pytest.approx(1.5 if isinstance(cost, cl.L1) else 1.8)
    assert math.isfinite(answer.lower_bound)


def test_whole_numbers_on_an_equality_have_no_gap():
    tree = cl.Tree(*ONE, [[-2, 0, 1], [0] * 3, [0] * 3], [1.5, 0, 0], [-1, 0, 1])
    schema = cl.Schema([cl.Numeric(f"f{j}", 0, u, integer=True) for j, u in enumerate((3, 4, 4))])
    constraints = [cl.linear({"f1": 2, "f2": -3}, "==", 5)]
    answer = cl.Explainer(tree, schema=schema).explain([1, 0, 2], target=1, cost=cl.L2(), constraints=constraints)
    assert answer[0].cost == 17.0
    assert answer.lower_bound == pytest.approx(17.0, rel=1e-9)
