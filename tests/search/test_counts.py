"""max_changes: every answer is compared with all subsets of features, and large questions end without trying them all."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from support.seeds import seeds
from support.waiting import patient

import counterleaf as cl

GENEROUS = 20.0  # seconds, for what takes milliseconds


def ask(weights, bias, features, source, cost, rules):
    n = len(weights)
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [weights, np.zeros(n), np.zeros(n)], [bias, 0, 0], [-1, 0, 1])
    explainer = cl.Explainer(tree, schema=cl.Schema(features))
    started = time.perf_counter()
    found = explainer.explain(source, target=1, cost=cost, constraints=rules, time_limit=patient(GENEROUS))
    assert time.perf_counter() - started < patient(GENEROUS)
    return found


def unit(count):
    return [cl.Numeric(f"x{d}", 0, 1) for d in range(count)]


def by_name(numbers):
    return {f"x{d}": float(number) for d, number in enumerate(numbers)}


def agrees(found, best):
    if math.isinf(best):
        return found.status == "infeasible" and len(found) == 0
    close = abs(found[0].cost - best) <= 1e-7 * (1 + abs(best))
    return found.status == "optimal" and close and found.lower_bound >= best - 1e-7 * (1 + abs(best))


def least_l1(A, r, prices, count):
    """min prices @ x over A x >= r, 0 <= x <= 1, with at most ``count`` of x above 0, by HiGHS."""
    m, n = A.shape
    rows = [
        LinearConstraint(np.c_[A, np.zeros((m, n))], r, np.inf),
        LinearConstraint(np.r_[np.zeros(n), np.ones(n)][None], 0, count),
        LinearConstraint(np.c_[np.eye(n), -np.eye(n)], -np.inf, 0),
    ]
    whole = np.r_[np.zeros(n), np.ones(n)]
    found = milp(
        np.r_[prices, np.zeros(n)], constraints=rows, integrality=whole, bounds=Bounds(0, 1), options={"mip_rel_gap": 0}
    )
    return found.fun if found.status == 0 else math.inf


def least_l2(weights, need, prices, count):
    """min prices @ x^2 over weights @ x >= need, 0 <= x <= 1, over all subsets: x = clip(mu w / 2 p) by bisection in mu."""
    subsets = np.array(list(itertools.combinations(range(len(weights)), count)))
    w, p = np.maximum(weights, 0)[subsets], prices[subsets]
    low, high = np.zeros(len(subsets)), np.full(len(subsets), 1e7)
    for _ in range(120):
        middle = (low + high) / 2
        enough = (np.clip(middle[:, None] * w / (2 * p), 0, 1) * w).sum(1) >= need
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    x = np.clip(high[:, None] * w / (2 * p), 0, 1)
    return float(np.where(w.sum(1) >= need, (p * x * x).sum(1), math.inf).min())


@pytest.mark.parametrize(("n", "count"), [(5, 2), (12, 4), (20, 4), (20, 6), (30, 4), (60, 3), (60, 20)])
@pytest.mark.parametrize("cost", [cl.L1(), cl.L2(), cl.L1() + cl.L2()])
def test_a_sum_that_too_few_features_cannot_reach(n, count, cost):
    rules = [cl.max_changes(count)]
    assert ask(np.ones(n), -(count + 0.5), unit(n), np.zeros(n), cost, rules).status == "infeasible"
    assert ask(np.ones(n), -(count - 0.5), unit(n), np.zeros(n), cost, rules).status == "optimal"


@pytest.mark.parametrize("seed", seeds(60))
def test_one_row_with_any_weights(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([8, 12, 20, 30, 60]))
    count = int(rng.integers(1, 7 if n < 20 else 4))
    weights = rng.uniform(0.1, 2, n) * rng.choice([1, -1], n, p=[0.8, 0.2]) if seed % 3 else np.ones(n)
    prices = rng.uniform(0.5, 3, n) if seed % 2 else np.ones(n)
    need = np.sort(np.maximum(weights, 0))[-count:].sum() * rng.uniform(0.3, 1.03)
    rules = [cl.max_changes(count)]
    found = ask(weights, -need, unit(n), np.zeros(n), cl.L1(weights=by_name(prices)), rules)
    assert agrees(found, least_l1(weights[None], [need], prices, count))
    found = ask(weights, -need, unit(n), np.zeros(n), cl.L2(weights=by_name(prices)), rules)
    assert agrees(found, least_l2(weights, need, prices, count))


@pytest.mark.parametrize("seed", seeds(40))
def test_several_rows(seed):
    rng = np.random.default_rng(100 + seed)
    n, count = int(rng.choice([8, 12, 20, 40])), int(rng.integers(2, 6))
    m = count + int(rng.integers(0, 4))
    A = rng.uniform(0.1, 2, (m, n)) * rng.choice([1, -1], (m, n), p=[0.7, 0.3])
    prices = rng.uniform(0.5, 3, n) if seed % 2 else np.ones(n)
    x = np.zeros(n)
    x[rng.choice(n, count, replace=False)] = rng.uniform(0.3, 1, count)
    r = A @ x + np.abs(A @ x) * rng.uniform(-0.3, 0.1 if seed % 4 == 0 else 0.0, m)
    rules = [cl.linear(by_name(A[t]), ">=", r[t]) for t in range(1, m)]
    found = ask(A[0], -r[0], unit(n), np.zeros(n), cl.L1(weights=by_name(prices)), [cl.max_changes(count), *rules])
    assert agrees(found, least_l1(A, r, prices, count))


@pytest.mark.parametrize("seed", seeds(40))
def test_whole_numbers_and_a_source_that_must_move(seed):
    """Compared with every row of a small table; some features start outside their bounds, so they have to change."""
    rng = np.random.default_rng(200 + seed)
    n, count = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    upper = rng.integers(1, 4, n)
    source = np.array([int(rng.integers(0, u + 1)) for u in upper])
    if seed % 2:
        source[0] = upper[0] + 1
    weights = rng.integers(-3, 4, n).astype(float)
    weights[-1] = weights[-1] or 2.0
    bias = float(rng.integers(-6, 2)) + 0.5
    features = [cl.Numeric(f"x{d}", 0, int(u) + 1, integer=True) for d, u in enumerate(upper)]
    left = rng.integers(-2, 3, n)
    left[0] = left[0] or 1
    right = int(left @ np.array([int(rng.integers(0, u + 1)) for u in upper]))
    rules = [cl.max_changes(count), *(cl.between(f"x{d}", 0, int(u)) for d, u in enumerate(upper))]
    rules.append(cl.linear({f"x{d}": int(a) for d, a in enumerate(left) if a}, "==", right))
    for power, cost in ((1, cl.L1()), (2, cl.L2())):
        found = ask(weights, bias, features, source.tolist(), cost, rules)
        rows = np.array(list(itertools.product(*(range(int(u) + 1) for u in upper))))
        fits = (rows @ weights + bias >= 0) & (rows @ left == right) & ((rows != source).sum(1) <= count)
        costs = (np.abs(rows - source) ** power).sum(1)
        assert agrees(found, float(costs[fits].min()) if fits.any() else math.inf)


@pytest.mark.parametrize("seed", seeds(20))
def test_changes_that_earn(seed):
    """If changes earn, the search takes the best few even without a constraint."""
    rng = np.random.default_rng(300 + seed)
    n, count = 30, int(rng.integers(1, 8))
    gains = rng.uniform(-2, 1, n)
    weights = np.zeros(n)
    weights[0] = 1.0
    found = ask(weights, -0.5, unit(n), np.zeros(n), cl.LinearCost(by_name(gains)), [cl.max_changes(count)])
    first = linprog([gains[0]], bounds=[(0.5, 1)]).fun
    best = first + np.minimum(np.sort(gains[1:])[: count - 1], 0).sum()
    assert agrees(found, best)
