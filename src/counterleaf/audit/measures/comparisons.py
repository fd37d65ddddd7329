"""The groups that differ most: every group, and every pair of groups of two columns, against the other rows.

Three figures are compared. The share that already has the target, among the rows that could be explained, and the share without
recourse, among the rows without the target that are decided, are compared by the chi-square test, or by Fisher's exact test if
an expected count is below 5. The costs of the rows with a change are compared by the Mann-Whitney test with its correction for
ties. The p-values of all comparisons are adjusted together by Holm's method.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.audit.report.cases import Cases, State
from counterleaf.audit.report.groups import Grouping
from counterleaf.types import Array

MIN_ROWS = 30  # that a group and the rest need for a comparison
LEVEL = 0.05
HAS, SHARE, COST = "share with the target", "share without recourse", "cost"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One group against all other rows."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    figure: str  # HAS, SHARE or COST
    rows: int  # of the group that the comparison is about
    rest_rows: int
    value: float  # the share, or the median cost
    rest_value: float
    effect: float  # the difference of the shares, or P(dearer than the rest) - P(cheaper)
    p: float
    test: str
    adjusted: float = math.nan

    @property
    def name(self) -> str:
        """The group in words."""
        return " and ".join(f"{column} = {label}" for column, label in zip(self.columns, self.labels, strict=True))

    @property
    def clear(self) -> bool:
        """Whether the difference is significant after the correction."""
        return self.adjusted < LEVEL

    def line(self) -> dict[str, Any]:
        """The comparison as a line of a table."""
        names = ("figure", "rows", "rest_rows", "value", "rest_value", "effect", "p")
        values = {name: getattr(self, name) for name in names}
        return {"group": self.name, "columns": " and ".join(self.columns), **values, "p_holm": self.adjusted, "test": self.test}


def compare(cases: Cases, groupings: Sequence[Grouping], min_rows: int = MIN_ROWS) -> list[Comparison]:
    """Compare every group and pair of groups with the rest, the largest significant effects first."""
    ranked, state = _Ranked.of(cases), cases.state
    decided = np.flatnonzero((state == State.CANNOT) | (state == State.CAN) | (state == State.FOUND))
    shares = [(SHARE, decided, state[decided] == State.CANNOT)]
    if (state == State.HAS).any():
        valid = np.flatnonzero(state != State.INVALID)
        shares.insert(0, (HAS, valid, state[valid] == State.HAS))
    found: list[Comparison] = []
    for columns in (*((one,) for one in groupings), *itertools.combinations(groupings, 2)):
        codes = columns[0].codes.astype(np.int32)
        for other in columns[1:]:
            codes = codes * len(other) + other.codes
        labels = list(itertools.product(*(one.labels for one in columns)))
        used = labels[:1] if len(labels) == 2 else labels  # of two groups, each is the rest of the other
        names = tuple(one.name for one in columns)
        for figure, rows, hit in shares:
            mine, total, all_hits = codes[rows], len(rows), int(hit.sum())
            n, hits = np.bincount(mine, minlength=len(labels)), np.bincount(mine[hit], minlength=len(labels))
            for label, size, with_hit in zip(used, n.tolist(), hits.tolist(), strict=False):
                rest = total - size
                if min(size, rest) >= min_rows:
                    p, test = _share_test(with_hit, size, all_hits - with_hit, rest)
                    value, rest_value = with_hit / size, (all_hits - with_hit) / rest
                    effect = value - rest_value
                    found.append(Comparison(names, label, figure, size, rest, value, rest_value, effect, p, test))
        found += ranked.compared(names, used, codes, len(labels), min_rows)
    return sorted(_holm(found), key=lambda one: (not one.clear, -abs(one.effect), one.adjusted))


def _share_test(a: int, n: int, b: int, m: int) -> tuple[float, str]:
    """Return the p-value of two shares, a of n and b of m, and the name of the test."""
    hits, total = a + b, n + m
    if hits in (0, total):
        return 1.0, "chi-square"
    least = min(n, m) * min(hits, total - hits) / total
    if least < 5:
        from scipy import stats

        return float(stats.fisher_exact([[a, n - a], [b, m - b]])[1]), "Fisher"
    pooled = hits / total
    z = (a / n - b / m) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return math.erfc(abs(z) / math.sqrt(2)), "chi-square"


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """The rows with a change in order of their cost, with their ranks; equal costs share the mean of their ranks."""

    rows: Array
    costs: Array
    ranks: Array
    ties: float  # sum of t^3 - t over the groups of equal costs

    @classmethod
    def of(cls, cases: Cases) -> _Ranked:
        reached = cases.reached
        rows = reached[np.argsort(cases.costs[reached], kind="stable")]
        costs = cases.costs[rows]
        if not len(costs):
            return cls(rows, costs, np.empty(0), 0.0)
        starts = np.flatnonzero(np.r_[True, np.diff(costs) != 0])
        sizes = np.diff(np.r_[starts, len(costs)]).astype(float)
        ranks = np.repeat(starts + (sizes + 1) / 2, sizes.astype(np.int64))
        return cls(rows, costs, ranks, float((sizes**3 - sizes).sum()))

    def compared(
        self, names: tuple[str, ...], labels: Sequence[tuple[str, ...]], codes: Array, size: int, min_rows: int
    ) -> list[Comparison]:
        """Return the comparisons of the costs of each group with those of all others."""
        mine = codes[self.rows]
        n, sums = np.bincount(mine, minlength=size), np.bincount(mine, self.ranks, minlength=size)
        order, out = np.argsort(mine.astype(np.min_scalar_type(-size)), kind="stable"), []
        ends = np.r_[0, np.cumsum(n)]
        for k, label in enumerate(labels):
            rest = len(mine) - int(n[k])
            if min(n[k], rest) < min_rows:
                continue
            places = order[ends[k] : ends[k + 1]]
            medians = float(self.costs[places[(len(places) - 1) // 2]]), float(self.costs[_absent(places, (rest - 1) // 2)])
            p, effect = self._test(float(sums[k]), int(n[k]), rest)
            out.append(Comparison(names, label, COST, int(n[k]), rest, *medians, effect, p, "Mann-Whitney"))
        return out

    def _test(self, rank_sum: float, n: int, m: int) -> tuple[float, float]:
        """Return the two-sided p-value with correction for continuity, and how much likelier the group is dearer."""
        total = n + m
        u = rank_sum - n * (n + 1) / 2
        variance = n * m / 12 * (total + 1 - self.ties / (total * (total - 1)))
        effect = 2 * u / (n * m) - 1
        if variance <= 0:  # all costs are equal
            return 1.0, 0.0
        z = max(abs(u - n * m / 2) - 0.5, 0.0) / math.sqrt(variance)
        return math.erfc(z / math.sqrt(2)), effect


def _absent(places: Array, k: int) -> int:
    """Return the number at position k, from 0, among the whole numbers that are not in increasing ``places``."""
    return k + int(np.searchsorted(places - np.arange(len(places)), k, side="right"))


def _holm(found: list[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values that are adjusted for their number."""
    order = np.argsort([one.p for one in found], kind="stable")
    adjusted, least = np.empty(len(found)), 0.0
    for rank, k in enumerate(order.tolist()):
        least = max(least, min(1.0, found[k].p * (len(found) - rank)))
        adjusted[k] = least
    return [replace(one, adjusted=float(p)) for one, p in zip(found, adjusted, strict=True)]
