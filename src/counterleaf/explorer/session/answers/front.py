"""The strip of the front: the smallest change of one feature, of two, and so on, until more changes gain nothing."""

from __future__ import annotations

from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.front import Front
from counterleaf.explorer.session.answers.ways import describe_ways, is_proved
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene
from counterleaf.proof.certificate import Status

MAX_POINTS = 12  # a front with more points would not fit into a strip
_SAME = 1e-9  # a smaller share of a cost is rounding
_SHOWN = ("n_changes", "changes", "effort", "confirmed", "proved", "label", "number")


def describe_front(
    scene: Scene, question: Question, front: Front, best: Explanation, stopped_after: float | None
) -> dict[str, Any]:
    """The points of a front, fewest changes first; ``best`` is the answer without a limit on changes.

    A number of changes whose search stopped is a point without an effort, unless the search found the best answer with it.
    """
    last = front.explanations[-1] if front.explanations else None
    searches, n_best = list(front.explanations), len(best[0].changes)
    if last is None or best[0].cost < (1.0 - _SAME) * last[0].cost or (n_best == len(last[0].changes) and is_proved(best, 0)):
        searches = [*(one for one in searches if len(one[0].changes) < n_best), best]
    settled = {k for k, one in enumerate(front.searches[:-1]) if one.status is not Status.LIMIT}
    points: dict[int, dict[str, Any]] = {
        n: {"n_changes": n, "changes": [], "effort": None, "proved": False}
        for n in range(1, min(len(searches[-1][0].changes), MAX_POINTS + 1))
        if n not in settled
    }
    for answer in searches:
        way = describe_ways(scene, question, answer)[1][0]
        points[way["n_changes"]] = {key: way[key] for key in _SHOWN}
    return {"points": [points[n] for n in sorted(points)], "stopped_after": stopped_after}
