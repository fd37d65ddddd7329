"""Constraints and costs in words, for readers who do not write Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from counterleaf.answer.text import word
from counterleaf.question.constraints.kinds import (
    Among,
    Becomes,
    Changed,
    Choice,
    Constraint,
    Implies,
    Limit,
    MaxChanges,
    Near,
    Percent,
    Row,
    Stays,
    Support,
    size_of,
)
from counterleaf.question.costs.terms import L1, L2
from counterleaf.table.schema import Schema

_MINUS = "\N{MINUS SIGN}"
_SPREADS = {
    "range": "range of the feature in the data (its 99 % quantile minus its 1 % quantile: the middle 98 % of the values)",
    "std": "standard deviation of the feature in the data",
    "mad": "median absolute deviation of the feature in the data",
}
_RELATIONS = {">=": "at least", "<=": "at most", "==": "equal to"}


def cost_words(cost: Any) -> str:
    """Return a cost in words; other costs than sums of changes are written as they are in Python."""
    if isinstance(cost, (L1, L2)) and isinstance(cost.weights, str) and cost.multiplier is None:
        what = "difference" if isinstance(cost, L1) else "squared difference"
        return f"The sum over the features of the {what}, divided by the {_squared(cost)}{_SPREADS[cost.weights]}."
    return str(cost)


def _squared(cost: L1 | L2) -> str:
    return "square of the " if isinstance(cost, L2) else ""


def named(constraint: Constraint | Changed, schema: Schema) -> list[str]:
    """Return the features that a constraint names; none if it is about all."""
    if isinstance(constraint, Limit):
        return [_name(one, schema) for one in constraint.names]
    if isinstance(constraint, (Choice, Changed)):
        return [_name(constraint.name, schema)]
    if isinstance(constraint, Row):
        known = [one if one in schema.names or not isinstance(one, str) else one.partition("=")[0] for one in constraint.coef]
        return list(dict.fromkeys(_name(one, schema) for one in known))
    if isinstance(constraint, Implies):
        return list(dict.fromkeys([*named(constraint.condition, schema), *named(constraint.then, schema)]))
    return []


def _name(name: Any, schema: Schema) -> str:
    return schema.names[schema.index(name)]


def in_words(constraint: Constraint | Changed, schema: Schema) -> str:
    """Return a constraint as part of a sentence: "income may only rise, by at most 20 %"."""
    if isinstance(constraint, Becomes):
        return f"{_name(constraint.names[0], schema)} becomes {word(constraint.lower)}"
    if isinstance(constraint, Stays):
        return f"{_name(constraint.names[0], schema)} stays the same"
    if isinstance(constraint, Limit):
        return _limit(constraint, ", ".join(named(constraint, schema)))
    if isinstance(constraint, Changed):
        return f"{_name(constraint.name, schema)} changes"
    if isinstance(constraint, Choice):
        values = " or ".join(map(word, constraint.values))
        return f"{_name(constraint.name, schema)} must {'' if constraint.allowed else 'not '}be {values}"
    if isinstance(constraint, Row):
        named_terms = [(one if isinstance(one, str) else _name(one, schema), value) for one, value in constraint.coef.items()]
        terms = [f"{_value(value)} times {name}" if value != 1 else name for name, value in named_terms]
        return f"{' plus '.join(terms)} must be {_RELATIONS[constraint.relation]} {_value(constraint.rhs)}"
    if isinstance(constraint, Implies):
        return f"if {in_words(constraint.condition, schema)}, then {in_words(constraint.then, schema)}"
    if isinstance(constraint, MaxChanges):
        return f"at most {constraint.count} {'feature' if constraint.count == 1 else 'features'} may change"
    if isinstance(constraint, Support):
        return f"at least {constraint.least:,} rows of the data must reach the same leaf of the tree"
    if isinstance(constraint, Among):
        return f"the changed row must be one of {len(constraint.rows):,} given rows"
    if isinstance(constraint, Near):
        return f"the changed row must be as near to a row of its class as {100 * constraint.quantile:g} % of the data are"
    return str(constraint)


def all_in_words(constraints: Sequence[Constraint], schema: Schema) -> str:
    """Return several constraints in one text; features that must not change are named together."""
    names = [name for one in constraints if _is_frozen(one) for name in named(one, schema)]
    texts = [f"unchanged: {', '.join(names)}"] * bool(names)
    return "; ".join(texts + [in_words(one, schema) for one in constraints if not _is_frozen(one)])


def _is_frozen(one: Any) -> bool:
    is_limit = isinstance(one, Limit) and one.from_lower and one.from_upper
    return is_limit and size_of(one.lower) == size_of(one.upper) == 0


def _limit(one: Limit, names: str) -> str:
    if _is_frozen(one):
        return f"unchanged: {names}" if len(one.names) > 1 else f"{names} must not change"
    if not one.from_lower and not one.from_upper:
        if one.lower == one.upper:
            return f"{names} must be {_value(one.lower)}"
        ends = [f"at least {_value(one.lower)}"] * (one.lower != -math.inf)
        ends += [f"at most {_value(one.upper)}"] * (one.upper != math.inf)
        return f"{names} must be {' and '.join(ends)}"
    low = size_of(one.lower) if one.from_lower else -math.inf
    high = size_of(one.upper) if one.from_upper else math.inf
    if low >= 0:
        return _direction(names, "rise", (one.lower, low), (one.upper, high))
    if high <= 0:
        return _direction(names, "fall", (one.upper, -high), (one.lower, -low))
    ends = [f"fall by at most {_size(one.lower)}"] * (low > -math.inf)
    ends += [f"rise by at most {_size(one.upper)}"] * (high < math.inf)
    return f"{names} may {' or '.join(ends)}"


def _direction(names: str, verb: str, least: tuple[Any, float], most: tuple[Any, float]) -> str:
    limits = [f"by at least {_size(least[0])}"] * (least[1] > 0) + [f"by at most {_size(most[0])}"] * (most[1] < math.inf)
    start = f"{names} must {verb}" if least[1] > 0 else f"{names} may only {verb}"
    return start + (f", {' and '.join(limits)}" if limits else "")


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return word(value)
    return f"{_MINUS * (value < 0)}{_size(value)}"


def _size(value: Any) -> str:
    """Return a distance without its sign."""
    return f"{abs(value.value):g} %" if isinstance(value, Percent) else f"{abs(value):,.12g}"
