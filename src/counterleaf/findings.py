"""What a search claims, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from counterleaf.schema import Array

if TYPE_CHECKING:
    from counterleaf._core import Answer


class Status(StrEnum):
    """What an Explanation says about its question."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIMIT = "limit"


class Outcome(IntEnum):
    """How one question of many ended; UNASKED: it must be asked on its own."""

    FOUND, NONE, UNASKED = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Leaves found, in order of cost; row k of ``points`` belongs to entry k."""

    status: Status
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
    lower_bound: float  # what no row can undercut, whatever the status
    answer: Answer | None = None  # the core's, with its proof; None where a table was searched, or a file read


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """How each of many questions ended; where one was FOUND its cheapest leaf and its row."""

    outcome: Array
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
