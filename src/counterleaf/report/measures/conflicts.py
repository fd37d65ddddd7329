"""What is in the way of the rows without recourse: the smallest sets of constraints that leave no row, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status
from counterleaf.report.cases import Cases, State
from counterleaf.report.groups import Grouping
from counterleaf.types import Array

MOST = 1000  # rows that are examined
NO_CONSTRAINT = "no constraint: no row within the bounds of the features reaches the target"


@dataclass(frozen=True, slots=True, eq=False)
class Conflicts:
    """The smallest conflicts of some rows without recourse."""

    rows: Array  # positions
    sets: tuple[tuple[str, ...], ...]  # of each row; empty if no constraint is to blame
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
                "constraints": "; ".join(found) or NO_CONSTRAINT,
                "size": len(found),
                "rows": count,
                "examined": sizes[g],
                "share": count / sizes[g],
            }


def sampled(cases: Cases, seed: int, most: int) -> Array:
    """Return the positions of the rows without recourse, or of a random sample of them."""
    rows = np.flatnonzero(cases.state == State.CANNOT)
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng([seed, 2]).choice(rows, most, replace=False))


def find_conflicts(explain: Callable[[int], Explanation], rows: Array, total: int) -> Conflicts:
    """Explain some rows one by one and keep their conflicts; ``explain`` takes the place of a row in ``rows``."""
    kept: list[int] = []
    sets: list[tuple[str, ...]] = []
    for k, row in enumerate(rows.tolist()):
        try:
            answer = explain(k)
        except CounterleafError:  # a time limit may end a search that had an answer in the batch
            continue
        if answer.status is Status.INFEASIBLE:
            kept.append(row)
            sets.append(tuple(sorted(map(str, answer.conflict))))
    return Conflicts(np.array(kept, np.int64), tuple(sets), total)


def common(sets: Sequence[tuple[str, ...]], most: int) -> list[tuple[tuple[str, ...], int]]:
    """Return the most frequent conflicts with their counts."""
    return sorted(Counter(sets).items(), key=lambda one: (-one[1], one[0]))[:most]
