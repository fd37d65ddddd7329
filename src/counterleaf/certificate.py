"""The proof that comes with every answer, checked in NumPy with no trust in the search.

The search splits the space of rows by the tree's own splits and leaves one multiplier vector per part.
Any multipliers lam >= 0 prove a lower bound on the cost over their part (weak duality):

    cost(x) >= lam @ r + sum_d min_{lower <= d <= upper} phi_d(d) - (A' lam)_d d     for all x in the part,

and a Farkas vector proves a part empty. A coupled cost d' Q d is replaced by its tangent at some y, which lies below it:
d' Q d >= 2 y' Q d - y' Q y, since Q is positive semidefinite. On a table the minimum is over the values of each group and the
points of each grid, one by one. ``check`` walks the tree from the root and finds for every target leaf the parts that hold it,
each excluded by its bound, proved empty, or answered by a row that the tree really sends there; where a leaf was forked,
the two sides of each fork must hold every row between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from counterleaf.findings import Findings, Status
from counterleaf.problem import Problem
from counterleaf.proof import AGREE, Answer, Fork, Part, Parting, Walk, gap_allowed, is_convex, obeys
from counterleaf.schema import Array


class Kind(IntEnum):
    """What the search has done with a state."""

    FRESH, OPEN, EXPANDED, FORKED, REALISED, ANSWERED, PASSED, DISCARDED, UNSETTLED = range(9)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was asked, what was answered, and the parts that prove it."""

    problem: Problem = field(repr=False)
    findings: Findings = field(repr=False)
    pool: Array | None = field(repr=False, default=None)  # the rows to choose among, where the question had them
    kept: dict[int, Part | Fork] | None = field(repr=False, default=None)  # the parts, where the core's memory is gone

    def __getstate__(self) -> dict[str, Any]:
        """Without the core's memory: the parts say all."""
        found = replace(self.findings, points=np.array(self.findings.points), answer=None)
        return {"problem": self.problem, "findings": found, "pool": self.pool, "kept": self.parts()}

    @property
    def status(self) -> Status:
        return self.findings.status

    @property
    def lower_bound(self) -> float:
        return self.findings.lower_bound

    @property
    def answers(self) -> tuple[Answer, ...]:
        found = self.findings
        return tuple(
            Answer(int(leaf), row, float(cost), float(bound))
            for leaf, row, cost, bound in zip(found.leaves, found.points, found.costs, found.bounds, strict=True)
        )

    def parts(self) -> dict[int, Part | Fork]:
        """The terminal parts of the search, by tree node."""
        answer = self.findings.answer
        if answer is None:
            return self.kept or {}
        states = answer.trace()
        forked: dict[int, list[int]] = {}
        for s in np.flatnonzero(states["parting"] != Parting.SPLIT).tolist():
            forked.setdefault(int(states["parent"][s]), []).append(s)
        states["ends"] = np.cumsum(states["rows"])
        n, tangents = len(states["rows"]), states["tangents"]
        states["tangents"] = tangents.reshape(n, len(tangents) // max(n, 1))
        first = np.flatnonzero((states["parting"] == Parting.SPLIT) & (states["kind"] != Kind.EXPANDED)).tolist()
        return {int(states["node"][s]): _part(states, s, forked) for s in first}

    def check(self) -> bool:
        """Re-prove the answer; True if every claim holds.

        Proved: each answer lies in its leaf as the tree computes it, obeys bounds bit for bit and rows to
        1e-9 of their terms, and costs what is claimed; no row in an answered leaf costs less than its
        ``lower_bound``, which the answer exceeds by rounding only (status optimal); no other target leaf holds a row
        cheaper than the dearest answer, to that rounding, or than ``lower_bound`` (status limit); and no target leaf
        holds any row (status infeasible).
        """
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._holds()
        except (OverflowError, ValueError):  # a sum beyond the largest number, or of both infinities, proves nothing
            return False

    def _holds(self) -> bool:
        answers = self.answers
        costs, leaves = [answer.cost for answer in answers], {answer.leaf for answer in answers}
        if costs != sorted(costs) or len(leaves) < len(answers) or not is_convex(self.problem):
            return False
        if not self.lower_bound <= min((answer.bound for answer in answers), default=math.inf):
            return False
        if not all(obeys(self.problem, answer) for answer in answers):
            return False
        if (self.status is Status.OPTIMAL and not answers) or (self.status is Status.INFEASIBLE and answers):
            return False
        if self.status is Status.OPTIMAL and any(a.cost - a.bound > gap_allowed(self.problem, a) for a in answers):
            return False
        if self.pool is not None:
            return self._check_choice(self.pool)
        walk = Walk(self.problem, self.parts(), answers, self.status, self.lower_bound)
        return walk.covers(0, [], self.problem.question.features[1], self.problem.question.features[2])

    def _check_choice(self, pool: Array) -> bool:
        """Among given rows: every row that qualifies costs at least as much as the answer of its leaf, or the last answer."""
        q = self.problem.question
        best = {answer.leaf: answer.cost for answer in self.answers}
        last = max(best.values(), default=math.inf)
        if not all((pool == answer.row).all(axis=1).any() for answer in self.answers):
            return False
        leaves = self.problem.tree.apply(pool)
        costs = self.problem.cost_of(pool) + q.nodes["below"][leaves]
        for leaf, cost, row in zip(leaves.tolist(), costs.tolist(), pool, strict=True):
            claim = Answer(leaf, row, cost, cost)
            limit = best.get(leaf, last)
            if cost < (limit if math.isinf(limit) else limit - AGREE * abs(limit)) and obeys(self.problem, claim):
                return False
        return True


def _part(states: dict[str, Any], s: int, forked: dict[int, list[int]]) -> Part | Fork:
    """What the search left at a state; forks are followed with an explicit stack, children before parents."""
    ends, tangents = states["ends"], states["tangents"]
    order = [s]
    for at in order:
        order += forked.get(at, [])
    made: dict[int, Part | Fork] = {}
    for at in reversed(order):
        if states["kind"][at] != Kind.FORKED:
            here = slice(ends[at] - states["rows"][at], ends[at])
            empty = bool(states["kind"][at] == Kind.DISCARDED)
            lam, slack = states["multipliers"][here], states["slacks"][here]
            made[at] = Part(int(states["node"][at]), lam, slack, empty, tangents[at])
            continue
        low, high = forked[at]
        cut = float(states["cut"][low]), float(states["cut"][high])
        made[at] = Fork(int(states["parting"][low]), int(states["what"][low]), cut, made[low], made[high])
    return made[s]
