"""What is to be learned, and how."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from counterleaf._core import learn as kernels
from counterleaf.learn.rows import Rows
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of positive weight with their classes 0 to ``classes`` - 1."""

    X: Any  # as given
    rows: Rows  # the same, compressed
    y: Array
    weight: Array
    classes: int

    @cached_property
    def columns(self) -> kernels.Columns:
        """The columns of dense rows, ranked for axis-aligned splits."""
        return kernels.Columns(self.X)

    def part(self, index: Array) -> Task:
        """Some of the rows."""
        rows = Rows(self.rows.matrix[index], self.rows.origin)
        return Task(self.X[index], rows, self.y[index], self.weight[index], self.classes)


class Settings(NamedTuple):
    """The problem of each node."""

    alpha: float
    narrow: bool  # few columns: the Hessian is written down
    axis_aligned: bool
