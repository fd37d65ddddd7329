"""Several answers for each of many rows, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation, leaf_of
from counterleaf.batch.batch import Batch, Columns, Found, run
from counterleaf.batch.few_digits import shorten_answer
from counterleaf.batch.progress import shown
from counterleaf.batch.solving import Solver
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status
from counterleaf.search.targets import Solved
from counterleaf.table.output import INVALID, STATUSES, Order
from counterleaf.table.rows import TableRows


class Lines:
    """The answers of all rows below each other; a row without an answer has one line."""

    def __init__(self, solver: Solver, short: bool) -> None:
        self._solver, self._short = solver, short
        self.rows: list[int] = []
        self.ranks: list[int] = []
        self.problems: dict[int, str] = {}
        self._cells: list[tuple[Any, ...]] = []  # status, outcome, leaf, cost, bound, codes, codes of few digits

    def add(self, k: int, solved: Solved) -> None:
        """Add the answers of one row."""
        certificate, decision = solved
        status, found = list(Status).index(certificate.status), certificate.findings
        if not len(found.leaves):
            self._add_nothing(k, status, found.lower_bound)
            return
        part = self._solver.part(self._solver.rows.codes(slice(k, k + 1))[0])
        leaves = part.model_leaves(np.array([leaf_of(certificate, decision, rank) for rank in range(len(found.leaves))]))
        for rank, (leaf, cost, bound) in enumerate(zip(leaves, found.costs, found.bounds, strict=True)):
            exact = part.schema.gather(found.points[rank])
            short = shorten_answer(part.schema, certificate, rank) if self._short else exact
            self._add(k, rank + 1, (status, Outcome.FOUND, leaf, cost, bound, exact, short))

    def add_problem(self, k: int, problem: str) -> None:
        """Add a row that cannot be explained."""
        self.problems[len(self.rows)] = problem
        self._add_nothing(k, STATUSES.index(INVALID), np.nan)

    def _add_nothing(self, k: int, status: int, bound: float) -> None:
        nothing = np.full(len(self._solver.schema), np.nan)
        self._add(k, 0, (status, Outcome.NONE, -1, np.nan, bound, nothing, nothing))

    def _add(self, k: int, rank: int, cells: tuple[Any, ...]) -> None:
        self.rows.append(k)
        self.ranks.append(rank)
        self._cells.append(cells)

    def found(self) -> Found:
        """Return all lines as arrays."""
        status, outcome, leaves, costs, bounds, exact, short = zip(*self._cells, strict=True)
        arrays = np.array(leaves, np.int64), np.array(costs), np.array(bounds, float), np.array(exact)
        return Found(Outcomes(np.array(outcome, np.int8), *arrays), np.array(status, np.int8), np.array(short))


def run_query(
    make: Callable[[TableRows], Solver],
    rows: TableRows,
    explain: Callable[[Any], Explanation],
    columns: Columns,
    how: tuple[int | None, bool],
) -> Any:
    """Answer a query about many rows, with the solver that ``make`` makes for rows, and return one frame.

    ``how`` is the number of rows that are solved at a time, None for as many as fit, and whether a progress bar may be shown.
    """
    solver, (chunk_size, progress) = make(rows), how
    if solver.query.count == 1:
        return run(Batch(solver, columns), chunk_size, progress)
    every = slice(0, rows.n)
    solved = solver.solved_alone(range(rows.n), rows.codes(every)) if solver.in_threads else explained(rows, explain)
    return run_alternatives(solver, solved, make, columns, progress)


def explained(rows: TableRows, explain: Callable[[Any], Explanation]) -> Iterator[Solved | CounterleafError]:
    """Yield what is found for each row, or why it cannot be explained."""
    for k in range(rows.n):
        try:
            answer = explain(rows.one(k))
        except CounterleafError as error:
            yield error
        else:
            yield answer.certificate, answer.decision


def run_alternatives(
    solver: Solver,
    solved: Iterator[Solved | CounterleafError],
    again: Callable[[TableRows], Solver],
    columns: Columns,
    progress: bool,
) -> Any:
    """Return one frame of what was found for each row; ``again`` makes the solver of the same question about other rows."""
    rows, lines = solver.rows, Lines(solver, columns.short or columns.words)
    with shown(rows.n, progress) as advance:
        for k, found in enumerate(solved):
            if isinstance(found, CounterleafError):
                lines.add_problem(k, str(found))
            else:
                lines.add(k, found)
            advance(1)
    order = Order(np.array(lines.rows, np.int64), np.array(lines.ranks, np.int64)) if solver.query.count != 1 else None
    if not rows.n:
        return run(Batch(solver, columns), None, False, order)
    part = solver if order is None else again(TableRows(rows.part(order.rows), rows.schema))
    made = Batch(part, columns, lines.found())
    made.results.problems.update(lines.problems)
    return run(made, None, False, order)
