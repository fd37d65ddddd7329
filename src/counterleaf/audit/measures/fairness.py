"""Recourse fairness in the terms of the literature, computed from the exact cost of every row.

Ustun, Spangher and Liu (2019) compare groups by the feasibility and the cost of recourse. Kavouras et al. (2023, FACTS) define
notions of fairness on the effectiveness-cost distribution ecd(c), the share of the affected rows of a group that reach the
target at a cost of at most c. Here each row has its own cheapest change, which is the micro viewpoint of FACTS with every
allowed change as an action.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterleaf.audit.measures.differences import wilson
from counterleaf.audit.measures.group import QUARTERS, Group
from counterleaf.audit.measures.searches import SHARES
from counterleaf.audit.report.groups import Grouping

IMPACT, EFFECTIVENESS, CONDITIONAL, BUDGET, COST_OF, CHOICE, TRADE_OFF = (
    "adverse impact ratio",
    "equal effectiveness",
    "equal conditional mean recourse",
    "equal effectiveness within budget",
    "equal cost of effectiveness",
    "equal choice of recourse",
    "fair effectiveness-cost trade-off",
)


def fairness(groups: Sequence[Group], budgets: Sequence[float], least: int) -> list[dict[str, Any]]:
    """Return the figures of each group of a column behind every notion, one line each; intervals need ``least`` rows."""
    affected = [group for group in groups if group.affected]
    lines = _impact(groups, least)
    for group in affected:
        lines.append(_share_line(EFFECTIVENESS, math.nan, group, group.can, least))
    for group in affected:
        lines.append(_line(CONDITIONAL, math.nan, group, group.can, group.mean_cost))
    for budget, group in itertools.product(budgets, affected):
        hits = int(np.searchsorted(group.costs, budget, side="right"))
        lines.append(_share_line(BUDGET, budget, group, hits, least))
    for share, group in itertools.product(QUARTERS, affected):
        lines.append(_line(COST_OF, share, group, group.affected, group.cost_for(share)))
    for one, other in itertools.combinations(affected, 2):
        distance, at = trade_off(one, other)
        lines.append({**_line(TRADE_OFF, at, one, min(one.affected, other.affected), distance), "other": other.label})
    return lines


def _impact(groups: Sequence[Group], least: int) -> list[dict[str, Any]]:
    """Return the share with the target of each group, divided by the highest such share of a group with enough rows."""
    shares = {group.label: group.has / (group.rows - group.invalid) for group in groups if group.rows > group.invalid}
    enough = [group for group in groups if group.rows - group.invalid >= least]
    best = max((shares[group.label] for group in enough), default=0.0)
    return [_line(IMPACT, math.nan, one, one.rows - one.invalid, shares[one.label] / best) for one in enough] if best else []


def choice(grouping: Grouping, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many sets of features are a choice for each group, from the lines of ``Choices`` of its column.

    The count is uncertain, from ``low`` to ``high``, by the sets whose interval contains the share that makes a choice.
    """
    out = []
    for share, label in itertools.product(SHARES, grouping.labels):
        mine = [line for line in lines if line["group"] == label]
        if mine:
            value, low, high = (float(sum(line[name] >= share for line in mine)) for name in ("share", "low", "high"))
            if math.isnan(mine[0]["low"]):
                low = high = math.nan
            known = {"by": grouping.name, "notion": CHOICE, "parameter": share, "group": label, "other": ""}
            out.append({**known, "rows": mine[0]["examined"], "value": value, "low": low, "high": high})
    return out


def _line(notion: str, parameter: float, group: Group, rows: int, value: float) -> dict[str, Any]:
    start = {"by": group.by, "notion": notion, "parameter": parameter, "group": group.label, "other": ""}
    return {**start, "rows": rows, "value": value, "low": math.nan, "high": math.nan}


def _share_line(notion: str, parameter: float, group: Group, hits: int, least: int) -> dict[str, Any]:
    line = _line(notion, parameter, group, group.affected, hits / group.affected)
    if group.affected >= least:
        line["low"], line["high"] = wilson(hits, group.affected)
    return line


def trade_off(one: Group, other: Group) -> tuple[float, float]:
    """Return the signed largest difference of two effectiveness-cost distributions, and the cost at which it occurs.

    It is positive if more rows of ``one`` than of ``other`` reach the target at that cost. Its size is the distance of
    Kolmogorov and Smirnov.
    """
    costs = np.unique(np.concatenate([one.costs, other.costs]))
    if not len(costs):
        return 0.0, math.nan
    gaps = (
        np.searchsorted(one.costs, costs, side="right") / one.affected
        - np.searchsorted(other.costs, costs, side="right") / other.affected
    )
    k = int(np.argmax(np.abs(gaps)))
    return float(gaps[k]), float(costs[k])
