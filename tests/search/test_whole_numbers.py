"""Whole numbers under equalities: answers agree with enumeration, and divisibility is decided quickly."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from support.seeds import seeds
from support.waiting import patient

import counterleaf as cl

GENEROUS = 20.0  # seconds, for what takes milliseconds


def split(weights, bias):
    n = len(weights)
    return cl.Tree([1, -1, -1], [2, -1, -1], [weights, [0] * n, [0] * n], [bias, 0, 0], [-1, 0, 1])


def ask(features, weights, bias, source, cost, rules, **more):
    explainer = cl.Explainer(split(weights, bias), schema=cl.Schema(features))
    started = time.perf_counter()
    found = explainer.explain(source, target=1, cost=cost, constraints=rules, time_limit=patient(GENEROUS), **more)
    assert time.perf_counter() - started < patient(GENEROUS)
    return found


def whole(count, lower, upper, step=None):
    more = {"integer": True} if step is None else {"step": step}
    return [cl.Numeric(f"f{j}", lower, upper, **more) for j in range(count)]


def named(row):
    return {f"f{j}": float(a) for j, a in enumerate(row) if a}


def agrees(found, best):
    """Whether an answer costs ``best``, or is infeasible if ``best`` is infinite."""
    if math.isinf(best):
        return found.status == "infeasible" and len(found) == 0
    close = abs(found[0].cost - best) <= 1e-9 * (1 + abs(best))
    return found.status == "optimal" and close and found.lower_bound >= best - 1e-8 * (1 + abs(best))


def cheapest(values, source, weights, bias, equalities, power):
    """The least cost among all rows of a small table, in exact arithmetic."""
    best = math.inf
    for row in itertools.product(*values):
        if sum(Fraction(w) * x for w, x in zip(weights, row, strict=True)) + Fraction(bias) < 0:
            continue
        if any(sum(a * x for a, x in zip(left, row, strict=True)) != right for left, right in equalities):
            continue
        best = min(best, float(sum(abs(x - s) ** power for x, s in zip(row, source, strict=True))))
    return best


@pytest.mark.parametrize("seed", seeds(150))
def test_integers_under_equalities_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, rows, power = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    upper = rng.integers(2, 7, n)
    weights, bias = rng.integers(-3, 4, n).astype(float), float(rng.integers(-4, 4)) + 0.5
    weights[0] = weights[0] or 1.0
    source = [int(rng.integers(0, u + 1)) for u in upper]
    equalities = []
    for _ in range(rows):
        left = rng.integers(-3, 4, n) * int(rng.choice([1, 1, 2, 3]))
        left[int(rng.integers(n))] += 2
        if not left.any():
            left[0] = 2
        at = [int(rng.integers(0, u + 1)) for u in upper]
        equalities.append((left.tolist(), int(left @ at + rng.choice([0, 0, 1]))))
    features = [cl.Numeric(f"f{j}", 0, int(u), integer=True) for j, u in enumerate(upper)]
    rules = [cl.linear(named(left), "==", right) for left, right in equalities]
    found = ask(features, weights, bias, source, cl.L1() if power == 1 else cl.L2(), rules)
    best = cheapest([range(int(u) + 1) for u in upper], source, weights, bias, equalities, power)
    assert agrees(found, best), (found.status, best)


@pytest.mark.parametrize("seed", seeds(60))
def test_decimal_coefficients_grids_and_sources_off_the_grid(seed):
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(2, 4))
    grid = Fraction(str(rng.choice(["0.1", "0.5", "0.25", "1"])))
    steps = rng.integers(3, 8, n)
    source = [Fraction(int(rng.integers(0, s + 1))) * grid for s in steps]
    if seed % 3 == 0:
        source[0] += grid / 2  # a number between two points of the grid
    tenths = rng.integers(1, 6, n) * rng.choice([-1, 1], n)
    at = sum(Fraction(int(t), 10) * int(rng.integers(0, s + 1)) * grid for t, s in zip(tenths, steps, strict=True))
    right = at + rng.choice([0, 1, 2]) * grid / 20
    values = [{k * grid for k in range(int(s) + 1)} | {source_value} for s, source_value in zip(steps, source, strict=True)]
    features = [cl.Numeric(f"f{j}", 0, float(s * grid + grid), step=float(grid)) for j, s in enumerate(steps)]
    values = [value | {(int(s) + 1) * grid} for value, s in zip(values, steps, strict=True)]
    rules = [cl.linear({f"f{j}": float(Fraction(int(t), 10)) for j, t in enumerate(tenths)}, "==", float(right))]
    found = ask(features, [1.0] * n, float(-2 * grid - grid / 3), [float(s) for s in source], cl.L1(), rules)
    equalities = [([Fraction(int(t), 10) for t in tenths], right)]
    best = cheapest(values, source, [1.0] * n, float(-2 * grid - grid / 3), equalities, 1)
    assert agrees(found, best), (found.status, best)


@pytest.mark.parametrize("upper", [4, 1000, 10**7, math.inf])
@pytest.mark.parametrize("cost", [cl.L1(), cl.L2(), cl.L1() + cl.L2()])
def test_parity_is_decided_for_every_range(upper, cost):
    odd = 2e7 + 1 if upper > 1e6 else 5 if upper == 4 else 1001
    found = ask(whole(2, 0, upper), [1.0, 1.0], -1.5, [0, 0], cost, [cl.linear({"f0": 2, "f1": 2}, "==", odd)])
    assert found.status == "infeasible"
    found = ask(whole(2, 0, upper), [1.0, 1.0], -1.5, [0, 0], cost, [cl.linear({"f0": 2, "f1": 2}, "==", odd - 1)])
    assert found.status == "optimal"


def test_parity_next_to_other_rows():
    rules = [cl.linear({"f0": 2, "f1": 2}, "==", 2e7 + 1), cl.linear({"f2": 1, "f3": 3}, "==", 4)]
    assert ask(whole(6, 0, 1e8), [1.0] * 6, -1.5, [0] * 6, cl.L1(), rules).status == "infeasible"


def test_only_together_are_they_impossible():
    # x + y + z = 10 and x - y + z = 7: their sum says that 2 x + 2 z = 17
    rules = [cl.linear({"f0": 1, "f1": 1, "f2": 1}, "==", 10), cl.linear({"f0": 1, "f1": -1, "f2": 1}, "==", 7)]
    for one in rules:
        assert ask(whole(3, 0, math.inf), [1.0] * 3, -1.5, [0] * 3, cl.L2(), [one]).status == "optimal"
    assert ask(whole(3, 0, math.inf), [1.0] * 3, -1.5, [0] * 3, cl.L2(), rules).status == "infeasible"


def test_a_number_without_a_grid_is_eliminated_first():
    features = [*whole(2, 0, math.inf), cl.Numeric("c", 0, 100)]
    first = cl.linear({"f0": 2, "f1": 2, "c": 1}, "==", 7)
    second = cl.linear({"f0": 2, "f1": 4, "c": 1}, "==", 8)  # less the first: 2 f1 = 1
    assert ask(features, [1.0, 1.0, 0.0], -1.5, [0, 0, 0], cl.L1(), [first]).status == "optimal"
    assert ask(features, [1.0, 1.0, 0.0], -1.5, [0, 0, 0], cl.L1(), [first, second]).status == "infeasible"


def test_decimals_are_fractions():
    rule = cl.linear({"f0": 0.1, "f1": 0.2}, "==", 0.15)
    assert ask(whole(2, 0, math.inf), [1.0, 1.0], -0.5, [0, 0], cl.L1(), [rule]).status == "infeasible"
    rule = cl.linear({"f0": 0.1, "f1": 0.2}, "==", 0.3)
    assert ask(whole(2, 0, math.inf), [1.0, 1.0], -0.5, [0, 0], cl.L1(), [rule])[0].cost == 2.0


def test_a_source_off_the_grid_may_stay():
    rule = cl.linear({"f0": 2, "f1": 2}, "==", 1_000_001)
    found = ask(whole(2, 0, math.inf, step=1.0), [1.0, 1.0], -1.5, [0.5, 0], cl.L1(), [rule])
    assert found.status == "optimal"
    assert list(found[0].row) == [0.5, 500_000]
    rule = cl.linear({"f0": 2, "f1": 2}, "==", 1_000_000)
    found = ask(whole(2, 0, math.inf, step=1.0), [1.0, 1.0], -1.5, [0.25, 0], cl.L1(), [rule])
    assert found.status == "optimal"
    assert found[0].cost == 500_000 - 0.25
    rule = cl.linear({"f0": 4, "f1": 4}, "==", 1_000_002)
    assert ask(whole(2, 0, math.inf, step=1.0), [1.0, 1.0], -1.5, [0.25, 0], cl.L1(), [rule]).status == "infeasible"


def test_categories_are_whole_too():
    features = [cl.Categorical("c", ["a", "b", "d"]), cl.Numeric("n", 0, math.inf, integer=True)]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[0, 0, 0, 1.0], [0] * 4, [0] * 4], [-1.5, 0, 0], [-1, 0, 1])
    explainer = cl.Explainer(tree, schema=cl.Schema(features))
    rule = cl.linear({"c=a": 2, "c=b": 4, "n": 2}, "==", 1_000_001)
    found = explainer.explain({"c": "a", "n": 0}, target=1, cost=cl.L1(), constraints=[rule], time_limit=GENEROUS)
    assert found.status == "infeasible"


@pytest.mark.parametrize("upper", [100, 10**4, 10**6])
def test_where_numbers_do_exist_the_range_does_not_matter(upper):
    for left, right in (([7, 11], 5 * upper + 3), ([12, 18], 6 * upper), ([3, 5, 7], 4 * upper + 1)):
        n = len(left)
        found = ask(whole(n, 0, upper), [1.0] * n, -1.5, [0] * n, cl.L1(), [cl.linear(named(left), "==", right)])
        want = milp(
            np.ones(n), constraints=LinearConstraint([left], right, right), integrality=np.ones(n), bounds=Bounds(0, upper)
        )
        assert found.status == "optimal"
        assert found[0].cost == pytest.approx(want.fun, abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "bias", "upper", "source", "equality", "right"),
    [
        ([-2, 0, 1], 1.5, (3, 4, 4), [1, 0, 2], {"f1": 2, "f2": -3}, 5),
        ([-2, 2, 0], -2.5, (5, 3, 4), [0, 2, 0], {"f0": -2, "f2": -1}, -6),
        ([0, -1, 3], 0.5, (3, 6, 3), [1, 5, 0], {"f0": -1, "f1": -3, "f2": 2}, -15),
        ([0, -3, -1], 2.5, (3, 2, 5), [3, 1, 1], {"f0": 2, "f2": -3}, -3),
    ],
)
def test_a_bound_reaches_the_cost(weights, bias, upper, source, equality, right):
    features = [cl.Numeric(f"f{j}", 0, u, integer=True) for j, u in enumerate(upper)]
    found = ask(features, weights, bias, source, cl.L2(), [cl.linear(equality, "==", right)])
    assert found.status == "optimal"
    assert found.lower_bound >= found[0].cost * (1 - 1e-9)
