"""Differences between the groups of a column, with bootstrap intervals."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.report.measures.bootstrap import BINOMIAL, LEVEL, ORDER, interval, mean_draws, order_draws, share_draws
from counterleaf.report.measures.group import Group
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
SHARES = frozenset(measure for measure in MEASURES if measure.startswith("share"))


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A figure of one group, and its bootstrap draws."""

    value: float
    draws: Array
    method: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of one group minus that of another."""

    by: str
    group: str
    other: str
    measure: str
    value: float
    other_value: float
    difference: float
    low: float
    high: float
    method: str

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def line(self) -> dict[str, Any]:
        """The difference as a line of a table."""
        names = ("by", "group", "other", "measure", "value", "other_value", "difference", "low", "high")
        return {**{name: getattr(self, name) for name in names}, "level": LEVEL, "bootstrap": self.method}


def estimate(group: Group, measure: str, seed: int) -> Estimate | None:
    """Return a figure of a group with draws that depend on the seed and the group alone; None if it has no such rows."""
    rng = np.random.default_rng([seed, *(zlib.crc32(text.encode(errors="replace")) for text in (*_key(group), measure))])
    counted = {
        "share_has": (group.has, group.rows),
        "share_can": (group.can, group.rows),
        "share_cannot": (group.cannot, group.rows),
        "share_reaching": (group.can, group.affected),
    }
    if measure in counted:
        hits, n = counted[measure]
        return Estimate(hits / n, share_draws(rng, hits, n), BINOMIAL) if n else None
    if measure == "half_without_target":
        if not group.affected:
            return None
        ordered = np.append(group.costs, np.full(group.open, np.nan)) if group.open else group.costs
        return Estimate(group.cost_for(0.5), order_draws(rng, ordered, 0.5, group.affected), ORDER)
    if not group.can:
        return None
    if measure == "cost_median":
        return Estimate(group.quantile(0.5), order_draws(rng, group.costs, 0.5), ORDER)
    if measure == "cost_mean":
        return Estimate(group.mean_cost, *mean_draws(rng, group.costs))
    return Estimate(group.mean_changes, *mean_draws(rng, np.arange(len(group.changes)), group.changes))


def _key(group: Group) -> tuple[str, str]:
    return group.by, group.label


def differences(groups: Sequence[Group], seed: int) -> Iterator[Difference]:
    """Yield the differences between all pairs of groups of one column."""
    for measure in MEASURES:
        known = [(group, estimate(group, measure, seed)) for group in groups]
        for (a, one), (b, other) in itertools.combinations(known, 2):
            if one is not None and other is not None:
                yield _difference((a, one), (b, other), measure)


def _difference(a: tuple[Group, Estimate], b: tuple[Group, Estimate], measure: str) -> Difference:
    (first, one), (second, other) = a, b
    with np.errstate(invalid="ignore"):
        low, high = interval(one.draws - other.draws)
    infinite = math.isinf(one.value) and math.isinf(other.value)
    gap = math.nan if infinite else one.value - other.value
    method = one.method if one.method == other.method else f"{one.method}; {other.method}"
    return Difference(first.by, first.label, second.label, measure, one.value, other.value, gap, low, high, method)
