"""What a region costs at least, told before it is solved, with the multipliers that prove it."""

import math

from counterleaf.kernels.compiler import pure


@pure
def eases(f, ease):
    """One over the curvature that each feature has wherever it can move; 0 where it cannot."""
    for d in range(ease.shape[0]):
        up, down = f[2, d] > f[0, d], f[1, d] < f[0, d]
        curve = min(f[3, d] if up else math.inf, f[5, d] if down else math.inf)
        ease[d] = 1.0 / curve if up or down else 0.0


@pure
def pushed(q, row, miss, lower, upper, ease, lam, place):
    """What a region costs more, at least, once a row holds that its point misses by ``miss``; writes the row's multiplier.

    The Lagrangian of the region has its least value at the point and curves upwards from there: the cheapest way to the
    row's face costs miss^2 / sum_j a_j^2 / c_j. The dual, along that multiplier, says the same.
    """
    indptr, indices, data, reach = q.indptr, q.indices, q.data, 0.0
    for k in range(indptr[row], indptr[row + 1]):
        d = indices[k]
        if lower[d] < upper[d]:
            reach += data[k] * data[k] * ease[d]
    if not 0.0 < reach < math.inf or miss <= 0.0:
        return 0.0
    lam[place] = 2.0 * miss / reach
    return miss * miss / reach


@pure
def alone(q, row, side, miss, lower, upper, known, lam, place):
    """What a row that the source misses by ``miss`` costs on its own where costs are flat, or ``known`` if that is more.

    Writes the multipliers that prove it.
    """
    f, indptr, indices, data = q.features, q.indptr, q.indices, q.data
    least = math.inf
    for k in range(indptr[row], indptr[row + 1]):
        d, a = indices[k], side * data[k]
        if lower[d] < upper[d] or lower[d] != f[0, d]:  # what a split has moved must not gain by the row's price either
            least = min(least, f[4, d] / a if a > 0.0 else f[6, d] / a)
    if not least * miss > known or least == math.inf:
        return known
    for t in range(place):
        lam[t] = 0.0
    lam[place] = least
    return least * miss
