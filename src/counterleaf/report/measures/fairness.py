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

from counterleaf.report.groups import Grouping
from counterleaf.report.measures.choices import SHARES
from counterleaf.report.measures.group import QUARTERS, Group

EFFECTIVENESS, CONDITIONAL, BUDGET, COST_OF, CHOICE, TRADE_OFF = (
    "equal effectiveness",
    "equal conditional mean recourse",
    "equal effectiveness within budget",
    "equal cost of effectiveness",
    "equal choice of recourse",
    "fair effectiveness-cost trade-off",
)


def fairness(groups: Sequence[Group], budgets: Sequence[float]) -> list[dict[str, Any]]:
    """Return the figures of each group of a column behind every notion, one line each.

    Parameters
    ----------
    groups : sequence of Group
        The groups of one column.
    budgets : sequence of float
        Costs for which the effectiveness is compared.

    Returns
    -------
    list of dict
        Lines with the notion, its parameter, the group and its value; for the trade-off, the other group too.
    """
    affected = [group for group in groups if group.affected]
    lines = []
    for group in affected:
        lines.append(_line(EFFECTIVENESS, math.nan, group, group.can / group.affected))
    for group in affected:
        lines.append(_line(CONDITIONAL, math.nan, group, group.mean_cost))
    for budget, group in itertools.product(budgets, affected):
        lines.append(_line(BUDGET, budget, group, group.within(budget)))
    for share, group in itertools.product(QUARTERS, affected):
        lines.append(_line(COST_OF, share, group, group.cost_for(share)))
    for one, other in itertools.combinations(affected, 2):
        distance, at = trade_off(one, other)
        lines.append({**_line(TRADE_OFF, at, one, distance), "other": other.label})
    return lines


def choice(grouping: Grouping, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many sets of features are a choice for each group, from the lines of ``Choices`` of its column."""
    out = []
    for share, label in itertools.product(SHARES, grouping.labels):
        mine = [line for line in lines if line["group"] == label]
        if mine:
            count = float(sum(line["share"] >= share for line in mine))
            out.append({"by": grouping.name, "notion": CHOICE, "parameter": share, "group": label, "other": "", "value": count})
    return out


def _line(notion: str, parameter: float, group: Group, value: float) -> dict[str, Any]:
    return {"by": group.by, "notion": notion, "parameter": parameter, "group": group.label, "other": "", "value": value}


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
