"""What is in the way of the rows without recourse: the smallest sets of constraints that leave no row, counted.

A constraint on several features counts as one constraint for each, so that only features that matter are named. The sets of all
rows are sought together: rows for which the same sets of constraints are known to leave a row, or none, need the same next
search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.audit.report.cases import Cases, State
from counterleaf.audit.report.groups import Grouping
from counterleaf.question.constraints.kinds import Constraint, Limit, call_text
from counterleaf.search.conflict import smallest_conflict
from counterleaf.types import Array

MOST = 1000  # rows that are examined
NO_CONSTRAINT = "no constraint: no row within the bounds of the features reaches the target"
Stuck = Callable[[Array, list[Constraint]], Array]  # which of the rows at some places provably have no answer


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


def sampled(cases: Cases, seed: int, most: int) -> Array:
    """Return the positions of the rows without recourse, or of a random sample of them."""
    rows = np.flatnonzero(cases.state == State.CANNOT)
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng([seed, 2]).choice(rows, most, replace=False))


def by_feature(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return the constraints with those on several features as one for each of them."""
    out: list[Constraint] = []
    for one in constraints:
        verb = str(one).partition("(")[0]
        if isinstance(one, Limit) and len(one.names) > 1:
            rest = str(one)[len(call_text(verb, *one.names)) - 1 :]  # other arguments
            out += [replace(one, names=(name,), words=call_text(verb, name)[:-1] + rest) for name in one.names]
        else:
            out.append(one)
    return tuple(out)


class _UnknownError(Exception):
    """It is not known whether a set of constraints leaves a row."""


def find_conflicts(stuck: Stuck, constraints: tuple[Constraint, ...], rows: Array, total: int) -> Conflicts:
    """Find a smallest conflict for each row that has no answer under all constraints."""
    everything = tuple(range(len(constraints)))
    sets: list[tuple[int, ...]] = [()] * len(rows)
    waiting = [({frozenset(everything): False}, np.arange(len(rows)))]  # what is known, and the rows for which it is known
    while waiting:
        wanted: dict[tuple[int, ...], list[tuple[dict[frozenset[int], bool], Array]]] = {}
        for known, places in waiting:
            try:
                found = smallest_conflict(everything, lambda subset, known=known: _leaves_a_row(known, subset))  # type: ignore[misc]
            except _UnknownError as error:
                wanted.setdefault(error.args[0], []).append((known, places))
            else:
                for k in places.tolist():
                    sets[k] = found
        waiting = []
        for subset, classes in wanted.items():
            answers = stuck(np.concatenate([places for _, places in classes]), [constraints[k] for k in subset])
            ends = np.cumsum([len(places) for _, places in classes])[:-1]
            for (known, places), mine in zip(classes, np.split(answers, ends), strict=True):
                for part, feasible in ((places[~mine], True), (places[mine], False)):
                    waiting += [({**known, frozenset(subset): feasible}, part)] * (len(part) > 0)
    return Conflicts(rows, constraints, tuple(sets), total)


def _leaves_a_row(known: dict[frozenset[int], bool], subset: tuple[int, ...]) -> bool:
    """Whether constraints leave a row: so do some of those that do, and none of more than those that do not."""
    mine = frozenset(subset)
    for other, feasible in known.items():
        if mine <= other if feasible else mine >= other:
            return feasible
    raise _UnknownError(subset)
