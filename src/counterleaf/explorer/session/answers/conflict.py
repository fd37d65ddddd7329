"""A smallest set of settings that rules out every row."""

from __future__ import annotations

from collections.abc import Callable

from counterleaf.answer.explanation import Explanation
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.settings import Setting, drop_wider_ranges
from counterleaf.proof.certificate import Status
from counterleaf.question.constraints.several import max_changes

Explain = Callable[..., tuple[Explanation, list[Setting]]]


def find_conflict(
    explain: Explain, explainer: Explainer, question: Question, answer: Explanation, settings: list[Setting]
) -> list[Setting]:
    """A smallest set of settings that rules out every row; a margin or a step is included if a row exists without it.

    A range wider than the data's range extends the bounds of its feature. If the other settings rule out every row within
    the data's ranges, such a range is not part of the conflict. ``explain`` is ``Session.explain``.
    """
    if answer.status is not Status.INFEASIBLE:
        return []
    found = [setting for setting in settings if any(setting.constraint is one for one in answer.conflict)]
    constraints = [setting.constraint for setting in found]
    narrower = drop_wider_ranges(explainer, question)
    widened = {name for name, control in question.controls.items() if narrower.controls[name] != control}
    rest = [setting for setting in found if setting.kind != "range" or setting.feature not in widened]
    if len(rest) < len(found):
        narrow = [setting.constraint for setting in rest]
        if explain(narrower, count=1, constraints=narrow)[0].status is Status.INFEASIBLE:
            found = rest
        if not found:
            return find_conflict(explain, explainer, narrower, *explain(narrower, count=1))
    others = [setting for setting in settings if setting.kind in ("margin", "step")]

    def is_possible(relaxed: Question) -> bool:
        return len(explain(relaxed, count=1, constraints=constraints)[0]) > 0

    if others:
        found += _needed(is_possible, question, others)[1]
    return [setting for setting in settings if setting in found]


def broken_rules(explain: Explain, question: Question, settings: list[Setting]) -> list[Setting]:
    """The settings that a row breaks as it is, each by itself; none if it breaks only several of them together."""
    others = [setting for setting in settings if setting.kind in ("margin", "step")]

    def stays(kept: Setting | None) -> bool:
        relaxed = question
        for setting in others:
            relaxed = relaxed if setting is kept else _without(relaxed, setting)
        rules = [max_changes(0), *([kept.constraint] if kept is not None and kept.constraint is not None else [])]
        return len(explain(relaxed, count=1, constraints=rules)[0]) > 0

    if not stays(None):
        return []
    return [setting for setting in settings if setting.required is not None and not stays(setting)]


def _needed(is_possible: Callable[[Question], bool], question: Question, part: list[Setting]) -> tuple[Question, list[Setting]]:
    """The question without those margins and steps of a part that are not needed to rule out every row, and the others.

    Many of them are removed at once if that is possible.
    """
    relaxed = question
    for setting in part:
        relaxed = _without(relaxed, setting)
    if not is_possible(relaxed):
        return relaxed, []
    if len(part) == 1:
        return question, part
    middle = len(part) // 2
    question, first = _needed(is_possible, question, part[:middle])
    question, second = _needed(is_possible, question, part[middle:])
    return question, first + second


def _without(question: Question, setting: Setting) -> Question:
    """The question without its margin or without one of its steps."""
    if setting.feature is None:
        return question.model_copy(update={"margin": 0.0})
    control = question.controls[setting.feature].model_copy(update={"step": None})
    return question.model_copy(update={"controls": {**question.controls, setting.feature: control}})
