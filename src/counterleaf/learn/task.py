"""What is to be learned, and how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterleaf.learn.rows import Rows
from counterleaf.schema import Array


class Task(NamedTuple):
    """Rows of positive weight with their classes 0 to ``classes`` - 1."""

    X: Any  # as given
    rows: Rows  # the same, compressed
    y: Array
    weight: Array
    classes: int

    def part(self, index: Array) -> Task:
        """Some of the rows."""
        matrix = self.rows.matrix()[index]
        rows = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, self.rows.origin)
        return Task(self.X[index], rows, self.y[index], self.weight[index], self.classes)


class Settings(NamedTuple):
    """The problem of each node."""

    alpha: float
    narrow: bool  # few columns: the Hessian is written down
    axis_aligned: bool
