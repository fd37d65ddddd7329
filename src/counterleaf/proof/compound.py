"""The proof of a question that took several searches: alternatives, each with the earlier ones excluded, and cases.

A case is one of several sets of constraints that together allow the same rows as those of the question. An alternative is the
cheapest row that leaves enough features alone of every alternative before it: with ``apart`` = m, at least m of the features
that the earlier one changes (all of them if it changes fewer) keep the value of the source. So it never changes everything that
an earlier one changes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.proof.certificate import Answer, Certificate, Findings, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, Part
from counterleaf.question.arrays import ChangeLimit
from counterleaf.types import Array

Round = tuple[Certificate, ...]  # the searches for one alternative, one per case


@dataclass(frozen=True, eq=False)
class Compound:
    """Several certificates that together prove an explanation, whose ``certificate`` it is if it took several searches."""

    rounds: tuple[Round, ...] = field(repr=False)  # for each alternative, in the order in which they were found
    apart: int  # of the features that an alternative changes: how many stay in later ones; 0: answers of different leaves
    count: int | None  # the number of answers that were requested

    @property
    def problem(self) -> Problem:
        """The problem of the first search. The others differ in their constraints only."""
        return self.rounds[0][0].problem

    @property
    def pool(self) -> Array | None:
        """The candidates of ``among`` of the first search, if there are any."""
        return self.rounds[0][0].pool

    @functools.cached_property
    def _owners(self) -> list[tuple[Certificate, int]]:
        """For each answer, the certificate that claims it and its place among the answers of that certificate."""
        out: list[tuple[Certificate, int]] = []
        for one in self.rounds:
            found = [(case.findings.costs[k], i, k) for i, case in enumerate(one) for k in range(len(case.findings.costs))]
            seen: set[int] = set()
            for _, i, k in sorted(found):
                leaf = int(one[i].findings.leaves[k])
                if leaf not in seen and len(seen) != (1 if self.apart else self.count):
                    seen.add(leaf)
                    out.append((one[i], k))
        return out

    def searches(self) -> Iterator[Certificate]:
        """Iterate over the certificates of single searches, round by round."""
        return itertools.chain.from_iterable(self.rounds)

    def owner(self, k: int) -> Certificate:
        """Return the certificate that claims answer k."""
        return self._owners[k][0]

    def rounding_problem(self, k: int) -> tuple[Problem, Answer]:
        """Return the problem in which the numbers of answer k may be rounded, and that answer."""
        owner, place = self._owners[k]
        return owner.rounding_problem(place)

    @property
    def is_fresh(self) -> bool:
        """Whether searches of this process made it."""
        return all(one.is_fresh for one in self.searches())

    @functools.cached_property
    def findings(self) -> Findings:
        """The answers of all searches, and what they claim together."""
        owners = self._owners
        parts = [
            [owner.findings.leaves[k], owner.findings.costs[k], owner.findings.bounds[k], owner.findings.points[k]]
            for owner, k in owners
        ]
        leaves, costs, bounds = (np.array([part[i] for part in parts]) for i in range(3))
        points = np.array([part[3] for part in parts]).reshape(-1, len(self.problem.source))
        return Findings(self.status, leaves.astype(np.int64), costs, bounds, points, self.lower_bound)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers in the order in which they were found."""
        return tuple(owner.answers[k] for owner, k in self._owners)

    @property
    def status(self) -> Status:
        """Optimal if every search is, and there are as many answers as requested, or provably no further ones."""
        verdicts = [round_status(one) for one in self.rounds]
        is_cut = self.apart and len(self.rounds) != self.count and not self.is_exhausted
        if Status.LIMIT in verdicts or (is_cut and verdicts[0] is Status.OPTIMAL):
            return Status.LIMIT
        return verdicts[0]

    @property
    def lower_bound(self) -> float:
        """The cost that no row of the target undercuts."""
        return min(case.lower_bound for case in self.rounds[0])

    @property
    def is_exhausted(self) -> bool:
        """Whether it is proved that there are no answers besides these, although more were requested."""
        last, found = round_status(self.rounds[-1]), self._owners
        if not self.apart:
            return last is Status.OPTIMAL and len(found) != self.count
        if last is Status.INFEASIBLE:
            return len(self.rounds) > 1
        return last is Status.OPTIMAL and len(found) != self.count and self._changes_nothing(found[-1][0].answers[0])

    def parts(self) -> dict[tuple[int, int, int], Part | Fork]:
        """The parts of all proofs, by round, case and tree node."""
        return {
            (i, j, node): part
            for i, one in enumerate(self.rounds)
            for j, case in enumerate(one)
            for node, part in case.parts().items()
        }

    def check(self) -> bool:
        """Check every proof, and that they fit together."""
        return self._is_consistent() and all(one.check() for one in self.searches())

    def _is_consistent(self) -> bool:
        """Whether each round excludes the answers before it and nothing else, and no case hides a better answer."""
        avoided: list[ChangeLimit] = []
        for at, one in enumerate(self.rounds):
            if len(one) != len(self.rounds[0]) or (at and not self.apart):
                return False
            for case, first in zip(one, self.rounds[0], strict=True):
                if not _is_same(case, first, avoided):
                    return False
            best = min((answer for case in one for answer in case.answers[:1]), key=lambda answer: answer.cost, default=None)
            if best is None or (self.apart and self._changes_nothing(best)):
                return at == len(self.rounds) - 1
            avoided.append(avoided_by(self.problem, best.row, self.apart))
        return self.count is None or len(self.rounds) <= self.count

    def _changes_nothing(self, answer: Answer) -> bool:
        """Whether an answer is the source, so that every other row changes all that it changes: nothing."""
        return bool((answer.row == self.problem.source).all())


def round_status(one: Round) -> Status:
    """What the cases of one round claim together: a limit matters only if a cheaper row may be behind it."""
    best = min((float(case.findings.costs[0]) for case in one if len(case.findings.costs)), default=math.inf)
    if any(case.status is Status.LIMIT and (case.lower_bound < best or math.isinf(best)) for case in one):
        return Status.LIMIT
    return Status.OPTIMAL if best < math.inf else Status.INFEASIBLE


def avoided_by(problem: Problem, row: Array, apart: int) -> ChangeLimit:
    """The limit on changes that keeps later answers apart from a row."""
    table = problem.table
    feature = np.arange(len(row)) if table is None else table.feature
    changed = sorted(set(feature[row != problem.source].tolist()))
    return ChangeLimit(tuple(changed), max(len(changed) - apart, 0))


def _is_same(case: Certificate, first: Certificate, avoided: list[ChangeLimit]) -> bool:
    """Whether a problem is that of the first round plus the limits that earlier answers add."""
    one, other = case.problem, first.problem
    if one is other:
        return not avoided
    if not _are_equal(_statement(case), _statement(first)):
        return False
    if one.table is None:
        return not avoided and other.table is None
    count = int(one.table.feature.max(initial=-1)) + 1
    members, most = np.zeros((len(avoided), count), bool), np.array([limit.most for limit in avoided], np.int64)
    for line, limit in zip(members, avoided, strict=True):
        line[list(limit.features)] = True
    if other.table is not None:
        members, most = np.vstack([other.table.members, members]), np.concatenate([other.table.most, most])
        return _are_equal(one.table, other.table._replace(members=members, most=most))
    table = one.table
    has_more = len(table.first) or table.grids.on.any() or table.charges.any() or len(table.clauses)
    return _are_equal((table.members, table.most), (members, most)) and not has_more


def _statement(certificate: Certificate) -> tuple[Any, ...]:
    """The parts of a problem that all rounds share: source, bounds, costs, the user's rows, the margin and the target."""
    problem, target = certificate.problem, certificate._statement()
    q, n = problem.question, len(problem.tree.left)
    start = int(q.indptr[n])
    rows = q.indptr[n:] - start, q.indices[start:], q.data[start:], q.bias[n:], np.array(q.equal)
    return (*target, *rows, q.features, q.matrix, np.array(problem.splits.margin), certificate.pool)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two values, which may be tuples of arrays, are the same."""
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if one is None or other is None:
        return False
    if isinstance(one, (int, str, list)):
        return bool(one == other)
    if hasattr(one, "indptr"):
        return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("indptr", "indices", "data"))
    return bool(np.array_equal(one, other))
