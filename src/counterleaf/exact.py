"""Sums with a known error: exact products, sums that are rounded once, and rational numbers where that does not decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from counterleaf.sparse import CSR
from counterleaf.types import Array

ROUNDING = 2.0**-53  # the largest relative error of one rounding
_LARGE, _SMALL = 1e140, 1e-140  # products of numbers between these neither overflow nor lose digits
_MOST = 4000  # columns of a matrix that is factored


def dot(a: Array, b: Array, *more: float) -> float:
    """The sum of a @ b and the further arguments, rounded once.

    Examples
    --------
    >>> dot(np.array([1e16, 1.0]), np.array([1.0, 1.0]), -1e16)
    1.0
    """
    sizes = np.abs(np.concatenate([a, b]))
    if ((sizes < _LARGE) & ((sizes > _SMALL) | (sizes == 0))).all() and all(abs(one) < _LARGE**2 for one in more):
        product = a * b
        return math.fsum([*product.tolist(), *_lost(a, b, product).tolist(), *more])
    total = exact_dot(a, b, *more)
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _lost(a: Array, b: Array, product: Array) -> Array:
    """The rounding error of each product (Dekker)."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return np.asarray(a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))


def _halves(v: Array) -> tuple[Array, Array]:
    """Split each number into two with half of the digits each (Veltkamp)."""
    big = 134217729.0 * v
    high = big - (big - v)
    return high, v - high


def fractions(numbers: Array) -> Array:
    """The same numbers as fractions, which add up without rounding; infinities remain floats."""
    flat = [Fraction(one) if math.isfinite(one) else one for one in np.ravel(numbers).tolist()]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(np.shape(numbers))


def whole(numbers: Array) -> tuple[Array, int]:
    """Numbers as integers times a common power of two, and its exponent."""
    digits, exponent = np.frexp(numbers)
    least = int(exponent[digits != 0].min(initial=0))
    out = [
        int(one) << (e - least if one else 0) for one, e in zip(np.ldexp(digits, 53).tolist(), exponent.tolist(), strict=True)
    ]
    return np.array(out, object), least - 53


def combined(factors: Sequence[Fraction], rows: Sequence[tuple[Array, Array, int]], width: int) -> list[Fraction]:
    """sum_t factors[t] rows[t] of sparse rows, each given by its columns and by its numbers as ``whole`` returns them."""
    used = [(factor, row) for factor, row in zip(factors, rows, strict=True) if factor]
    under = math.lcm(*(factor.denominator for factor, _ in used))
    least = min((row[2] for _, row in used), default=0)
    total = np.zeros(width, object)
    for factor, (columns, numbers, exponent) in used:
        total[columns] += factor.numerator * (under // factor.denominator) * (1 << (exponent - least)) * numbers
    unit = Fraction(2) ** least / under
    return [one * unit if one else Fraction() for one in total.tolist()]


def exact_dot(a: Array, b: Array, *more: float) -> Fraction:
    """The sum of a @ b and the further arguments, as a rational number."""
    total = sum(map(Fraction, more), Fraction())
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        if x and y:
            total += Fraction(x) * Fraction(y)
    return total


def below(value: Fraction | float) -> float:
    """The largest float at or below a rational number; infinities remain."""
    if isinstance(value, float):
        return value
    try:
        near = float(value)
    except OverflowError:
        return float(np.finfo(float).max) if value > 0 else -math.inf
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def entries(matrix: CSR, rows: list[int]) -> dict[int, dict[int, Fraction]]:
    """Some rows of a matrix, each as a dict from column to entry."""
    return {d: {int(e): Fraction(float(w)) for e, w in zip(*matrix.row(d), strict=True)} for d in rows}


def solved(lines: list[list[Fraction]]) -> list[Fraction] | None:
    """A solution of linear equations, each a line of coefficients followed by its right-hand side; None if there is none."""
    unknowns = len(lines[0]) - 1
    pivots: list[int] = []
    for k in range(len(lines)):
        line = lines[k]
        place = max(range(unknowns), key=lambda j: abs(line[j]), default=-1)
        if place < 0 or not line[place]:
            if line[-1]:
                return None
            pivots.append(-1)
            continue
        pivots.append(place)
        lines[k] = line = [a / line[place] for a in line]
        for other in range(len(lines)):
            if other != k and lines[other][place]:
                by = lines[other][place]
                lines[other] = [a - by * b for a, b in zip(lines[other], line, strict=True)]
    out = [Fraction()] * unknowns
    for line, place in zip(lines, pivots, strict=True):
        if place >= 0:
            out[place] = line[-1]
    return out


def is_convex(matrix: CSR, curve: Array) -> bool:
    """Whether a symmetric matrix, less ``curve`` on its diagonal, is provably positive semidefinite.

    A Cholesky factor of B - c I proves it for B if c exceeds the effect of rounding on the factor: (n + 2) 2^-52 times the
    trace of B (Rump, Verification of positive definiteness, 2006). The diagonal is scaled by powers of two, which is exact.
    """
    indptr, indices = matrix.indptr, matrix.indices
    used = np.unique(indices)
    if np.any(curve[np.setdiff1d(np.arange(len(curve)), used)] > 0) or len(used) > _MOST:
        return False
    place = np.full(len(curve), -1)
    place[used] = np.arange(len(used))
    dense = np.zeros((len(used), len(used)))
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if (place[rows] < 0).any():
        return False
    dense[place[rows], place[indices]] = matrix.data
    if not (dense == dense.T).all():
        return False
    diagonal = dense.diagonal()
    if not (diagonal > 0).all():
        return not len(used)
    half = np.ldexp(1.0, -((np.frexp(diagonal)[1] + 1) // 2))
    dense = dense * half[:, None] * half
    n = len(used)
    dense[np.diag_indices(n)] -= curve[used] * half * half + (n + 2) * 2 * ROUNDING * float(dense.trace())
    try:
        return bool(np.isfinite(np.linalg.cholesky(dense)).all())
    except np.linalg.LinAlgError:
        return False
