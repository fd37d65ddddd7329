"""The two closed sides of a split on one feature, in the arithmetic of the model.

Rounding decides which number is the last that a model sends left and which is the first that it sends right: scikit-learn
casts to float32 and compares with a float64 threshold. Bisection over the floating-point numbers themselves finds both, so an
axis-aligned problem is closed and exact, without an epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from counterleaf.model.tree import Tree
from counterleaf.types import Array


def cuts(tree: Tree, margin: float | Array = 0.0) -> tuple[Array, Array, Array, Array]:
    """Return (feature, swapped, low_side, high_side) per node; feature is -1 at leaves and at oblique splits.

    A row on the low side of node i has x[feature] <= low_side[i], one on the high side has x[feature] >= high_side[i]. The high
    side is the right child, or the left one where ``swapped`` (negative weight). With a margin, |w x + b| >= margin holds on
    both sides too. A split without weights sends every row the same way: it cuts feature 0 at plus or minus infinity.
    """
    n = tree.n_nodes
    margins = np.broadcast_to(np.asarray(margin, float), n)
    counts = np.diff(tree.weights.indptr)
    inner = tree.left >= 0
    feature = np.full(n, -1)
    swapped = np.zeros(n, bool)
    low_side, high_side = np.full(n, np.inf), np.full(n, -np.inf)
    single = np.flatnonzero(inner & (counts == 1))
    if len(single):
        at = tree.weights.indptr[single]
        w, b = tree.weights.data[at], tree.bias[single]
        feature[single] = tree.weights.indices[at]
        swapped[single] = w < 0
        sign = np.sign(w)

        def score(x: Array) -> Array:
            with np.errstate(over="ignore"):
                return np.asarray(w * x + b)

        def cast(x: Array) -> Array:
            return x.astype(np.float32).astype(np.float64) if tree.dtype == "float32" else x

        def high(x: Array) -> Array:  # does the model send x to the high side?
            f = sign * score(cast(x))
            owns_zero = (tree.closed == "right") == (sign > 0)
            return np.asarray((f > 0) | (owns_zero & (f == 0)))

        top = float(np.finfo(tree.dtype).max)
        first = first_number(high, len(single), top)
        high_side[single] = first
        low_side[single] = _before(first)
        far = margins[single]
        if (far > 0).any():
            above = first_number(lambda x: sign * score(x) >= far, len(single), top)
            under = _before(first_number(lambda x: sign * score(x) > -far, len(single), top))
            above, under = np.where(far > 0, above, -np.inf), np.where(far > 0, under, np.inf)
            high_side[single] = np.maximum(first, _beyond_margin(above, sign * w, sign * b, far, np.inf))
            low_side[single] = np.minimum(low_side[single], _beyond_margin(under, -sign * w, -sign * b, far, -np.inf))
    none = np.flatnonzero(inner & (counts == 0))
    f = tree.bias[none]
    right = (f > 0) | ((f == 0) & (tree.closed == "right"))
    feature[none] = 0
    high_side[none] = np.where(right & (f >= margins[none]), -np.inf, np.inf)
    low_side[none] = np.where(~right & (-f >= margins[none]), np.inf, -np.inf)
    return feature, swapped, low_side, high_side


def first_number(holds: Callable[[Array], Array], size: int, top: float) -> Array:
    """Return the least number in [-top, top] at which a monotone condition holds: inf where never, -inf where always."""
    ends = np.full(size, top)
    never, always = ~holds(ends), holds(-ends)
    low, high = rank_of(-ends), rank_of(ends)
    while (low + 1 < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        there = holds(number_at(middle))
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return np.where(never, np.inf, np.where(always, -np.inf, number_at(high)))


def preimage(function: Callable[[Array], Array], low: float, high: float, top: float) -> tuple[float, float]:
    """Return the least and the greatest number of [-top, top] at which a rising function is from ``low`` to ``high``."""
    first = float(first_number(lambda x: function(x) >= low, 1, top)[0])
    after = float(first_number(lambda x: function(x) > high, 1, top)[0])
    return first, after if np.isinf(after) else float(np.nextafter(after, -np.inf))


def _beyond_margin(cuts: Array, w: Array, b: Array, margins: Array, outwards: float) -> Array:
    """Return the cuts, moved outwards to where w x + b is at least the margin in exact arithmetic."""
    out = cuts.copy()
    for k in np.flatnonzero(np.isfinite(cuts)).tolist():
        edge = (Fraction(margins[k]) - Fraction(b[k])) / Fraction(w[k])
        if (edge > Fraction(out[k])) if outwards > 0 else (edge < Fraction(out[k])):
            near = float(edge)
            inside = Fraction(near) >= edge if outwards > 0 else Fraction(near) <= edge
            out[k] = near if inside else np.nextafter(near, outwards)
    return out


def _before(x: Array) -> Array:
    """Return the next number below; infinities stay."""
    return np.where(np.isinf(x), x, np.nextafter(x, -np.inf))


def rank_of(x: Array) -> Array:
    """Return consecutive integers for consecutive floating-point numbers."""
    bits = np.abs(x).view(np.int64)
    return np.where(x < 0, -bits, bits)


def number_at(rank: Array) -> Array:
    """Return the number of a rank, the inverse of ``rank_of``."""
    size = np.abs(rank).view(np.float64)
    return np.where(rank < 0, -size, size)
