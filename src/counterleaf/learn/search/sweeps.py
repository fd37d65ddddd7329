"""Tree alternating optimisation: improve one node at a time while the rest of the tree stays fixed.

A split matters to a row that reaches its node if exactly one of its two branches leads the row to its class; that branch is
the side where the row belongs. Sending these rows to their sides is a binary classification problem, solved by sparse
logistic regression (or exactly, for axis-aligned splits). If leaves compute, a split matters to all rows whose losses through
the two branches differ, by the difference. Nodes of one depth share no rows and are improved in parallel;
depths follow one another, the deepest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from counterleaf._core import learn as kernels
from counterleaf.learn.search.leaves import LeafModels, fit_leaves, members
from counterleaf.learn.search.shape import Shape
from counterleaf.learn.search.task import SplitSettings, Task
from counterleaf.types import Array

_PATIENCE = 6  # sweeps without a better tree that end the search
_STEPS = 1  # of an iterative fit of a node in each sweep; the next sweep continues
_MIN_ROWS = 500  # fewer rows are not worth a thread
_GROUPS_PER_THREAD = 4  # groups of nodes, so that an idle thread finds work


class Workers:
    """A number of threads. Each piece of work writes to separate memory, so the result does not depend on their number."""

    def __init__(self, count: int, pool: ThreadPoolExecutor | None) -> None:
        self.count, self._pool = count, pool

    def run(self, work: Callable[[Any], None], pieces: Sequence[Any]) -> None:
        """Call ``work`` on every piece, in parallel if there are several threads."""
        if self._pool is None or len(pieces) < 2:
            for piece in pieces:
                work(piece)
        else:
            list(self._pool.map(work, pieces))

    def stretches(self, n: int) -> list[tuple[int, int]]:
        """Cut 0 to n - 1 into one stretch per thread, each given by its first index and the index after its last."""
        ends = np.linspace(0, n, min(self.count, max(n // _MIN_ROWS, 1)) + 1).astype(int).tolist()
        return list(pairwise(ends))

    def groups(self, sizes: Array) -> list[Array]:
        """Put the indices of positive sizes, largest first, into groups of about the same total size."""
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        if self.count == 1 or len(order) < 2:
            return [order]
        before = np.cumsum(sizes[order]) - sizes[order]
        group = before * _GROUPS_PER_THREAD * self.count // sizes.sum()
        return np.split(order, np.flatnonzero(np.diff(group)) + 1)


@contextmanager
def start_workers(count: int) -> Iterator[Workers]:
    """Start ``count`` threads for the length of a ``with`` block; a single worker runs in the calling thread."""
    if count == 1:
        yield Workers(1, None)
    else:
        with ThreadPoolExecutor(count) as pool:
            yield Workers(count, pool)


class Sweeps:
    """Sweeps over a tree, and the best tree so far: least training loss, then least sum of |w|.

    ``bold`` sweeps accept every new split, which leaves local optima but may make the tree worse for a while; otherwise a
    split is replaced only by one that sends no more weight to the wrong side. ``start_counts`` decides whether the start
    itself may be the result.
    """

    def __init__(
        self,
        task: Task,
        settings: SplitSettings,
        shape: Shape,
        bold: bool,
        start_counts: bool,
        workers: Workers,
        report: Callable[[int, float], None],
    ) -> None:
        self.task, self.settings, self.shape = task, settings, shape.copy()
        self.workers, self.report = workers, report
        self.cautious = not bold
        columns = task.columns if settings.axis_aligned else None
        labels = task.y if settings.leaves.kind == "class" else np.zeros(len(task.y), np.int64)
        self.state = kernels.Sweep(task.rows.core, self.shape.core, labels, task.weight, columns)
        self.targets = task.y.astype(np.float64)
        self.models: LeafModels | None = None
        self.best, self.score, self.idle = self.shape, (np.inf, np.inf), 0
        self.best_models: LeafModels | None = None
        self.errors: list[float] = []
        self._assess(start_counts or len(shape.levels) == 1)

    def run(self, max_iter: int) -> Sweeps:
        """Sweep until there have been ``max_iter`` sweeps in all, or until several in a row bring no better tree."""
        while len(self.errors) <= max_iter and self.idle < _PATIENCE and len(self.shape.levels) > 1:
            self._sweep()
            self._assess(True)
        return self

    @property
    def decides(self) -> bool:
        """Whether some split matters to some rows."""
        return len(self.shape.levels) > 1 and (self.settings.leaves.kind != "class" or bool(self.shared_class[0] < 0))

    def error_on(self, other: Task) -> float:
        """The share of the weight of other rows that the best tree misclassifies, or their mean squared error."""
        best, task = self.best, self.task
        if self.best_models is not None:
            rows_of = members(best, best.core.leaves(other.rows.core))
            leaves = np.flatnonzero(best.left < 0).tolist()
            losses = [self.best_models.wrong(node, other, rows_of[node]) for node in leaves]
            return sum(losses, 0.0) / float(other.weight.sum())
        label, _ = best.labels(best.tally(best.core.leaves(task.rows.core), task.y, task.weight, other.classes))
        return float(other.weight[label[best.core.leaves(other.rows.core)] != other.y].sum() / other.weight.sum())

    def _assess(self, counts: bool) -> None:
        """Route every row, label the leaves, and remember the tree if it ``counts`` and is the best so far."""
        task, shape = self.task, self.shape
        self._over_rows(self.state.route)
        leaves = self.state.leaves()
        if self.settings.leaves.kind == "class":
            label, self.shared_class = shape.labels(shape.tally(leaves, task.y, task.weight, task.classes))
            self.state.label(label, self.shared_class)
            error = float(task.weight[label[leaves] != task.y].sum())
        else:
            self.models = fit_leaves(shape, task, leaves, self.settings.leaves, self.models, _STEPS)
            error = float(task.weight @ self.models.send(self.state, self.targets))
        self.errors.append(error)
        self.idle += 1
        score = (error, float(np.abs(shape.W).sum()))
        if counts and score < self.score:
            if error < self.score[0]:
                self.idle = 0
            self.best, self.score, self.best_models = shape.copy(), score, self.models
        self.report(len(self.errors) - 1, error / task.weight.sum())

    def _sweep(self) -> None:
        """Improve the splits of each depth, the deepest first."""
        for depth in range(len(self.shape.levels) - 2, -1, -1):
            self.state.enter(depth)
            self._over_rows(self.state.judge)
            self.workers.run(self._improve, self.workers.groups(self.state.gather()))
            self._over_rows(self.state.refresh)

    def _improve(self, nodes: Array) -> None:
        self.state.improve(nodes, self.settings.alpha, self.cautious, self.settings.narrow)

    def _over_rows(self, work: Callable[..., None]) -> None:
        """Do work on all rows, one stretch of them per thread."""
        self.workers.run(lambda stretch: work(*stretch), self.workers.stretches(len(self.task.y)))
