"""The strip of the front: the smallest change of one feature, of two, and so on, until more changes gain nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.explorer.session.answers.ways import describe_ways
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene

MAX_POINTS = 12  # a front with more points would not fit into a strip


def describe_front(
    scene: Scene, question: Question, searches: Sequence[Explanation], stopped_after: float | None
) -> dict[str, Any]:
    """The points of a front, fewest changes first."""
    points = []
    for answer in searches:
        way = describe_ways(scene, question, answer)[1][0]
        points.append({key: way[key] for key in ("n_changes", "changes", "effort", "confirmed", "proved", "label", "number")})
    return {"points": points, "stopped_after": stopped_after}
