"""Constraints on the values of one feature: which of its categories or levels are allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from counterleaf.errors import CounterleafError, single, values_of
from counterleaf.question.constraints.kinds import NAME, Boxed, Part, call_text, feature_name, is_list, is_value, only, verb
from counterleaf.question.constraints.lowering import Box
from counterleaf.strict_json import plain
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import word
from counterleaf.types import Array

_VALUES = {"values": Part("a list of values", is_list(is_value))}


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Boxed):
    """The named feature takes one of ``values`` if ``allowed``, and none of them otherwise."""

    name: Any
    values: tuple[Any, ...]
    allowed: bool
    relative = False

    def about(self) -> tuple[Any, ...]:
        return (self.name,)

    def box(self, schema: Schema, sources: Array) -> Box:
        d = schema.index(self.name)
        feature, start = schema.features[d], schema.span(d).start
        if isinstance(feature, Numeric):
            raise CounterleafError(f"{self}: feature {feature.name!r} is a number; use between or fix")
        named = {self.place(feature, value) for value in self.values}
        left = [k for k in range(len(feature.values)) if (k in named) == self.allowed]
        return only(feature, start, left, keep=not self.allowed)

    def to_json(self) -> dict[str, Any]:
        return {"allow" if self.allowed else "forbid": plain(self.name), "values": [plain(value) for value in self.values]}

    def in_words(self, schema: Schema) -> str:
        values = " or ".join(map(word, self.values))
        return f"{self.features(schema)[0]} must {'' if self.allowed else 'not '}be {values}"


def _chosen(verb: str, name: Any, values: Any) -> Choice:
    name, listed = feature_name(verb, name), values_of(values, f"the list of values of {verb}", "a list such as ['a', 'b']")
    chosen = tuple(single(one, f"a value of {verb}") for one in listed)
    if not chosen:
        raise CounterleafError(f"{verb} got no values; expected a list such as ['a', 'b']")
    return Choice(call_text(verb, name, list(chosen)), name, chosen, verb == "allow")


@verb(NAME, _VALUES)
def allow(name: Any, values: Any) -> Choice:
    """Restrict a feature to some of its categories or levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    values : list
        The values that an answer may have.

    Examples
    --------
    >>> allow("job", ["cook", "clerk"])
    allow('job', ['cook', 'clerk'])
    """
    return _chosen("allow", name, values)


@verb(NAME, _VALUES)
def forbid(name: Any, values: Any) -> Choice:
    """Rule out some of a feature's categories or levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    values : list
        The values that an answer must not have.

    Examples
    --------
    >>> forbid("job", ["smith"])
    forbid('job', ['smith'])
    """
    return _chosen("forbid", name, values)
