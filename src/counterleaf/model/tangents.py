"""Linear rows of a leaf: differences of its outputs, and tangents that contain the region of a softmax."""

from __future__ import annotations

import math

import numpy as np

from counterleaf.model.outputs import Outputs
from counterleaf.types import Array

_AWAY = 8 * 2.0**-53  # of its terms: how far the constant of a tangent is moved outwards, beyond its rounding
_WIDEST = 1e300  # odds that every row has
Cut = tuple[tuple[float, tuple[float, ...]], ...]  # a sum of tangents: the weight and the touching point of each, as outputs


def difference(outputs: Outputs, leaf: int, a: int, b: int, constant: float = 0.0) -> tuple[Array, Array, float]:
    """Return the row ``output a - output b + constant`` of a leaf."""
    (columns, weights, one), (others, subtracted, other) = outputs.row(leaf, a), outputs.row(leaf, b)
    return _sum([(1.0, columns, weights), (-1.0, others, subtracted)], math.fsum([one, -other, constant]))


def _sum(parts: list[tuple[float, Array, Array]], constant: float) -> tuple[Array, Array, float]:
    """Return a sum of weighted rows."""
    total: dict[int, list[float]] = {}
    for factor, columns, weights in parts:
        for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
            total.setdefault(column, []).append(factor * weight)
    sums = {column: math.fsum(terms) for column, terms in sorted(total.items())}
    kept = {column: one for column, one in sums.items() if one}
    return np.array(list(kept), np.int64), np.array(list(kept.values())), constant


def tangents(outputs: Outputs, leaf: int, k: int, p: float, cuts: tuple[Cut, ...]) -> list[tuple[Array, Array, float]]:
    """Return rows that hold wherever the softmax of a class is at least a number.

    With s_j = z_j - z_k, the softmax of class k is at least p where sum_j exp(s_j) <= 1 / p - 1. Each exponential alone is then
    at most as large; and it lies above its tangents, g (1 + s - log g), whose sum is at most as large too.
    """
    if p <= 0.0:
        return []
    others = [j for j in range(outputs.count) if j != k]
    room = (1.0 - p + 2.0**-53) / p  # a probability that is rounded up to p counts as well
    if room > _WIDEST:
        return []
    rows = []
    for j in others:
        columns, weights, constant = difference(outputs, leaf, k, j, math.log(room))
        rows.append((columns, weights, constant + _AWAY * (abs(constant) + abs(math.log(room)) + 1.0)))
    for cut in cuts:
        raised, terms = dict.fromkeys(others, 0.0), []
        for share, at in cut:
            terms.append(share * room)
            for j in others:
                g = share * math.exp(min(at[j] - at[k], 700.0))
                raised[j] += g
                terms += [-g, g * (at[j] - at[k])] if at[j] - at[k] <= 700.0 else [-g, g * 700.0]
        parts = []
        for j, g in raised.items():
            columns, weights, constant = difference(outputs, leaf, k, j)
            parts.append((g, columns, weights))
            terms.append(g * constant)
        away = _AWAY * len(terms) * (sum(map(abs, terms)) + 1e-300)
        rows.append(_sum(parts, math.fsum([*terms, away])))
    return rows
