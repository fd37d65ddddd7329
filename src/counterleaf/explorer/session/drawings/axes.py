"""The two features of a plane, and the part of each that is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.tree_text import one_line
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.drawings.numbers import label_of, unit_of
from counterleaf.plot.canvas import reach
from counterleaf.table.features import MISSING, Boolean, Feature, Numeric
from counterleaf.table.words import word
from counterleaf.types import Array

_NEAR = 4.0  # splits this number of times as far away as the options are outside the window of an unbounded feature
_SHORT, _ZOOM = 0.08, 3.0  # a longest move below this share of the window zooms in on it


@dataclass(frozen=True, slots=True)
class Axis:
    """A feature of the plane: its index, its first variable, and the part of it that is shown."""

    feature: Feature
    index: int
    variable: int
    low: float
    high: float

    @property
    def is_number(self) -> bool:
        return isinstance(self.feature, Numeric)

    def describe(self) -> dict[str, Any]:
        """The axis as the page needs it; a category is at its index."""
        unit = unit_of(self.feature)
        is_date = unit == "date"
        common = {"name": self.feature.name, "label": label_of(self.feature), "unit": None if is_date else unit}
        if isinstance(self.feature, Numeric):
            step = None if self.feature.grid is None else float(self.feature.grid)
            return {**common, "kind": "date" if is_date else "number", "step": step, "values": None}
        return {**common, "kind": "category", "step": 1.0, "values": _names(self.feature)}


def axes_of(answer: Explanation, x_feature: str, y_feature: str, points: Array, whole: bool) -> list[Axis]:
    """The two axes; unless ``whole``, they zoom in on moves that would be too short to see."""
    schema, source = answer.schema, answer.certificate.problem.source
    indices = [schema.index(name) for name in (x_feature, y_feature)]
    if indices[0] == indices[1]:
        raise CounterleafError(f"x_feature and y_feature are both {x_feature!r}; expected two different features")
    axes = []
    for d in indices:
        feature, variable = schema.features[d], int(schema.starts[d])
        if isinstance(feature, Numeric):
            values = np.array([source[variable], *points[:, variable]])
            axes.append(Axis(feature, d, variable, *_window(answer, variable, values)))
        else:
            axes.append(Axis(feature, d, variable, -0.5, feature.size - 0.5))
    if whole or not all(axis.is_number for axis in axes):
        return axes
    pair, low, high = ([getattr(axis, name) for axis in axes] for name in ("variable", "low", "high"))
    size = np.array(high) - np.array(low)
    longest = float((np.abs(points[:, pair] - source[pair]) / size).max(initial=0.0))
    if not 0 < longest < _SHORT:
        return axes
    room = _ZOOM * longest * size
    return [
        replace(axis, low=max(axis.low, middle - part), high=min(axis.high, middle + part))
        for axis, middle, part in zip(axes, source[pair].tolist(), room.tolist(), strict=True)
    ]


def _window(answer: Explanation, variable: int, values: Array) -> tuple[float, float]:
    """The part of a number to show: its bounds, or else the row, the options and nearby splits."""
    lower, upper = (float(end[variable]) for end in answer.schema.bounds())
    near: Array = np.empty(0)
    if math.isinf(lower) or math.isinf(upper):
        splits = answer.decision.model.splits
        weights = splits.weights.toarray()
        used = weights[:, variable] != 0
        source = answer.certificate.problem.source
        score = (weights[used] @ source + splits.bias[used]) / weights[used, variable]
        near = source[variable] - score  # where each split cuts the line through the row
        if np.ptp(values) > 0:
            near = near[np.abs(near - values[0]) <= _NEAR * np.ptp(values)]
    low, high = reach([*values.tolist(), *near.tolist()], lower, upper)
    room = 0.1 * (high - low)
    return (low - room if math.isinf(lower) else low), (high + room if math.isinf(upper) else high)


def _names(feature: Any) -> list[str]:
    names = ["no", "yes"] if isinstance(feature, Boolean) else [one_line(word(value)) for value in feature.values]
    return names + [MISSING] * feature.missing
