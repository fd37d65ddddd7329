"""Many rows of an ensemble: one search for each, several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.batch.few_digits import rounded_images
from counterleaf.batch.solving import Parts, Solver
from counterleaf.core.stopping import current, raise_if_stopped, stoppable
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.model.decision import Range
from counterleaf.question.constraints.cases import cases
from counterleaf.question.constraints.lowering import lower_constraints
from counterleaf.question.query import Query
from counterleaf.search.ensembles.aims import EnsembleAims
from counterleaf.search.ensembles.watching import unwatched
from counterleaf.search.prepared import RecentValues
from counterleaf.search.rounds import Solved
from counterleaf.table.features import Numeric
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_AHEAD = 4  # rows per thread that are handed out before their answers are read


class EnsembleSolver(Solver):
    """One query about many rows of an ensemble, with the methods of ``Solver``."""

    # the types of an ensemble in place of those of a tree, which have the methods that batches use
    aims: EnsembleAims  # type: ignore[assignment]

    def __init__(
        self,
        aims: EnsembleAims,
        adapter: ModelAdapter,
        rows: TableRows,
        query: Query,
        threads: int,
        parts: Parts | None = None,
    ) -> None:
        self.aims, self.adapter, self.rows, self.query, self.threads = aims, adapter, rows, query, threads
        self.parts, self._made = None if adapter.routes is None else parts, RecentValues()
        self.schema, self.model, self.tree = aims.schema, aims.tree, aims.tree  # type: ignore[assignment]  # as above
        by_class = query.target is None and not aims.tree.is_regression
        sources = range(len(aims.tree.classes)) if by_class else (0,)
        decisions = [aims.decision(aims.goal(query, source), query.support) for source in sources]
        self.decision = decisions[0]  # type: ignore[assignment]  # as above
        self.targets = [decision.target for decision in decisions]
        split = cases(query.constraints, self.schema, singly=True)
        limits = [lower_constraints(case, self.schema, self._neutral()) for case in split]  # finds mistakes before the work
        self.is_split, self.constraints, self.limits = len(split) > 1, split[0], limits[0]
        aims.refuse(query)
        self.limit = float(np.finfo(aims.tree.dtype).max)
        self.apart, self.axis_aligned = False, None
        numbers = [isinstance(feature, Numeric) for feature in self.schema]
        self._may_be_missing = np.array(numbers) & (self.parts is not None)
        self.leaves_out = self.parts is not None and adapter.leaves_out

    def solve_all(self) -> Iterator[Solved | CounterleafError]:
        """Yield what is found for each row in order, or why it cannot be explained."""
        stop = current() or _core.Stop()

        def work(k: int) -> Solved | CounterleafError:
            with stoppable(stop), unwatched():
                try:
                    return self.part(self.rows.codes(slice(k, k + 1))[0]).certified(self.rows.one(k))
                except CounterleafError as error:
                    return error

        if self.threads == 1:
            for k in range(self.rows.n):
                raise_if_stopped()
                yield work(k)
            return
        pool = ThreadPoolExecutor(self.threads)
        waiting: list[Future[Any]] = []
        try:
            for k in range(self.rows.n):
                waiting.append(pool.submit(work, k))
                if len(waiting) > _AHEAD * self.threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        except BaseException:
            stop.set()  # Ctrl-C reaches this thread only
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def survives(self, codes: Array, points: Array) -> Array:
        """Return which answers keep their scores when their numbers are rounded as other programs do."""
        rows = self.spread(points)
        scores, goal = self.aims.scores(rows), self.decision.goal
        out = np.ones(len(points), bool)
        for image in rounded_images(self.schema, rows):
            if isinstance(goal, Range):
                out &= goal.holds(np.array(self.decision.numbers(image)))
            else:
                out &= (self.aims.scores(image) == scores).all(axis=1)
        return out

    def _classes_of(self, sources: Array) -> Array:
        return self.aims.classes_of(sources)

    @property
    def chunk(self) -> int:
        """The number of rows whose results are written at once."""
        return max(32, min(32768, (1 << 19) // (2 * self.schema.width)))


def make_solver(
    aims: Any, adapter: ModelAdapter, rows: TableRows, query: Query, threads: int, parts: Parts | None = None
) -> Solver:
    """Return the solver of one query about many rows, see ``Solver``."""
    kind: type[Solver] = EnsembleSolver if isinstance(aims, EnsembleAims) else Solver
    return kind(aims, adapter, rows, query, threads, parts)
