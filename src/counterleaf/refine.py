"""Where a search ends in doubt: leaves solved in rational numbers, and the rows next to their optima.

Between nearly parallel splits a leaf's optimum hangs on digits that floating point does not have, and a row that the model
sends there may differ from it in its last digits only. Both are looked for here, leaf by leaf.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from counterleaf.proof.certificate import Certificate, Findings, Kind, Status
from counterleaf.proof.exact import fractions
from counterleaf.proof.walk import Place, Walk, obeys
from counterleaf.schema import Array

_TRIES = 4000  # rows around an optimum
_DIGITS = 4  # units in the last place that each number is moved at most
_TAKEN = 50  # of those that the model sends to the leaf: how many are looked at, cheapest first


def refine(found: Certificate, count: int | None) -> Certificate:
    """The same question with better rows for the leaves in doubt; what it then claims is to be checked."""
    problem = found.problem
    trace = None if found.findings.answer is None else found.findings.answer.trace()
    open_leaves = set() if trace is None else set(trace["node"][trace["kind"] == Kind.UNSETTLED].tolist())
    rows = {answer.leaf: (answer.cost, answer.row) for answer in found.answers}
    bounds: dict[int, float] = {}
    least = math.inf
    for place in Walk(problem, found.parts()).places():
        leaf = place.part.node
        if place.is_empty(wide=False):
            continue
        bound = place.bound(math.inf)
        least, bounds[leaf] = min(least, bound), min(bounds.get(leaf, math.inf), bound)
        is_leaf = problem.tree.left[leaf] < 0
        cost = rows[leaf][0] if leaf in rows else math.inf
        if is_leaf and (leaf in open_leaves or (leaf in rows and cost - bound > 1e-9 * abs(cost))):
            better = _row_near(place)
            if better is not None and better[0] < cost:
                rows[leaf] = better
    order = sorted(rows, key=lambda leaf: (rows[leaf][0], leaf))[:count]
    status = Status.OPTIMAL if order else found.status
    costs = np.array([rows[leaf][0] for leaf in order])
    own = np.minimum(np.array([bounds.get(leaf, least) for leaf in order]), costs)
    points = np.array([rows[leaf][1] for leaf in order]).reshape(-1, len(problem.source))
    least = min(least, *costs.tolist()) if len(costs) else least
    return replace(
        found, findings=Findings(status, np.array(order, np.int64), costs, own, points, least, found.findings.answer)
    )


def _row_near(place: Place) -> tuple[float, Array] | None:
    """The cheapest row next to the optimum of a leaf's part that the model sends to the leaf, with its cost."""
    problem, part = place.problem, place.part
    with np.errstate(all="ignore"):
        optimum = place.region.optimum(part.lam, part.tangent)
    if optimum is None:
        return None
    change = optimum[1]
    source = problem.source
    centre = np.array([float(x) for x in np.asarray(change) + fractions(source)])
    if not np.isfinite(centre).all():
        return None
    centre = np.clip(np.where(change == 0, source, centre), place.region.lower, place.region.upper)
    moves = np.flatnonzero((centre != source) & (place.region.lower < centre) & (centre < place.region.upper))
    if problem.table is not None:
        moves = moves[(problem.table.group[moves] < 0) & (problem.table.step[0, moves] == 0)]
    steps = np.random.default_rng(0).integers(-_DIGITS, _DIGITS + 1, (_TRIES, len(moves)))
    steps[0] = 0
    rows = np.repeat(centre[None], _TRIES, axis=0)
    if problem.question.narrow:
        rows[:, moves] = rows[:, moves].astype(np.float32)
        unit = np.spacing(np.abs(rows[:, moves]).astype(np.float32)).astype(float)
    else:
        unit = np.spacing(np.abs(rows[:, moves]))
    rows[:, moves] += steps * unit
    rows = np.clip(rows, place.region.lower, place.region.upper)
    rows = rows[problem.tree.apply(rows) == part.node]
    costs = problem.cost_of(rows) + float(problem.question.nodes["below"][part.node])
    for k in np.argsort(costs, kind="stable")[:_TAKEN].tolist():
        if obeys(problem, part.node, rows[k]):
            return float(costs[k]), rows[k]
    return None
