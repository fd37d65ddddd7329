"""Targets, and a question as the searches read it: checked once, then passed through the search, the batch and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, single, some, values_of
from counterleaf.model.decision import Decision, Goal, Range, ScoreDecision
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.arrays import ChangeLimit
from counterleaf.question.constraints.kinds import Constraint, Near, Support
from counterleaf.question.costs.prices import Prices
from counterleaf.question.splits import Margin
from counterleaf.types import Array

_FREE = 0.0  # the price of a class that is only named


@dataclass(frozen=True, slots=True)
class Probability:
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

    def __post_init__(self) -> None:
        _set_ends(self, "probability")
        for end in (self.at_least, self.at_most):
            if end is not None and not 0.0 <= end <= 1.0:
                raise CounterleafError(f"probability got {end:g}; expected a number from 0 to 1")

    def __str__(self) -> str:
        return f"probability of {self.label} {self.interval}"

    @property
    def interval(self) -> str:
        """The interval in words."""
        return _interval(self.at_least, self.at_most)


@dataclass(frozen=True, slots=True)
class Value:
    """The target that a regression model predicts a value within an interval; made by ``value``.

    Parameters
    ----------
    at_least, at_most : float, optional
        The ends of the interval.
    """

    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        _set_ends(self, "value")

    def __str__(self) -> str:
        return f"value {self.interval}"

    @property
    def interval(self) -> str:
        """The interval in words."""
        return _interval(self.at_least, self.at_most)


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

    Raises
    ------
    CounterleafError
        If there is no interval, or it is not within 0 and 1.

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

    Raises
    ------
    CounterleafError
        If there is no interval.

    Examples
    --------
    >>> print(value(at_least=250_000))
    value at least 250000
    """
    return Value(at_least, at_most)


def _set_ends(target: Any, name: str) -> None:
    """Check the ends of an interval and store them as floats."""
    for end in ("at_least", "at_most"):
        given = getattr(target, end)
        if isinstance(given, (bool, np.bool_)):
            raise CounterleafError(f"{end} is {given}; expected a number")
        object.__setattr__(target, end, None if given is None else number(given, end))
    low, high = target.at_least, target.at_most
    if low is None and high is None:
        raise CounterleafError(f"{name} has no interval; pass at_least= or at_most=")
    if low is not None and high is not None and low > high:
        raise CounterleafError(f"{name} at least {low:g} and at most {high:g} is empty; swap the two numbers")


def _interval(at_least: float | None, at_most: float | None) -> str:
    low, high = (None if end is None else repr(end).removesuffix(".0") for end in (at_least, at_most))
    if low is not None and low == high:
        return f"exactly {low}"
    if low is not None and high is not None:
        return f"from {low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"


class Options(TypedDict, total=False):
    """The further options of ``Explainer.explain``; see there."""

    time_limit: float | None
    max_nodes: int | None
    support: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A ``Question`` as the searches of one explainer read it.

    ``target`` is what the user passed, ``cost`` as well, or the default; ``prices`` is the cost as arrays.
    """

    target: Any
    cost: Any
    prices: Prices
    constraints: tuple[Constraint, ...]
    margin: Margin = 0.0
    count: int | None = 1
    time_limit: float | None = None
    max_nodes: int | None = None
    apart: int = 0  # how many of the features that an answer changes stay in every later one; 0: answers of different leaves
    avoided: tuple[ChangeLimit, ...] = ()  # limits on the features that change, from the alternatives found before
    question: Any = None  # the Question

    @property
    def support(self) -> int:
        """The number of rows of the data that a leaf needs to count."""
        return max((one.least for one in self.constraints if isinstance(one, Support)), default=0)

    @property
    def near(self) -> Near | None:
        """The constraint that the answer is near the data, if there is one."""
        return next((one for one in self.constraints if isinstance(one, Near)), None)

    def goal(self, tree: Tree | Ensemble, source_class: int) -> Goal:
        """The target for a row that the model assigns to ``source_class``."""
        return read_goal(self.target, tree, source_class)


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
    """Read a target: class index -> class cost, or a range of a probability or value.

    Parameters
    ----------
    target : object, list, dict, Probability, Value or None
        A class, several classes, a dict from class to cost, an interval, or None for every class except ``source_class``.
    tree : Tree or Ensemble
        The tree of the model, or its trees.
    source_class : int
        The index of the class that the model predicts for the row.

    Returns
    -------
    dict or Range
        The target in the terms of the tree.

    Raises
    ------
    CounterleafError
        If the target does not fit the model.
    """
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
    """Read a target as class index -> class cost.

    Parameters
    ----------
    target : object, list, dict or None
        A class, several classes, a dict from class to cost, or None for every class except ``source_class``.
    classes : array of shape (n_classes,)
        The labels of the model.
    source_class : int
        The index of the class that the model predicts for the row.

    Returns
    -------
    dict
        From class index to class cost.

    Raises
    ------
    CounterleafError
        If the target is empty, names an unknown class, or has a cost that is not a finite number.
    """
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
