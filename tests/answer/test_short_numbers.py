"""The program that moves a row away from the faces of its leaf, against SciPy's solver."""

import numpy as np
import pytest
from scipy.optimize import linprog
from support.seeds import seeds

from counterleaf.answer.short_numbers import _deepest


def random_program(rng):
    m, n = int(rng.integers(1, 14)), int(rng.integers(1, 40))
    G = rng.normal(size=(m, n)) * (rng.random((m, n)) < rng.uniform(0.2, 1)) * 10.0 ** rng.uniform(-6, 0, n)
    G = G[np.abs(G).sum(axis=1) > 0]
    G = G / np.abs(G).sum(axis=1)[:, None]
    slack = np.where(rng.random(len(G)) < 0.6, 0.0, np.minimum(rng.exponential(size=len(G)), 2.0))
    return G, slack, np.where(rng.random(n) < 0.2, 0.0, -0.5), np.where(rng.random(n) < 0.2, 0.0, 0.5)


@pytest.mark.parametrize("seed", seeds(200))
def test_no_point_is_deeper(seed):
    G, slack, low, high = random_program(np.random.default_rng(seed))
    z = _deepest(G, slack, low, high)
    assert ((z >= low) & (z <= high)).all()
    bounds = [*zip(low, high, strict=True), (0.0, 1.0)]
    best = linprog(np.append(np.zeros(len(z)), -1.0), np.column_stack([-G, np.ones(len(G))]), slack, bounds=bounds)
    assert min((slack + G @ z).min(initial=1.0), 1.0) == pytest.approx(-best.fun, abs=1e-7)


def test_a_number_that_does_not_help_stays():
    assert _deepest(np.array([[1.0, 0.0]]), np.zeros(1), np.full(2, -0.5), np.full(2, 0.5)).tolist() == [0.5, 0.0]
    assert _deepest(np.empty((0, 2)), np.empty(0), np.full(2, -0.5), np.full(2, 0.5)).tolist() == [0.0, 0.0]
