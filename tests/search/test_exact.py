"""Every leaf's optimum against independent solvers, on random questions of every kind."""

import numpy as np
import pytest
from support import referee
from support.seeds import seeds
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl
from counterleaf.proof.certificate import Kind


def blocks(count):
    """Blocks of seeds, of which all but the first two are slow tests."""
    return [pytest.param(block, marks=[pytest.mark.slow] * (k > 1)) for k, block in enumerate(seeds(count))]


def check(seed, make=random_case, **shape):
    case = make(np.random.default_rng(seed), **shape)
    optima, thin = referee.leaf_optima(case)
    answer = cl.Explainer(case.tree, schema=case.schema).explain(
        case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=None, margin=case.margin
    )
    found = {c.leaf: c for c in answer}
    for leaf, best in optima.items():
        if leaf in thin:
            continue  # a region without an interior: the closed problem and the model may differ, and both be right
        assert np.isfinite(best) == (leaf in found), (seed, leaf, best)
        if leaf in found:
            c = found[leaf]
            # the referees stop at 1e-11 of terms that are of the size of 1 in their scaled problem
            assert c.lower_bound == pytest.approx(best, rel=1e-7, abs=1e-6), (seed, leaf)
            assert c.lower_bound <= c.cost <= best + 1e-7 * abs(best) + 1e-6, (seed, leaf)
            assert c.confirmed
            obeys(case, c.row)
    assert answer.status == ("optimal" if found else "infeasible")
    costs = [c.cost for c in answer]
    assert costs == sorted(costs)
    assert answer.certificate.check(), seed
    best = cl.Explainer(case.tree, schema=case.schema).explain(
        case.row, target=case.target, cost=case.cost, constraints=case.constraints, margin=case.margin
    )
    assert len(best) == min(1, len(answer))
    if found and case.Q is not None:  # if changes cost nothing, leaves tie up to rounding
        size = best.certificate.problem.size_of(
            best[0].row, best[0].leaf, terms=True
        )  # of the terms that cancel if Q is singular
        assert best[0].cost == pytest.approx(answer[0].cost, rel=1e-9, abs=1e-12 * size)
    elif len(answer) > 1 and answer[1].cost - answer[0].cost <= 1e-13 * abs(
        answer[0].cost
    ):  # equal up to rounding: either leaf
        assert best[0].cost == pytest.approx(answer[0].cost, rel=1e-13)
    elif found:
        assert best[0].leaf == answer[0].leaf
        assert best[0].row.tobytes() == answer[0].row.tobytes()
        # a leaf that was solved in rational numbers has a bound that is better by rounding
        assert best.lower_bound == pytest.approx(answer.lower_bound, rel=1e-13)
    assert best.certificate.check()


def obeys(case, x):
    """Bounds and freezes bit for bit, rows to 1e-9 of their terms."""
    lower, upper, rows = referee.user_limits(case)
    assert (lower <= x).all()
    assert (x <= upper).all()
    for coef, relation, rhs in rows:
        off, size = coef @ x - rhs, np.abs(coef * x).sum() + abs(rhs)
        size += 1e-6 * np.abs(coef * case.row).sum()  # x is source + change, and no float64 lies closer
        assert {">=": -off, "<=": off, "==": abs(off)}[relation] <= 1e-9 * size


@pytest.mark.parametrize("block", blocks(12))
def test_small_questions(block):
    for seed in range(50 * block, 50 * block + 50):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(25))
def test_wide_and_deep_questions(seed):
    check(seed, features=60, depth=8)


@pytest.mark.parametrize("block", blocks(4))
def test_whole_numbers(block):
    for seed in range(100 * block, 100 * block + 100):
        check(seed, make=whole_case)


@pytest.mark.parametrize("block", blocks(8))
def test_coupled_costs(block):
    for seed in range(50 * block, 50 * block + 50):
        check(seed, make=coupled_case)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(12))
def test_wide_and_deep_coupled_costs(seed):
    check(seed, make=coupled_case, features=60, depth=8)


def leaves_below(tree, node):
    return (
        [node] if tree.left[node] < 0 else [leaf for c in (tree.left[node], tree.right[node]) for leaf in leaves_below(tree, c)]
    )


@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
@pytest.mark.parametrize("block", seeds(3))
def test_no_bound_of_the_search_lies_above_a_leaf_below(make, block):
    """For all nodes, not only for the answers: a bound that is too high anywhere could hide a cheaper leaf."""
    for seed in range(1000 + 40 * block, 1040 + 40 * block):
        case = make(np.random.default_rng(seed))
        optima, thin = referee.leaf_optima(case)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost, constraints=case.constraints, margin=case.margin
        )
        states = answer.certificate.findings.answer.trace()
        for node, kind, bound in zip(states["node"].tolist(), states["kind"], states["bound"], strict=True):
            sure = [optima[leaf] for leaf in leaves_below(case.tree, node) if leaf in optima and leaf not in thin]
            least = min(sure, default=np.inf)
            claimed = np.inf if kind == Kind.DISCARDED else bound
            assert claimed <= least + 1e-6 * abs(least) + 1e-6, (seed, node)


def test_a_row_alone_is_not_charged_for_what_a_split_has_moved():
    """Past x >= 5, with x at most 5, the row x + y >= 4 holds already: it costs nothing more, however expensive y is."""
    weights = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], *[[0.0, 0.0]] * 4]
    tree = cl.Tree(
        [1, 3, 5, *[-1] * 4], [2, 4, 6, *[-1] * 4], weights, [-5.0, -0.5, -4.0, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 0, 1]
    )
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", 0, 5), cl.Numeric("y")]))
    answer = explainer.explain([0.0, 0.0], target=1, cost=cl.L1([1.0, 100.0]))
    assert (answer[0].cost, answer[0].leaf) == (5.0, 6)
    assert answer.certificate.check()


@pytest.mark.slow
def test_a_leaf_that_only_a_feature_without_cost_can_reach():
    """The cheapest changes leave f5 where it is, and then miss a leaf that needs another value of it."""
    case = random_case(np.random.default_rng(41))
    free, leaf = case.schema.names.index("f5"), 46
    optima, _ = referee.leaf_optima(case)
    answer = cl.Explainer(case.tree, schema=case.schema).explain(
        case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=None, margin=case.margin
    )
    (found,) = (c for c in answer if c.leaf == leaf)
    assert answer.status == "optimal"
    assert not case.curve[:, free].any()
    assert not case.slope[:, free].any()
    assert found.row[free] != case.row[free]
    assert found.cost == pytest.approx(optima[leaf], rel=1e-9)
    assert answer.certificate.check()
