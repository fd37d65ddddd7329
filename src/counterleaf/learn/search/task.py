"""The learning task: training rows as the learner stores them, their targets and weights, and the settings of the learner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

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


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of positive weight with their classes, 0 to ``classes`` - 1, or with numbers if ``classes`` is 0."""

    X: Any  # dense or sparse, as the user passed it
    rows: Rows  # the same rows, compressed
    y: Array
    weight: Array
    classes: int

    @cached_property
    def columns(self) -> kernels.Columns:
        """The columns of dense rows, ranked for axis-aligned splits."""
        return kernels.Columns(self.X)

    @cached_property
    def design(self) -> tuple[Array, Array]:
        """The compressed rows, each column divided by its deviation, and a column of ones; and 1 / deviation, then 1."""
        spread = self.rows.spread(self.weight)
        scale = np.append(np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0), 1.0)
        return np.column_stack([self.rows.matrix.toarray(), np.ones(len(self.y))]) * scale, scale

    def part(self, index: Array) -> Task:
        """The task restricted to the rows in ``index``."""
        rows = Rows(self.rows.matrix[index], self.rows.origin)
        return Task(self.X[index], rows, self.y[index], self.weight[index], self.classes)


class LeafSettings(NamedTuple):
    """What the leaves hold and how it is learned."""

    kind: str = "class"  # a class; a "value"; or the scores of a "softmax"
    linear: bool = False
    strength: float = 0.0  # of the penalty that draws the model of a node to its parent's


class SplitSettings(NamedTuple):
    """How the split of a node is learned, and what the leaves hold."""

    alpha: float  # the l1 strength
    narrow: bool  # there are few columns: the solver forms the Hessian
    axis_aligned: bool
    leaves: LeafSettings = LeafSettings()


class SearchSettings(NamedTuple):
    """Where the search starts and how long it runs, as the parameters of ``TAOClassifier``."""

    init: str
    max_depth: int
    max_iter: int
    n_restarts: int
