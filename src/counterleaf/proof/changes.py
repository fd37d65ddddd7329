"""The features that change in a region, where changes are limited in number or charged."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.exact import ROUNDING
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.proof.bound import Region


def staying(region: Region, gains: Array, charged: bool) -> tuple[list[int], list[float]]:
    """The variables that stay although they gain by moving, and the charges of the features that change.

    ``gains`` are the minima by variable, less than 0 for one that gains. A feature stays if its charge is larger than its
    gain, or if a limit lets only some features change and others gain more; with several limits, the one that leaves the
    largest sum decides. Without ``charged``, changes are not charged.
    """
    table = region.problem.table
    if table is None or not table.counts_changes:
        return [], []
    charges = (table.charges if charged else np.zeros(len(table.charges))).tolist()
    gain: list[Any] = [0] * len(charges)
    for f, one in zip(table.feature.tolist(), gains.tolist(), strict=True):
        gain[f] += one
    exact = gains.dtype == object
    total = [a + (Fraction(c) if exact else c) if c else a for a, c in zip(gain, charges, strict=True)]
    moving = table.moving(region.problem.source, region.lower, region.upper, region.counted)
    stays = {f for f, c in enumerate(charges) if not moving[f] and c > 0 and total[f] >= 0}
    most: Any = 0
    left_out: list[int] = []
    for members, limit in zip(table.members, table.most.tolist(), strict=True):
        free = [f for f in np.flatnonzero(members & ~moving).tolist() if f not in stays]
        free.sort(key=lambda f: total[f])
        dropped = free[max(limit - int((members & moving).sum()), 0) :]
        lost = -sum(total[f] for f in dropped)
        if lost > most:
            most, left_out = lost, dropped
    stays |= set(left_out)
    paid = [c for f, c in enumerate(charges) if c > 0 and f not in stays]
    return [d for d, f in enumerate(table.feature.tolist()) if f in stays], paid


def unavoidable(region: Region) -> list[float]:
    """The charges of the features that change in every row of a region, and those that one of its faces forces in addition."""
    table = region.problem.table
    assert table is not None
    moving = table.moving(region.problem.source, region.lower, region.upper, region.counted)
    return [*table.charges[moving].tolist(), _forced_charges(region)]


def _forced_charges(region: Region) -> float:
    """The charges that one of the faces forces, in addition to those that are paid anyway.

    If a face is missed even where the features that change anyway take their best values and the others stay, then at least
    k others change, where the k largest contributions are just enough. They pay at least the k smallest charges. If all of them
    are not enough, the region has no row and any bound holds: all charges are a bound as high as that of every larger region.
    """
    table, source, most = region.problem.table, region.problem.source, 0.0
    assert table is not None
    moving = table.moving(source, region.lower, region.upper, region.counted)
    for face, room in zip(region.faces, region.room(True), strict=True):
        for side in (1.0, -1.0) if face.equal else (1.0,):
            d, w = face.columns, side * face.weights
            end = np.where(w > 0, region.upper[d], region.lower[d])
            with np.errstate(invalid="ignore"):
                gain = np.where(w == 0, 0.0, w * (end - source[d]))
                terms = np.abs(w) * (np.abs(source[d]) + np.where(np.isfinite(end), np.abs(end), 0.0))
            size = float(terms.sum()) + sum(map(abs, face.constants))
            by_feature = np.bincount(table.feature[d], gain, len(table.charges))
            miss = side * face.miss - room - 8 * (len(d) + 4) * ROUNDING * size
            left = miss - float(by_feature[moving].sum())
            others = np.flatnonzero(~moving & (by_feature > 0))
            if left > 0:
                reached = np.cumsum(np.sort(by_feature[others])[::-1])
                k = int(np.searchsorted(reached, left)) + 1
                paid = np.sort(table.charges[others])[:k] if k <= len(others) else table.charges
                most = max(most, float(paid.sum()))
    return most * (1 - 8 * ROUNDING)
