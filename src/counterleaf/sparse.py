"""A sparse matrix in three arrays, and the few operations on it that trees need.

The format is that of ``scipy.sparse.csr_array``, in NumPy alone: importing SciPy takes longer than a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from counterleaf.types import Array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CSR:
    """A sparse matrix in compressed row format.

    Row i has ``data[k]`` in column ``indices[k]`` for ``indptr[i] <= k < indptr[i + 1]``. The arrays are copied and read-only.
    Columns increase within a row, zeros are left out, and entries in the same place are added up.

    Examples
    --------
    >>> matrix = CSR([0, 2, 2], [2, 0], [5.0, 1.0], (2, 3))
    >>> matrix
    <CSR: 2 rows, 3 columns, 2 entries>
    >>> matrix.toarray().tolist()
    [[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    >>> (matrix @ [1.0, 1.0, 2.0]).tolist()
    [11.0, 0.0]
    """

    indptr: Array
    indices: Array
    data: Array
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        indptr, indices = np.array(self.indptr, np.int64), np.array(self.indices, np.int64)
        data = np.array(self.data, np.float64)
        height, width = self.shape
        sound = (
            height >= 0
            and indptr.shape == (height + 1,)
            and indices.shape == data.shape == (indptr[-1],)
            and indptr[0] == 0
            and ((indptr >= 0) & (indptr <= len(data))).all()  # otherwise a difference below can overflow
            and (np.diff(indptr) >= 0).all()
            and ((indices >= 0) & (indices < width)).all()
        )
        if not sound:
            raise ValueError(f"indptr, indices and data do not describe a matrix of shape {self.shape}")
        rows = np.repeat(np.arange(height), np.diff(indptr))
        if not (_apart(rows, indices).all() and data.all()):
            order = np.lexsort((indices, rows))
            rows, indices, data = rows[order], indices[order], data[order]
            first = np.flatnonzero(np.append(True, _apart(rows, indices)))
            with np.errstate(over="ignore", invalid="ignore"):  # callers that need finite numbers check for them
                rows, indices, data = rows[first], indices[first], np.add.reduceat(data, first)
            nonzero = data != 0
            rows, indices, data = rows[nonzero], indices[nonzero], data[nonzero]
            indptr = np.searchsorted(rows, np.arange(height + 1))
        for name, array in (("indptr", indptr), ("indices", indices), ("data", data)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, matrix: Any) -> CSR:
        """Convert an array or a sparse matrix of SciPy, or check a CSR again."""
        if isinstance(matrix, CSR) or hasattr(matrix, "tocsr"):
            found = matrix if isinstance(matrix, CSR) else matrix.tocsr()
            return cls(found.indptr, found.indices, found.data, found.shape)
        dense = np.asarray(matrix, dtype=np.float64)
        rows, columns = np.nonzero(dense)
        indptr = np.searchsorted(rows, np.arange(len(dense) + 1))
        return cls(indptr, columns, dense[rows, columns], (dense.shape[0], dense.shape[1]))

    @classmethod
    def from_entries(cls, rows: npt.ArrayLike, columns: npt.ArrayLike, data: npt.ArrayLike, shape: tuple[int, int]) -> CSR:
        """Build the matrix with ``data[k]`` in row ``rows[k]`` and column ``columns[k]``."""
        at = np.asarray(rows, np.int64)
        order = np.argsort(at, kind="stable")
        indptr = np.append(0, np.cumsum(np.bincount(at, minlength=shape[0])))
        return cls(indptr, np.asarray(columns, np.int64)[order], np.asarray(data, np.float64)[order], shape)

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.data)

    @property
    def rows(self) -> Array:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @property
    def is_identity(self) -> bool:
        """Whether a product with this matrix changes nothing."""
        height, width = self.shape
        return height == width == self.nnz and bool((self.indices == self.rows).all() and (self.data == 1.0).all())

    def row(self, i: int) -> tuple[Array, Array]:
        """Return the columns with entries of a row, and the entries."""
        here = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        return self.indices[here], self.data[here]

    def __getitem__(self, rows: Sequence[int]) -> CSR:
        """Return the matrix of some rows, in the order of ``rows``."""
        n = len(rows)
        return CSR(np.arange(n + 1), np.asarray(rows, np.int64), np.ones(n), (n, self.shape[0]))._times(self)

    def __matmul__(self, other: Any) -> Any:
        """Return the product with a vector or a matrix; the product with another CSR is a CSR."""
        factor = other if isinstance(other, CSR) else np.asarray(other, np.float64)
        if factor.shape[0] != self.shape[1]:
            raise ValueError(f"cannot multiply a matrix of shape {self.shape} by one of shape {factor.shape}")
        if isinstance(factor, CSR):
            return self._times(factor)
        out = np.zeros((self.shape[0], *factor.shape[1:]))
        full = np.flatnonzero(np.diff(self.indptr))
        if len(full):
            out[full] = np.add.reduceat((factor[self.indices].T * self.data).T, self.indptr[full], axis=0)
        return out

    def _times(self, other: CSR) -> CSR:
        """Return the product: each entry meets the row of ``other`` that its column selects."""
        counts = np.diff(other.indptr)[self.indices]
        mine = np.repeat(np.arange(self.nnz), counts)
        theirs = np.arange(len(mine)) + (other.indptr[self.indices] - np.cumsum(counts) + counts)[mine]
        data = self.data[mine] * other.data[theirs]
        return CSR.from_entries(self.rows[mine], other.indices[theirs], data, (self.shape[0], other.shape[1]))

    def diagonal(self) -> Array:
        """Return the entry in row i and column i for each row, 0 where there is none."""
        out = np.zeros(self.shape[0])
        rows = self.rows
        on = self.indices == rows
        out[rows[on]] = self.data[on]
        return out

    def __abs__(self) -> CSR:
        return CSR(self.indptr, self.indices, np.abs(self.data), self.shape)

    def toarray(self) -> Array:
        """Return the matrix as a two-dimensional array."""
        out = np.zeros(self.shape)
        out[self.rows, self.indices] = self.data
        return out

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse.csr_array`` with a copy of the numbers."""
        from scipy import sparse

        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape, copy=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.toarray(), dtype)

    def __repr__(self) -> str:
        return f"<CSR: {self.shape[0]} rows, {self.shape[1]} columns, {self.nnz} entries>"


def _apart(rows: Array, columns: Array) -> Array:
    """Return whether each entry comes after the one before it, row by row."""
    return np.asarray((np.diff(rows) > 0) | (np.diff(columns) > 0))
