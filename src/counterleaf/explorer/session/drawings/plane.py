"""The predictions of a model over two features, with all other features as in the row: polygons, or a raster; and images.

A tree with constant leaves has exact polygons, unless an axis is a category; all other models have a raster.
"""

from __future__ import annotations

import base64
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.answer.tree_text import one_line
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explorer.session.answers.goals import points_of
from counterleaf.explorer.session.words import one_line_label
from counterleaf.plot.canvas import reach
from counterleaf.plot.polygons import regions
from counterleaf.table.features import MISSING
from counterleaf.table.words import word
from counterleaf.types import Array

_NEAR = 4.0  # splits this number of times as far away as the options are outside the window of an unbounded feature
_SHORT, _ZOOM = 0.08, 3.0  # a longest move below this share of the window zooms in on it
_MAX_REGIONS = 4000  # polygons; more of them are finer than the screen
_SIZE = (160, 110)  # cells of two numbers, if the model is fast
_BUDGET = 0.08  # seconds; a slow model has fewer cells
_LEVELS = 254  # of a number; a byte
_OTHERS = 255  # the last class that a byte can mean
_DIGITS = 6  # of a grey level or a weight, enough for a screen


def draw_plane(answer: cl.Explanation, x_feature: str, y_feature: str, whole: bool = False) -> dict[str, Any]:
    """The predictions over two features and the positions of the row and of the options.

    ``whole`` shows the whole range of both features even if the options are close to the row.
    """
    source, *points = points_of(answer)
    axes = _axes_of(answer, x_feature, y_feature, np.reshape(points, (-1, len(source))), whole)
    places, low, high = ([getattr(axis, name) for axis in axes] for name in ("index", "low", "high"))
    codes = answer.schema.gather(np.vstack([source, *points]))
    positions = np.nan_to_num(codes[:, places])
    others = np.delete(codes, places, axis=1)
    colours = _Colours(answer)
    polygons = _polygons(axes, np.array(low), np.array(high), colours)
    return {
        "axes": [axis.describe() for axis in axes],
        "low": low,
        "high": high,
        "regions": polygons,
        "raster": _draw_raster(axes, colours) if polygons is None else None,
        "scale": colours.describe(),
        "source": positions[0].tolist(),
        "answers": positions[1:].tolist(),
        "changes_others": [not np.array_equal(others[0], one, equal_nan=True) for one in others[1:]],
    }


def _polygons(axes: list[Axis], low: Array, high: Array, colours: _Colours) -> list[dict[str, Any]] | None:
    """The regions of the leaves, or None if the model needs a raster."""
    tree, pair = colours.answer.decision.model, [axis.variable for axis in axes]
    is_linear = tree.outputs is not None and tree.outputs.slope is not None
    if not tree.is_one_tree or is_linear or not all(axis.is_number for axis in axes):
        return None
    source = colours.answer.certificate.problem.source.copy()
    source[pair] = np.nan_to_num(source[pair])
    found = regions(tree, source, pair, low, high)
    if len(found) > _MAX_REGIONS:
        return None
    middles = np.repeat(source[None], len(found), axis=0)
    middles[:, pair] = [polygon.mean(axis=0) for _, polygon in found]
    numbers = colours.numbers(middles) if colours.is_number else None
    classes = None if tree.is_regression else colours.classes(middles)
    return [
        {
            "leaf": leaf,
            "class_index": -1 if classes is None else int(classes[k]),
            "number": None if numbers is None else float(numbers[k]),
            "corners": polygon.tolist(),
        }
        for k, (leaf, polygon) in enumerate(found)
    ]


@dataclass(frozen=True, slots=True)
class Axis:
    """A feature of the plane: its index, its first variable, and the part of it that is shown."""

    feature: cl.Feature
    index: int
    variable: int
    low: float
    high: float

    @property
    def is_number(self) -> bool:
        return isinstance(self.feature, cl.Numeric)

    def describe(self) -> dict[str, Any]:
        """The axis as the page needs it; a category is at its index."""
        unit = getattr(self.feature, "unit", None)
        is_date = unit == "date"
        common = {"name": self.feature.name, "label": one_line_label(self.feature), "unit": None if is_date else unit}
        if isinstance(self.feature, cl.Numeric):
            step = None if self.feature.grid is None else float(self.feature.grid)
            return {**common, "kind": "date" if is_date else "number", "step": step, "values": None}
        return {**common, "kind": "category", "step": 1.0, "values": names_of(self.feature)}


def _axes_of(answer: cl.Explanation, x_feature: str, y_feature: str, points: Array, whole: bool) -> list[Axis]:
    """The two axes; unless ``whole``, they zoom in on moves that would be too short to see."""
    schema, source = answer.schema, answer.certificate.problem.source
    indices = [schema.index(name) for name in (x_feature, y_feature)]
    if indices[0] == indices[1]:
        raise cl.CounterleafError(f"x_feature and y_feature are both {x_feature!r}; expected two different features")
    axes = []
    for d in indices:
        feature, variable = schema.features[d], int(schema.starts[d])
        if isinstance(feature, cl.Numeric):
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


def _window(answer: cl.Explanation, variable: int, values: Array) -> tuple[float, float]:
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


def names_of(feature: Any) -> list[str]:
    """The values of a feature that is not a number, and that it is missing, in one line each."""
    names = ["no", "yes"] if isinstance(feature, cl.Boolean) else [one_line(word(value)) for value in feature.values]
    return names + [MISSING] * feature.missing


@dataclass(frozen=True, slots=True)
class _Colours:
    """What the colours mean: classes, or the number that the goal is about."""

    answer: cl.Explanation

    @property
    def is_number(self) -> bool:
        return isinstance(self.answer.target, (cl.Probability, cl.Value))

    def numbers(self, points: Array) -> Array:
        """The number of each point: the value of a regression, or the probability of the class of the goal."""
        return np.array(self.answer.decision.numbers(points))

    def classes(self, points: Array) -> Array:
        """The index of the class that the model predicts for each point."""
        model = self.answer.decision.model
        places = {label: k for k, label in enumerate(model.classes.tolist())}
        return np.array([places[label] for label in model.predict(points).tolist()], np.int64)

    def describe(self) -> dict[str, Any] | None:
        """The scale as the page needs it: the class, or -1 for the value, and the interval of the goal."""
        if not self.is_number:
            return None
        target, output = self.answer.target, self.answer.decision.predicted
        low, high = (0.0, 1.0) if output >= 0 else (None, None)
        ends = [low if target.at_least is None else target.at_least, high if target.at_most is None else target.at_most]
        return {"output": output, "goal": ends}


def _draw_raster(axes: list[Axis], colours: _Colours) -> dict[str, Any]:
    """One byte per cell, row by row from the top: the index of the class, or the level of the number between two ends.

    With ``others``, there are more classes than bytes, and the last byte means any of the other classes.
    """
    sizes = [size if axis.is_number else axis.feature.size for axis, size in zip(axes, _SIZE, strict=True)]
    coarse = [max(2, size // 5) if axis.is_number else size for axis, size in zip(axes, sizes, strict=True)]
    start = time.perf_counter()
    cells = _predict(axes, coarse, colours)
    spent = time.perf_counter() - start
    finer = min(1.0, math.sqrt(_BUDGET / max(spent * math.prod(sizes) / math.prod(coarse), 1e-9)))
    fine = [
        max(least, round(finer * size)) if axis.is_number else size
        for axis, size, least in zip(axes, sizes, coarse, strict=True)
    ]
    raise_if_stopped()
    if fine != coarse:
        cells = _predict(axes, fine, colours)
    low, high, others = 0.0, 0.0, not colours.is_number and len(colours.answer.decision.model.classes) > _OTHERS + 1
    if colours.is_number:
        low, high = float(cells.min()), float(cells.max())
        cells = np.rint((cells - low) / ((high - low) or 1.0) * _LEVELS)
    cells = np.minimum(cells, _OTHERS).astype(np.uint8)
    return {
        "width": fine[0],
        "height": fine[1],
        "low": low,
        "high": high,
        "others": others,
        "cells": base64.b64encode(cells.tobytes()).decode(),
    }


def _predict(axes: list[Axis], size: list[int], colours: _Colours) -> Array:
    """The prediction in the middle of each cell, row by row from the top; numbers on a grid are moved to it."""
    answer = colours.answer
    x, y = (_middles(axis, n) for axis, n in zip(axes, size, strict=True))
    codes = np.repeat(answer.schema.gather(answer.certificate.problem.source[None]), size[0] * size[1], axis=0)
    codes[:, axes[0].index], codes[:, axes[1].index] = np.tile(x, size[1]), np.repeat(y[::-1], size[0])
    points = answer.schema.spread(codes)
    return colours.numbers(points) if colours.is_number else colours.classes(points)


def _middles(axis: Axis, n: int) -> Array:
    if not isinstance(axis.feature, cl.Numeric):
        return np.arange(n, dtype=float)
    middles = axis.low + (np.arange(n) + 0.5) * (axis.high - axis.low) / n
    return np.array([axis.feature.nearest(value, axis.low, axis.high) for value in middles.tolist()])


def draw_image(answer: cl.Explanation) -> dict[str, Any]:
    """The source and the answers as grey levels, with the lowest and the highest level."""
    source, points = answer.certificate.problem.source, answer.certificate.findings.points
    lower, upper = answer.schema.bounds()
    low, high = (float(x) for x in (min(lower.min(), source.min()), max(upper.max(), source.max())))
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        low, high = float(min(source.min(), points.min(initial=0))), float(max(source.max(), points.max(initial=1)))
    return {"low": low, "high": high, "source": rounded(source), "answers": [rounded(x) for x in points]}


def rounded(numbers: Array) -> list[float]:
    """Numbers with as many digits as a screen can show."""
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(numbers).tolist()]
