"""The goal of a question, and what the model says of a row: its class with the probability, or its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.errors import some
from counterleaf.explorer.session.requests import PageQuestion
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import number_apart, number_text, percent_apart, series
from counterleaf.types import Array

_AHEAD = 0.1  # the initial goal for a value: this share of the range of the model's values above the row's


@dataclass(frozen=True, slots=True)
class Goal:
    """A target for ``Explainer.explain``, and the goal in words."""

    target: Any
    text: str  # after "It should say", such as "granted" or "at least 21,400 DM"
    action: str  # after "makes the model", such as "say granted"
    at_least: float | None = None
    at_most: float | None = None

    def describe(self) -> dict[str, Any]:
        """The goal as the page reads it."""
        return {"text": self.text, "at_least": self.at_least, "at_most": self.at_most}


def read_goal(scene: Scene, request: PageQuestion, values: dict[str, Any]) -> Goal:
    """Return the goal of a question about a row with these values."""
    if scene.explainer.tree.is_regression:
        return _value_goal(scene, request, values)
    by_label = {str(label): label for label in scene.explainer.tree.classes.tolist()}
    unknown = [name for name in request.target if name not in by_label]
    if unknown:
        raise cl.CounterleafError(f"no class {unknown[0]!r} in {scene.title}; expected one of {some(by_label)}")
    labels = list(dict.fromkeys(request.target))
    if request.at_least is None and request.at_most is None:
        if not labels:
            return Goal(None, "anything else", "say anything else")
        text = series(labels, "or")
        return Goal([by_label[name] for name in labels], text, f"say {text}")
    if len(labels) != 1:
        raise cl.CounterleafError(
            f"at_least and at_most are about the probability of one class, but there are {len(labels)} target classes; "
            f"expected one"
        )
    if not scene.explainer.tree.bounds_probabilities:
        raise cl.CounterleafError(
            f"the model of {scene.title} has no probabilities that a goal can use; remove at_least and at_most"
        )
    target = cl.probability(by_label[labels[0]], at_least=request.at_least, at_most=request.at_most)
    ends = _interval(target.at_least, target.at_most, percent_of)
    text = f"{labels[0]} with a probability {ends}"
    return Goal(target, text, f"give {labels[0]} a probability {ends}", target.at_least, target.at_most)


def _value_goal(scene: Scene, request: PageQuestion, values: dict[str, Any]) -> Goal:
    if request.target:
        raise cl.CounterleafError(f"the model of {scene.title} predicts numbers, not classes; use at_least and at_most")
    low, high = request.at_least, request.at_most
    if low is None and high is None:
        low, high = _initial_interval(scene, scene.outcome(values).value or 0.0)
    target = cl.value(at_least=low, at_most=high)
    text = _interval(target.at_least, target.at_most, number_text, "")
    return Goal(target, text, f"predict {text}", target.at_least, target.at_most)


def _initial_interval(scene: Scene, now: float) -> tuple[float | None, float | None]:
    """A goal a tenth of the model's range above the value of a row, as a round number; below it where none is above."""
    lower, upper = scene.output_range
    ahead = _AHEAD * (upper - lower) or abs(now) * _AHEAD or 1.0
    if now + 1e-9 * abs(now) < upper or upper == lower:
        return _round_between(now, min(now + ahead, upper) if upper > now else now + ahead), None
    return None, -_round_between(-now, -max(now - ahead, lower))


def _round_between(now: float, end: float) -> float:
    """The number with the fewest digits that is at most ``end`` and well above ``now``."""
    for power in range(math.floor(math.log10(max(abs(end), end - now, 1e-300))), -301, -1):
        found = float(f"{math.floor(end / 10.0**power) * 10.0**power:.12g}")
        if found > now + 0.5 * (end - now):
            return found
    return end


def describe_reach(scene: Scene, goal: Goal, answer: cl.Explanation) -> str | None:
    """A sentence with the largest or the smallest output of a tree, if the goal is beyond it; None if it is not."""
    tree = scene.explainer.tree
    outputs = tree.outputs
    if outputs is None or outputs.slope is not None or outputs.kind not in ("value", "probability"):
        return None
    write: Callable[[float, Sequence[float | None]], str] = percent_apart
    if scene.kind == "value":
        found = answer.decision.goal.outward(outputs.intercept[tree.leaves, 0])
        what, write = "value that this model predicts", number_apart
    elif isinstance(goal.target, cl.Probability):
        found = outputs.intercept[tree.leaves, tree.classes.tolist().index(goal.target.label)]
        what = f"probability that this model gives {goal.target.label}"
    else:
        return None
    if goal.at_least is not None and found.max() < goal.at_least:
        return f"The largest {what} is {write(float(found.max()), [goal.at_least])}."
    if goal.at_most is not None and found.min() > goal.at_most:
        return f"The smallest {what} is {write(float(found.min()), [goal.at_most])}."
    return None


def percent_of(end: float) -> str:
    """The end of an interval of probabilities, without rounding.

    >>> percent_of(0.7), percent_of(0.12345)
    ('70 %', '12.345 %')
    """
    return f"{number_text(100.0 * end, 12)} %"


def _interval(low: float | None, high: float | None, write: Any, of: str = "of ") -> str:
    if low is not None and high is not None:
        return f"{of}exactly {write(low)}" if low == high else f"from {write(low)} to {write(high)}"
    return f"{of}at least {write(low)}" if low is not None else f"{of}at most {write(high)}"


def describe_outcomes(scene: Scene, answer: cl.Explanation) -> list[dict[str, Any]]:
    """What the model says of the source and of each answer; the numbers are written so that they do not contradict the goal."""
    target = answer.target
    ends = (target.at_least, target.at_most) if isinstance(target, (cl.Probability, cl.Value)) else ()
    of = str(target.label) if isinstance(target, cl.Probability) else None
    return [one.describe() for one in scene.outcomes(answer.decision.model, points_of(answer), ends, of)]


def points_of(answer: cl.Explanation) -> Array:
    """The source and the answers as rows of variables."""
    certificate = answer.certificate
    return np.vstack([certificate.problem.source[None], certificate.findings.points.reshape(-1, answer.schema.width)])


def target_probability(answer: cl.Explanation, k: int) -> str:
    """The probability of the goal's class for the source (-1) or an answer, in percent."""
    target = answer.target
    share = (answer.source_number if k < 0 else answer[k].number) or 0.0
    return percent_apart(share, (target.at_least, target.at_most))
