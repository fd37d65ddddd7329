"""The proof that comes with every answer, checked in NumPy with no trust in the search.

The search parts the space of rows by the tree's own splits, and leaves by choices of their own, and keeps multipliers for each
part. ``check`` walks the tree from the root and finds for every target leaf the parts that hold it: each proved empty, or too
dear by a bound that holds in real arithmetic (see ``bound``), or answered by a row that the tree really sends there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np

from counterleaf.exact import ROUNDING, is_convex
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, IncompleteError, Part, Parting, Place, Walk, obeys
from counterleaf.types import Array

GAP = 1e-9  # of its cost: what an optimal answer may exceed its bound by


class Status(StrEnum):
    """What an Explanation says about its question."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIMIT = "limit"


class Kind(IntEnum):
    """What the search has done with a state."""

    FRESH, OPEN, EXPANDED, FORKED, REALISED, ANSWERED, PASSED, DISCARDED, UNSETTLED = range(9)


@dataclass(frozen=True, slots=True)
class Answer:
    """A row claimed to be the best of its leaf, and the bound claimed for that leaf."""

    leaf: int
    row: Array
    cost: float
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Leaves found, in order of cost; row k of ``points`` belongs to entry k."""

    status: Status
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
    lower_bound: float  # what no row can undercut, whatever the status
    answer: Any = None  # the core's, with its proof; None where a table was searched, or a file read


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
        if answer is None or self.kept is not None:
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

        Proved: each answer lies in its leaf as the tree computes it, obeys bounds bit for bit and the user's rows to
        1e-9 of their terms, and costs what is claimed; no row in an answered leaf costs less than its
        ``lower_bound``, which the answer exceeds by 1e-9 of its cost at the most (status optimal; see docs/exact.md); no other
        target leaf holds a row cheaper than the dearest answer, to the same share; no row of the target costs less than
        the whole's ``lower_bound``; and no target leaf holds any row (status infeasible).
        """
        try:
            with np.errstate(all="ignore"):
                if not self._are_sound(self.answers):
                    return False
                return self._check_parts() if self.pool is None else self._check_choice(self.pool)
        except (IncompleteError, OverflowError, ValueError, IndexError, ZeroDivisionError):
            return False

    def _are_sound(self, answers: tuple[Answer, ...]) -> bool:
        """The question is one that can be proved, and each answer is what it claims, its bound left aside."""
        problem, costs = self.problem, [answer.cost for answer in answers]
        if not _is_provable(problem) or costs != sorted(costs) or len({a.leaf for a in answers}) < len(answers):
            return False
        if bool(answers) != (self.status is Status.OPTIMAL) and self.status is not Status.LIMIT:
            return False
        return all(self._is_sound(answer) for answer in answers)

    def _is_sound(self, answer: Answer) -> bool:
        below = float(self.problem.question.nodes["below"][answer.leaf])
        if not math.isfinite(below) or not obeys(self.problem, answer.leaf, answer.row, tight=self.pool is None):
            return False
        cost = float(self.problem.cost_of(answer.row[None])[0]) + below
        return (
            abs(cost - answer.cost) <= self._digits(answer) and answer.bound <= answer.cost and self.lower_bound <= answer.bound
        )

    def _digits(self, answer: Answer) -> float:
        """What adding up the cost of a row in another order may change."""
        changed = int((answer.row != self.problem.source).sum())
        return (changed + 8) * 2 * ROUNDING * self.problem.size_of(answer.row, answer.leaf, terms=True)

    def allowed(self, answer: Answer, place: Place) -> float:
        """What an optimal answer may exceed its bound by: GAP of its cost, and what the rounding of its faces costs.

        An answer keeps off each face by the rounding of the face's sum, and the float next to the best number may lie as far
        from it. Nothing where the bound is that of a box: then the answer stands exactly on it.
        """
        if not place.region.faces and self.problem.question.matrix is None:
            return 0.0
        out = GAP * self.problem.size_of(answer.row, answer.leaf)
        if self.problem.question.matrix is not None:  # which is known to be convex to that share of its terms
            out += (len(answer.row) + 2) ** 2 * 16 * ROUNDING * self.problem.size_of(answer.row, answer.leaf, terms=True)
        for face in place.region.faces:
            terms = float(np.abs(face.weights * answer.row[face.columns]).sum()) + sum(map(abs, face.constants))
            cast = 2.0**-22 if self.problem.question.narrow and not face.size else 0.0
            room = (16 * (len(face.columns) + 2) * ROUNDING + cast) * terms
            out += place.region.price_of_moving(answer.row, face, room)
        return out

    def _check_parts(self) -> bool:
        places, answers = list(Walk(self.problem, self.parts()).places()), self.answers
        wide = self.status is Status.INFEASIBLE and not self.problem.question.widened
        floor = self.lower_bound
        if self.status is Status.OPTIMAL:
            for answer in answers:
                own = [p for p in places if p.part.node == answer.leaf and p.holds(answer.row)]
                room = max((self.allowed(answer, place) for place in own), default=-math.inf)
                if not answer.cost - answer.bound <= room:
                    return False
            floor = max(floor, answer.cost - room - self._digits(answer))  # of the dearest
        answered = {answer.leaf: answer for answer in answers}
        return all(self._stands(place, answered, floor, wide) for place in places)

    def _stands(self, place: Place, answered: dict[int, Answer], floor: float, wide: bool) -> bool:
        """A part proves its claim: the bound of its leaf, or that no row there undercuts the answers; or it is empty."""
        if self.status is Status.INFEASIBLE:
            return place.is_empty(wide)
        answer = answered.get(place.part.node)
        claim = floor if answer is None else answer.bound
        if claim == -math.inf:
            return True
        last = 16 * ROUNDING * abs(claim)  # the last digits of a bound are not claimed
        least = claim - (last if answer is None else max(last, self._digits(answer)))
        return place.bound(least) >= least or place.is_empty(wide)

    @np.errstate(all="ignore")
    def weakened(self) -> Certificate:
        """The same answers with status "limit", and with the bounds that the parts do prove."""
        bounds: dict[int, float] = {}
        enough = float(self.findings.costs.min(initial=math.inf))
        for place in Walk(self.problem, self.parts()).places():
            empty = place.is_empty(not self.problem.question.widened)
            bound = math.inf if empty else place.bound(enough if enough < math.inf else -math.inf)
            bounds[place.part.node] = min(bounds.get(place.part.node, math.inf), bound)
        least = min([*bounds.values(), *self.findings.costs.tolist()], default=math.inf)
        found = self.findings
        own = [min(bounds.get(int(leaf), least), cost) for leaf, cost in zip(found.leaves, found.costs.tolist(), strict=True)]
        return replace(self, findings=replace(found, status=Status.LIMIT, bounds=np.array(own), lower_bound=least))

    def _check_choice(self, pool: Array) -> bool:
        """Among given rows: every row that qualifies costs at least as much as the answer of its leaf, or the last answer."""
        q = self.problem.question
        best = {answer.leaf: answer.cost for answer in self.answers}
        last = max(best.values(), default=math.inf)
        if not all((pool == answer.row).all(axis=1).any() for answer in self.answers):
            return False
        if any(answer.cost != answer.bound for answer in self.answers):
            return False
        for row in pool:
            leaf = self.problem.leaf_of(row)
            cost = float(self.problem.cost_of(row[None])[0]) + float(q.nodes["below"][leaf])
            limit = best.get(leaf, last)
            if (
                leaf >= 0
                and cost < limit - (GAP * abs(limit) if math.isfinite(limit) else 0.0)
                and obeys(self.problem, leaf, row)
            ):
                return False
        return True


def _is_provable(problem: Problem) -> bool:
    """Each feature's cost is convex, so is the coupled one less what its tangents leave curved; groups have prices only."""
    q, table = problem.question, problem.table
    cu, gu, cd, gd = q.features[3:7]
    if not (np.isfinite(q.features[[0, 3, 4, 5, 6]]).all() and (cu >= 0).all() and (cd >= 0).all() and (gu >= gd).all()):
        return False
    if table is not None:
        group = table.group >= 0
        if not ((cu[group] == 0) & (cd[group] == 0) & (gu[group] == gd[group])).all():
            return False
    return q.matrix is None or (q.kept is not None and is_convex(q.matrix, q.kept))


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
            over = float(states["lattice"][at])
            made[at] = Part(int(states["node"][at]), states["multipliers"][here], empty, tangents[at], over)
            continue
        low, high = forked[at]
        cut = float(states["cut"][low]), float(states["cut"][high])
        made[at] = Fork(int(states["parting"][low]), int(states["what"][low]), cut, made[low], made[high])
    return made[s]
