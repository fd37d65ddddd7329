"""Constraints and costs in words, for readers who do not write Python; each kind of constraint has its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterleaf.question.constraints.bounds import Limit
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.costs.terms import L1, L2
from counterleaf.table.schema import Schema

_SPREADS = {
    "range": "range of the feature in the data (its 99 % quantile minus its 1 % quantile: the middle 98 % of the values)",
    "std": "standard deviation of the feature in the data",
    "mad": "median absolute deviation of the feature in the data",
}


def cost_words(cost: Any) -> str:
    """Return a cost in words; other costs than sums of changes are written as they are in Python."""
    if isinstance(cost, (L1, L2)) and isinstance(cost.weights, str) and cost.multiplier is None:
        squared = isinstance(cost, L2)
        what, by = ("squared difference", "square of the ") if squared else ("difference", "")
        return f"The sum over the features of the {what}, divided by the {by}{_SPREADS[cost.weights]}."
    return str(cost)


def constraint_words(constraints: Sequence[Constraint], schema: Schema) -> str:
    """Return several constraints in one text; features that must not change are named together."""
    frozen = [one for one in constraints if isinstance(one, Limit) and one.is_frozen]
    names = [name for one in frozen for name in one.features(schema)]
    texts = [f"unchanged: {', '.join(names)}"] * bool(names)
    return "; ".join(texts + [one.words(schema) for one in constraints if one not in frozen])
