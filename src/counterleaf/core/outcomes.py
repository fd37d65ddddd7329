"""What many searches found, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from counterleaf.types import Array


class Outcome(IntEnum):
    """How one question of many ended; UNASKED: it must be asked on its own."""

    FOUND, NONE, UNASKED = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """How each of many questions ended; where one was FOUND its cheapest leaf and its row."""

    outcome: Array
    leaves: Array
    costs: Array
    bounds: Array
    points: Array
