"""Run the compiled search on a problem, in pieces where there is a limit to keep."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.kernels.best_first import FULL, PAUSED, UNBOUNDED, search
from counterleaf.kernels.memory import ANSWERED, OPEN, REALISED, RUNAWAY, SOLVED, STATES, UNSETTLED, Pool, grown, new_pool
from counterleaf.problem import Problem
from counterleaf.schema import Array

_PIECE = 64  # states between two looks at the clock
_EVERYTHING = 1 << 62
_compiled = False


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
    states: int  # taken up by the search
    pool: Pool | None


def find(problem: Problem, names: list[str], count: int | None, time_limit: float | None, max_states: int | None) -> Findings:
    """The ``count`` cheapest target leaves (None: all) with their best rows."""
    q = problem.question
    pool = new_pool(q, problem.splits.depth)
    wanted = _EVERYTHING if count is None else count
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    budget = _EVERYTHING if max_states is None else max_states
    notice = _announce_compilation()
    try:
        while True:
            piece = budget - int(pool.counts[SOLVED])
            if deadline is not None:
                piece = min(piece, _PIECE)
            why = search(q, pool, wanted, piece)
            if why == FULL:
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
    finally:
        if notice is not None:
            notice.cancel()
    return _report(pool, why == PAUSED or why == FULL, wanted)


def _report(pool: Pool, stopped: bool, wanted: int) -> Findings:
    states = pool.states[: pool.counts[STATES]]
    kinds = states["kind"]
    found = np.flatnonzero(kinds == ANSWERED)
    waiting = (kinds == OPEN) | (kinds == REALISED) | (kinds == UNSETTLED)
    last = states["cost"][found].max(initial=-np.inf)
    unsettled = (kinds == UNSETTLED) & ((len(found) < wanted) | (states["bound"] < last))
    status = Status.OPTIMAL if len(found) else Status.INFEASIBLE
    if stopped or unsettled.any():
        status = Status.LIMIT
        extra = np.flatnonzero(kinds == REALISED)
        extra = extra[np.lexsort((states["node"][extra], states["cost"][extra]))]
        found = np.concatenate([found, extra])[:wanted]
    found = found[np.lexsort((states["node"][found], states["cost"][found]))]
    chosen = states[found]
    bounds = chosen["bound"]
    if status is Status.OPTIMAL:
        lower_bound = float(bounds.min())
    else:
        lower_bound = float(min(states["bound"][waiting].min(initial=np.inf), bounds.min(initial=np.inf)))
        bounds = np.concatenate([np.minimum(bounds[:1], lower_bound), bounds[1:]])  # the best so far may not be the best
    points = pool.points[chosen["point"]]
    return Findings(status, chosen["node"], chosen["cost"], bounds, points, lower_bound, int(pool.counts[SOLVED]), pool)


def _announce_compilation() -> threading.Timer | None:
    """Say on stderr that kernels are being compiled, if the first call of a process takes that long."""
    global _compiled
    if _compiled:
        return None
    _compiled = True
    text = "counterleaf: compiling its kernels, once on this machine; this takes half a minute\n"
    timer = threading.Timer(1.5, lambda: sys.stderr.write(text))
    timer.daemon = True
    timer.start()
    return timer



