"""The solvers of one region against HiGHS and Clarabel, the binding against arrays that do not fit, and equal bits."""

import hashlib
import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from support.seeds import seeds, share
from support.strategies import random_tree

import counterleaf as cl
from counterleaf import _core

CONVERGED, INFEASIBLE, STUCK = range(3)

NO_CHARGES = np.empty(0)


def random_program(rng, kind):
    """Rows, right-hand sides, equalities and the six lines of curves; sometimes no point satisfies them."""
    m, n = int(rng.integers(1, 6)), int(rng.integers(1, 12))
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    equal = int(rng.integers(0, min(m, n, 2) + 1))
    lower, upper = -rng.exponential(2.0, n), rng.exponential(2.0, n)
    inside = rng.uniform(lower, upper)
    r = A @ inside - np.where(np.arange(m) < equal, 0.0, rng.exponential(0.5, m))
    r += (rng.random() < 0.2) * rng.exponential(3.0, m)
    open_sides = rng.random((2, n)) < 0.2
    lower, upper = np.where(open_sides[0], -np.inf, lower), np.where(open_sides[1], np.inf, upper)
    curved = {"curved": np.ones(n, bool), "flat": np.zeros(n, bool), "mixed": rng.random(n) < 0.5}[kind]
    curve = np.where(curved, rng.exponential(1.0, (2, n)) + 0.05, 0.0)
    slope = rng.exponential(1.0, (2, n))
    return A, r, equal, np.stack([curve[0], slope[0], curve[1], -slope[1], lower, upper])


def cost_of(curves, d):
    up, down = np.maximum(d, 0.0), np.minimum(d, 0.0)
    return float(((curves[0] * up + curves[1]) * up + (curves[2] * down + curves[3]) * down).sum())


def is_feasible(A, r, equal, curves):
    zero = np.zeros(A.shape[1])
    rows = {"A_ub": -A[equal:], "b_ub": -r[equal:]} | ({"A_eq": A[:equal], "b_eq": r[:equal]} if equal else {})
    return linprog(zero, bounds=curves[4:].T, **rows).status == 0


def optimum(A, r, equal, curves, Q=None):
    """The least cost by Clarabel: every feature is the difference of two that are nonnegative."""
    import clarabel
    from scipy import sparse

    n = A.shape[1]
    P = sparse.diags_array(np.concatenate([2.0 * curves[0], 2.0 * curves[2]]), format="csc")
    if Q is not None:
        P = sparse.csc_matrix(np.triu(P.toarray() + 2.0 * np.block([[Q, -Q], [-Q, Q]])))
    q = np.concatenate([curves[1], -curves[3]])
    both = np.hstack([A, -A])
    eye = np.eye(n)
    parts = [both[:equal], -both[equal:], -np.eye(2 * n)]
    right = [r[:equal], -r[equal:], np.zeros(2 * n)]
    for sign, end in ((1.0, curves[5]), (-1.0, -curves[4])):
        bounded = np.isfinite(end)
        parts.append(sign * np.hstack([eye, -eye])[bounded])
        right.append(end[bounded])
    G, h = sparse.csc_matrix(np.vstack(parts)), np.concatenate(right)
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(h) - equal)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return clarabel.DefaultSolver(P, q, G, h, cones, settings).solve().obj_val


@pytest.mark.parametrize(("solver", "kind"), [("newton", "curved"), ("simplex", "flat"), ("proximal", "mixed")])
def test_a_solver_finds_the_optimum_or_proves_that_there_is_none(solver, kind):
    seen = {CONVERGED: 0, INFEASIBLE: 0}
    for seed in seeds(150):
        A, r, equal, curves = random_program(np.random.default_rng(seed), kind)
        status, value, lam, d, ray = getattr(_core.testing, solver)(A, r, equal, curves)
        if status == STUCK:  # newton and the proximal points leave some empty regions to the simplex
            assert solver != "simplex"
            assert not is_feasible(A, r, equal, curves), seed
            continue
        seen[status] += 1
        assert (status == CONVERGED) == is_feasible(A, r, equal, curves), seed
        if status == INFEASIBLE:
            assert _core.testing.farkas_gap(A, r, equal, curves, ray) > 0
            continue
        best = optimum(A, r, equal, curves)
        assert value == pytest.approx(best, rel=1e-6, abs=1e-7), seed
        assert cost_of(curves, d) == pytest.approx(value, rel=1e-9, abs=1e-9), seed
        assert (lam[equal:] >= 0).all()
        assert (curves[4] <= d).all()
        assert (d <= curves[5]).all()
        miss = r - A @ d
        assert (np.abs(miss[:equal]) <= 1e-9).all()
        assert (miss[equal:] <= 1e-9).all()
    assert min(seen.values()) > share(5)


@pytest.mark.parametrize("singular", [False, True])
def test_a_coupled_problem_is_solved_by_pivots_and_by_the_interior_point(singular):
    seen = {CONVERGED: 0, INFEASIBLE: 0}
    for seed in seeds(120):
        rng = np.random.default_rng(seed)
        A, r, equal, curves = random_program(rng, "mixed")
        n = A.shape[1]
        half = rng.normal(size=(n, max(n // 2, 1) if singular else n))
        Q = half @ half.T / n + (0.0 if singular else 0.1) * np.eye(n)
        theta = 0.0 if singular else 1e-6
        status, bound, _, z = _core.testing.coupled(A, r, equal, curves, Q, theta, False)
        assert status in seen or singular, seed
        if status not in seen:
            continue
        seen[status] += 1
        assert (status == CONVERGED) == is_feasible(A, r, equal, curves), seed
        if status == INFEASIBLE:
            continue
        best = optimum(A, r, equal, curves, Q)
        assert bound == pytest.approx(best, rel=1e-6, abs=1e-6), seed
        assert z @ Q @ z + cost_of(curves, z) == pytest.approx(best, rel=1e-6, abs=1e-6), seed
        found, _, _, z = _core.testing.coupled(A, r, equal, curves, Q, theta, True)
        assert found == CONVERGED
        assert z @ Q @ z + cost_of(curves, z) == pytest.approx(best, rel=1e-5, abs=1e-5), seed
    assert seen[CONVERGED] > share(60)
    assert seen[INFEASIBLE] > share(5)


def test_a_vector_that_proves_nothing_has_no_gap():
    A, r, curves = np.array([[1.0, 1.0]]), np.array([3.0]), np.array([[1.0] * 2, [0] * 2, [1] * 2, [0] * 2, [0] * 2, [1] * 2])
    assert _core.testing.farkas_gap(A, r, 0, curves, np.array([1.0])) > 0
    assert _core.testing.farkas_gap(A, r - 2.0, 0, curves, np.array([1.0])) < 0
    curves[5, 0] = np.inf
    assert _core.testing.farkas_gap(A, r, 0, curves, np.array([1.0])) == -np.inf


def engine_parts():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
    engine = cl.Explainer(tree)._targets.search
    ready, target = engine.ready(0.0), engine.target({1: 0.0}, 0.0)
    prices = cl.Explainer(tree)._prices(cl.L2()).core
    return ready.core, [np.zeros(2), 1, prices, target.core, engine._free, _core.Budget(1)]


def test_the_binding_refuses_what_does_not_fit():
    core, arguments = engine_parts()
    assert core.find(*arguments).costs.tolist() == pytest.approx([0.5], rel=1e-14)
    wide = engine_parts_of_width(3)
    for k, wrong in ((0, np.zeros(3)), (0, np.array([0.0, np.nan])), (1, 7), (1, -1), (2, wide[2]), (3, wide[3]), (4, wide[4])):
        with pytest.raises(ValueError, match=r"does not fit|do not fit|out of range|NaN"):
            core.find(*arguments[:k], wrong, *arguments[k + 1 :])


def engine_parts_of_width(width):
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], np.ones((5, width)), np.ones(5), [-1, 0, -1, 1, 0])
    engine = cl.Explainer(tree)._targets.search
    source = np.zeros(width)
    return [source, 1, cl.Explainer(tree)._prices(cl.L2()).core, engine.target({1: 0.0}, 0.0).core, engine._free]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _core.Rows(np.array([0, 2]), np.array([0, 9]), np.ones(2), np.zeros(1), 2), "a column is out of range"),
        (lambda: _core.Rows(np.array([0, 3]), np.array([0, 1]), np.ones(2), np.zeros(1), 2), "the rows do not fit together"),
        (lambda: _core.Rows(np.array([0, 2, 1]), np.array([0]), np.ones(1), np.zeros(2), 2), "the rows do not fit together"),
        (lambda: _core.Target(np.zeros(3), np.array([0, 1, 9]), np.zeros(3, np.int64)), "a leaf is out of range"),
        (
            lambda: _core.Prices(np.zeros((4, 3)), np.zeros(2), [], NO_CHARGES, True, False, False),
            "the prices differ in length",
        ),
        (lambda: _core.Rows(np.array([0, 1]), np.array([2**31]), np.ones(1), np.zeros(1), 2**40), "a column is out of range"),
        (
            lambda: _core.Prices(np.full((4, 2), np.nan), np.zeros(2), [], NO_CHARGES, True, False, False),
            "the prices hold NaN",
        ),
        (lambda: _core.Prices(np.zeros((4, 2)), np.zeros(2), [], -np.ones(2), True, False, False), "a charge is not"),
        (lambda: _core.ChangeLimits(np.ones((1, 2), np.int64), np.array([-1])), "a limit on changes is out of range"),
        (lambda: _core.Grids(np.zeros((2, 1)), np.array([0, 2]), np.array([2.0, 1.0])), "a list of numbers is not in order"),
        (lambda: clauses(np.nan, 1), "a clause holds NaN"),
        (lambda: limits(clauses(0.0, 0)), "the clauses do not fit the bounds"),
        (lambda: _core.Budget(0), "at least one answer"),
        (lambda: fields(size=2**23, count=2**18), "the prices of changes do not fit"),
        (lambda: layout(group=[-1, 3]), "a group is out of range"),
        (lambda: layout(group=[0, -1], first=[0], last=[2]), "the groups do not fit the variables"),
        (lambda: layout(step=[[1.0, 0.0], [0.0, 0.0]]), "a step is not positive"),
        (lambda: router(left=[1, 5, -1]), "not a tree"),
        (lambda: router(left=[1, 0, -1], right=[2, 0, -1]), "not a tree"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def layout(group=(-1, -1), step=((0.0, 0.0), (1.0, 1.0)), first=(), last=()):
    grids = _core.Grids(np.array(step), np.zeros(3, np.int64), np.empty(0))
    whole = (np.array(group), np.arange(2), grids, np.array(first, np.int64), np.array(last, np.int64))
    return _core.Layout(*whole)


def clauses(end, lines):
    return _core.Clauses(np.empty((0, 3), np.int64), np.zeros(1, np.int64), np.full((lines, 1), end), np.ones((lines, 1)))


def limits(clauses):
    rows = _core.Rows(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0), 2)
    one = _core.ChangeLimits(np.ones((1, 2), np.int64), np.array([1]))
    return _core.Limits(np.zeros((1, 2)), np.ones((1, 2)), False, np.empty(0, np.int64), rows, 0, one, clauses)


def fields(size, count):
    grids = _core.Grids(np.zeros((2, count)), np.zeros(count + 1, np.int64), np.empty(0))
    prices = np.zeros((4, count)), np.zeros(count), np.empty(0)
    return _core.Fields(np.zeros(count, np.int64), np.full(count, size), grids, *prices)


def router(left=(1, -1, -1), right=(2, -1, -1)):
    return _core.Router(np.array(left), np.array(right), np.zeros(4, np.int64), *no_terms(), np.zeros(3), True, False)


def no_terms():
    return np.empty(0, np.int64), np.empty(0)


def test_answers_have_the_same_bits_on_every_machine():
    """Sums over features run in eight lanes that are added in the same order for every processor and compiler."""
    digest = hashlib.sha256()
    for seed, cost in itertools.product(range(6), (cl.L2(), cl.L1(), cl.L1() + cl.L2())):
        rng = np.random.default_rng(seed)
        width = int(rng.integers(2, 40))
        tree = random_tree(rng, 6, width, 3, "oblique", np.ones(width))
        out = cl.Explainer(tree).explain_many(rng.normal(size=(20, width)), cost=cost)
        digest.update(out.drop(columns=["status", "label", "source_label", "changed"]).to_numpy(float, na_value=-1.0).tobytes())
    assert digest.hexdigest() == "71cb4f3004428d6ac3e58feab4891c3c5272ebe2a4737b126e87f11548b26518"


def test_a_batch_needs_targets():
    core, (source, leaf, prices, _, bounds, budget) = engine_parts()
    arguments = source[None], np.array([leaf]), np.zeros(1, np.int64)
    for targets in ([], [None]):
        with pytest.raises(ValueError, match="target"):
            core.find_many(arguments, prices, targets, bounds, budget)


def test_a_search_goes_on_only_from_an_answer_to_the_same_question():
    tree = random_tree(np.random.default_rng(3), 5, 4, 2, "oblique", np.ones(4))
    explainer = cl.Explainer(tree)
    engine, source = explainer._targets.search, np.zeros(4)
    leaf, target = tree.leaf_of(source), engine.target({0: 0.0, 1: 0.0}, 0.0).core
    keep, limits, core = _core.Budget(None, keep=True), engine._free, engine.ready(0.0).core
    prices = [explainer._prices(cost).core for cost in (cl.L2(), cl.L1(), cl.L1() + cl.L2())]
    earlier = [core.find(source, leaf, one, target, limits, keep) for one in prices]
    for k, one in enumerate(prices):
        again = core.find(source, leaf, one, target, limits, keep, earlier[k])
        assert again.costs.tolist() == pytest.approx(earlier[k].costs.tolist(), rel=1e-9)
        with pytest.raises(ValueError, match="the earlier answer is one to another question"):
            core.find(source, leaf, one, target, limits, keep, earlier[k - 1])
