"""Rows in compressed form: dot products, and the columns of some of them."""

import numpy as np

from counterleaf.kernels.compiler import kernel


@kernel
def dot(indptr, indices, values, row, w):
    """x_row @ w in four partial sums, which the processor adds side by side."""
    stop = indptr[row + 1]
    k = indptr[row]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    while k + 4 <= stop:
        a += values[k] * w[indices[k]]
        b += values[k + 1] * w[indices[k + 1]]
        c += values[k + 2] * w[indices[k + 2]]
        d += values[k + 3] * w[indices[k + 3]]
        k += 4
    while k < stop:
        a += values[k] * w[indices[k]]
        k += 1
    return (a + b) + (c + d)


@kernel
def transpose(indptr, indices, values, rows, width):
    """The columns of the chosen rows: (starts, positions among the chosen rows, values)."""
    starts = np.zeros(width + 1, np.int64)
    for r in rows:
        for k in range(indptr[r], indptr[r + 1]):
            starts[indices[k] + 1] += 1
    for j in range(width):
        starts[j + 1] += starts[j]
    place = starts[:width].copy()
    positions = np.empty(starts[width], np.int32)
    entries = np.empty(starts[width], values.dtype)
    for i in range(rows.shape[0]):
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = indices[k]
            positions[place[j]] = i
            entries[place[j]] = values[k]
            place[j] += 1
    return starts, positions, entries
