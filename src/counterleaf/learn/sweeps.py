"""Tree alternating optimisation: one node at a time is made better with the rest of the tree held fixed.

A split decides about the rows that reach its node and of whose two fates exactly one is right; each of them wants one side.
To send them there is a binary problem of its own, solved by sparse logistic regression (or exactly, for axis-aligned splits).
Nodes of one depth share no rows, so that they are improved side by side; depths follow one another from the deepest up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterleaf._core import learn as kernels
from counterleaf.learn.shape import Shape
from counterleaf.learn.task import Settings, Task
from counterleaf.learn.threads import Crew
from counterleaf.types import Array

_PATIENCE = 6  # sweeps without a better tree that end the search


class Sweeps:
    """Sweeps over a tree, and the best tree they have seen: least misclassified weight, then least sum of |w|.

    ``bold`` takes every new split, which leaves local optima but may make the tree worse for a while; otherwise a split gives
    way only to one that sends no more weight to the wrong side. ``kept`` says whether the start itself may be the answer.
    """

    def __init__(
        self,
        task: Task,
        settings: Settings,
        shape: Shape,
        bold: bool,
        kept: bool,
        crew: Crew,
        report: Callable[[int, float], None],
    ) -> None:
        self.task, self.settings, self.shape, self.crew, self.report = task, settings, shape.copy(), crew, report
        self.cautious = not bold
        columns = task.columns if settings.axis_aligned else None
        self.state = kernels.Sweep(task.rows.core, self.shape.core, task.y, task.weight, columns)
        self.best, self.score, self.idle = self.shape, (np.inf, np.inf), 0
        self.errors: list[float] = []
        self._assess(kept or len(shape.levels) == 1)

    def run(self, most: int) -> Sweeps:
        """Sweep until ``most`` sweeps have been made in all, or until they lead nowhere."""
        while len(self.errors) <= most and self.idle < _PATIENCE and len(self.shape.levels) > 1:
            self._sweep()
            self._assess(True)
        return self

    def miss(self, held: Task) -> float:
        """The share of the weight of other rows that the best tree misclassifies."""
        best, task = self.best, self.task
        label, _ = best.labels(best.tally(best.core.leaves(task.rows.core), task.y, task.weight, held.classes))
        return float(held.weight[label[best.core.leaves(held.rows.core)] != held.y].sum() / held.weight.sum())

    def _assess(self, counts: bool) -> None:
        """Route every row, label the leaves, and keep the tree if it ``counts`` and is the best so far."""
        task, shape = self.task, self.shape
        self._share(self.state.route)
        leaves = self.state.leaves()
        label, self.sure = shape.labels(shape.tally(leaves, task.y, task.weight, task.classes))
        self.state.label(label, self.sure)
        error = float(task.weight[label[leaves] != task.y].sum())
        self.errors.append(error)
        self.idle += 1
        score = (error, float(np.abs(shape.W).sum()))
        if counts and score < self.score:
            if error < self.score[0]:
                self.idle = 0
            self.best, self.score = shape.copy(), score
        self.report(len(self.errors) - 1, error / task.weight.sum())

    def _sweep(self) -> None:
        """Improve the splits of each depth, the deepest first."""
        for depth in range(len(self.shape.levels) - 2, -1, -1):
            self.state.enter(depth)
            self._share(self.state.judge)
            self.crew.each(self._improve, self.crew.groups(self.state.gather()))
            self._share(self.state.refresh)

    def _improve(self, nodes: Array) -> None:
        """Better splits for some nodes of a depth."""
        self.state.improve(nodes, self.settings.alpha, self.cautious, self.settings.narrow)

    def _share(self, work: Callable[..., None]) -> None:
        """The work on all rows, a stretch for each thread."""
        self.crew.each(lambda stretch: work(*stretch), self.crew.stretches(len(self.task.y)))
