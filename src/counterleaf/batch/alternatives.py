"""Several answers for each of many rows, one line each."""

from __future__ import annotations

from collections.abc import Callable
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
from counterleaf.search.rounds import Solved
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
            short = exact
            if self._short and certificate.pool is None:
                short = shorten_answer(part.schema, certificate, rank)
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
    """Answer a query about many rows in the way that fits it.

    Parameters
    ----------
    make : callable
        From rows to the solver of the query about them.
    rows : TableRows
        The rows.
    explain : callable
        From a row to its explanation.
    columns : Columns
        What is written.
    how : tuple
        The number of rows that are solved at a time, None for as many as fit, and whether a progress bar may be shown.

    Returns
    -------
    DataFrame
        One line per answer.
    """
    solver, (chunk_size, progress) = make(rows), how
    if solver.query.count == 1:
        return run(Batch(solver, columns), chunk_size, progress)
    if solver.in_threads:
        return run_ensemble(solver, make, columns, progress)
    return run_alternatives(solver, explain, make, columns, progress)


def run_alternatives(
    solver: Solver,
    explain: Callable[[Any], Explanation],
    again: Callable[[TableRows], Solver],
    columns: Columns,
    progress: bool,
) -> Any:
    """Explain the rows one by one and return one frame.

    Parameters
    ----------
    solver : Solver
        The question and the rows.
    explain : callable
        From a row to its explanation.
    again : callable
        From other rows to the same question about them.
    columns : Columns
        What is written.
    progress : bool
        Whether a progress bar may be shown.

    Returns
    -------
    DataFrame
        One line per answer.
    """
    rows, lines = solver.rows, Lines(solver, columns.short or columns.words)
    with shown(rows.n, progress) as advance:
        for k in range(rows.n):
            try:
                answer = explain(rows.one(k))
                lines.add(k, (answer.certificate, answer.decision))
            except CounterleafError as error:
                lines.add_problem(k, str(error))
            advance(1)
    return _written(solver, lines, again, columns)


def run_ensemble(solver: Solver, again: Callable[[TableRows], Solver], columns: Columns, progress: bool) -> Any:
    """Find several answers for rows of an ensemble, several rows at a time, and return one frame.

    Parameters
    ----------
    solver : Solver
        The question and the rows.
    again : callable
        From other rows to the same question about them.
    columns : Columns
        What is written.
    progress : bool
        Whether a progress bar may be shown.

    Returns
    -------
    DataFrame
        One line per answer.
    """
    lines, n = Lines(solver, columns.short or columns.words), solver.rows.n
    with shown(n, progress) as advance:
        for k, found in enumerate(solver.solved_alone(range(n), solver.rows.codes(slice(0, n)))):
            if isinstance(found, CounterleafError):
                lines.add_problem(k, str(found))
            else:
                lines.add(k, found)
            advance(1)
    return _written(solver, lines, again, columns)


def _written(solver: Solver, lines: Lines, again: Callable[[TableRows], Solver], columns: Columns) -> Any:
    """Return the frame of all lines; with at most one answer per row, it has no ranks."""
    rows = solver.rows
    order = Order(np.array(lines.rows, np.int64), np.array(lines.ranks, np.int64)) if solver.query.count != 1 else None
    if not rows.n:
        return run(Batch(solver, columns), None, False, order)
    part = solver if order is None else again(TableRows(rows.part(order.rows), rows.schema))
    made = Batch(part, columns, lines.found())
    made.results.problems.update(lines.problems)
    return run(made, None, False, order)
