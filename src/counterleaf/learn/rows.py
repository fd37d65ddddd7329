"""The training rows as the learner sees them: compressed, each column counted from its most common value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from counterleaf.tree import Array

_SAMPLE = 999  # rows that suggest a column's most common value


class Rows(NamedTuple):
    """X - origin in compressed rows: mostly zeros where columns mostly have one value, as dummies and pixels do.

    A split w @ x + b over X has the bias b + w @ origin over the rows held here.
    """

    indptr: Array
    indices: Array
    values: Array
    origin: Array

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.indptr, self.indices, self.values

    def matrix(self) -> Any:
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=(len(self.indptr) - 1, len(self.origin)))


def compress(X: Any, shift: bool) -> Rows:
    """Sparse rows keep their zeros. If dense ones may ``shift``, a value that fills half a column is the column's origin."""
    origin = np.zeros(X.shape[1])
    if shift and not sparse.issparse(X):
        some = X[:: max(len(X) // _SAMPLE, 1)]
        common = np.partition(some, len(some) // 2, axis=0)[len(some) // 2]  # a value that fills half a column is its median
        origin = np.where(np.mean(common == X, axis=0) >= 0.5, common, 0.0)
        X = X - origin
    matrix = sparse.csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, origin)
