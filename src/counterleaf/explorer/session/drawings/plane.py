"""The predictions of a model over two features, with all other features as in the row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.explorer.session.drawings.axes import Axis, axes_of
from counterleaf.explorer.session.drawings.raster import Scale, class_indices, draw_raster, scale_of
from counterleaf.model.tree import Tree
from counterleaf.plot.polygons import regions
from counterleaf.types import Array

_MAX_REGIONS = 4000  # polygons; more of them are finer than the screen


def draw_plane(answer: Explanation, x_feature: str, y_feature: str, whole: bool = False) -> dict[str, Any]:
    """The predictions over two features and the positions of the row and of the options.

    A tree with constant leaves has exact polygons, unless an axis is a category; all other models have a raster. ``whole``
    shows the whole range of both features even if the options are close to the row.
    """
    schema, source = answer.schema, answer.certificate.problem.source
    points = answer.certificate.findings.points.reshape(-1, schema.width)
    axes = axes_of(answer, x_feature, y_feature, points, whole)
    low, high = (np.array([axis.low for axis in axes]), np.array([axis.high for axis in axes]))
    codes = schema.gather(np.vstack([source, points]))
    positions = np.nan_to_num(codes[:, [axis.index for axis in axes]])
    others = np.delete(codes, [axis.index for axis in axes], axis=1)
    scale = scale_of(answer)
    polygons = _polygons(answer, axes, low, high, scale)
    return {
        "axes": [axis.describe() for axis in axes],
        "low": low.tolist(),
        "high": high.tolist(),
        "regions": polygons,
        "raster": draw_raster(answer, axes, scale) if polygons is None else None,
        "scale": None if scale is None else scale.describe(),
        "source": positions[0].tolist(),
        "answers": positions[1:].tolist(),
        "changes_others": [bool(_differ(others[0], one)) for one in others[1:]],
    }


def _differ(a: Array, b: Array) -> bool:
    return bool(((a != b) & ~(np.isnan(a) & np.isnan(b))).any())


def _polygons(
    answer: Explanation, axes: list[Axis], low: Array, high: Array, scale: Scale | None
) -> list[dict[str, Any]] | None:
    """The regions of the leaves, or None if the model needs a raster."""
    tree = answer.decision.model
    if not isinstance(tree, Tree) or not all(axis.is_number for axis in axes):
        return None
    if tree.outputs is not None and tree.outputs.slope is not None:
        return None
    source = answer.certificate.problem.source.copy()
    for axis in axes:
        source[axis.variable] = 0.0 if math.isnan(source[axis.variable]) else source[axis.variable]
    found = regions(tree, source, [axis.variable for axis in axes], low, high)
    if len(found) > _MAX_REGIONS:
        return None
    middles = np.repeat(source[None], len(found), axis=0)
    middles[:, [axis.variable for axis in axes]] = [polygon.mean(axis=0) for _, polygon in found]
    numbers = None if scale is None else scale.numbers(middles)
    classes = None if tree.is_regression else class_indices(tree, middles)
    return [
        {
            "leaf": leaf,
            "class_index": -1 if classes is None else int(classes[k]),
            "number": None if numbers is None else float(numbers[k]),
            "corners": polygon.tolist(),
        }
        for k, (leaf, polygon) in enumerate(found)
    ]
