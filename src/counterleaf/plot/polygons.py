"""The regions of leaves over two features as polygons, and free space for labels among them; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterleaf.model.tree import Tree
from counterleaf.types import Array

Box = tuple[float, float, float, float]  # left, bottom, right, top

_SLIVER = 1e-12  # polygons below this share of the window are invisible


def regions(tree: Tree, source: Array, pair: list[int], low: Array, high: Array) -> list[tuple[int, Array]]:
    """Return (leaf, polygon) for every leaf in the window [low, high] of two features, the others as in the source.

    The splits on the path to each leaf cut the window, so the polygons are convex and tile it.
    """
    fixed = source.astype(tree.dtype).astype(np.float64)
    fixed[pair] = 0.0
    offsets = tree.weights @ fixed + tree.bias
    normals = tree.weights.toarray()[:, pair]
    whole = np.array([low, (high[0], low[1]), high, (low[0], high[1])], float)
    least = _SLIVER * area(whole)
    out = []
    stack = [(0, whole)]
    while stack:
        node, polygon = stack.pop()
        normal, offset = normals[node], offsets[node]
        left, right = int(tree.left[node]), int(tree.right[node])
        if len(polygon) < 3 or area(polygon) <= least:
            continue
        if left < 0:
            out.append((node, polygon))
        elif normal.any():
            stack += [(right, clip(polygon, normal, offset)), (left, clip(polygon, -normal, -offset))]
        else:
            stack.append((right if offset > 0 or (offset == 0 and tree.closed == "right") else left, polygon))
    return out


def clip(polygon: Array, normal: Array, offset: float) -> Array:
    """Return the part of a convex polygon (K, 2) where normal @ p + offset >= 0."""
    side = polygon @ normal + offset
    out = []
    for k in range(len(polygon)):
        before, here = side[k - 1], side[k]
        if (before >= 0) != (here >= 0):
            out.append(polygon[k - 1] + before / (before - here) * (polygon[k] - polygon[k - 1]))
        if here >= 0:
            out.append(polygon[k])
    return np.array(out).reshape(-1, 2)


def area(polygon: Array) -> float:
    """Return the area of a polygon whose corners are in anticlockwise order."""
    x, y = (polygon - polygon[0]).T
    return float(0.5 * (x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def near(at: Array, size: Array, taken: Sequence[Box], frame: Box) -> Box:
    """Return a box of ``size`` next to the point ``at``, if possible inside the frame and clear of the boxes in ``taken``."""
    first = None
    for away in (5.0, 12.0, 22.0, 36.0):
        for way in ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1)):
            box = _around(at + np.array(way) * (size / 2 + away * 0.7), size)
            first = first or box
            if _inside(box, frame) and not any(_meet(box, other) for other in taken):
                return box
    assert first is not None
    return first


def within(polygon: Array, size: Array, taken: Sequence[Box]) -> Box | None:
    """Return a box of ``size`` inside a convex polygon and clear of the boxes in ``taken``, near the middle if possible."""
    middle = polygon.mean(axis=0)
    spots = [middle + t * (corner - middle) for t in (0.0, 0.25, 0.5, 0.7) for corner in polygon]
    after = np.roll(polygon, -1, axis=0)
    for spot in spots:
        left, bottom, right, top = box = _around(spot, size)
        corners = np.array([(left, bottom), (right, bottom), (right, top), (left, top)])
        edges, out = (after - polygon)[:, None], corners[None] - polygon[:, None]
        is_inside = bool((edges[..., 0] * out[..., 1] - edges[..., 1] * out[..., 0] >= 0).all())
        if is_inside and not any(_meet(box, other) for other in taken):
            return box
    return None


def along(start: Array, end: Array, step: float = 6.0) -> list[Box]:
    """Return small boxes along a line, which keep labels off it."""
    n = int(np.hypot(*(end - start)) / step) + 2
    return [_around(start + t * (end - start), np.array([4.0, 4.0])) for t in np.linspace(0, 1, n)]


def _around(middle: Array, size: Array) -> Box:
    (x, y), (w, h) = middle, size / 2
    return float(x - w), float(y - h), float(x + w), float(y + h)


def _inside(box: Box, frame: Box) -> bool:
    return frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
