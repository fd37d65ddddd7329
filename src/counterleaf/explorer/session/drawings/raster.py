"""The predictions of any model over two features as a raster, and the scale of its colours."""

from __future__ import annotations

import base64
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explorer.session.drawings.axes import Axis
from counterleaf.model.decision import Range
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_SIZE = (160, 110)  # cells of two numbers, if the model is fast
_BUDGET = 0.08  # seconds; a slow model has fewer cells
_LEVELS = 254  # of a number; a byte
_OTHERS = 255  # the last class that a byte can mean


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that the colours mean: the value of a regression, or the probability of the class of the goal."""

    answer: Explanation
    output: int  # the class, or -1 for the value

    def numbers(self, points: Array) -> Array:
        """The number of each point."""
        decision = self.answer.decision
        if self.output >= 0:
            return np.asarray(decision.model.predict_proba(points)[:, self.output], float)
        found = np.asarray(decision.model.predict(points), float)
        return decision.goal.outward(found) if isinstance(decision.goal, Range) else found

    def describe(self) -> dict[str, Any]:
        """The scale as the page needs it, with the interval of the goal."""
        goal = self.answer.decision.goal
        ends: list[float | None] = [None, None]
        if isinstance(goal, Range):
            low, high = (goal.low, goal.high) if goal.values is None else goal.values
            ends = [end if math.isfinite(end) else None for end in (low, high)]
        return {"output": self.output, "goal": ends}


def scale_of(answer: Explanation) -> Scale | None:
    """The scale of the colours if the goal is about a number; None if it is about classes."""
    goal = answer.decision.goal
    if isinstance(goal, Range) and goal.output >= 0:
        return Scale(answer, goal.output)
    return Scale(answer, -1) if answer.decision.model.is_regression else None


def draw_raster(answer: Explanation, axes: list[Axis], scale: Scale | None) -> dict[str, Any]:
    """One byte per cell, row by row from the top: the index of the class, or the level of the number between two ends.

    With ``others``, there are more classes than bytes, and the last byte means any of the other classes.
    """
    sizes = [
        axis.feature.size if not isinstance(axis.feature, Numeric) else size for axis, size in zip(axes, _SIZE, strict=True)
    ]
    coarse = [size if not axis.is_number else max(2, size // 5) for axis, size in zip(axes, sizes, strict=True)]
    start = time.perf_counter()
    cells = _predict(answer, axes, coarse, scale)
    spent = time.perf_counter() - start
    finer = min(1.0, math.sqrt(_BUDGET / max(spent * (sizes[0] * sizes[1]) / (coarse[0] * coarse[1]), 1e-9)))
    fine = [
        size if not axis.is_number else max(least, round(finer * size))
        for axis, size, least in zip(axes, sizes, coarse, strict=True)
    ]
    raise_if_stopped()
    if fine != coarse:
        cells, coarse = _predict(answer, axes, fine, scale), fine
    low, high = (0.0, 0.0) if scale is None else (float(cells.min()), float(cells.max()))
    if scale is not None:
        cells = np.rint((cells - low) / ((high - low) or 1.0) * _LEVELS)
    others = scale is None and len(answer.decision.model.classes) > _OTHERS + 1
    cells = np.minimum(cells, _OTHERS).astype(np.uint8)
    return {
        "width": coarse[0],
        "height": coarse[1],
        "low": low,
        "high": high,
        "others": others,
        "cells": base64.b64encode(cells.tobytes()).decode(),
    }


def _predict(answer: Explanation, axes: list[Axis], size: list[int], scale: Scale | None) -> Array:
    """The prediction in the middle of each cell, row by row from the top; numbers on a grid are moved to it."""
    x, y = (_middles(axis, n) for axis, n in zip(axes, size, strict=True))
    codes = np.repeat(answer.schema.gather(answer.certificate.problem.source[None]), size[0] * size[1], axis=0)
    codes[:, axes[0].index], codes[:, axes[1].index] = np.tile(x, size[1]), np.repeat(y[::-1], size[0])
    points = answer.schema.spread(codes)
    if scale is not None:
        return scale.numbers(points)
    return class_indices(answer.decision.model, points)


def _middles(axis: Axis, n: int) -> Array:
    if not isinstance(axis.feature, Numeric):
        return np.arange(n, dtype=float)
    middles = axis.low + (np.arange(n) + 0.5) * (axis.high - axis.low) / n
    return np.array([axis.feature.nearest(value, axis.low, axis.high) for value in middles.tolist()])


def class_indices(model: Tree | Ensemble, points: Array) -> Array:
    """The index of the class that a model predicts for each point."""
    places = {label: k for k, label in enumerate(model.classes.tolist())}
    return np.array([places[label] for label in model.predict(points).tolist()], np.int64)
