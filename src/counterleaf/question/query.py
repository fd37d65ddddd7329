"""Targets and margins, and a question as the searches read it: what depends on the features of an explainer."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, single, some, values_of
from counterleaf.model.decision import Decision, Goal, Range, ScoreDecision
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.arrays import ChangeLimit
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import support_of
from counterleaf.question.constraints.tables import Near
from counterleaf.question.costs.prices import Prices
from counterleaf.question.splits import Margin
from counterleaf.table.features import Numeric
from counterleaf.table.frames import by_name
from counterleaf.table.infer import Spreads
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.question.question import Question

_FREE = 0.0  # the price of a class that is only named


class _Interval:
    """Ends of an interval, of which one may be open."""

    __slots__ = ()
    at_least: float | None
    at_most: float | None

    def __post_init__(self) -> None:
        """Check the ends and store them as floats."""
        name = type(self).__name__.lower()
        for end in ("at_least", "at_most"):
            given = getattr(self, end)
            if isinstance(given, (bool, np.bool_)):
                raise CounterleafError(f"{end} is {given}; expected a number")
            object.__setattr__(self, end, None if given is None else number(given, end))
        low, high = self.at_least, self.at_most
        if low is None and high is None:
            raise CounterleafError(f"{name} has no interval; pass at_least= or at_most=")
        if low is not None and high is not None and low > high:
            raise CounterleafError(f"{name} at least {low:g} and at most {high:g} is empty; swap the two numbers")
        for end_value in (low, high):
            if name == "probability" and end_value is not None and not 0.0 <= end_value <= 1.0:
                raise CounterleafError(f"probability got {end_value:g}; expected a number from 0 to 1")

    @property
    def interval(self) -> str:
        """The interval in words."""
        low, high = (None if end is None else repr(end).removesuffix(".0") for end in (self.at_least, self.at_most))
        if low is not None and low == high:
            return f"exactly {low}"
        if low is not None and high is not None:
            return f"from {low} to {high}"
        return f"at least {low}" if low is not None else f"at most {high}"


@dataclass(frozen=True, slots=True)
class Probability(_Interval):
    """The target that the model gives a class a probability within an interval; made by ``probability``.

    Parameters
    ----------
    label : class
        The class.
    at_least, at_most : float, optional
        The ends of the interval.
    """

    label: Any
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        return f"probability of {self.label} {self.interval}"


@dataclass(frozen=True, slots=True)
class Value(_Interval):
    """The target that a regression model predicts a value within an interval; made by ``value``.

    Parameters
    ----------
    at_least, at_most : float, optional
        The ends of the interval.
    """

    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        return f"value {self.interval}"


def probability(label: Any, *, at_least: float | None = None, at_most: float | None = None) -> Probability:
    """Return a target: the probability that the model gives a class.

    Parameters
    ----------
    label : class
        The class.
    at_least, at_most : float, optional
        The interval, from 0 to 1; at least one of the two. ``at_most`` is not supported where three or more classes have linear
        outputs.

    Returns
    -------
    Probability
        The target.

    Examples
    --------
    >>> print(probability("granted", at_least=0.7))
    probability of granted at least 0.7
    """
    return Probability(label, at_least, at_most)


def value(*, at_least: float | None = None, at_most: float | None = None) -> Value:
    """Return a target: the value that a regression model predicts.

    Parameters
    ----------
    at_least, at_most : float, optional
        The interval; at least one of the two.

    Returns
    -------
    Value
        The target.

    Examples
    --------
    >>> print(value(at_least=250_000))
    value at least 250000
    """
    return Value(at_least, at_most)


class Options(TypedDict, total=False):
    """The further options of ``Explainer.explain``; see there."""

    time_limit: float | None
    max_nodes: int | None
    support: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A ``Question`` as the searches of one explainer read it: what depends on its features, and what each search varies."""

    question: Question
    cost: Any  # that of the question, or the default
    prices: Prices  # the cost as arrays
    margin: Margin  # for every feature
    constraints: tuple[Constraint, ...]  # those of the question, or of one of its cases
    count: int | None  # of answers of a search
    avoided: tuple[ChangeLimit, ...] = ()  # limits on the features that change, from the alternatives found before

    @property
    def until(self) -> float:
        """The time at which a search stops that begins now."""
        limit = self.question.time_limit
        return math.inf if limit is None else time.perf_counter() + limit

    @property
    def support(self) -> int:
        """The number of rows of the data that a leaf needs to count."""
        return support_of(self.constraints)

    @property
    def near(self) -> Near | None:
        """The constraint that the answer is near the data, if there is one."""
        return next((one for one in self.constraints if isinstance(one, Near)), None)


def known_options(call: str, options: Any, known: Any = Options) -> Any:
    """Check the names of options that a call collects, as Python checks those of its parameters."""
    unknown = sorted(set(options) - known.__annotations__.keys())
    if unknown:
        hint = "".join(f"; did you mean {one!r}?" for one in get_close_matches(unknown[0], known.__annotations__, 1))
        raise TypeError(f"{call}() got an unexpected keyword argument {unknown[0]!r}{hint}")
    return options


def classes_in_words(prices: Iterable[tuple[Any, float]], between: str) -> str:
    """Return classes with their prices: "yes, maybe (at a cost of 10)"."""
    shown = [(str(label), repr(float(price)).removesuffix(".0")) for label, price in prices]
    return between.join(f"{label} (at a cost of {price})" if float(price) else label for label, price in shown)


def wanted(target: Any, decision: Decision | ScoreDecision) -> Any:
    """The target of an answer: the labels of its classes, or the interval of a probability or value."""
    return target if isinstance(target, (Probability, Value)) else decision.wanted


def read_goal(target: Any, tree: Tree | Ensemble, source_class: int) -> Goal:
    """Read a target for a row of some class: class index -> class cost, or a range of a probability or value."""
    if isinstance(target, Value) and not tree.is_regression:
        raise CounterleafError(
            f"target is a value, but the model predicts classes; name one of {some(tree.classes.tolist())}, "
            f"or use probability(...)"
        )
    if tree.is_regression and not isinstance(target, Value):
        came = "there is no target" if target is None else f"target is {brief(target)}"
        raise CounterleafError(f"{came}, and the model predicts numbers; pass target=cl.value(at_least=...) or at_most=")
    if not isinstance(target, (Probability, Value)):
        return read_target(target, tree.classes, source_class)
    low = -math.inf if target.at_least is None else target.at_least
    high = math.inf if target.at_most is None else target.at_most
    if isinstance(target, Value):
        return Range(-1, low, high)
    (k,) = read_target([target.label], tree.classes, source_class)
    if not tree.has_probabilities:
        raise CounterleafError(
            f"this model has no probabilities that are a logistic function or softmax of linear outputs, so {target} is not "
            f"supported; name the class itself"
        )
    return Range(k, max(low, 0.0), min(high, 1.0))


def read_target(target: Any, classes: Array, source_class: int) -> dict[int, float]:
    """Read a class, a list of classes, a dict of costs, or None for every class but one, as class index -> class cost."""
    labels = classes.tolist()
    if target is None:
        return {k: 0.0 for k in range(len(labels)) if k != source_class}
    what, expected = "target", "a class, a list of classes or a dict of costs"
    several = isinstance(target, Iterable) and not isinstance(target, (str, bytes)) and getattr(target, "shape", None) != ()
    values = [] if isinstance(target, Mapping) else values_of(target, what, expected) if several else [target]
    out: dict[int, float] = {}
    for given, price in target.items() if isinstance(target, Mapping) else zip(values, [_FREE] * len(values), strict=True):
        label = single(given, what, expected)
        if label not in labels:
            raise CounterleafError(f"no class {brief(label)}; the model's classes are {some(labels)}")
        cost = price if price is _FREE else number(price, f"the cost of class {brief(label)}", infinite=True)
        if math.isinf(cost):
            raise CounterleafError(
                f"the cost of class {brief(label)} is {cost}; expected a finite number: leave out the classes that you rule out"
            )
        out[labels.index(label)] = cost
    if not out:
        raise CounterleafError("target is empty; name at least one class")
    return out


def read_margin(margin: Any, schema: Schema, spreads: Spreads | None) -> Margin:
    """Check a margin: one number, distances by feature, or a percentage of each feature's range in the data, such as "1%".

    The result is one number, or one per feature: 0 for features that have no number.
    """
    margin = by_name(margin)
    if isinstance(margin, str):
        share = _share(margin)
        if spreads is None:
            raise CounterleafError(
                f"margin={brief(margin)} is a share of the range of the data; pass data= to Explainer, or numbers"
            )
        numbers = [isinstance(feature, Numeric) for feature in schema]
        return tuple(np.where(numbers, share * spreads.range, 0.0).tolist())
    if not isinstance(margin, Mapping):
        value = number(margin, "margin")
        if value < 0:
            raise CounterleafError(f"margin is {value}; expected 0 or more")
        return value
    out = [0.0] * len(schema)
    for name, distance in margin.items():
        d = schema.index(name)
        if not isinstance(schema.features[d], Numeric):
            raise CounterleafError(f"margin names feature {schema.names[d]!r}, which is not a number; leave it out")
        out[d] = number(distance, f"the margin of {schema.names[d]!r}")
        if out[d] < 0:
            raise CounterleafError(f"the margin of {schema.names[d]!r} is {brief(distance)}; expected 0 or more")
    return tuple(out)


def _share(text: str) -> float:
    """The share that a percentage stands for."""
    try:
        share = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share < math.inf:
        raise CounterleafError(f'margin is {brief(text)}; expected a number, a dict by feature, or a percentage such as "1%"')
    return share
