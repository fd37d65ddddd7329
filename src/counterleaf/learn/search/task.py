"""The learning task: training rows, their targets and weights, and the settings of the learner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterleaf._core import learn as kernels
from counterleaf.learn.search.rows import Rows
from counterleaf.types import Array


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
