"""Questions in words, for readers who do not write Python; each kind of constraint has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterleaf.question.constraints.bounds import Limit
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.costs.terms import L1, L2
from counterleaf.question.query import Probability, Query, Value, classes_in_words
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
    return "; ".join(texts + [one.in_words(schema) for one in constraints if one not in frozen])


def target_in_words(target: Any) -> str:
    """Return a target in words."""
    if target is None:
        return "any class except the row's own"
    if isinstance(target, (Probability, Value)):
        return f"a {target}"
    prices = target.items() if isinstance(target, Mapping) else ((label, 0.0) for label in classes_of(target))
    return classes_in_words(prices, " or ")


def question_in_words(query: Query, schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return the parts of a question with their names, in words for readers who do not write Python."""
    question, margin = query.question, query.margin
    parts = [("target", target_in_words(question.target)), ("cost", cost_words(query.cost))]
    parts += [("constraint", one.in_words(schema)) for one in query.constraints] or [("constraints", "none")]
    if isinstance(margin, tuple):
        named = [f"{value:.4g} of {name}" for name, value in zip(schema.names, margin, strict=True) if value]
        parts += [("margin", ", ".join(named))] * bool(named)
    elif margin:
        parts.append(("margin", f"{margin:g}"))
    if question.time_limit is not None:
        parts.append(("time limit", f"{question.time_limit:g} seconds per row"))
    if question.max_nodes is not None:
        parts.append(("node limit", f"{question.max_nodes:,} search nodes per row"))
    return tuple(parts)


def classes_of(target: Any) -> list[Any]:
    """Return the classes of a target."""
    if isinstance(target, Mapping):
        return list(target)
    if isinstance(target, (str, bytes)) or not hasattr(target, "__iter__"):
        return [target]
    found = target.tolist() if hasattr(target, "tolist") else list(target)
    return found if isinstance(found, list) else [found]
