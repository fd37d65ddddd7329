"""What is known of one group: counts by state, the costs in order, and the numbers of changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.audit.report.cases import Cases, State
from counterleaf.audit.report.groups import Grouping
from counterleaf.types import Array

QUARTERS = (0.25, 0.5, 0.75)
_BLOCK = 1 << 20  # rows that are counted at a time


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One group of rows."""

    by: str  # the column, or two; empty for all rows
    label: str
    counts: Array  # rows by state
    costs: Array  # of the rows with a change, increasing
    changes: Array  # how many rows change 0, 1, 2, ... features

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def has(self) -> int:
        """Rows that already have the target."""
        return int(self.counts[State.HAS])

    @property
    def can(self) -> int:
        """Rows without the target for which a change that reaches it is known."""
        return int(self.counts[State.CAN] + self.counts[State.FOUND])

    @property
    def cannot(self) -> int:
        """Rows that provably cannot reach the target."""
        return int(self.counts[State.CANNOT])

    @property
    def open(self) -> int:
        """Rows whose search stopped before a change was found, or whose change the model does not confirm."""
        return int(self.counts[State.OPEN])

    @property
    def invalid(self) -> int:
        """Rows that cannot be explained."""
        return int(self.counts[State.INVALID])

    @property
    def affected(self) -> int:
        """Rows without the target; invalid rows are left out."""
        return self.can + self.cannot + self.open

    @property
    def name(self) -> str:
        """The group in words: "sex = f"."""
        return f"{self.by} = {self.label}" if self.by else self.label

    def quantile(self, share: float) -> float:
        """The least cost within which this share of the rows with a change reach the target; NaN if there are none."""
        return order_statistic(self.costs, share)

    @property
    def mean_cost(self) -> float:
        """The mean cost of the rows with a change."""
        return float(self.costs.mean()) if len(self.costs) else math.nan

    @property
    def mean_changes(self) -> float:
        """The mean number of changes of the rows with a change."""
        return float(self.changes @ np.arange(len(self.changes)) / self.can) if self.can else math.nan

    @property
    def median_changes(self) -> float:
        """The median number of changes of the rows with a change."""
        if not self.can:
            return math.nan
        return float(np.searchsorted(np.cumsum(self.changes), math.ceil(self.can / 2)))

    def cost_for(self, share: float, whole: bool = False) -> float:
        """The cost within which a share of the rows without the target reach it.

        With ``whole``, of all rows that can be explained, of which those with the target count as cost 0. It is infinite if
        too few rows can reach the target, and NaN if that is open.
        """
        n = self.affected + self.has * whole
        if not n:
            return math.nan
        k = max(math.ceil(share * n - 1e-9), 1) - self.has * whole
        if k <= 0:
            return 0.0
        if k <= self.can:
            return float(self.costs[k - 1])
        return math.nan if k <= self.can + self.open else math.inf

    def within(self, budget: float) -> float:
        """The share of the rows without the target that reach it within a cost."""
        return float(np.searchsorted(self.costs, budget, side="right") / self.affected) if self.affected else math.nan

    def line(self) -> dict[str, Any]:
        """The figures of the group as a line of a table."""
        counts = {name: getattr(self, name) for name in ("has", "can", "cannot", "open", "invalid")}
        low, median, high = map(self.quantile, QUARTERS)
        return {
            "by": self.by,
            "group": self.label,
            "rows": self.rows,
            **counts,
            **{f"share_{name}": count / max(self.rows, 1) for name, count in counts.items()},
            "without_target": self.affected,
            "share_reaching": self.can / self.affected if self.affected else math.nan,
            "cost_q25": low,
            "cost_median": median,
            "cost_q75": high,
            "cost_mean": self.mean_cost,
            "not_proved_cheapest": int(self.counts[State.FOUND]),
            "changes_mean": self.mean_changes,
            "changes_median": self.median_changes,
            "half_without_target": self.cost_for(0.5),
            "half_of_group": self.cost_for(0.5, whole=True),
        }


def order_statistic(ordered: Array, share: float) -> float:
    """The least of some increasing numbers that at least a share of them do not exceed; NaN if there are none."""
    return float(ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]) if len(ordered) else math.nan


def _counted(grouping: Grouping, state: Array) -> Array:
    """Return the rows of each group by state; a block of rows at a time, since the sums need 16 bytes per row."""
    states = len(State)
    out = np.zeros(len(grouping) * states, np.int64)
    for start in range(0, len(state), _BLOCK):
        at = slice(start, start + _BLOCK)
        out += np.bincount(grouping.codes[at].astype(np.int64) * states + state[at], minlength=len(out))
    return out.reshape(-1, states)


class Groups:
    """Divides the rows of the cases; their order by cost is computed once."""

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        reached = cases.reached
        self._order = reached[np.argsort(cases.costs[reached], kind="stable")]
        self._costs = cases.costs[self._order]
        sizes = np.array([len(one) for one in cases.sets], np.int64)
        self._changes = sizes.astype(np.min_scalar_type(sizes.max(initial=0)))[cases.patterns[self._order]]

    def of(self, grouping: Grouping) -> Iterator[Group]:
        """Yield the groups of a division that have rows, in its order."""
        counts = _counted(grouping, self.cases.state)
        mine = grouping.codes[self._order]
        order = np.argsort(mine, kind="stable")
        ends = np.searchsorted(mine[order], np.arange(len(grouping) + 1))
        costs, changes = self._costs[order], self._changes[order]
        for k, label in enumerate(grouping.labels):
            at = slice(ends[k], ends[k + 1])
            if counts[k].any():
                yield Group(grouping.name, label, counts[k], costs[at], np.bincount(changes[at]))
