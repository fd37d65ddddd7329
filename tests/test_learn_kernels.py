"""The parts of the learner against slow and independent ones: logistic regression, best cut, pruning."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from counterleaf.learn.finish import prune
from counterleaf.learn.kernels.logistic import fit_narrow, fit_wide
from counterleaf.learn.kernels.stump import best_cut
from counterleaf.learn.rows import compress
from counterleaf.learn.shape import Shape


def objective(X, t, s, w, b, lam):
    return float(s @ np.logaddexp(0, -t * (X @ w + b)) + lam * np.abs(w).sum())


def referee(X, t, s, lam):
    """w = p - q with p, q >= 0 makes it smooth: L-BFGS-B with bounds."""
    D = X.shape[1]

    def value(v):
        w = v[:D] - v[D : 2 * D]
        z = X @ w + v[-1]
        g = -s * t / (1 + np.exp(np.clip(t * z, -500, 500)))
        return s @ np.logaddexp(0, -t * z) + lam * v[: 2 * D].sum(), np.concatenate([X.T @ g + lam, lam - X.T @ g, [g.sum()]])

    bounds = [(0, None)] * (2 * D) + [(None, None)]
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    return minimize(value, np.zeros(2 * D + 1), jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("fit", [fit_narrow, fit_wide])
@pytest.mark.parametrize("seed", range(12))
def test_sparse_logistic_regression_reaches_the_optimum(fit, seed):
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(20, 200)), int(rng.integers(1, 40))
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < rng.uniform(0.2, 1.0))
    t = np.where(X @ rng.normal(size=D) + rng.normal(size=n) > 0.3, 1.0, -1.0)
    s = rng.integers(1, 4, n).astype(float)
    lam = float(rng.choice([0.1, 1.0, 5.0]))
    rows = compress(X, np.ones(len(X)), shift=False)
    w = rng.normal(size=D) if seed % 2 else np.zeros(D)  # a warm start may be anywhere
    b = fit(*rows.arrays, np.arange(n), t, s, w, 0.5, lam, 500, 500, 1e-9)
    least = referee(X, t, s, lam)
    assert objective(X, t, s, w, b, lam) <= least + 1e-5 * max(1.0, least)


def test_a_subset_of_the_rows_is_fitted_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    t, s = np.sign(X[:, 0] + 0.3 * rng.normal(size=60)), np.ones(60)
    chosen = np.sort(rng.choice(60, 30, replace=False))
    for fit in (fit_narrow, fit_wide):
        w, v = np.zeros(5), np.zeros(5)
        b = fit(*compress(X, np.ones(len(X)), shift=False).arrays, chosen, t[chosen], s[chosen], w, 0.0, 1.0, 50, 50, 1e-8)
        c = fit(
            *compress(X[chosen], np.ones(30), shift=False).arrays,
            np.arange(30),
            t[chosen],
            s[chosen],
            v,
            0.0,
            1.0,
            50,
            50,
            1e-8,
        )
        np.testing.assert_allclose([*w, b], [*v, c])


@pytest.mark.parametrize("seed", range(30))
def test_the_best_cut_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(2, 30)), int(rng.integers(1, 4))
    X = rng.integers(0, 5, (n, D)) * rng.choice([1.0, 0.1, 1e-300])
    wanted = rng.choice(np.array([-1, 1], np.int8), n)
    weight = rng.integers(1, 4, n).astype(float)
    feature, threshold, sign, missed = best_cut(X, np.arange(n), wanted, weight, 0.0)

    def misses(up):
        return weight[up != (wanted > 0)].sum()

    every = [misses(np.full(n, side)) for side in (True, False)]
    for j, x in itertools.product(range(D), range(n)):
        every += [misses(X[:, j] >= X[x, j]), misses(X[:, j] < X[x, j])]
    assert missed == min(every)
    up = np.full(n, sign > 0) if feature < 0 else sign * X[:, feature] - sign * threshold >= 0
    assert misses(up) == missed


def test_a_cut_between_neighbouring_numbers_keeps_them_apart():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    for wanted in ([-1, 1], [1, -1]):
        wanted = np.array(wanted, np.int8)
        feature, threshold, sign, missed = best_cut(X, np.arange(2), wanted, np.ones(2), 0.0)
        assert (feature, missed) == (0, 0.0)
        assert ((sign * X[:, 0] - sign * threshold >= 0) == (wanted > 0)).all()


@pytest.mark.parametrize("seed", range(20))
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

    kept, children = prune(shape, counts, price, 1e-9)
    ends = kept[children[:, 0] < 0]
    assert counts[ends].sum() == 60
    assert (counts[ends].sum(axis=1) > 0).all()
    assert sum(counts[k].sum() - counts[k].max() + price for k in ends) == pytest.approx(cheapest(0))


def test_columns_are_counted_from_their_most_common_value_or_their_median():
    X = np.array([[5.0, 1.0, 0.0], [5.0, 2.0, 0.0], [7.0, 3.0, 2.0], [5.0, 4.0, 3.0], [5.0, 5.0, 4.0]])
    rows = compress(X, np.ones(5), shift=True)
    assert rows.origin.tolist() == [5.0, 3.0, 0.0]
    assert (rows.matrix().toarray() + rows.origin == X).all()
    assert rows.matrix().nnz == 8
    assert compress(X, np.ones(len(X)), shift=False).origin.tolist() == [0.0, 0.0, 0.0]
