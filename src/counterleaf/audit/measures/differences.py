"""Differences between the groups of a column, with intervals where both groups have enough rows."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterleaf.audit.measures.group import Group
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


MEASURES = (
    "share_has",
    "share_can",
    "share_cannot",
    "share_reaching",
    "cost_median",
    "cost_mean",
    "changes_mean",
    "half_without_target",
)
TOO_FEW = "too few rows"
SHARES = frozenset(measure for measure in MEASURES if measure.startswith("share"))


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A figure of one group: the rows it is about; for a share, how many of them, else bootstrap draws if these are enough."""

    value: float
    rows: int
    hits: int = 0
    draws: Array | None = None
    method: str = NEWCOMBE


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of one group minus that of another."""

    by: str
    group: str
    other: str
    measure: str
    value: float
    other_value: float
    rows: int  # of the group that the figure is about
    other_rows: int
    difference: float
    low: float  # NaN if there are too few rows
    high: float
    method: str

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def line(self) -> dict[str, Any]:
        """The difference as a line of a table."""
        line = asdict(self)
        method = line.pop("method")
        return {**line, "level": LEVEL, "method": method}


def estimate(group: Group, measure: str, seed: int, least: int) -> Estimate | None:
    """Return a figure of a group with draws that depend on the seed and the group alone; None if it has no such rows."""
    counted = {
        "share_has": (group.has, group.rows),
        "share_can": (group.can, group.rows),
        "share_cannot": (group.cannot, group.rows),
        "share_reaching": (group.can, group.affected),
    }
    if measure in counted:
        hits, n = counted[measure]
        return Estimate(hits / n, n, hits) if n else None
    n = group.affected if measure == "half_without_target" else group.can
    if not n:
        return None
    values = {"cost_median": group.quantile(0.5), "cost_mean": group.mean_cost, "changes_mean": group.mean_changes}
    value = values.get(measure, group.cost_for(0.5))
    if n < max(least, LEAST):
        return Estimate(value, n)
    return Estimate(value, n, 0, *_draws(group, measure, seed))


def _draws(group: Group, measure: str, seed: int) -> tuple[Array, str]:
    words = (group.by, group.label, measure)
    rng = np.random.default_rng([seed, *(zlib.crc32(text.encode(errors="replace")) for text in words)])
    if measure == "half_without_target":
        ordered = np.append(group.costs, np.full(group.open, np.nan)) if group.open else group.costs
        return order_draws(rng, ordered, 0.5, group.affected), ORDER
    if measure == "cost_median":
        return order_draws(rng, group.costs, 0.5), ORDER
    if measure == "cost_mean":
        return mean_draws(rng, group.costs)
    return mean_draws(rng, np.arange(len(group.changes)), group.changes)


def differences(groups: Sequence[Group], seed: int, least: int) -> Iterator[Difference]:
    """Yield the differences between all pairs of groups of one column; intervals need ``least`` rows in both groups."""
    for measure in MEASURES:
        known = [(group, estimate(group, measure, seed, least)) for group in groups]
        for (a, one), (b, other) in itertools.combinations(known, 2):
            if one is not None and other is not None:
                low, high, method = _interval(one, other, measure in SHARES, least)
                infinite = math.isinf(one.value) and math.isinf(other.value)
                gap = math.nan if infinite else one.value - other.value
                values = one.value, other.value, one.rows, other.rows
                yield Difference(a.by, a.label, b.label, measure, *values, gap, low, high, method)


def _interval(one: Estimate, other: Estimate, share: bool, least: int) -> tuple[float, float, str]:
    if min(one.rows, other.rows) < least:
        return math.nan, math.nan, TOO_FEW
    if share:
        return *newcombe((one.hits, one.rows), (other.hits, other.rows)), NEWCOMBE
    if one.draws is None or other.draws is None:
        return math.nan, math.nan, TOO_FEW
    with np.errstate(invalid="ignore"):
        ends = interval(one.draws - other.draws)
    return *ends, one.method if one.method == other.method else f"{one.method}; {other.method}"
