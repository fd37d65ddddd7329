"""The training rows as the learner stores them: sparse, each column measured from its most common value or its median."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from counterleaf._core import learn as kernels
from counterleaf.types import Array

_SAMPLE = 999  # rows from which the median of a column is estimated
_ZEROS = 0.2  # a column with this share of zeros stays sparse


@dataclass(frozen=True, eq=False)
class Rows:
    """X - origin as a sparse matrix: mostly zeros if each column mostly has one value, as dummies and pixels do.

    A split w @ x + b over X has the bias b + w @ origin over these rows.
    """

    matrix: Any  # a csr_array without duplicates, the entries of each row sorted by column
    origin: Array

    @cached_property
    def core(self) -> kernels.Rows:
        """The rows in the form of the compiled core; their entries are not copied."""
        indptr, indices = self.matrix.indptr.astype(np.int64), self.matrix.indices.astype(np.int32, copy=False)
        return kernels.Rows(indptr, indices, self.matrix.data, len(self.origin))

    def spread(self, weight: Array) -> Array:
        """The standard deviation of each column."""
        matrix, total = self.matrix, weight.sum()
        mean, square = weight @ matrix / total, weight @ matrix**2 / total
        variance = square - mean**2
        return np.sqrt(
            np.where(variance > 1e-12 * square, variance, 0.0)
        )  # a smaller variance is the rounding error of a constant column


def compress(X: Any, weight: Array, shift: bool) -> Rows:
    """Store rows as a sparse matrix. Sparse input keeps its zeros.

    ``shift`` moves the origin of dense columns: a column far from 0 is nearly parallel to the bias and slows every solve.
    """
    origin = np.zeros(X.shape[1])
    if shift and not sparse.issparse(X):
        step = max(len(X) // _SAMPLE, 1)
        origin = _origin(X[::step], weight[::step])
        X = X - origin
    matrix = sparse.csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Rows(matrix, origin)


def _origin(X: Array, weight: Array) -> Array:
    """The weighted median of each column, or 0 if no value fills half of the column but many of its values are 0."""
    order = np.argsort(X, axis=0, kind="stable")
    half = (np.cumsum(weight[order], axis=0) < weight.sum() / 2).sum(axis=0)
    median = np.take_along_axis(X, np.take_along_axis(order, half[None], axis=0), axis=0)[0]
    fills, zeros = weight @ (median == X) / weight.sum(), weight @ (X == 0.0) / weight.sum()
    return np.where((fills < 0.5) & (zeros >= _ZEROS), 0.0, median)
