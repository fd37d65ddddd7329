"""The outcomes of many searches, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from counterleaf.types import Array


class Outcome(IntEnum):
    """How the search for one row of many ended; an UNANSWERED row needs a search of its own."""

    FOUND, NONE, UNANSWERED = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The outcome for each of many rows and, where it is FOUND, the cheapest leaf with its cost, bound and point."""

    outcome: Array
    leaves: Array
    costs: Array
    bounds: Array
    points: Array

    def of(self, lines: Array) -> Outcomes:
        """Return the outcomes of some rows."""
        return Outcomes(self.outcome[lines], self.leaves[lines], self.costs[lines], self.bounds[lines], self.points[lines])
