"""What a person set on the page, as a cost and constraints, each with the words and the control that it came from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.text import word
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.question import Control, Question
from counterleaf.explorer.scene import Scene
from counterleaf.question.constraint import (
    Constraint,
    allow,
    between,
    freeze,
    max_changes,
    only_decrease,
    only_increase,
)
from counterleaf.question.cost import L1, L2, Quadratic
from counterleaf.table.features import Categorical, Feature, Numeric

_BOTH = 1.0, 1.0  # the mixed cost: as much of absolute as of squared change
_NEIGHBOURS = 4.0  # Q: what a difference between the changes of two neighbours costs, in units of a change itself


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """One thing that was asked for: how it reads, which control takes it back, and the constraint that it is, if it is one."""

    words: str
    part: str  # lock, way, range, allowed, step, weight, most, ink, locked, margin
    feature: str | None = None
    constraint: Constraint | None = None


def wishes(scene: Scene, question: Question) -> list[Wish]:
    """All that was asked for, in the order of the features."""
    schema = scene.explainer.schema
    for name in question.controls:
        schema.index(name)
    out = [wish for f in schema if f.name in question.controls for wish in _of_feature(f, question.controls[f.name])]
    if question.locked:
        bad = [k for k in question.locked if k >= len(schema)]
        if bad:
            raise CounterleafError(f"locked names feature number {bad[0]}; there are {len(schema)}, from 0")
        names = [schema.names[k] for k in sorted(set(question.locked))]
        out.append(Wish(f"{len(names)} pixel{'s' * (len(names) > 1)} locked", "locked", None, freeze(*names)))
    if question.ink != "any":
        if scene.shape is None:
            raise CounterleafError(f"ink is {question.ink!r}; this model has no picture: use way for single features")
        every = only_increase(*schema.names) if question.ink == "add" else only_decrease(*schema.names)
        out.append(Wish("only add ink" if question.ink == "add" else "only erase ink", "ink", None, every))
    if question.most is not None:
        told = f"at most {question.most} feature{'s' * (question.most != 1)} may change"
        out.append(Wish(told, "most", None, max_changes(question.most)))
    if question.margin:
        out.append(Wish(f"margin {plain(question.margin)}", "margin"))
    return out


def spoken(name: str) -> str:
    """A feature's name as people would say it."""
    return name.replace("_", " ")


def _of_feature(feature: Feature, control: Control) -> list[Wish]:
    name, said, out = feature.name, spoken(feature.name), []
    if control.lock:
        out.append(Wish(f"{said} locked", "lock", name, freeze(name)))
    if control.way != "any":
        if isinstance(feature, Categorical):
            raise CounterleafError(
                f"feature {name!r} has categories without an order; {control.way!r} needs a number or levels"
            )
        rule, told = (only_increase, "rise") if control.way == "up" else (only_decrease, "fall")
        out.append(Wish(f"{said} may only {told}", "way", name, rule(name)))
    if control.low is not None or control.high is not None:
        if not isinstance(feature, Numeric):
            raise CounterleafError(f"feature {name!r} is no number; low and high need one: use allowed")
        low = -math.inf if control.low is None else control.low
        high = math.inf if control.high is None else control.high
        ends = [f"at least {plain(low)}"] * (control.low is not None) + [f"at most {plain(high)}"] * (control.high is not None)
        out.append(Wish(f"{said} {' and '.join(ends)}", "range", name, between(name, low, high)))
    if control.allowed is not None:
        if isinstance(feature, Numeric):
            raise CounterleafError(f"feature {name!r} is a number; allowed needs categories or levels: use low and high")
        bad = [k for k in control.allowed if k >= len(feature.values)]
        if bad:
            raise CounterleafError(f"feature {name!r} has no value number {bad[0]}; it has {len(feature.values)}, from 0")
        values = [feature.values[k] for k in sorted(set(control.allowed))]
        if not values:
            raise CounterleafError(f"feature {name!r} is left without a value that is allowed; allow at least one")
        shown = " or ".join(map(word, values)) if len(values) <= 3 else f"one of {len(values)} allowed values"
        out.append(Wish(f"{said} only {shown}", "allowed", name, allow(name, values)))
    if control.step is not None:
        if not isinstance(feature, Numeric):
            raise CounterleafError(f"feature {name!r} is no number; a step needs one")
        out.append(Wish(f"{said} in steps of {plain(control.step)}", "step", name))
    if control.weight != 1.0:
        out.append(Wish(f"{said} costs {plain(control.weight)} times as much", "weight", name))
    return out


def reshaped(explainer: Explainer, question: Question) -> Explainer:
    """The explainer with the steps that were set, and bounds as wide as the ranges that were asked for."""
    new = []
    for feature in explainer.schema:
        control = question.controls.get(feature.name)
        if control is None or not isinstance(feature, Numeric):
            continue
        ends = [end for end in (control.low, control.high) if end is not None]
        lower, upper = min([feature.lower, *ends]), max([feature.upper, *ends])
        step = feature.step if control.step is None else control.step
        if (lower, upper, step) != (feature.lower, feature.upper, feature.step):
            new.append(Numeric(feature.name, lower, upper, feature.integer, step))
    return explainer.with_features(*new) if new else explainer


def within(explainer: Explainer, question: Question) -> Question:
    """The question without the ranges that reach beyond the table."""
    schema, kept = explainer.schema, {}
    for name, control in question.controls.items():
        feature = schema.features[schema.index(name)]
        ends = [end for end in (control.low, control.high) if end is not None]
        beyond = isinstance(feature, Numeric) and any(not feature.lower <= end <= feature.upper for end in ends)
        kept[name] = control.model_copy(update={"low": None, "high": None}) if beyond else control
    return question.model_copy(update={"controls": kept})


def cost_of(scene: Scene, question: Question) -> Any:
    """The cost in the chosen kind and scale, harder where a weight says so."""
    times = {name: control.weight for name, control in question.controls.items() if control.weight != 1.0} or None
    scale = None if question.spread == "none" else question.spread
    if question.cost == "L1":
        return L1(scale, multiplier=times)
    if question.cost == "L2":
        return L2(scale, multiplier=times)
    if question.cost == "mixed":
        return _BOTH[0] * L1(scale, multiplier=times) + _BOTH[1] * L2(scale, multiplier=times)
    if scene.shape is None:
        raise CounterleafError("the cost Q couples neighbouring pixels; this model has no picture: use L1, L2 or mixed")
    if times:
        raise CounterleafError(f"the cost Q has no weights; {next(iter(times))!r} was given one: use L1, L2 or mixed")
    return _smooth(scene.shape)


@cache
def _smooth(shape: tuple[int, int]) -> Quadratic:
    """Q = I + c L with L the Laplacian of the grid of pixels: neighbours had better change together."""
    tall, wide = shape
    number = np.arange(tall * wide).reshape(shape)
    a = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    b = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    one = np.ones(len(a))
    link = sparse.csr_array((np.concatenate([one, -one]), (np.tile(np.arange(len(a)), 2), np.concatenate([a, b]))))
    return Quadratic(sparse.csr_array(sparse.eye_array(tall * wide) + _NEIGHBOURS * (link.T @ link)))
