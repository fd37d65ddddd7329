"""The user's settings as a cost and constraints, each with a description and the control on the page that sets it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from counterleaf.answer.short_numbers import plain
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.question import Control, Question
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import feature_number, label_of, number_text, series, with_unit
from counterleaf.question.constraints.bounds import between, freeze, only_decrease, only_increase
from counterleaf.question.constraints.choices import allow
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import max_changes
from counterleaf.question.costs.terms import L1, L2, Quadratic
from counterleaf.table.features import Categorical, Feature, Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import word

_MIXED = 1.0, 1.0  # the factors of L1 and L2 in the mixed cost
_COUPLING = 4.0  # Q: the cost of a difference between the changes of two neighbours, relative to the cost of a change
_MAX_LISTED = 3  # allowed values that a description lists


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of the user; ``constraint`` is None for a step, a multiplier or a margin."""

    description: str
    kind: str  # lock, direction, range, allowed, step, multiplier, max_changes, ink, locked_pixels, margin or required
    feature: str | None = None
    constraint: Constraint | None = None
    required: str | None = None  # after "your rules also require", if the row itself may break it


def list_settings(scene: Scene, question: Question) -> list[Setting]:
    """All settings of a question, in the order of the features."""
    schema = scene.explainer.schema
    for name in question.controls:
        schema.index(name)
    out = [one for f in schema if f.name in question.controls for one in _feature_settings(f, question.controls[f.name])]
    if question.locked_pixels:
        bad = [k for k in question.locked_pixels if k >= len(schema)]
        if bad:
            raise CounterleafError(f"locked_pixels has the index {bad[0]}; expected 0 to {len(schema) - 1}")
        names = [schema.names[k] for k in sorted(set(question.locked_pixels))]
        out.append(Setting(f"{len(names)} pixel{'s' * (len(names) > 1)} locked", "locked_pixels", None, freeze(*names)))
    if question.ink != "any":
        if scene.shape is None:
            raise CounterleafError(f"ink is {question.ink!r}, but the rows are not images; use direction for single features")
        one_way = only_increase(*schema.names) if question.ink == "add" else only_decrease(*schema.names)
        out.append(Setting("only add ink" if question.ink == "add" else "only erase ink", "ink", None, one_way))
    if question.max_changes is not None:
        plural = "s" * (question.max_changes != 1)
        description = f"at most {question.max_changes} feature{plural} may change"
        out.append(Setting(description, "max_changes", None, max_changes(question.max_changes)))
    if question.margin:
        margin = number_text(question.margin)
        out.append(Setting(f"margin {margin}", "margin", required=f"a safety margin of {margin}"))
    return out + [_required_setting(one, schema) for one in scene.constraints]


def _required_setting(constraint: Constraint, schema: Schema) -> Setting:
    """A rule of the user in words, "debt must be at most 3,000", and after "require": "debt of at most 3,000"."""
    text = constraint.words(schema)
    required = text.replace(" must be at ", " of at ").replace(" must not ", " not to ").replace(" must ", " to ")
    return Setting(f"{text}, always required", "required", None, constraint, required)


def _feature_settings(feature: Feature, control: Control) -> list[Setting]:
    name, shown, out = feature.name, label_of(feature), []
    if control.lock:
        out.append(Setting(f"{shown} locked", "lock", name, freeze(name)))
    if control.direction != "any":
        if isinstance(feature, Categorical):
            raise CounterleafError(
                f"feature {name!r} is categorical and has no order; {control.direction} needs a numeric or ordinal feature"
            )
        rule, verb = (only_increase, "increase") if control.direction == "only_increase" else (only_decrease, "decrease")
        out.append(Setting(f"{shown} may only {verb}", "direction", name, rule(name)))
    if control.low is not None or control.high is not None:
        out.append(_range_setting(feature, control))
    if control.allowed is not None:
        out.append(_allowed_setting(feature, control.allowed))
    if control.step is not None:
        if not isinstance(feature, Numeric):
            raise CounterleafError(f"feature {name!r} is not numeric; only a numeric feature has a step")
        step = with_unit(number_text(control.step), "days" if feature.unit == "date" else feature.unit)
        out.append(Setting(f"{shown} in steps of {step}", "step", name, required=f"{shown} in steps of {step}"))
    if control.multiplier != 1.0:
        out.append(Setting(f"{shown} costs {number_text(control.multiplier)} times as much", "multiplier", name))
    return out


def _range_setting(feature: Feature, control: Control) -> Setting:
    if not isinstance(feature, Numeric):
        raise CounterleafError(f"feature {feature.name!r} is not numeric and takes no low or high; use allowed")
    ends = []
    if control.low is not None:
        ends.append(f"at least {feature_number(feature, plain(control.low))}")
    if control.high is not None:
        ends.append(f"at most {feature_number(feature, plain(control.high))}")
    low = -math.inf if control.low is None else control.low
    high = math.inf if control.high is None else control.high
    shown, limits = label_of(feature), " and ".join(ends)
    return Setting(f"{shown} {limits}", "range", feature.name, between(feature.name, low, high), f"{shown} of {limits}")


def _allowed_setting(feature: Feature, allowed: list[int]) -> Setting:
    name = feature.name
    if isinstance(feature, Numeric):
        raise CounterleafError(f"feature {name!r} is numeric; allowed needs categories or levels: use low and high")
    bad = [k for k in allowed if k >= len(feature.values)]
    if bad:
        raise CounterleafError(f"feature {name!r} has no value {bad[0]}; expected an index from 0 to {len(feature.values) - 1}")
    values = [feature.values[k] for k in sorted(set(allowed))]
    if not values:
        raise CounterleafError(f"feature {name!r} has no allowed value; allow at least one")
    listed = series(list(map(word, values)), "or") if len(values) <= _MAX_LISTED else f"{len(values)} of its values"
    shown = label_of(feature)
    return Setting(f"{shown} limited to {listed}", "allowed", name, allow(name, values), f"{shown} to be {listed}")


def apply_steps_and_ranges(explainer: Explainer, question: Question) -> Explainer:
    """The explainer with the user's steps, and with bounds that include the user's ranges."""
    new = []
    for feature in explainer.schema:
        control = question.controls.get(feature.name)
        if control is None or not isinstance(feature, Numeric):
            continue
        ends = [end for end in (control.low, control.high) if end is not None]
        lower, upper = min([feature.lower, *ends]), max([feature.upper, *ends])
        step = feature.step if control.step is None else control.step
        if (lower, upper, step) != (feature.lower, feature.upper, feature.step):
            new.append(replace(feature, lower=lower, upper=upper, step=step, values=None))
    return explainer.with_features(*new) if new else explainer


def drop_wider_ranges(explainer: Explainer, question: Question) -> Question:
    """The question without the ranges that extend beyond the ranges of the data."""
    schema, controls = explainer.schema, {}
    for name, control in question.controls.items():
        feature = schema.features[schema.index(name)]
        ends = [end for end in (control.low, control.high) if end is not None]
        wider = isinstance(feature, Numeric) and any(not feature.lower <= end <= feature.upper for end in ends)
        controls[name] = control.model_copy(update={"low": None, "high": None}) if wider else control
    return question.model_copy(update={"controls": controls})


def make_cost(scene: Scene, question: Question) -> Any:
    """The cost of the chosen kind and scale, with the user's multipliers."""
    multipliers = {name: control.multiplier for name, control in question.controls.items() if control.multiplier != 1.0} or None
    spread = None if question.spread == "none" else question.spread
    if question.cost == "L1":
        return L1(spread, multiplier=multipliers)
    if question.cost == "L2":
        return L2(spread, multiplier=multipliers)
    if question.cost == "mixed":
        return _MIXED[0] * L1(spread, multiplier=multipliers) + _MIXED[1] * L2(spread, multiplier=multipliers)
    if scene.shape is None:
        raise CounterleafError("the cost Q couples neighbouring pixels, but the rows are not images; use L1, L2 or mixed")
    if multipliers:
        raise CounterleafError(f"the cost Q takes no multiplier, but {next(iter(multipliers))!r} has one; use L1, L2 or mixed")
    return _smooth_cost(scene.shape)


@cache
def _smooth_cost(shape: tuple[int, int]) -> Quadratic:
    """Q = I + c L with L the Laplacian of the pixel grid: it is cheaper if neighbouring pixels change together."""
    height, width = shape
    number = np.arange(height * width).reshape(shape)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    edges, ones = np.arange(len(first)), np.ones(len(first))
    incidence = sparse.csr_array(
        (np.concatenate([ones, -ones]), (np.tile(edges, 2), np.concatenate([first, second]))),
        shape=(len(first), height * width),
    )
    return Quadratic(sparse.csr_array(sparse.eye_array(height * width) + _COUPLING * (incidence.T @ incidence)))
