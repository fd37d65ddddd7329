"""Several answers for each of many rows, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation, leaf_of
from counterleaf.batch.axis_aligned import Avoided
from counterleaf.batch.batch import Batch, Columns, Found, run
from counterleaf.batch.few_digits import shorten_answer
from counterleaf.batch.progress import shown
from counterleaf.batch.solving import Solver, TreeSolver
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status
from counterleaf.search.targets import Solved
from counterleaf.table.output import INVALID, STATUSES, Order
from counterleaf.table.rows import TableRows, differs
from counterleaf.types import Array

_OPTIMAL, _INFEASIBLE = (STATUSES.index(status) for status in (Status.OPTIMAL, Status.INFEASIBLE))

Rounds = list[tuple[Array, Outcomes]]  # of each round: the places of its rows, and what is found for them


class Lines:
    """The answers of all rows below each other; a row without an answer has one line."""

    def __init__(self, solver: Solver, short: bool) -> None:
        self._solver, self._short = solver, short
        self._problems: dict[int, str] = {}  # row -> why it cannot be explained
        # rows, ranks, statuses, codes of few digits, outcomes, leaves, costs, bounds, codes
        self._parts: list[tuple[Array, ...]] = []

    def add(self, k: int, solved: Solved | Explanation | CounterleafError) -> None:
        """Add the answers of one row, or why it has none."""
        if isinstance(solved, CounterleafError):
            self._problems[k] = str(solved)
            self._add_nothing(k, STATUSES.index(INVALID), np.nan)
            return
        certificate, decision = (solved.certificate, solved.decision) if isinstance(solved, Explanation) else solved
        status, found = STATUSES.index(certificate.status), certificate.findings
        if not len(found.leaves):
            self._add_nothing(k, status, found.lower_bound)
            return
        part = self._solver.part(self._solver.rows.codes(slice(k, k + 1))[0])
        ranks = range(len(found.leaves))
        leaves = part.model_leaves(np.array([leaf_of(certificate, decision, rank) for rank in ranks]))
        short = exact = part.schema.gather(found.points)
        if self._short:
            short = np.array([shorten_answer(part.schema, certificate, rank) for rank in ranks])
        outcome = np.full(len(ranks), Outcome.FOUND, np.int8)
        self._add(
            np.full(len(ranks), k), np.array(ranks) + 1, status, short, (outcome, leaves, found.costs, found.bounds, exact)
        )

    def add_rounds(self, start: int, codes: Array, rounds: Rounds) -> None:
        """Add the answers of a chunk of rows, which begins at ``start``."""
        for rank, (here, found) in enumerate(rounds, 1):
            answered = found.outcome == Outcome.FOUND
            status = np.where(answered, _OPTIMAL, _INFEASIBLE)
            short = self._few_digits(start, codes, here, found) if self._short else found.points
            outcomes = found.outcome, found.leaves, found.costs, found.bounds, found.points
            self._add(start + here, np.where(answered, rank, 0), status, short, outcomes)

    def drop(self, rows: Array) -> None:
        """Remove the answers of some rows."""
        stays = [~np.isin(part[0], rows) for part in self._parts]
        self._parts = [tuple(cells[stay] for cells in part) for part, stay in zip(self._parts, stays, strict=True)]

    def batch(self, again: Callable[[TableRows], Solver], columns: Columns) -> tuple[Batch, Order]:
        """Return what is known about all lines, and their order; ``again`` makes the solver of their rows, if they repeat."""
        whole = [np.concatenate(cells) for cells in zip(*self._parts, strict=True)]
        order = np.lexsort((whole[1], whole[0]))
        rows, ranks, status, short, *outcomes = (cells[order] for cells in whole)
        table = self._solver.rows
        repeats = self._solver.query.count != 1
        made = Batch(
            again(TableRows(table.part(rows), table.schema)) if repeats else self._solver,
            columns,
            Found(Outcomes(*outcomes), status.astype(np.int8), short),
        )
        made.results.problems.update({int(np.searchsorted(rows, k)): text for k, text in self._problems.items()})
        return made, Order(rows, ranks)

    def _few_digits(self, start: int, codes: Array, here: Array, found: Outcomes) -> Array:
        """Return the answers of one round with few digits."""
        out, before = found.points.copy(), codes[here]
        moved = (found.outcome == Outcome.FOUND) & differs(before, found.points).any(axis=1)
        for part, lines in self._solver.each_part(before, np.flatnonzero(moved)):
            out[lines], left = part.shorten(before[lines], found.points[lines])
            for k in lines[left].tolist():
                out[k] = part.shortened(start + int(here[k]), found.points[k])
        return out

    def _add_nothing(self, k: int, status: int, bound: float) -> None:
        nothing = np.full((1, len(self._solver.schema)), np.nan)
        none = np.full(1, Outcome.NONE, np.int8), np.full(1, -1), np.full(1, np.nan), np.full(1, bound, float), nothing
        self._add(np.array([k]), np.zeros(1, np.int64), status, nothing, none)

    def _add(self, rows: Array, ranks: Array, status: Any, short: Array, outcomes: tuple[Array, ...]) -> None:
        self._parts.append((rows, ranks, np.broadcast_to(status, rows.shape), short, *outcomes))


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
    if not rows.n:
        return run(Batch(solver, columns), None, False, Order(np.empty(0, np.int64), np.empty(0, np.int64)))
    lines, size = Lines(solver, columns.short or columns.words), chunk_size or solver.chunk
    with shown(rows.n, progress) as advance:
        for start in range(0, rows.n, size):
            codes = rows.codes(slice(start, min(start + size, rows.n)))
            rounds, alone = answer_in_rounds(solver, codes)
            lines.add_rounds(start, codes, rounds)
            advance(len(codes) - len(alone))
            for k, solved in zip(alone.tolist(), solver.solved_alone((start + alone).tolist(), codes[alone]), strict=True):
                lines.add(start + k, solved)
                advance(1)
    batch, order = lines.batch(make, columns)
    out = run(batch, None, False, order)
    refuted = np.unique(order.rows[(order.ranks > 0) & ~batch.results.confirmed])
    if not (solver.may_round and len(refuted)):
        return out
    lines.drop(refuted)
    for k in refuted.tolist():  # ``explain`` asks again, further from the splits
        lines.add(k, _explained(explain, rows.one(k)))
    batch, order = lines.batch(make, columns)
    return run(batch, None, False, order)


def _explained(explain: Callable[[Any], Explanation], row: Any) -> Explanation | CounterleafError:
    try:
        return explain(row)
    except CounterleafError as error:
        return error


def written(solver: Solver, answers: Iterable[Explanation | CounterleafError], columns: Columns) -> Any:
    """Return the frame of a query for one answer per row, whose answers are known."""
    if not solver.rows.n:
        return run(Batch(solver, columns), None, False)
    lines = Lines(solver, columns.short or columns.words)
    for k, answer in enumerate(answers):
        lines.add(k, answer)
    return run(lines.batch(lambda _: solver, columns)[0], None, False)


def answer_in_rounds(solver: Solver, codes: Array) -> tuple[Rounds, Array]:
    """Find the alternatives of many rows together: each round keeps a row apart from what it has changed before.

    Parameters
    ----------
    solver : Solver
        The query.
    codes : (n, F) array
        The rows.

    Returns
    -------
    tuple of list and array
        The rounds, of which the first has the rows without an answer too; and the places of the rows that need searches of
        their own.
    """
    every, query = np.arange(len(codes)), solver.query
    limited = query.question.time_limit is not None or query.question.max_nodes is not None
    if not isinstance(solver, TreeSolver) or not query.question.apart or limited or solver.alone:
        return [], every
    rounds: Rounds = []
    here, avoided, alone = every, Avoided.nothing(codes.shape[1]), np.zeros(len(codes), bool)
    while len(here) and len(rounds) != query.count:
        found = solver.found(codes[here], avoided if rounds else None)
        alone[here[found.outcome == Outcome.UNANSWERED]] = True
        rounds.append((here, found))
        marked = differs(codes[here], found.points) & (found.outcome == Outcome.FOUND)[:, None]
        count = marked.sum(axis=1)
        goes_on = np.flatnonzero(count)  # every other row changes all that nothing changes
        avoided = avoided.of(goes_on).also(marked[goes_on], np.maximum(count[goes_on] - query.question.apart, 0))
        here = here[goes_on]
    stays = [~alone[here] & ((found.outcome == Outcome.FOUND) | (rank == 0)) for rank, (here, found) in enumerate(rounds)]
    return [(here[stay], found.of(stay)) for (here, found), stay in zip(rounds, stays, strict=True)], np.flatnonzero(alone)
