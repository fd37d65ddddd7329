"""Differences between the groups of a column, with intervals where both groups have enough rows."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.audit.measures.group import Group
from counterleaf.audit.measures.intervals import LEAST, LEVEL, NEWCOMBE, ORDER, interval, mean_draws, newcombe, order_draws
from counterleaf.types import Array

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
        names = ("by", "group", "other", "measure", "value", "other_value", "rows", "other_rows")
        ends = {name: getattr(self, name) for name in ("difference", "low", "high")}
        return {**{name: getattr(self, name) for name in names}, **ends, "level": LEVEL, "method": self.method}


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
