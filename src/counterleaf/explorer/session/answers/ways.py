"""The options of an answer: what changes, by how much, and a sentence about the first one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.answer.short_numbers import plain, round_down
from counterleaf.answer.text import Page, apart, compose, is_reached
from counterleaf.explorer.session.answers.effort import Move, describe_effort, measure_move, total_effort
from counterleaf.explorer.session.answers.goals import Goal, describe_outcomes, target_probability
from counterleaf.explorer.session.answers.measures import is_effort
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene, encode_value
from counterleaf.explorer.session.words import count_text, feature_number, label_of, percent, percent_at_most, series
from counterleaf.proof.certificate import Status
from counterleaf.question.query import Probability
from counterleaf.table.features import MISSING, Numeric, is_missing

_IN_SENTENCE = 6  # features
_TOLERANCE = 1e-9  # of the cost: a smaller gap is rounding
_SAME = 1e-6  # a smaller difference between a cost and an effort is rounding


def describe_ways(scene: Scene, question: Question, answer: Explanation) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the model says of the source, and the options of an answer."""
    source, *outcomes = describe_outcomes(scene, answer)
    costs = apart([c.cost for c in answer]) if len(answer) else []
    page = compose(answer, len(answer.schema), units=False) if len(answer) and scene.shape is None else None
    all_moves = [_moves(scene, answer, k) for k in range(len(answer))]
    by_effort = is_effort(question) and all(
        abs(total_effort(moves) - c.cost) <= _SAME * (1.0 + c.cost) for moves, c in zip(all_moves, answer, strict=True)
    )
    ways = []
    for k, (c, outcome, cost) in enumerate(zip(answer, outcomes, costs, strict=True)):
        places = [answer.schema.index(name) for name in c.changes]
        moves = all_moves[k]
        effort = describe_effort(moves, cost)
        if scene.shape is not None:
            effort["words"] = _pixel_words(scene, moves)
        ways.append(
            {
                **outcome,
                "confirmed": c.confirmed,
                "proved": is_proved(answer, k),
                "proof": {"claim": _claim(scene, answer, k, by_effort), **_proof_numbers(c, is_proved(answer, k))},
                "leaf": c.leaf,
                "n_changes": len(c.changes),
                "changes": [] if page is None else _describe_changes(answer, page, k, dict(zip(places, moves, strict=True))),
                "effort": effort,
            }
        )
    return source, ways


def _moves(scene: Scene, answer: Explanation, k: int) -> list[Move]:
    names = answer.schema.names
    places = (answer.schema.index(name) for name in answer[k].changes)
    return [measure_move(scene.explainer, d, *answer[k].changes[names[d]]) for d in places]


def is_proved(answer: Explanation, k: int) -> bool:
    """Whether option ``k`` is proved to be the cheapest of those that differ from the earlier ones, as ``distinct`` means it.

    With "features", they do not change all the features of any option before; with "leaves", they end in another leaf.
    """
    if not answer.proof_holds:
        return False
    return answer.status is Status.OPTIMAL or (k == 0 and answer.gap <= _TOLERANCE * abs(answer[0].cost))


def _claim(scene: Scene, answer: Explanation, k: int, by_effort: bool) -> str:
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


def _describe_changes(answer: Explanation, page: Page, k: int, moves: dict[int, Move]) -> list[dict[str, Any]]:
    """The changes of option ``k``, the largest share first; numbers have as few digits as keep the row valid."""
    out = []
    for place, texts in zip(page.places, page.lines, strict=True):
        move = moves.get(place)
        if move is None:
            continue
        feature = answer.schema.features[place]
        before, after = answer[k].changes[feature.name]
        ends = texts[1], texts[2 + k]
        codes = [encode_value(feature, value) for value in (before, after)]
        if isinstance(feature, Numeric):
            codes = [None if is_missing(value) else float(text) for value, text in zip((before, after), ends, strict=True)]
            written = [
                text if is_missing(value) else feature_number(feature, text)
                for value, text in zip((before, after), ends, strict=True)
            ]
        else:
            written = list(ends)
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


def write_already(answer: Explanation, source: dict[str, Any], broken: Callable[[], list[str]]) -> str | None:
    """That the row has the goal but breaks rules, which ``broken`` returns in words; None if it does not."""
    if not is_reached(answer) or (len(answer) and not answer[0].changes):
        return None
    rules = broken()
    start = f"The model already {_says(answer, source, -1, 's')}"
    return (
        f"{start}; your rules also require {series(rules)}"
        if rules
        else f"{start}; your rules and the ranges do not allow the row as it is"
    )


def write_sentence(
    scene: Scene, answer: Explanation, source: dict[str, Any], ways: list[dict[str, Any]], already: str | None
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


def _says(answer: Explanation, way: dict[str, Any], k: int, ending: str = "") -> str:
    if isinstance(answer.target, Probability):
        return f"give{ending} {answer.target.label} a probability of {target_probability(answer, k)}"
    return f"predict{ending} {way['label']}" if way["class_index"] is None else f"say{ending} {way['label']}"


def _instead(answer: Explanation, source: dict[str, Any], way: dict[str, Any]) -> str:
    if isinstance(answer.target, Probability):
        now, before = (target_probability(answer, k) for k in (0, -1))
        return f" instead of {before}" if now != before else ""
    return "" if source["label"] == way["label"] else f" instead of {source['label']}"


def write_failure(answer: Explanation, goal: Goal, stopped_after: float | None, conflict: bool, already: str | None) -> str:
    """Why there is no option, in one or two sentences without technical terms."""
    if already:
        found = (
            "No allowed change does both. This is proved." if answer.proved else "The search stopped before it found a change."
        )
        return f"{already}. {found}"
    if answer.status is Status.LIMIT:
        stopped = "The search stopped" if stopped_after is None else f"The search stopped after {stopped_after:g} s"
        return f"{stopped}, before it found a change that makes the model {goal.action}."
    text = f"No allowed change makes the model {goal.action}. This is proved."
    return (
        text if conflict else f"{text} None of your settings is the cause: no row within the ranges of the features gets there."
    )


def write_proof(answer: Explanation, ways: list[dict[str, Any]], stopped_after: float | None) -> dict[str, Any]:
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
        if answer.status is Status.LIMIT:
            text += f"; {stopped}, so other options may be missing"
    return {"proved": proved, "text": text, "lower_bound": bound}


def _proof_numbers(c: Counterfactual, proved: bool) -> dict[str, str | None]:
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


def _how_much_smaller(answer: Explanation) -> str:
    """By how much a better change could be smaller, if a bound is known and the cost is the effort."""
    cost, bound = answer[0].cost, answer.lower_bound
    return f", at most {percent_at_most(1.0 - bound / cost)} smaller" if 0.0 < bound < cost else ""


def write_fewer(scene: Scene, answer: Explanation, count: int) -> str | None:
    """A sentence if fewer options exist than requested."""
    found = len(answer)
    if not found or found >= count or answer.status is not Status.OPTIMAL or not answer[0].changes:
        return None
    ways = "one way exists" if found == 1 else f"{count_text(found)} different ways exist"
    if scene.shape is not None:
        return f"Only {ways} within what is allowed: no other path through the model leads there."
    rest = "the same features, or these and more" if found == 1 else "all the features of one of these"
    return f"Only {ways} within what is allowed: every other one changes {rest}."
