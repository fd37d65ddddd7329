"""Sparse symmetric matrices in an order that keeps them narrow: products, and banded Cholesky factors of parts of them.

A matrix P is (indptr, indices, data) in CSR, both triangles stored. The factor L of a part has its columns in the rows of B:
B[k, i] = L[k + i, k].
"""

import math

import numpy as np

from counterleaf.kernels.compiler import kernel, pure


@pure
def bandwidth(P):
    """The most rows that a column of P's factor reaches."""
    indptr, indices, _ = P
    width, lowest = 1, 0
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            lowest = max(lowest, indices[k])
        width = max(width, lowest - i + 1)
    return width


@kernel
def factor(P, free, place, diagonal, reach, width, B, column, second):
    """Cholesky factor L of 2 P + diag on the free features: B[k, i] = L[k + i, k]; False if a pivot is not positive.

    Column k reaches ``reach[k]`` rows, itself and fill included, ``width`` at most; ``column`` and ``second`` are scratch.
    """
    indptr, indices, data = P
    n = free.shape[0]
    for k in range(n):
        for i in range(reach[k]):
            B[k, i] = 0.0
        for i in range(indptr[free[k]], indptr[free[k] + 1]):
            c = place[indices[i]]
            if c >= k:
                B[k, c - k] = 2.0 * data[i]
        B[k, 0] += diagonal[k]
        diagonal[k] = B[k, 0]
    if n > 64 and 3 * width > n:  # hardly a band: let LAPACK do it
        full = np.zeros((n, n))
        for k in range(n):
            for i in range(reach[k]):
                full[k + i, k] = full[k, k + i] = B[k, i]
            if not full[k, k] > 0.0:
                return False
        try:
            full = np.linalg.cholesky(full)
        except Exception:  # a pivot that is not positive
            return False
        for k in range(n):
            for i in range(reach[k]):
                B[k, i] = full[k + i, k]
        return True
    k = 0
    while k < n:  # two columns at a time: half as many passes over what is below them
        if not _finish(B[k], reach[k], diagonal[k], column):
            return False
        if reach[k] == 1:
            k += 1
            continue
        here, rows = B[k + 1], reach[k + 1]
        for i in range(reach[k], rows + 1):
            column[i] = 0.0
        for i in range(reach[k] - 1):
            here[i] -= column[1] * column[1 + i]
        if not _finish(here, rows, diagonal[k + 1], second):
            return False
        for j in range(1, rows):
            to, one, two = B[k + 1 + j], column[j + 1], second[j]
            first, then = column[j + 1 :], second[j:]
            for i in range(rows - j):
                to[i] -= one * first[i] + two * then[i]
        k += 2
    return True


@pure
def _finish(here, rows, diagonal, column):
    """Turn a column whose updates are done into one of L, and copy it; False if its pivot is not positive."""
    if not here[0] > 1e-15 * diagonal:
        return False
    here[0] = math.sqrt(here[0])
    scale = 1.0 / here[0]
    for i in range(1, rows):
        here[i] *= scale
        column[i] = here[i]
    return True


@pure
def forward(reach, B, x):
    """x := L^-1 x."""
    for k in range(x.shape[0]):
        by = B[k]
        x[k] /= by[0]
        value = x[k]
        if value != 0.0:
            to = x[k:]
            for i in range(1, reach[k]):
                to[i] -= value * by[i]


@pure
def backward(reach, B, x):
    """x := L'^-1 x."""
    for k in range(x.shape[0] - 1, -1, -1):
        by, to = B[k], x[k:]
        total = x[k]
        for i in range(1, reach[k]):
            total -= to[i] * by[i]
        x[k] = total / by[0]


@pure
def multiply(P, z, out):
    """out := P z."""
    indptr, indices, data = P
    for i in range(z.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * z[indices[k]]
        out[i] = total
