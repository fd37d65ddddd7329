"""Rows of data, the distance between rows, and how near the nearest rows are. NumPy only."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from counterleaf.types import Array

SLACK = 1e-12  # of the radius: a distance that exceeds it by so little counts as equal
_ENDS = 1e-150, 1e150
_CELLS = 1 << 22  # distances that are computed at once


@dataclass(frozen=True, eq=False)
class Ball:
    """Rows of data, the distance between rows, and the radius: a quantile of the distances to the nearest other row.

    Numbers differ by their difference, relative to the range in the data. So do the levels of an ordered feature. Other values
    differ by 1. The distance is the sum of these differences, or with the metric "L2" the sum of their squares.
    """

    vectors: Array  # (n, D) the data as variables
    labels: Array  # (n,) the classes that the model predicts
    numbers: Array  # (F,) the variables that are numbers
    groups: tuple[tuple[int, int, int], ...]  # first variable, one past the last, number of ordered levels (0 without an order)
    squared: bool  # the metric is L2
    quantile: float
    radius: float = math.nan
    neighbours: Array = field(default_factory=lambda: np.empty(0, np.int64))  # (n,) another row of the same class, -1 if none

    @functools.cached_property
    def places(self) -> Array:
        """(n, F) the numbers of the data."""
        return np.ascontiguousarray(self.vectors[:, self.numbers])

    @functools.cached_property
    def values(self) -> Array:
        """(n, G) the places of the values in their groups."""
        return self.values_of(self.vectors)

    @functools.cached_property
    def scale(self) -> Array:
        """(F,) the range of each number, 1 if it is 0; no smaller and no larger than its inverse square allows."""
        width = np.ptp(self.places, axis=0)
        return np.where(width > _ENDS[0], np.minimum(width, _ENDS[1]), 1.0)

    @functools.cached_property
    def tables(self) -> list[Array]:
        """For each group, the distance between every two values."""
        out = []
        for k, (first, last, levels) in enumerate(self.groups):
            table = 1.0 - np.eye(last - first)
            if levels:
                seen = self.values[self.values[:, k] < levels, k]
                moved = np.abs(np.arange(levels)[:, None] - np.arange(levels)) / max(
                    float(np.ptp(seen)) if len(seen) else 1.0, 1.0
                )
                table[:levels, :levels] = moved**2 if self.squared else moved
            out.append(table)
        return out

    @property
    def limit(self) -> float:
        """The largest distance that counts as near."""
        return self.radius * (1.0 + SLACK)

    def values_of(self, rows: Array) -> Array:
        """(m, G) the places of the values of some rows in their groups."""
        parts = [rows[:, first:last].argmax(axis=1) for first, last, _ in self.groups]
        return np.stack(parts, axis=1) if parts else np.empty((len(rows), 0), np.int64)

    def between(self, which: Array, places: Array, values: Array) -> Array:
        """The distances of some rows of the data to numbers and values, of one row or of as many rows."""
        apart = np.abs(places - self.places[which]) / self.scale
        out = (apart * apart if self.squared else apart).sum(axis=1)
        for k, table in enumerate(self.tables):
            out = out + table[self.values[which, k], values[..., k]]
        return np.asarray(out)

    def of_row(self, row: Array) -> tuple[Array, Array]:
        """The numbers and the values of one row."""
        return row[self.numbers], self.values_of(row[None])[0]

    def nearest(self, row: int) -> tuple[int, float]:
        """The nearest other row of the same class, the first of equally near ones, and its distance; (-1, inf) if none."""
        others = np.flatnonzero(self.labels == self.labels[row])
        others = others[others != row]
        if not len(others):
            return -1, math.inf
        found = self.between(others, self.places[row], self.values[row])
        best = int(found.argmin())
        return int(others[best]), float(found[best])

    def to_neighbours(self) -> Array:
        """(n,) the distance of each row to its neighbour, infinity without one."""
        out = np.full(len(self.vectors), math.inf)
        has = np.flatnonzero(self.neighbours >= 0)
        size = max(1, _CELLS // max(1, self.vectors.shape[1]))
        for start in range(0, len(has), size):
            part = has[start : start + size]
            other = self.neighbours[part]
            out[part] = self.between(part, self.places[other], self.values[other])
        return out

    def outermost(self, distances: Array) -> tuple[float, Array]:
        """The quantile of the finite ones of some distances, and the rows that are at least as far, as few as prove it.

        The quantile is the k-th smallest of n, where k is n times ``quantile``, rounded up. It is at most r if k distances are,
        and at least r if n - k + 1 are.
        """
        has = np.flatnonzero(np.isfinite(distances))
        order = has[np.argsort(distances[has], kind="stable")]
        k = max(1, math.ceil(self.quantile * len(order) - 1e-9))
        return float(distances[order[k - 1]]), order[k - 1 :]

    @functools.cached_property
    def is_sound(self) -> bool:
        """Whether the radius is that quantile of the distances to the nearest other row of the same class.

        The neighbours are upper bounds. All rows are searched for the nearest one only beyond the quantile.
        """
        n, near = len(self.vectors), self.neighbours
        fits = near.shape == self.labels.shape == (n,) and bool(((near >= -1) & (near < n) & (near != np.arange(n))).all())
        if not fits or not np.isfinite(self.vectors).all() or not 0.0 < self.quantile <= 1.0:
            return False
        has = near >= 0
        if not has.any() or (self.labels[near[has]] != self.labels[has]).any():
            return False
        alone = np.flatnonzero(~has)
        if (np.bincount(self.labels)[self.labels[alone]] > 1).any():
            return False
        radius, beyond = self.outermost(self.to_neighbours())
        return radius == self.radius and all(self.nearest(row)[1] >= radius for row in beyond.tolist())
