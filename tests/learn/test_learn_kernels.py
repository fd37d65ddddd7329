"""The parts of the learner against slow, independent implementations: logistic regression, best cut, sweeps, pruning."""

import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from support.seeds import seeds

from counterleaf import _core
from counterleaf.learn.search.shape import Shape, prune
from counterleaf.learn.search.task import compress

kernels = _core.learn
FITS = (kernels.Logistic.fit_narrow, kernels.Logistic.fit_wide)


def logistic(X, t, s, chosen=None):
    rows = compress(X, np.ones(len(X)), shift=False)
    chosen = np.arange(len(X)) if chosen is None else chosen
    return kernels.Logistic(rows.core, chosen, t[chosen], s[chosen])


def objective(X, t, s, w, b, lam):
    return float(s @ np.logaddexp(0, -t * (X @ w + b)) + lam * np.abs(w).sum())


def referee(X, t, s, lam):
    """The optimum by L-BFGS-B with bounds: w = p - q with p, q >= 0 makes the objective smooth."""
    D = X.shape[1]

    def value(v):
        w = v[:D] - v[D : 2 * D]
        z = X @ w + v[-1]
        g = -s * t / (1 + np.exp(np.clip(t * z, -500, 500)))
        return s @ np.logaddexp(0, -t * z) + lam * v[: 2 * D].sum(), np.concatenate([X.T @ g + lam, lam - X.T @ g, [g.sum()]])

    bounds = [(0, None)] * (2 * D) + [(None, None)]
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    return minimize(value, np.zeros(2 * D + 1), jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun


@functools.cache
def random_regression(seed):
    """A random problem, a start and the optimum, which is slow to compute and shared by both solvers."""
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(20, 200)), int(rng.integers(1, 40))
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < rng.uniform(0.2, 1.0))
    t = np.where(X @ rng.normal(size=D) + rng.normal(size=n) > 0.3, 1.0, -1.0)
    s = rng.integers(1, 4, n).astype(float)
    lam = float(rng.choice([0.1, 1.0, 5.0]))
    start = rng.normal(size=D) if seed % 2 else np.zeros(D)  # a warm start may be anywhere
    return X, t, s, lam, start, referee(X, t, s, lam)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("seed", seeds(12))
def test_sparse_logistic_regression_reaches_the_optimum(fit, seed):
    X, t, s, lam, start, least = random_regression(seed)
    w, b = fit(logistic(X, t, s), start, 0.5, lam, steps=500, passes=500, tolerance=1e-9)
    assert objective(X, t, s, w, b, lam) <= least + 1e-5 * max(1.0, least)


def test_full_rows_and_sparse_ones_give_the_same_bits():
    rng = np.random.default_rng(0)
    X = np.zeros((70, 12))
    X[:, :5] = rng.normal(size=(70, 5))  # less than half of the entries; without the columns of zeros all of them
    t, s = np.sign(X[:, 0] + 0.3 * rng.normal(size=70)), rng.random(70)
    w, b = logistic(X, t, s).fit_narrow(np.zeros(12), 0.0, 0.1, 1, 3, 0.0)
    v, c = logistic(X[:, :5].copy(), t, s).fit_narrow(np.zeros(5), 0.0, 0.1, 1, 3, 0.0)
    assert w.tolist() == [*v.tolist(), *[0.0] * 7]
    assert b == c


def test_a_subset_of_the_rows_is_fitted_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    t, s = np.sign(X[:, 0] + 0.3 * rng.normal(size=60)), np.ones(60)
    chosen = np.sort(rng.choice(60, 30, replace=False))
    for fit in FITS:
        w, b = fit(logistic(X, t, s, chosen), np.zeros(5), 0.0, 1.0, 50, 50, 1e-8)
        v, c = fit(logistic(X[chosen], t[chosen], s[chosen]), np.zeros(5), 0.0, 1.0, 50, 50, 1e-8)
        np.testing.assert_allclose([*w, b], [*v, c])


@pytest.mark.parametrize("seed", seeds(30))
def test_the_best_cut_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(2, 30) if seed % 3 else rng.integers(80, 400)), int(rng.integers(1, 4))
    X = rng.integers(0, 5 if seed % 2 else 1000, (n, D)) * rng.choice([1.0, 0.1, 1e-300])
    side = rng.choice([-1.0, 1.0], n)
    weight = rng.integers(1, 4, n).astype(float)
    cut = kernels.best_cut(kernels.Columns(X), np.arange(n), side, weight, 0.0)

    def misses(up):
        return weight[up != (side > 0)].sum()

    every = [misses(np.full(n, side)) for side in (True, False)]
    for j, x in itertools.product(range(D), range(n)):
        every += [misses(X[:, j] >= X[x, j]), misses(X[:, j] < X[x, j])]
    assert cut.missed == min(every)
    up = np.full(n, cut.sign > 0) if cut.feature is None else cut.sign * X[:, cut.feature] - cut.sign * cut.threshold >= 0
    assert misses(up) == cut.missed


def test_a_cut_between_neighbouring_numbers_keeps_them_apart():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    for side in (np.array([-1.0, 1.0]), np.array([1.0, -1.0])):
        cut = kernels.best_cut(kernels.Columns(X), np.arange(2), side, np.ones(2), 0.0)
        assert (cut.feature, cut.missed) == (0, 0.0)
        assert ((cut.sign * X[:, 0] - cut.sign * cut.threshold >= 0) == (side > 0)).all()


def test_tables_may_lie_in_memory_in_any_order():
    rng = np.random.default_rng(0)
    X, side = rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], 50)
    cuts = []
    for table in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
        table.flags.writeable = False
        cut = kernels.best_cut(kernels.Columns(table), np.arange(50), side, np.ones(50), 0.0)
        cuts.append((cut.feature, cut.threshold, cut.sign, cut.missed))
    assert len(set(cuts)) == 1


LEFT, RIGHT = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])


def small_sweep(columns=False, n=40):
    """Rows, labels and a tree of three leaves, with splits of one column each."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    W, b = np.zeros((5, 3)), np.zeros(5)
    W[0, 1], W[1, 2], b[:2] = 1.0, -2.0, (0.1, 0.3)
    ranked = kernels.Columns(X) if columns else None
    sweep = kernels.Sweep(compress(X, np.ones(n), shift=False).core, kernels.Tree(LEFT, RIGHT, W, b), y, np.ones(n), ranked)
    return sweep, X, y, W, b


def follow(node, x, W, b):
    while LEFT[node] >= 0:
        node = RIGHT[node] if x @ W[node] + b[node] >= 0 else LEFT[node]
    return node


@pytest.mark.parametrize("columns", [False, True])
def test_a_split_matters_to_rows_with_one_correct_branch(columns):
    sweep, X, y, W, b = small_sweep(columns)
    for first, last in ((0, 13), (13, 40)):
        sweep.route(first, last)
    assert sweep.leaves().tolist() == [follow(0, x, W, b) for x in X]
    label, shared = np.array([0, 0, 1, 0, 2]), np.array([-1, -1, 1, 0, 2])
    sweep.label(label, shared)
    for depth, node in ((1, 1), (0, 0)):
        sweep.enter(depth)
        sweep.judge(0, 40)
        here = [follow(0, x, W, b) in (3, 4) for x in X] if depth else [True] * 40
        sides = [[label[follow(child, x, W, b)] == k for child in (LEFT[node], RIGHT[node])] for x, k in zip(X, y, strict=True)]
        wanted = [there and left != right for there, (left, right) in zip(here, sides, strict=True)]
        counts = sweep.gather()
        assert counts[node] == counts.sum() == sum(wanted) > 0

        def misses(wanted=wanted, sides=sides, node=node):
            up = X @ W[node] + b[node] >= 0
            return sum(want and right != goes for want, (_, right), goes in zip(wanted, sides, up, strict=True))

        before, missed = W.copy(), misses()
        sweep.improve(np.array([node]), 0.0, True, True)
        assert (W[node] != before[node]).any()
        assert misses() < missed
        assert (np.delete(W, node, axis=0) == np.delete(before, node, axis=0)).all()
        assert not columns or np.count_nonzero(W[node]) == 1
        sweep.refresh(0, 40)


def test_every_index_is_checked():
    X = np.array([[1.0, 2.0], [0.0, 3.0]])
    whole, one, sides = np.arange(2), np.ones(2), np.array([1.0, -1.0])
    indptr, indices, values = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1.0, 2.0, 3.0])
    rows, columns = kernels.Rows(indptr, indices, values, 2), kernels.Columns(X)
    tree = kernels.Tree(np.array([1, -1, -1]), np.array([2, -1, -1]), np.eye(3)[:, :2].copy(), np.zeros(3))
    sweep = kernels.Sweep(rows, tree, whole, one)
    problem = kernels.Logistic(rows, whole, sides, one)
    leaf, W, b = np.array([-1]), np.zeros((3, 2)), np.zeros(3)
    wrong = [
        ("too few or too many rows", lambda: kernels.Rows(indptr[:0], indices, values, 2)),
        ("too few or too many rows", lambda: kernels.Rows(indptr, indices, values, 0)),
        ("do not fit together", lambda: kernels.Rows(np.array([0, 3, 2]), indices, values, 2)),
        ("do not fit together", lambda: kernels.Rows(np.array([0, 2, 4]), indices, values, 2)),
        ("out of order or range", lambda: kernels.Rows(indptr, indices, values, 1)),
        ("out of order or range", lambda: kernels.Rows(indptr, indices[::-1].copy(), values, 2)),
        ("row is out of range", lambda: rows.project(np.array([2]), one)),
        ("weights do not fit", lambda: rows.project(whole, np.ones(3))),
        ("row is out of range", lambda: rows.sum_groups(np.array([-1, 0]), whole, one, 2)),
        ("group is out of range", lambda: rows.sum_groups(whole, whole, one, 1)),
        ("too many groups", lambda: rows.sum_groups(whole, whole, one, 2**31)),
        ("differ in length", lambda: rows.sum_groups(whole, whole, np.ones(1), 2)),
        ("differ in length", lambda: kernels.Tree(leaf, leaf, W, b)),
        ("child is out of range", lambda: kernels.Tree(np.array([1, -1, -1]), np.array([3, -1, -1]), W, b)),
        ("child is out of range", lambda: kernels.Tree(np.array([0, -1, -1]), np.array([2, -1, -1]), W, b)),
        ("child is out of range", lambda: kernels.Tree(np.array([1, -1, -1]), np.array([-1, -1, -1]), W, b)),
        ("two parents", lambda: kernels.Tree(np.array([1, -1, -1]), np.array([1, -1, -1]), W, b)),
        ("no parent", lambda: kernels.Tree(np.array([-1, -1, -1]), np.array([-1, -1, -1]), W, b)),
        ("rows do not fit the tree", lambda: kernels.Tree(leaf, leaf, np.zeros((1, 3)), np.zeros(1)).leaves(rows)),
        ("row is out of range", lambda: kernels.Logistic(rows, np.array([0, 2]), sides, one)),
        ("differ in length", lambda: kernels.Logistic(rows, whole, sides[:1], one)),
        ("neither 1 nor -1", lambda: kernels.Logistic(rows, whole, np.array([0.0, 1.0]), one)),
        ("weights do not fit", lambda: problem.fit_wide(np.zeros(3), 0.0, 1.0, 1, 1, 0.0)),
        ("too few columns", lambda: kernels.Columns(np.zeros((2, 0)))),
        ("has a NaN", lambda: kernels.Columns(np.array([[np.nan]]))),
        ("row is out of range", lambda: kernels.best_cut(columns, np.array([0, 2]), sides, one, 0.0)),
        ("do not fit together", lambda: kernels.Sweep(rows, tree, whole[:1], one)),
        ("label is out of range", lambda: kernels.Sweep(rows, tree, np.array([0, -1]), one)),
        ("columns do not fit", lambda: kernels.Sweep(rows, tree, whole, one, kernels.Columns(X[:1]))),
        ("columns do not fit", lambda: kernels.Sweep(
            rows, kernels.Tree(np.array([1, -1, -1]), np.array([2, -1, -1]), np.ones((3, 2)), b), whole, one, columns)),
        ("stretch of rows is out of range", lambda: sweep.route(0, 3)),
        ("stretch of rows is out of range", lambda: sweep.judge(2, 1)),
        ("labels do not fit the tree", lambda: sweep.label(whole, whole)),
        ("leaf has no label", lambda: sweep.label(np.zeros(3, int), np.array([-1, 0, -1]))),
        ("no split at this depth", lambda: sweep.enter(1)),
        ("node is out of range", lambda: sweep.improve(np.array([3]), 1.0, False, True)),
    ]  # fmt: skip
    for message, call in wrong:
        with pytest.raises(ValueError, match=message):
            call()


def test_arrays_of_another_type_are_refused_and_not_copied():
    leaf, W = np.array([-1]), np.zeros((1, 2))
    for bad in (W.astype(np.float32), np.asfortranarray(np.zeros((2, 2)))[:1], W[0]):
        with pytest.raises(TypeError):
            kernels.Tree(leaf, leaf, bad, np.zeros(1))
    W.flags.writeable = False
    with pytest.raises(TypeError):
        kernels.Tree(leaf, leaf, W, np.zeros(1))


@pytest.mark.parametrize("seed", seeds(20))
def test_pruning_is_the_cheapest_of_all_prunings(seed):
    rng = np.random.default_rng(seed)
    left, right = np.array([1, 3, 5, -1, 7, -1, -1, -1, -1]), np.array([2, 4, 6, -1, 8, -1, -1, -1, -1])
    shape = Shape(left, right, np.zeros((9, 1)), np.zeros(9))
    leaf = rng.choice([3, 7, 8, 5, 6][: int(rng.integers(2, 6))], 60)  # some leaves stay empty
    y = rng.integers(0, 3, 60)
    counts = shape.tally(leaf, y, np.ones(60), 3)
    price = float(rng.choice([0.0, 0.5, 2.0, 7.0]))

    def cheapest(node):
        alone = counts[node].sum() - counts[node].max() + price
        if left[node] < 0 or counts[node].sum() == 0:
            return alone if counts[node].sum() else 0.0
        return min(alone, cheapest(left[node]) + cheapest(right[node]))

    weight = counts.sum(axis=1)
    nodes, children = prune(shape, weight, weight - counts.max(axis=1), price, 1e-9)
    ends = nodes[children[:, 0] < 0]
    assert counts[ends].sum() == 60
    assert (counts[ends].sum(axis=1) > 0).all()
    assert sum(counts[k].sum() - counts[k].max() + price for k in ends) == pytest.approx(cheapest(0))


def test_columns_are_counted_from_their_most_common_value_or_their_median():
    X = np.array([[5.0, 1.0, 0.0], [5.0, 2.0, 0.0], [7.0, 3.0, 2.0], [5.0, 4.0, 3.0], [5.0, 5.0, 4.0]])
    rows = compress(X, np.ones(5), shift=True)
    assert rows.origin.tolist() == [5.0, 3.0, 0.0]
    assert (rows.matrix.toarray() + rows.origin == X).all()
    assert rows.matrix.nnz == 8
    assert compress(X, np.ones(len(X)), shift=False).origin.tolist() == [0.0, 0.0, 0.0]


def computing(loss, outputs, linear=True):
    """A tree of two leaves, split at x0 = 0, whose leaves compute; its sweep, coefficients, rows and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    rows = compress(X, np.ones(40), shift=False)
    W = np.array([[1.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3])
    shape = Shape(np.array([1, -1, -1]), np.array([2, -1, -1]), W, np.zeros(3))
    sweep = kernels.Sweep(rows.core, shape.core, np.zeros(40, np.int64), np.ones(40))
    sweep.route(0, 40)
    intercept, slope = rng.normal(size=(3, outputs)), rng.normal(size=(3, outputs, 3)) * linear
    y = rng.normal(size=40) if loss == 0 else rng.integers(0, outputs, 40).astype(float)
    sweep.compute(loss, intercept, slope.ravel() if linear else np.empty(0), y)
    made = np.einsum("nkd,nd->nk", slope[1 + (X[:, 0] >= 0)], X) + intercept[1 + (X[:, 0] >= 0)]
    return sweep, made, y, (rows, shape)  # which must outlive the sweep


@pytest.mark.parametrize("linear", [True, False])
def test_the_losses_of_leaves_that_compute(linear):
    sweep, made, y, _ = computing(0, 1, linear)
    np.testing.assert_allclose(sweep.losses(), (y - made[:, 0]) ** 2)
    sweep, made, y, _ = computing(1, 4, linear)
    expected = np.log(np.exp(made).sum(axis=1)) - made[np.arange(40), y.astype(int)]
    np.testing.assert_allclose(sweep.losses(), expected)


def test_a_split_decides_about_every_row_whose_losses_differ():
    sweep, _, _, _ = computing(1, 3)
    sweep.enter(0)
    sweep.judge(0, 40)
    assert sweep.gather().tolist() == [40, 0, 0]


@pytest.mark.parametrize(
    ("loss", "shape", "slope", "targets", "line"),
    [
        (2, (3, 1), 0, np.zeros(40), "the outputs do not fit the tree and the rows"),
        (0, (2, 1), 0, np.zeros(40), "the outputs do not fit the tree and the rows"),
        (0, (3, 1), 8, np.zeros(40), "the outputs do not fit the tree and the rows"),
        (0, (3, 1), 0, np.zeros(39), "the outputs do not fit the tree and the rows"),
        (1, (3, 2), 0, np.full(40, 2.0), "a label is out of range"),
        (1, (3, 2), 0, np.full(40, np.nan), "a label is out of range"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(loss, shape, slope, targets, line):
    sweep, _, _, _ = computing(0, 1)
    with pytest.raises(ValueError, match=line):
        sweep.compute(loss, np.zeros(shape), np.zeros(slope), targets)
