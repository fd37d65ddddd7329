"""The target, and a question as one value: checked once, then passed through the search, the batch and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, number, some
from counterleaf.question.cost import Prices
from counterleaf.question.kinds import Constraint, listed
from counterleaf.types import Array

_MANY = 1 << 62  # larger limits are cut to this, which no search reaches


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A question without its row: target, cost, constraints and limits.

    ``target`` and ``cost`` are those that the user passed; ``prices`` is the cost as arrays.
    """

    target: Any
    cost: Any
    prices: Prices
    constraints: tuple[Constraint, ...]
    margin: float = 0.0
    count: int | None = 1
    time_limit: float | None = None
    max_nodes: int | None = None

    @classmethod
    def read(cls, target: Any, cost: Any, prices: Prices, constraints: Any, **limits: Any) -> Query:
        """Check the arguments of a question.

        Raises
        ------
        CounterleafError
            If the constraints are not a list of constraints, or a limit is not a number of the right kind.
        """
        count, time_limit, nodes = limits.get("count", 1), limits.get("time_limit"), limits.get("max_nodes")
        margin = number(limits.get("margin", 0.0), "margin")
        if count is not None and not _is_count(count):
            raise CounterleafError(f"count is {count!r}; expected a whole number from 1, or None for every leaf")
        if margin < 0:
            raise CounterleafError(f"margin is {margin}; expected 0 or more")
        if time_limit is not None:
            time_limit = number(time_limit, "time_limit")
            if time_limit <= 0:
                raise CounterleafError(f"time_limit is {time_limit}; expected seconds above 0, or None")
        if nodes is not None and not _is_count(nodes):
            raise CounterleafError(f"max_nodes is {nodes!r}; expected a whole number from 1, or None")
        count, nodes = (None if one is None else min(int(one), _MANY) for one in (count, nodes))
        return cls(target, cost, prices, tuple(listed(constraints)), margin, count, time_limit, nodes)

    def classes(self, labels: Array, source_class: int) -> dict[int, float]:
        """The target as class index -> class cost, for a row that the model assigns to ``source_class``."""
        return read_target(self.target, labels, source_class)


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


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
    if isinstance(target, np.ndarray):
        target = target.tolist()
    try:
        if isinstance(target, Mapping):
            costs = dict(target)
        elif isinstance(target, Iterable) and not isinstance(target, (str, bytes)):
            costs = dict.fromkeys(target, 0.0)
        else:
            costs = {target: 0.0}
    except TypeError:
        raise CounterleafError(f"target is {target!r}; expected a class, a list of classes or a dict of costs") from None
    if not costs:
        raise CounterleafError("target is empty; name at least one class")
    out: dict[int, float] = {}
    for label, price in costs.items():
        if label not in labels:
            raise CounterleafError(f"no class {label!r}; the model's classes are {some(labels)}")
        try:
            out[labels.index(label)] = float(price)
        except (TypeError, ValueError):
            raise CounterleafError(f"the cost of class {label!r} is {price!r}; expected a number") from None
        if not math.isfinite(out[labels.index(label)]):
            raise CounterleafError(
                f"the cost of class {label!r} is {price!r}; expected a finite number: leave out the classes that you rule out"
            )
    return out
