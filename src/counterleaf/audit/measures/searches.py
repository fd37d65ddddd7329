"""What further searches say: the constraints in the way of rows without recourse, and the ways of the others to the target.

What is in the way of a row is a smallest set of constraints that leaves no answer. A constraint on several features counts as
one constraint for each, so that only features that matter are named. The sets of all rows are sought together: rows for which
the same sets of constraints are known to leave an answer, or none, need the same next search.

The ways to the target are the choice of recourse of FACTS (Kavouras et al. 2023) with sets of features as actions. A set is
effective for a row if the row can reach the target by changing features of the set only, each by as much as it needs. That is
decided by another search in which all other features are frozen, so a set also counts for a row for which another set is
cheaper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.audit.measures.differences import wilson
from counterleaf.audit.report.cases import Cases, State, status_codes
from counterleaf.audit.report.groups import Grouping
from counterleaf.errors import CounterleafError
from counterleaf.question.constraints.bounds import freeze
from counterleaf.question.constraints.kinds import Boxed, Constraint
from counterleaf.question.constraints.several import Support
from counterleaf.question.question import Question
from counterleaf.search.conflict import smallest_conflict
from counterleaf.table.frames import Frame, numbers_of
from counterleaf.table.output import STATUSES
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.audit.report.figures import ReportSettings
    from counterleaf.explainer import Explainer

_STUCK_ROWS, _STUCK_ROWS_OF_ENSEMBLES = 1000, 100  # rows without recourse that are examined; an ensemble takes long for each
_ROWS, _SETS = 2000, 12  # rows and sets of features for which the ways to the target are counted
SHARES = (0.25, 0.5)  # of a group that a set has to serve to count as a choice
NO_CONSTRAINT = "no constraint: no row within the bounds of the features reaches the target"
RowsAt = Callable[[Array], TableRows]  # the rows at increasing positions


@dataclass(frozen=True, slots=True, eq=False)
class Conflicts:
    """The smallest conflicts of some rows without recourse."""

    rows: Array  # positions
    constraints: tuple[Constraint, ...]  # each on one feature, where that is possible
    sets: tuple[tuple[int, ...], ...]  # of each row, places in ``constraints``; empty if no constraint is to blame
    total: int  # rows without recourse, examined or not

    @property
    def is_sample(self) -> bool:
        """Whether only some of the rows were examined."""
        return len(self.rows) < self.total

    def lines(self, grouping: Grouping) -> Iterator[dict[str, Any]]:
        """Yield a line for every group and every conflict in it, the most frequent first."""
        codes = grouping.codes[self.rows].tolist()
        sizes, counts = Counter(codes), Counter(zip(codes, self.sets, strict=True))
        for (g, found), count in sorted(counts.items(), key=lambda one: (one[0][0], -one[1], one[0][1])):
            yield {
                "by": grouping.name,
                "group": grouping.labels[g],
                "constraints": self.text(found),
                "size": len(found),
                "rows": count,
                "examined": sizes[g],
                "share": count / sizes[g],
            }

    def text(self, places: Sequence[int]) -> str:
        """Return a set of constraints as it is written in Python."""
        return "; ".join(str(self.constraints[k]) for k in places) or NO_CONSTRAINT

    def common(self) -> list[tuple[tuple[int, ...], int]]:
        """Return the different sets with the numbers of their rows, the most frequent first."""
        return sorted(Counter(self.sets).items(), key=lambda one: (-one[1], one[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """For some rows without the target, which sets of features reach it."""

    rows: Array  # positions
    sets: tuple[tuple[str, ...], ...]
    reached: Array  # (rows, sets) bool

    def lines(self, grouping: Grouping, least: int) -> Iterator[dict[str, Any]]:
        """Yield a line for every group and every set, the most effective first; an interval needs ``least`` rows."""
        codes = grouping.codes[self.rows].astype(np.int64)
        sizes = np.bincount(codes, minlength=len(grouping))
        for g in np.flatnonzero(sizes).tolist():
            counts = self.reached[codes == g].sum(axis=0)
            for k in sorted(range(len(self.sets)), key=lambda k: (-counts[k], k)):
                low, high = wilson(int(counts[k]), int(sizes[g])) if sizes[g] >= least else (math.nan, math.nan)
                yield {
                    "by": grouping.name,
                    "group": grouping.labels[g],
                    "features": ", ".join(self.sets[k]),
                    "examined": int(sizes[g]),
                    "reaching": int(counts[k]),
                    "share": float(counts[k] / sizes[g]),
                    "low": low,
                    "high": high,
                }


class ModelQuestion:
    """A question about a model, which is refused if it does not fit, and the further searches that a report needs."""

    def __init__(self, explainer: Explainer, question: Question, settings: ReportSettings) -> None:
        self.explainer, self.question, self.settings = explainer, question, settings
        self.query = explainer.lower(question)

    def samples(self, cases: Cases) -> Array:
        """Return the positions of all rows that ``conflicts`` and ``choices`` will ask for, increasing."""
        return np.union1d(self._stuck_rows(cases), self._affected_rows(cases))

    def _stuck_rows(self, cases: Cases) -> Array:
        """Return the rows without recourse, or a random sample of them."""
        usual = _STUCK_ROWS if self.explainer.tree.is_one_tree else _STUCK_ROWS_OF_ENSEMBLES
        most = usual if self.settings.conflicts is None else self.settings.conflicts
        return _sampled(np.flatnonzero(cases.state == State.CANNOT), (self.settings.seed, 2), most)

    def _affected_rows(self, cases: Cases) -> Array:
        """Return the rows whose ways to the target are counted; none for ensembles, where each search takes long."""
        if not self.explainer.tree.is_one_tree or not self.settings.choices or not len(cases.reached):
            return np.zeros(0, np.int64)
        rows = np.flatnonzero((cases.state != State.HAS) & (cases.state != State.INVALID))
        return _sampled(rows, (self.settings.seed, 3), _ROWS)

    def conflicts(self, cases: Cases, rows_at: RowsAt) -> Conflicts | None:
        """Find a smallest conflict for each row of a sample that has no answer; None if there are no such rows."""
        sample = self._stuck_rows(cases)
        if not len(sample):
            return None
        rows, rules = rows_at(sample), by_feature(self.query.constraints)
        everything = tuple(range(len(rules)))
        sets: list[tuple[int, ...]] = [()] * len(sample)
        waiting = [({frozenset(everything): False}, np.arange(len(sample)))]  # what is known, and the rows for which it is
        while waiting:
            wanted: dict[tuple[int, ...], list[tuple[dict[frozenset[int], bool], Array]]] = {}
            for known, places in waiting:
                try:
                    found = smallest_conflict(everything, partial(_leaves_a_row, known))
                except _UnknownError as error:
                    wanted.setdefault(error.args[0], []).append((known, places))
                else:
                    for k in places.tolist():
                        sets[k] = found
            waiting = []
            for subset, classes in wanted.items():
                answers = self._stuck(rows.part(np.concatenate([places for _, places in classes])), [rules[k] for k in subset])
                ends = np.cumsum([len(places) for _, places in classes])[:-1]
                for (known, places), mine in zip(classes, np.split(answers, ends), strict=True):
                    for part, feasible in ((places[~mine], True), (places[mine], False)):
                        waiting += [({**known, frozenset(subset): feasible}, part)] * (len(part) > 0)
        return Conflicts(sample, rules, tuple(sets), int(np.count_nonzero(cases.state == State.CANNOT)))

    def choices(self, cases: Cases, rows_at: RowsAt) -> Choices | None:
        """Decide for the sets of features that change most often which rows reach the target if all others stay."""
        sample = self._affected_rows(cases)
        if not len(sample):
            return None
        rows, names = rows_at(sample), self.explainer.schema.names
        counts = np.bincount(cases.patterns[cases.patterns >= 0], minlength=len(cases.sets))
        order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
        sets = tuple(tuple(names[d] for d in cases.sets[k]) for k in order[:_SETS])
        return Choices(sample, sets, np.stack([self._reached(rows, one) for one in sets], axis=1))

    def _stuck(self, rows: Any, constraints: Sequence[Constraint]) -> Array:
        """Return which rows provably cannot reach the target within some of the constraints."""
        support = self.question.support if any(isinstance(one, Support) for one in constraints) else None
        rules = [one for one in constraints if not isinstance(one, Support)]
        try:
            found = self._explained(rows, rules, support)
        except CounterleafError:  # without some constraint, the cost may be unbounded
            return np.zeros(len(rows), bool)
        return np.asarray(status_codes(found["status"]) == STATUSES.index("infeasible"))

    def _reached(self, rows: TableRows, features: Sequence[str]) -> Array:
        """Return which rows reach the target if only these features change."""
        others = [name for name in self.explainer.schema.names if name not in features]
        rules = [*self.question.constraints, *([freeze(*others)] if others else [])]
        return ~np.isnan(numbers_of(self._explained(rows.rows, rules, self.question.support)["cost"], "cost"))

    def _explained(self, rows: Any, constraints: Any, support: int | None) -> Frame:
        question = replace(self.question, constraints=constraints, support=support)
        return self.explainer.explain_many(rows, question, words=False, progress=False)


def _sampled(rows: Array, seed: tuple[int, int], most: int) -> Array:
    """Return some positions, or a random sample of them, increasing."""
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def by_feature(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return the constraints with those on several features as one for each of them."""
    return tuple(part for one in constraints for part in (one.by_feature() if isinstance(one, Boxed) else [one]))


class _UnknownError(Exception):
    """It is not known whether a set of constraints leaves a row."""


def _leaves_a_row(known: dict[frozenset[int], bool], subset: tuple[int, ...]) -> bool:
    """Whether constraints leave a row: so do some of those that do, and none of more than those that do not."""
    mine = frozenset(subset)
    for other, feasible in known.items():
        if mine <= other if feasible else mine >= other:
            return feasible
    raise _UnknownError(subset)
