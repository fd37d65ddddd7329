"""Intervals: Wilson's for a share, Newcombe's for a difference of shares, and the bootstrap for order statistics and means.

A bootstrapped share has no variance at 0 and 100 %; Wilson's interval has its width there too. A bootstrap sample draws n of n
rows with replacement. Its k-th smallest value is the value at position ceil(n U) of the ordered sample, where U is the k-th
smallest of n uniform numbers and has the distribution Beta(k, n - k + 1), so that no row has to be resampled. The mean is drawn
from the multinomial distribution of the different values if these are few, from resampled rows if the sample is small, and
otherwise from its normal approximation.
"""

from __future__ import annotations

import math

import numpy as np

from counterleaf.types import Array

DRAWS = 10_000
LEVEL = 0.95
LEAST = 10  # rows that a bootstrap needs
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_FEW_VALUES, _FEW_ROWS = 200, 1000

NEWCOMBE, ORDER, MULTINOMIAL, RESAMPLED, NORMAL = (
    "Newcombe",
    "bootstrap (order statistic)",
    "bootstrap (multinomial)",
    "bootstrap (resampled rows)",
    "bootstrap (normal approximation)",
)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score method (1927); it holds for shares of 0 and 1 too."""
    share, spread = hits / n, _Z * _Z / n
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / n / 4)
    return (0.0 if not hits else middle - half), (1.0 if hits == n else middle + half)


def newcombe(one: tuple[int, int], other: tuple[int, int]) -> tuple[float, float]:
    """Return the 95 % interval of a difference of two shares, each as hits and rows (Newcombe 1998, method 10)."""
    p, q = one[0] / one[1], other[0] / other[1]
    (low, high), (other_low, other_high) = wilson(*one), wilson(*other)
    return p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)


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
