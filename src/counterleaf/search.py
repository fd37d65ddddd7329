"""Run the compiled search on a problem, in pieces where there is a limit to keep."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.kernels.best_first import ASK, FULL, PAUSED, UNBOUNDED, search
from counterleaf.kernels.memory import (
    ANSWERS,
    COUPLED,
    FLAT,
    FRESH,
    OPEN,
    OPEN_ENDS,
    REALISED,
    RUNAWAY,
    SOLVED,
    STATES,
    UNSETTLED,
    Pool,
    grown,
    new_pool,
    reopened,
)
from counterleaf.notice import announced
from counterleaf.problem import Problem, Questions
from counterleaf.schema import Array

_PIECE = 64  # states between two looks at the clock
_EVERYTHING = 1 << 62


class Status(StrEnum):
    """What an Explanation says about its question."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Leaves found, in order of cost; row k of ``points`` belongs to entry k."""

    status: Status
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
    lower_bound: float  # what no row can undercut, whatever the status
    pool: Pool | None  # None where a table was searched, not the tree


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """How each of many questions ended, see FOUND, NONE and UNASKED; where one was FOUND its cheapest leaf and its row."""

    outcome: Array
    leaves: Array
    costs: Array
    bounds: Array
    points: Array


def find_many(questions: Questions, max_states: int | None) -> Outcomes:
    """The cheapest target leaf of every question, one after another in the same memory."""
    n, first = len(questions), questions[0]
    method = FLAT if (questions.methods == FLAT).any() else int(questions.methods[0])
    pool = new_pool(first.question._replace(method=method), questions.splits.depth, first.table, many=True)
    out = Outcomes(
        np.empty(n, np.int8), np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty((n, questions.features.shape[2]))
    )
    asked = questions.shared, questions.nodes, questions.kinds, questions.features, questions.methods, questions.homes
    told = out.outcome, out.leaves, out.costs, out.bounds, out.points
    budget = _EVERYTHING if max_states is None else max_states
    with announced("numbers" if questions.tables is None else "tables", True):
        if questions.tables is None:
            from counterleaf.kernels.many import search_many

            search_many(*asked, pool, budget, *told)
        else:
            from counterleaf.kernels.many_tables import search_tables

            t = questions.tables
            search_tables(*asked, t[0], t.own, t.soft, t.lower, t.upper, t.unit, pool, budget, *told)
    return out


def find(
    problem: Problem,
    names: list[str],
    count: int | None,
    time_limit: float | None,
    max_states: int | None,
    last: Pool | None = None,
) -> Findings:
    """The ``count`` cheapest target leaves (None: all) with their best rows.

    ``last`` is the memory of the same question with a smaller margin: the search goes on from there.
    """
    q = problem.question
    pool = new_pool(q, problem.splits.depth, problem.table) if last is None else reopened(last)
    wanted = _EVERYTHING if count is None else count
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    budget = _EVERYTHING if max_states is None else max_states
    family = "tables" if problem.table is not None else "coupled" if q.method == COUPLED else "numbers"
    with announced(family):
        while True:
            piece = budget - int(pool.counts[SOLVED])
            if deadline is not None:
                piece = min(piece, _PIECE)
            if problem.table is None:
                why = search(q, pool, wanted, piece)
            else:
                from counterleaf.kernels.table_search import search_table  # a question of numbers need not wait for it

                why = search_table(q, problem.table, pool, wanted, piece)
            if why == ASK:
                from counterleaf import quadratic

                quadratic.answer(problem, pool)
            elif why == FULL:
                pool = grown(pool)
            elif why == UNBOUNDED:
                name = names[int(pool.counts[RUNAWAY])]
                raise CounterleafError(
                    f"the cost falls for ever as feature {name!r} moves away within a target leaf; give it a bound with between"
                )
            elif why != PAUSED or pool.counts[SOLVED] >= budget:
                break
            if deadline is not None and time.perf_counter() >= deadline:
                break
    return _report(pool, why in (PAUSED, FULL, ASK), wanted)


def _report(pool: Pool, stopped: bool, wanted: int) -> Findings:
    states = pool.states[: pool.counts[STATES]]
    found = pool.answers[: pool.counts[ANSWERS]]
    chosen = states[found]
    if pool.counts[OPEN_ENDS]:
        last = chosen["cost"].max(initial=-math.inf) if len(found) == wanted else math.inf
        stopped = stopped or bool((states["bound"][states["kind"] == UNSETTLED] < last).any())
    if stopped:
        return _stopped(pool, states, found, wanted)
    if len(found) > 1:  # equal to rounding, the queue may have taken two in either order
        chosen = chosen[np.lexsort((chosen["node"], chosen["cost"]))]
    least = min(chosen["bound"].tolist(), default=math.inf)
    status = Status.OPTIMAL if len(found) else Status.INFEASIBLE
    return Findings(status, chosen["node"], chosen["cost"], chosen["bound"], pool.points[chosen["point"]], least, pool)


def _stopped(pool: Pool, states: Array, found: Array, wanted: int) -> Findings:
    """The best so far, and the least bound of all that was left undone."""
    kinds = states["kind"]
    waiting = np.isin(kinds, (OPEN, FRESH, REALISED, UNSETTLED))
    found = np.concatenate([found, np.flatnonzero(kinds == REALISED)])
    found = found[np.lexsort((states["node"][found], states["cost"][found]))]
    found = found[np.sort(np.unique(states["node"][found], return_index=True)[1])][:wanted]  # one row per leaf
    chosen = states[found]
    bounds = np.array([states["bound"][(states["node"] == s["node"]) & waiting].min(initial=s["bound"]) for s in chosen])
    least = float(min(states["bound"][waiting].min(initial=math.inf), bounds.min(initial=math.inf)))
    bounds[:1] = least  # the best so far may not be the best
    return Findings(Status.LIMIT, chosen["node"], chosen["cost"], bounds, pool.points[chosen["point"]], least, pool)
