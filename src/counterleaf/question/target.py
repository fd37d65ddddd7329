"""The target of a question: the classes that the model should predict, with a cost for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.types import Array


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
