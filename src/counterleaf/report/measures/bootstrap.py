"""Bootstrap intervals that are exact and cheap for samples of any size.

A bootstrap sample draws n of n rows with replacement. The number of its rows with a property is binomial. Its k-th smallest
value is the value at position ceil(n U) of the ordered sample, where U is the k-th smallest of n uniform numbers and has the
distribution Beta(k, n - k + 1). So neither needs a resampled row. The mean is drawn from the multinomial distribution of the
different values if these are few, from resampled rows if the sample is small, and otherwise from its normal approximation.
"""

from __future__ import annotations

import math

import numpy as np

from counterleaf.types import Array

DRAWS = 10_000
LEVEL = 0.95
_FEW_VALUES, _FEW_ROWS = 200, 1000

BINOMIAL, ORDER, MULTINOMIAL, RESAMPLED, NORMAL = (
    "binomial",
    "order statistic",
    "multinomial",
    "resampled rows",
    "normal approximation",
)


def share_draws(rng: np.random.Generator, hits: int, n: int) -> Array:
    """Return bootstrap draws of a share."""
    return rng.binomial(n, hits / n, DRAWS) / n


def order_draws(rng: np.random.Generator, ordered: Array, share: float, n: int | None = None, rest: float = math.inf) -> Array:
    """Return bootstrap draws of the order statistic at a share.

    The sample has ``n`` values: the increasing ones in ``ordered`` and, after them, others that are all ``rest``.
    """
    n = len(ordered) if n is None else n
    k = max(math.ceil(share * n - 1e-9), 1)
    places = np.ceil(n * rng.beta(k, n - k + 1, DRAWS)).astype(np.int64)
    places = np.clip(places, 1, n) - 1
    out = np.full(DRAWS, rest)
    there = places < len(ordered)
    out[there] = ordered[places[there]]
    return out


def mean_draws(rng: np.random.Generator, values: Array, counts: Array | None = None) -> tuple[Array, str]:
    """Return bootstrap draws of a mean, and how they were drawn; ``counts`` says how often each value occurs."""
    if counts is None:
        few = np.unique(values[: 100 * _FEW_VALUES])
        if len(few) <= _FEW_VALUES:
            values, counts = np.unique(values, return_counts=True)
    if counts is not None and len(counts) <= _FEW_VALUES:
        n = int(counts.sum())
        return rng.multinomial(n, counts / n, DRAWS) @ values / n, MULTINOMIAL
    if counts is not None:
        values = np.repeat(values, counts)
    n = len(values)
    if n <= _FEW_ROWS:
        blocks = [values[rng.integers(n, size=(DRAWS // 10, n))].mean(axis=1) for _ in range(10)]
        return np.concatenate(blocks), RESAMPLED
    return values.mean() + values.std() / math.sqrt(n) * rng.standard_normal(DRAWS), NORMAL


def interval(draws: Array, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the percentile interval; NaN if some draw is undefined."""
    if np.isnan(draws).any():
        return math.nan, math.nan
    tail, ordered, n = (1 - level) / 2, np.sort(draws), len(draws)  # np.quantile turns neighbours that are infinite into NaN
    low, high = (max(math.ceil(share * n - 1e-9), 1) - 1 for share in (tail, 1 - tail))
    return float(ordered[low]), float(ordered[high])
