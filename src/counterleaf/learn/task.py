"""The learning task: training rows, their classes and weights, and the settings of the learner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from counterleaf._core import learn as kernels
from counterleaf.learn.rows import Rows
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of positive weight with their classes, 0 to ``classes`` - 1."""

    X: Any  # dense or sparse, as the user passed it
    rows: Rows  # the same rows, compressed
    y: Array
    weight: Array
    classes: int

    @cached_property
    def columns(self) -> kernels.Columns:
        """The columns of dense rows, ranked for axis-aligned splits."""
        return kernels.Columns(self.X)

    def part(self, index: Array) -> Task:
        """The task restricted to the rows in ``index``."""
        rows = Rows(self.rows.matrix[index], self.rows.origin)
        return Task(self.X[index], rows, self.y[index], self.weight[index], self.classes)


class SplitSettings(NamedTuple):
    """How the split of a node is learned."""

    alpha: float  # the l1 strength
    narrow: bool  # there are few columns: the solver forms the Hessian
    axis_aligned: bool


class SearchSettings(NamedTuple):
    """Where the search starts and how long it runs, as the parameters of ``TAOClassifier``."""

    init: str
    max_depth: int
    max_iter: int
    n_restarts: int
