"""What the model should say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.types import Array


def read_target(target: Any, classes: Array, own: int) -> dict[int, float]:
    """Class index -> class cost, from a class, several, a dict of costs, or None (any class but the row's own)."""
    labels = classes.tolist()
    if target is None:
        return {k: 0.0 for k in range(len(labels)) if k != own}
    if isinstance(target, np.ndarray):
        target = target.tolist()
    try:
        if isinstance(target, Mapping):
            wanted = dict(target)
        elif isinstance(target, Iterable) and not isinstance(target, (str, bytes)):
            wanted = dict.fromkeys(target, 0.0)
        else:
            wanted = {target: 0.0}
    except TypeError:
        raise CounterleafError(f"target is {target!r}; expected a class, a list of classes or a dict of costs") from None
    if not wanted:
        raise CounterleafError("target is empty; name at least one class")
    out: dict[int, float] = {}
    for label, price in wanted.items():
        if label not in labels:
            raise CounterleafError(f"no class {label!r}; the model's classes are {some(labels)}")
        try:
            out[labels.index(label)] = float(price)
        except (TypeError, ValueError):
            raise CounterleafError(f"the cost of class {label!r} is {price!r}; expected a number") from None
        if not math.isfinite(out[labels.index(label)]):
            raise CounterleafError(
                f"the cost of class {label!r} is {price!r}; expected a finite number: leave out what is forbidden"
            )
    return out
