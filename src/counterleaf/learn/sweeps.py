"""Tree alternating optimisation: one node at a time is made better with the rest of the tree held fixed.

A split decides about the rows that reach its node and of whose two fates exactly one is right; each of them wants one side.
To send them there is a binary problem of its own, solved by sparse logistic regression (or exactly, for axis-aligned splits).
Nodes of one depth share no rows, so that they are improved side by side; depths follow one another from the deepest up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from counterleaf.learn.crew import Crew
from counterleaf.learn.kernels.stump import improve_cuts
from counterleaf.learn.kernels.sweep import gather, improve_all, judge, refresh, route
from counterleaf.learn.shape import Shape
from counterleaf.learn.task import Settings, Task
from counterleaf.schema import Array

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
        n, nodes = len(task.y), len(shape.left)
        self.path = np.zeros((len(shape.levels), n), np.int64)
        self.sides, self.wanted = np.zeros((2, n), np.int64), np.zeros(n, np.int8)
        self.changed = np.zeros(nodes, bool)
        self.slot = np.zeros(nodes, np.int64)
        for level in shape.levels:
            self.slot[level] = np.arange(len(level))
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
        best = self.best
        ends = []
        for task in (self.task, held):
            path = np.zeros((len(best.levels), len(task.y)), np.int64)
            route(*task.rows.arrays, best.left, best.right, best.W, best.b, path, 0, len(task.y))
            ends.append(path[-1])
        label, _ = best.labels(best.tally(ends[0], self.task.y, self.task.weight, held.classes))
        return float(held.weight[label[ends[1]] != held.y].sum() / held.weight.sum())

    def _assess(self, counts: bool) -> None:
        """Route every row, label the leaves, and keep the tree if it ``counts`` and is the best so far."""
        task, shape = self.task, self.shape
        self._share(partial(route, *task.rows.arrays, shape.left, shape.right, shape.W, shape.b, self.path))
        label, self.sure = shape.labels(shape.tally(self.path[-1], task.y, task.weight, task.classes))
        self.now = label[self.path[-1]]
        error = float(task.weight[self.now != task.y].sum())
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
        task, shape, rows = self.task, self.shape, self.task.rows.arrays
        tree = (shape.left, shape.right, shape.W, shape.b)
        for depth in range(len(shape.levels) - 2, -1, -1):
            level, here, below = shape.levels[depth], self.path[depth], self.path[depth + 1]
            self._share(partial(judge, *rows, *tree, self.sure, task.y, here, below, self.now, self.sides, self.wanted))
            starts, own = gather(here, self.slot, self.wanted, len(level))
            self.changed[level] = False
            self.crew.each(partial(self._improve, level, starts, own), self.crew.groups(np.diff(starts)))
            self._share(partial(refresh, *rows, *tree, here, self.changed, self.sides, self.now))

    def _improve(self, level: Array, starts: Array, own: Array, chosen: Array) -> None:
        """Better splits for some nodes of a depth."""
        task, shape, settings = self.task, self.shape, self.settings
        told = (level, starts, own, chosen, self.wanted, task.weight, shape.W, shape.b, settings.alpha)
        if settings.axis_aligned:
            improve_cuts(task.X, *told, self.changed)
        else:
            improve_all(*task.rows.arrays, *told, self.cautious, settings.narrow, self.changed)

    def _share(self, work: Callable[..., None]) -> None:
        """The work on all rows, a stretch for each thread."""
        self.crew.each(lambda stretch: work(*stretch), self.crew.stretches(len(self.task.y)))
