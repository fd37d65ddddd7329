"""The options of an answer: what changes, by how much, and a sentence about the first one; and the strip of the front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import counterleaf as cl
from counterleaf.answer.short_numbers import plain, round_down
from counterleaf.answer.text import Page, apart, compose, is_reached
from counterleaf.explorer.session.answers.effort import Move, describe_effort, moves_of, total_effort
from counterleaf.explorer.session.answers.goals import describe_outcomes, target_probability
from counterleaf.explorer.session.question import Posed, broken_rules, is_effort
from counterleaf.explorer.session.scene import Scene, encode_value
from counterleaf.explorer.session.words import count_text, feature_number, label_of, percent, percent_at_most, series
from counterleaf.table.features import MISSING, is_missing

MAX_POINTS = 12  # a front with more points would not fit into a strip
_SHOWN = ("n_changes", "changes", "effort", "confirmed", "proved", "label", "number")  # of a point of the front
_IN_SENTENCE = 6  # features
_TOLERANCE = 1e-9  # of the cost: a smaller gap is rounding
_SAME = 1e-6  # a smaller difference between a cost and an effort is rounding


def describe_ways(posed: Posed, answer: cl.Explanation) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the model says of the source, and the options of an answer."""
    scene = posed.scene
    source, *outcomes = describe_outcomes(scene, answer)
    costs = apart([c.cost for c in answer]) if len(answer) else []
    page = compose(answer, len(answer.schema), units=False) if len(answer) and scene.shape is None else None
    all_moves = [moves_of(scene.explainer, c) for c in answer]
    by_effort = is_effort(posed.request) and all(
        abs(total_effort(moves) - c.cost) <= _SAME * (1.0 + c.cost) for moves, c in zip(all_moves, answer, strict=True)
    )
    ways = []
    for k, (c, outcome, cost, moves) in enumerate(zip(answer, outcomes, costs, all_moves, strict=True)):
        effort, proved = describe_effort(moves, cost), is_proved(answer, k)
        if scene.shape is not None:
            effort["words"] = _pixel_words(scene, moves)
        ways.append(
            {
                **outcome,
                "confirmed": c.confirmed,
                "proved": proved,
                "proof": {"claim": _claim(scene, answer, k, by_effort), **_proof_numbers(c, proved)},
                "leaf": c.leaf,
                "n_changes": len(c.changes),
                "changes": [] if page is None else _describe_changes(answer, page, k, moves),
                "effort": effort,
            }
        )
    return source, ways


def is_proved(answer: cl.Explanation, k: int) -> bool:
    """Whether option ``k`` is proved to be the cheapest of those that differ from the earlier ones, as ``distinct`` means it.

    With "features", they do not change all the features of any option before; with "leaves", they end in another leaf.
    """
    if not answer.proof_holds:
        return False
    return answer.status is cl.Status.OPTIMAL or (k == 0 and answer.gap <= _TOLERANCE * abs(answer[0].cost))


def _claim(scene: Scene, answer: cl.Explanation, k: int, by_effort: bool) -> str:
    """What is proved about option ``k``, or what is not, after "proved" or "not proved".

    "Smaller" is about the effort that the page shows; with another cost, a smaller effort may exist.
    """
    if not is_proved(answer, k):
        smaller = f"a smaller allowed change may exist{_how_much_smaller(answer) if k == 0 else ''}"
        return smaller if by_effort else "a better allowed change may exist"
    if not answer[k].changes:
        return "nothing has to change"
    if k == 0:
        return "no smaller allowed change works" if by_effort else "the best allowed change by the chosen measure"
    best = "the smallest allowed change" if by_effort else "the best allowed change by the chosen measure"
    if scene.shape is not None:
        return f"{best} on another path through the model"
    before = "option 1" if k == 1 else "option 1 or option 2" if k == 2 else f"one of options 1 to {k}"
    return f"{best} that does not change all that {before} changes"


def _describe_changes(answer: cl.Explanation, page: Page, k: int, moves: Sequence[Move]) -> list[dict[str, Any]]:
    """The changes of option ``k``, the largest share first; numbers have as few digits as keep the row valid."""
    out, by_name = [], dict(zip(answer[k].changes, moves, strict=True))
    for place, texts in zip(page.places, page.lines, strict=True):
        feature = answer.schema.features[place]
        move = by_name.get(feature.name)
        if move is None:
            continue
        ends, written = answer[k].changes[feature.name], [texts[1], texts[2 + k]]
        codes = [encode_value(feature, value) for value in ends]
        if isinstance(feature, cl.Numeric):
            known = [not is_missing(value) for value in ends]
            codes = [float(text) if there else None for text, there in zip(written, known, strict=True)]
            written = [feature_number(feature, text) if there else text for text, there in zip(written, known, strict=True)]
        out.append(
            {
                "feature": feature.name,
                "label": label_of(feature),
                "from": written[0],
                "to": written[1],
                "from_value": codes[0],
                "to_value": codes[1],
                "direction": move.direction,
                "share": None if move.share is None else round(move.share, 6),
                "share_text": move.text,
            }
        )
    return sorted(out, key=lambda change: -(1.0 if change["share"] is None else change["share"]))


def _pixel_words(scene: Scene, moves: Sequence[Move]) -> str:
    pixels = f"{len(moves)} of {len(scene.explainer.schema)} pixels"
    shares = [move.share for move in moves if move.share is not None]
    return f"{pixels}, each by {percent(sum(shares) / len(shares))} on average" if shares else pixels


def write_already(posed: Posed, answer: cl.Explanation, source: dict[str, Any]) -> str | None:
    """That the row has the goal but breaks rules; None if it does not."""
    if not is_reached(answer) or (len(answer) and not answer[0].changes):
        return None
    rules = broken_rules(posed)
    start = f"The model already {_says(answer, source, -1, 's')}"
    return (
        f"{start}; your rules also require {series(rules)}"
        if rules
        else f"{start}; your rules and the ranges do not allow the row as it is"
    )


def write_sentence(
    scene: Scene, answer: cl.Explanation, source: dict[str, Any], ways: list[dict[str, Any]], already: str | None
) -> str:
    """The first option as one sentence, after what the row has already."""
    best, before = ways[0], f"{already}. " if already else ""
    instead = _instead(answer, source, best)
    would = f"{'would' if best['confirmed'] else 'may'}{' still' if already and not instead else ''}"
    model = f"the model {would} {_says(answer, best, 0)}"
    if not best["n_changes"]:
        return f"Nothing has to change: the model already {_says(answer, best, 0, 's')}."
    found = is_proved(answer, 0)
    if scene.shape is not None:
        start = "With" if found else "The best answer before the search stopped: with"
        return f"{before}{start} {best['n_changes']} of {len(answer.schema)} pixels changed, {model}{instead}."
    listed = best["changes"][:_IN_SENTENCE]
    parts = [
        f"{change['label']} were {_unbracketed(change['to'])} instead of {_unbracketed(change['from'])}" for change in listed
    ]
    more = best["n_changes"] - len(listed)
    if more:
        parts.append(f"{count_text(more)} other feature{'s' * (more > 1)} changed as well")
    start = "If" if found else "The best change found before the search stopped: if"
    return f"{before}{start} {series(parts)}, {model}{instead}."


def _unbracketed(text: str) -> str:
    return "missing" if text == MISSING else text


def _says(answer: cl.Explanation, way: dict[str, Any], k: int, ending: str = "") -> str:
    if isinstance(answer.target, cl.Probability):
        return f"give{ending} {answer.target.label} a probability of {target_probability(answer, k)}"
    return f"predict{ending} {way['label']}" if way["class_index"] is None else f"say{ending} {way['label']}"


def _instead(answer: cl.Explanation, source: dict[str, Any], way: dict[str, Any]) -> str:
    if isinstance(answer.target, cl.Probability):
        now, before = (target_probability(answer, k) for k in (0, -1))
        return f" instead of {before}" if now != before else ""
    return "" if source["label"] == way["label"] else f" instead of {source['label']}"


def write_failure(answer: cl.Explanation, action: str, stopped_after: float | None, conflict: bool, already: str | None) -> str:
    """Why there is no option, in one or two sentences without technical terms."""
    if already:
        found = (
            "No allowed change does both. This is proved." if answer.proved else "The search stopped before it found a change."
        )
        return f"{already}. {found}"
    if answer.status is cl.Status.LIMIT:
        stopped = "The search stopped" if stopped_after is None else f"The search stopped after {stopped_after:g} s"
        return f"{stopped}, before it found a change that makes the model {action}."
    text = f"No allowed change makes the model {action}. This is proved."
    return (
        text if conflict else f"{text} None of your settings is the cause: no row within the ranges of the features gets there."
    )


def write_proof(answer: cl.Explanation, ways: list[dict[str, Any]], stopped_after: float | None) -> dict[str, Any]:
    """What is proved about the first option, or that there is none, in words."""
    stopped = "the search stopped early" if stopped_after is None else f"the search stopped after {stopped_after:g} s"
    if not ways:
        text = "proved: no allowed change reaches the goal" if answer.proved else f"not proved: {stopped}"
        return {"proved": answer.proved, "text": text, "lower_bound": _bound_text(answer.lower_bound)}
    proved, claim, bound = ways[0]["proved"], ways[0]["proof"]["claim"], ways[0]["proof"]["lower_bound"]
    if not proved:
        text = f"not proved: {stopped}, so {claim}"
    else:
        text = f"proved: {claim}"
        if answer.status is cl.Status.LIMIT:
            text += f"; {stopped}, so other options may be missing"
    return {"proved": proved, "text": text, "lower_bound": bound}


def _proof_numbers(c: cl.Counterfactual, proved: bool) -> dict[str, str | None]:
    """Cost, bound and gap; if the bound is proved to be the cost, with as many digits as show that it is, up to the gap."""
    bounded = math.isfinite(c.lower_bound)
    for digits in range(4, 18):
        cost, bound = float(f"{c.cost:.{digits}g}"), round_down(c.lower_bound, digits) if bounded else -math.inf
        if not proved or cost - bound <= 2.0 * max(c.gap, 0.0):
            break
    gap = plain(-round_down(-max(c.gap, 0.0), 2)) if bounded else None
    return {"cost": plain(cost), "lower_bound": plain(bound) if bounded else None, "gap": gap}


def _bound_text(bound: float) -> str | None:
    """A lower bound, rounded down so that the text is a bound too."""
    return plain(round_down(bound, 4)) if math.isfinite(bound) else None


def _how_much_smaller(answer: cl.Explanation) -> str:
    """By how much a better change could be smaller, if a bound is known and the cost is the effort."""
    cost, bound = answer[0].cost, answer.lower_bound
    return f", at most {percent_at_most(1.0 - bound / cost)} smaller" if 0.0 < bound < cost else ""


def write_fewer(scene: Scene, answer: cl.Explanation, count: int) -> str | None:
    """A sentence if fewer options exist than requested."""
    found = len(answer)
    if not found or found >= count or answer.status is not cl.Status.OPTIMAL or not answer[0].changes:
        return None
    ways = "one way exists" if found == 1 else f"{count_text(found)} different ways exist"
    if scene.shape is not None:
        return f"Only {ways} within what is allowed: no other path through the model leads there."
    rest = "the same features, or these and more" if found == 1 else "all the features of one of these"
    return f"Only {ways} within what is allowed: every other one changes {rest}."


def describe_front(posed: Posed, front: cl.Front, best: cl.Explanation, stopped_after: float | None) -> dict[str, Any]:
    """The smallest change of one feature, of two, and so on, until more changes gain nothing; fewest changes first.

    ``best`` is the answer without a limit on changes. A number of changes whose search stopped is a point without an effort,
    unless the search found the best answer with it.
    """
    searches, n_best = list(front.explanations), len(best[0].changes)
    last = searches[-1][0] if searches else None
    if last is None or best[0].cost < (1.0 - _TOLERANCE) * last.cost or (n_best == len(last.changes) and is_proved(best, 0)):
        searches = [*(one for one in searches if len(one[0].changes) < n_best), best]
    settled = {k for k, one in enumerate(front.searches[:-1]) if one.status is not cl.Status.LIMIT}
    points: dict[int, dict[str, Any]] = {
        n: {"n_changes": n, "changes": [], "effort": None, "proved": False}
        for n in range(1, min(len(searches[-1][0].changes), MAX_POINTS + 1))
        if n not in settled
    }
    for answer in searches:
        way = describe_ways(posed, answer)[1][0]
        points[way["n_changes"]] = {key: way[key] for key in _SHOWN}
    return {"points": [points[n] for n in sorted(points)], "stopped_after": stopped_after}
