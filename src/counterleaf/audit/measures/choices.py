"""How many ways to the target a group has: sets of features whose change alone reaches it, and for how many rows.

This is the choice of recourse of FACTS (Kavouras et al. 2023) with sets of features as actions. A set is effective for a row
if the row can reach the target by changing features of the set only, each by as much as it needs. That is decided by another
search in which all other features are frozen, so a set also counts for a row for which another set is cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.audit.measures.intervals import wilson
from counterleaf.audit.report.cases import Cases, State
from counterleaf.audit.report.groups import Grouping
from counterleaf.table.schema import Schema
from counterleaf.types import Array

MOST_ROWS, MOST_SETS = 2000, 12
SHARES = (0.25, 0.5)  # of a group that a set has to serve to count as a choice


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


def frequent_sets(cases: Cases, schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return the sets of features that the cheapest changes use most often."""
    used = cases.patterns[cases.patterns >= 0]
    counts = np.bincount(used, minlength=len(cases.sets))
    order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
    return tuple(tuple(schema.names[d] for d in cases.sets[k]) for k in order[:MOST_SETS])


def sampled(cases: Cases, seed: int) -> Array:
    """Return the positions of the rows without the target, or of a random sample of them."""
    rows = np.flatnonzero((cases.state != State.HAS) & (cases.state != State.INVALID))
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng([seed, 3]).choice(rows, MOST_ROWS, replace=False))


def find_choices(reached: Callable[[tuple[str, ...]], Array], rows: Array, sets: Sequence[tuple[str, ...]]) -> Choices:
    """Decide for each set which rows reach the target if all other features stay."""
    columns = [reached(one) for one in sets]
    return Choices(rows, tuple(sets), np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), bool))
