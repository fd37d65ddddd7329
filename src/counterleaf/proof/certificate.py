"""The proof of an answer, checked in NumPy without trusting the search.

The search divides the space of rows by the splits of the tree, and leaves further by cuts, counts and clauses. It stores
multipliers for each part. ``check`` walks the tree from the root and finds the parts that cover each target leaf. Each of them
must be proved empty, or too expensive by a bound that holds in real arithmetic (see ``bound``), or be answered by a row that
the tree sends there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np

from counterleaf.exact import ROUNDING, is_convex
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, IncompleteError, Part, Parting, Place, Walk, obeys, raise_if_ended
from counterleaf.types import Array

UNPROVABLE = (IncompleteError, OverflowError, ValueError, IndexError, ZeroDivisionError)  # raised by a proof that is not one
GAP = 1e-9  # of its cost: the most by which an optimal answer may exceed its bound


class Status(StrEnum):
    """The status of an explanation; each one equals its name as a string.

    Attributes
    ----------
    OPTIMAL : Status
        ``"optimal"``: the answers are the cheapest ones, to 1e-9 of their cost, with a proof.
    INFEASIBLE : Status
        ``"infeasible"``: no row satisfies the constraints and reaches the target, with a proof.
    LIMIT : Status
        ``"limit"``: the search stopped at a limit. The answers found so far are valid, and so is the lower bound.

    Examples
    --------
    >>> Status.OPTIMAL == "optimal"
    True
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIMIT = "limit"


class Kind(IntEnum):
    """What the search has done with a state; the values are those of the core."""

    FRESH, OPEN, EXPANDED, FORKED, REALISED, ANSWERED, PASSED, DISCARDED, UNSETTLED = range(9)


@dataclass(frozen=True, slots=True)
class Answer:
    """A row that the search claims to be the best of its leaf, and the bound that it claims for that leaf."""

    leaf: int
    row: Array
    cost: float
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The leaves that the search found, in order of cost; row k of ``points`` belongs to entry k."""

    status: Status
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
    lower_bound: float  # no row of the target costs less, for every status
    answer: Any = None  # the core's answer with its proof; None for ``among`` and for certificates read from a file


@dataclass(frozen=True, eq=False)
class Certificate:
    """The proof of an explanation: the problem, the claims of the search, and the parts that prove them.

    ``Explanation.certificate`` holds it.

    Parameters
    ----------
    problem : Problem
        The question as arrays.
    findings : Findings
        The claims: status, leaves, costs, bounds and rows.
    pool : array of shape (n_rows, n_variables), optional
        The candidates of ``among``.
    stored_parts : dict, optional
        The parts of the proof by tree node. By default they are read from the core's answer.
    decision : Decision, optional
        If the problem's tree was made from a tree with leaves that compute: how it was made. Every answer has to reach the
        goal in the model's tree as well.

    Examples
    --------
    >>> from counterleaf import Explainer
    >>> from counterleaf.datasets import example_tree
    >>> certificate = Explainer(example_tree()).explain([0.0, 0.0], target="yes").certificate
    >>> certificate.check()
    True
    """

    problem: Problem = field(repr=False)
    findings: Findings = field(repr=False)
    pool: Array | None = field(repr=False, default=None)
    stored_parts: dict[int, Part | Fork] | None = field(repr=False, default=None)
    decision: Any = field(repr=False, default=None)

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the core's memory, which the parts replace."""
        found = replace(self.findings, points=np.array(self.findings.points), answer=None)
        return {**vars(self), "findings": found, "stored_parts": self.parts()}

    @property
    def status(self) -> Status:
        """The claim: optimal, infeasible, or limit."""
        return self.findings.status

    @property
    def lower_bound(self) -> float:
        """The cost that no row of the target undercuts."""
        return self.findings.lower_bound

    @property
    def is_fresh(self) -> bool:
        """Whether a search of this process made it, which is sure of its proof; it was not read from a file."""
        return self.findings.answer is not None

    def searches(self) -> Iterator[Certificate]:
        """Iterate over the certificates of single searches: this one.

        Yields
        ------
        Certificate
            This certificate.
        """
        yield self

    def owner(self, k: int) -> Certificate:
        """Return the certificate that claims answer k: this one.

        Parameters
        ----------
        k : int
            The place of the answer.
        """
        return self

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers in order of cost, each with its leaf, row, cost and bound."""
        found = self.findings
        return tuple(
            Answer(int(leaf), row, float(cost), float(bound))
            for leaf, row, cost, bound in zip(found.leaves, found.points, found.costs, found.bounds, strict=True)
        )

    def parts(self) -> dict[int, Part | Fork]:
        """The parts of the proof by tree node."""
        answer = self.findings.answer
        if answer is None or self.stored_parts is not None:
            return self.stored_parts or {}
        states = answer.trace()
        forked: dict[int, list[int]] = {}
        for s in np.flatnonzero(states["parting"] != Parting.SPLIT).tolist():
            forked.setdefault(int(states["parent"][s]), []).append(s)
        states["ends"] = np.cumsum(states["rows"])
        n, tangents = len(states["rows"]), states["tangents"]
        states["tangents"] = tangents.reshape(n, len(tangents) // max(n, 1))
        first = np.flatnonzero((states["parting"] == Parting.SPLIT) & (states["kind"] != Kind.EXPANDED)).tolist()
        return {int(states["node"][s]): _part(states, s, forked) for s in first}

    def admits(self, row: Array) -> bool:
        """Whether a row that the problem allows is an answer: a kind of proof may require more of it.

        Parameters
        ----------
        row : array of shape (n_variables,)
            A row of the problem.
        """
        return True

    def _statement(self) -> tuple[Any, ...]:
        """The target leaves; of a tree made from one with leaves that compute, which has other tangents, the model and goal."""
        if self.decision is None:
            return (self.problem.question.nodes,)
        tree, outputs = self.decision.model, self.decision.model.outputs
        computed = None if outputs is None else (outputs.intercept, outputs.slope)
        arrays = tree.left, tree.right, tree.weights, tree.bias, tree.value, computed
        return (*arrays, str(self.decision.goal), sorted(self.decision.closed))

    def rounding_problem(self, k: int) -> tuple[Problem, Answer]:
        """The problem in which the numbers of answer k may be rounded, and that answer.

        Parameters
        ----------
        k : int
            The place of the answer among those of this certificate.
        """
        return self.problem, self.answers[k]

    def check(self) -> bool:
        """Check the proof, without the search.

        Returns
        -------
        bool
            True if every claim holds.

        Notes
        -----
        The claims are: each answer lies in its leaf as the tree computes it, satisfies bounds bit for bit and the user's
        rows to 1e-9 of their terms, and has the stated cost; no row of its leaf costs less than its ``lower_bound``, which
        the answer exceeds by at most 1e-9 of its cost (status optimal; see docs/exact.md); no other target leaf holds a row
        cheaper than the most expensive answer, to the same share; no row of the target costs less than the certificate's
        ``lower_bound``; and no target leaf holds any row (status infeasible).
        """
        try:
            with np.errstate(all="ignore"):
                if not self._are_sound(self.answers):
                    return False
                return self._check_parts() if self.pool is None else self._check_choice(self.pool)
        except UNPROVABLE:
            return False

    def _are_sound(self, answers: tuple[Answer, ...]) -> bool:
        """Whether the question can be proved and each answer is valid, without regard to its bound."""
        problem, costs = self.problem, [answer.cost for answer in answers]
        if not _is_provable(problem) or costs != sorted(costs) or len({a.leaf for a in answers}) < len(answers):
            return False
        if bool(answers) != (self.status is Status.OPTIMAL) and self.status is not Status.LIMIT:
            return False
        if self.decision is not None and not self.decision.reaches(self.findings.points):
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
        """The most by which another order of summation may change the cost of an answer."""
        changed = int((answer.row != self.problem.source).sum())
        return (changed + 8) * 2 * ROUNDING * self.problem.size_of(answer.row, answer.leaf, terms=True)

    def _allowed(self, answer: Answer, place: Place) -> float:
        """The most by which an optimal answer may exceed its bound: GAP of its cost, plus the cost of rounding at its faces.

        An answer stays away from each face by the rounding of the face's sum, or by the guard if the model sums in its own
        order, and the float next to the best number may be as far away. Only the first guard counts: an answer that needs a
        larger one is not optimal if it costs more. It is 0 if the region has no faces: then the answer meets its bound exactly.
        """
        if not place.region.faces and self.problem.question.matrix is None:
            return 0.0
        out = GAP * self.problem.size_of(answer.row, answer.leaf)
        if self.problem.question.matrix is not None:  # which is proved convex to that share of its terms
            out += (len(answer.row) + 2) ** 2 * 16 * ROUNDING * self.problem.size_of(answer.row, answer.leaf, terms=True)
        for face in place.region.faces:
            terms = float(np.abs(face.weights * answer.row[face.columns]).sum()) + sum(map(abs, face.constants))
            cast = 2.0**-22 if self.problem.question.narrow and not face.size else 0.0
            guard = 0.0 if face.size else 2 * self.problem.question.paid
            room = (max(16 * (len(face.columns) + 2) * ROUNDING, guard) + cast) * terms
            out += place.region.price_of_moving(answer.row, face, room)
        return out

    def _check_parts(self) -> bool:
        places, answers = list(Walk(self.problem, self.parts()).places()), self.answers
        wide = self.status is Status.INFEASIBLE and not self.problem.question.widened
        floor = self.lower_bound
        if self.status is Status.OPTIMAL:
            for answer in answers:
                around = [p for p in places if p.part.node == answer.leaf and p.holds(answer.row)]
                room = max((self._allowed(answer, place) for place in around), default=-math.inf)
                if not answer.cost - answer.bound <= room:
                    return False
            floor = max(floor, answer.cost - room - self._digits(answer))  # of the most expensive one, which is last
        answered = {answer.leaf: answer for answer in answers}
        return all(self._is_proved(place, answered, floor, wide) for place in places)

    def _is_proved(self, place: Place, answered: dict[int, Answer], floor: float, wide: bool) -> bool:
        """Whether a part proves the bound of its leaf, or that no row there undercuts the answers, or that it is empty."""
        raise_if_ended()
        if self.status is Status.INFEASIBLE:
            return place.is_empty(wide)
        answer = answered.get(place.part.node)
        claim = floor if answer is None else answer.bound
        if claim == -math.inf:
            return True
        last = 16 * ROUNDING * abs(claim)  # the proof does not claim the last digits of a bound
        least = claim - (last if answer is None else max(last, self._digits(answer)))
        return place.bound(least) >= least or place.is_empty(wide)

    @np.errstate(all="ignore")
    def weakened(self) -> Certificate:
        """The same answers with status "limit" and with the bounds that the parts prove."""
        bounds: dict[int, float] = {}
        enough = float(self.findings.costs.min(initial=math.inf))
        for place in Walk(self.problem, self.parts()).places():
            empty = place.is_empty(not self.problem.question.widened)
            bound = math.inf if empty else place.bound(enough if enough < math.inf else -math.inf)
            bounds[place.part.node] = min(bounds.get(place.part.node, math.inf), bound)
        least = min([*bounds.values(), *self.findings.costs.tolist()], default=math.inf)
        found = self.findings
        pairs = zip(found.leaves, found.costs.tolist(), strict=True)
        proved = np.array([min(bounds.get(int(leaf), least), cost) for leaf, cost in pairs])
        return replace(self, findings=replace(found, status=Status.LIMIT, bounds=proved, lower_bound=least))

    @np.errstate(all="ignore")
    def unchecked(self) -> Certificate:
        """The same answers with status "limit" and with the bound that the question's box proves, without the parts."""
        q, found = self.problem.question, self.findings
        tangent = np.zeros(0 if q.matrix is None else len(self.problem.source))
        whole: dict[int, Part | Fork] = {0: Part(0, np.zeros(len(self.problem.limits)), False, tangent)}
        bounds = [place.bound(math.inf) for place in Walk(self.problem, whole).places()]
        least = min([*bounds, *found.costs.tolist()], default=math.inf)
        weak = replace(found, status=Status.LIMIT, bounds=np.full(len(found.costs), least), lower_bound=least)
        return replace(self, findings=weak, stored_parts=whole)

    def _check_choice(self, pool: Array) -> bool:
        """Whether every valid candidate of ``among`` costs at least as much as the answer of its leaf, or the last answer."""
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
    """Whether the cost is convex: of each variable, and of the coupled part less the curvature of its tangents.

    The variables of groups must have a price and no curvature, and charges must not be negative.
    """
    q, table, cost = problem.question, problem.table, problem.question.features.cost
    if not all(np.isfinite(line).all() for line in (q.features.source, *cost)):
        return False
    if not ((cost.curve_up >= 0) & (cost.curve_down >= 0) & (cost.slope_up >= cost.slope_down)).all():
        return False
    if table is not None:
        if not (np.isfinite(table.charges) & (table.charges >= 0)).all():
            return False
        of_groups = cost.at(table.group >= 0)
        curved = (of_groups.curve_up != 0) | (of_groups.curve_down != 0)
        if (curved | (of_groups.slope_up != of_groups.slope_down)).any():
            return False
    return q.matrix is None or (q.tangent_curve is not None and is_convex(q.matrix, q.tangent_curve))


def _part(states: dict[str, Any], s: int, forked: dict[int, list[int]]) -> Part | Fork:
    """The part of the proof at a state of the search; forks are followed with an explicit stack, children before parents."""
    ends, tangents = states["ends"], states["tangents"]
    order = [s]
    for at in order:
        order += forked.get(at, [])
    made: dict[int, Part | Fork] = {}
    for at in reversed(order):
        if states["kind"][at] != Kind.FORKED:
            here = slice(ends[at] - states["rows"][at], ends[at])
            empty = bool(states["kind"][at] == Kind.DISCARDED)
            divisor = float(states["lattice"][at])
            made[at] = Part(int(states["node"][at]), states["multipliers"][here], empty, tangents[at], divisor)
            continue
        low, high = forked[at]
        cut = float(states["cut"][low]), float(states["cut"][high])
        made[at] = Fork(Parting(int(states["parting"][low])), int(states["what"][low]), cut, made[low], made[high])
    return made[s]
