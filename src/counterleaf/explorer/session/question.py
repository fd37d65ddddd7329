"""A question of the page as a ``cl.Question``, and each of its settings in words with the control that sets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from scipy import sparse

import counterleaf as cl
from counterleaf.answer.short_numbers import plain
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explorer.session.answers.goals import Goal, read_goal
from counterleaf.explorer.session.requests import Control, PageQuestion
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import feature_number, label_of, number_text, series, value_text, with_unit
from counterleaf.table.words import word

_COUPLING = 4.0  # Q: the cost of a difference between the changes of two neighbours, relative to the cost of a change
_MAX_LISTED = 3  # allowed values that a description lists
_MAX_NODES = 200_000  # of one search: a bound on memory that a search of seconds never reaches

# For each cost: its name, what it leads to, and the term. A sum of shares tends to change few features, but not the fewest.
MEASURES = {
    "L1": ("few changes", "few features change, maybe by a lot", "L1, the sum of the changes"),
    "L2": ("small changes", "several features may change, each of them a little", "L2, the sum of the squared changes"),
    "mixed": ("both", "few changes, none of them large", "L1 + L2"),
    "Q": (
        "smooth changes",
        "neighbouring pixels change together",
        "Q, the squared changes and the squared differences between the changes of neighbouring pixels",
    ),
}
_SCALES = {
    "range": "each divided by the usual range of its feature",
    "std": "each in standard deviations",
    "mad": "each in median absolute deviations",
    "none": "each in the unit of its feature",
}


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of the user; ``constraint`` is None for a step, a multiplier or a margin."""

    description: str
    kind: str  # lock, direction, range, allowed, step, multiplier, max_changes, ink, locked_pixels, margin or required
    feature: str | None = None
    constraint: cl.Constraint | None = None
    required: str | None = None  # after "your rules also require", if the row itself may break it


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """A question of the page in the terms of the library."""

    scene: Scene
    request: PageQuestion
    explainer: cl.Explainer  # with the steps and ranges of the question
    values: dict[str, Any]  # of the row
    question: cl.Question
    goal: Goal
    settings: list[Setting]

    def explain(self, **parts: Any) -> cl.Explanation:
        """The explanation; ``parts`` replace those of the question."""
        answer = self.explainer.explain(self.values, replace(self.question, **parts))
        raise_if_stopped()  # a stopped search ends like one that reached its time limit
        return answer

    def but(self, **fields: Any) -> Posed:
        """The question with other values of some fields of the request."""
        return pose(self.scene, self.request.replace(**fields), self.question.time_limit)


def pose(scene: Scene, request: PageQuestion, time_limit: float | None) -> Posed:
    """A question of the page in the terms of the library; a mistake in it raises a CounterleafError."""
    settings = list_settings(scene, request)
    values = scene.values(request.row, request.edits)
    goal = read_goal(scene, request, values)
    priced = "cost", request.cost, request.spread, *request.multipliers.items()
    question = cl.Question(
        target=goal.target,
        cost=scene.remembered(priced, lambda: _make_cost(scene, request)),
        constraints=[setting.constraint for setting in settings if setting.constraint is not None],
        margin=request.margin,
        count=request.count,
        distinct="features" if scene.shape is None else "leaves",  # two images that differ in one pixel look the same
        time_limit=time_limit,
        max_nodes=_MAX_NODES,
    )
    bounds = [(name, control.low, control.high, control.step) for name, control in request.controls.items()]
    bounded = "bounds", *(one for one in bounds if one[1:] != (None, None, None))
    explainer = scene.remembered(bounded, lambda: _with_steps_and_ranges(scene.explainer, request))
    return Posed(scene, request, explainer, values, question, goal, settings)


def describe_measure(request: PageQuestion) -> str:
    """How changes are measured, in words and in the terms of the field."""
    name, meaning, term = MEASURES[request.cost]
    name = "both few and small changes" if request.cost == "mixed" else name
    factors = ", times the factors of the settings" if request.multipliers else ""
    return f"{name}: {meaning} ({term}, {_SCALES[scale_of(request)]}{factors})"


def scale_of(request: PageQuestion) -> str:
    """The unit of the changes in the cost."""
    return "none" if request.cost == "Q" else request.spread


def is_effort(request: PageQuestion) -> bool:
    """Whether the cost is the effort that the page shows: the sum of the shares of the usual ranges."""
    return request.cost == "L1" and request.spread == "range" and not request.multipliers


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A question and its answer; ``reply`` is the answer as the page shows it.

    ``kept`` are the indices of the options that the user kept; empty if the whole answer is exported.
    """

    posed: Posed
    answer: cl.Explanation
    reply: Mapping[str, Any]
    kept: tuple[int, ...] = ()

    @property
    def scene(self) -> Scene:
        return self.posed.scene

    @property
    def who(self) -> str:
        """The row in words, counted from 0."""
        return f"{self.scene.noun} {self.posed.request.row}"

    @property
    def edits(self) -> list[str]:
        """The edits of the row, in words."""
        schema, source = self.answer.schema, self.answer.source_values
        features = [schema.features[schema.index(name)] for name in self.posed.request.edits]
        return [f"{label_of(feature)} set to {value_text(feature, source[feature.name])}" for feature in features]

    @property
    def settings(self) -> list[str]:
        """The edits of the row and the settings."""
        return [*self.edits, *self.reply["settings"]]


def list_settings(scene: Scene, request: PageQuestion) -> list[Setting]:
    """All settings of a question, in the order of the features."""
    schema = scene.explainer.schema
    for name in request.controls:
        schema.index(name)
    out = [one for f in schema if f.name in request.controls for one in _feature_settings(f, request.controls[f.name])]
    if request.locked_pixels:
        bad = [k for k in request.locked_pixels if k >= len(schema)]
        if bad:
            raise cl.CounterleafError(f"locked_pixels has the index {bad[0]}; expected 0 to {len(schema) - 1}")
        names = [schema.names[k] for k in sorted(set(request.locked_pixels))]
        out.append(Setting(f"{len(names)} pixel{'s' * (len(names) > 1)} locked", "locked_pixels", None, cl.freeze(*names)))
    if request.ink != "any":
        if scene.shape is None:
            raise cl.CounterleafError(f"ink is {request.ink!r}, but the rows are not images; use direction for single features")
        one_way = cl.only_increase if request.ink == "add" else cl.only_decrease
        out.append(Setting(f"only {request.ink} ink", "ink", None, one_way(*schema.names)))
    if (most := request.max_changes) is not None:
        description = f"at most {most} feature{'s' * (most != 1)} may change"
        out.append(Setting(description, "max_changes", None, cl.max_changes(most)))
    if request.margin:
        margin = number_text(request.margin)
        out.append(Setting(f"margin {margin}", "margin", required=f"a safety margin of {margin}"))
    return out + [_required_setting(one, schema) for one in scene.constraints]


def _required_setting(constraint: cl.Constraint, schema: cl.Schema) -> Setting:
    """A rule of the user in words, "debt must be at most 3,000", and after "require": "debt of at most 3,000"."""
    text = constraint.in_words(schema)
    required = text.replace(" must be at ", " of at ").replace(" must not ", " not to ").replace(" must ", " to ")
    return Setting(f"{text}, always required", "required", None, constraint, required)


def _feature_settings(feature: cl.Feature, control: Control) -> list[Setting]:
    name, shown, out = feature.name, label_of(feature), []
    if control.lock:
        out.append(Setting(f"{shown} locked", "lock", name, cl.freeze(name)))
    if control.direction != "any":
        if isinstance(feature, cl.Categorical):
            raise cl.CounterleafError(
                f"feature {name!r} is categorical and has no order; {control.direction} needs a numeric or ordinal feature"
            )
        rule, verb = (cl.only_increase, "increase") if control.direction == "only_increase" else (cl.only_decrease, "decrease")
        out.append(Setting(f"{shown} may only {verb}", "direction", name, rule(name)))
    if control.ends:
        out.append(_range_setting(feature, control))
    if control.allowed is not None:
        out.append(_allowed_setting(feature, control.allowed))
    if control.step is not None:
        if not isinstance(feature, cl.Numeric):
            raise cl.CounterleafError(f"feature {name!r} is not numeric; only a numeric feature has a step")
        step = with_unit(number_text(control.step), "days" if feature.unit == "date" else feature.unit)
        out.append(Setting(f"{shown} in steps of {step}", "step", name, required=f"{shown} in steps of {step}"))
    if control.multiplier != 1.0:
        out.append(Setting(f"{shown} costs {number_text(control.multiplier)} times as much", "multiplier", name))
    return out


def _range_setting(feature: cl.Feature, control: Control) -> Setting:
    if not isinstance(feature, cl.Numeric):
        raise cl.CounterleafError(f"feature {feature.name!r} is not numeric and takes no low or high; use allowed")
    ends = (("at least", control.low), ("at most", control.high))
    limits = " and ".join(f"{what} {feature_number(feature, plain(end))}" for what, end in ends if end is not None)
    low = -math.inf if control.low is None else control.low
    high = math.inf if control.high is None else control.high
    shown, between = label_of(feature), cl.between(feature.name, low, high)
    return Setting(f"{shown} {limits}", "range", feature.name, between, f"{shown} of {limits}")


def _allowed_setting(feature: cl.Feature, allowed: list[int]) -> Setting:
    name = feature.name
    if isinstance(feature, cl.Numeric):
        raise cl.CounterleafError(f"feature {name!r} is numeric; allowed needs categories or levels: use low and high")
    bad = [k for k in allowed if k >= len(feature.values)]
    if bad:
        raise cl.CounterleafError(
            f"feature {name!r} has no value {bad[0]}; expected an index from 0 to {len(feature.values) - 1}"
        )
    values = [feature.values[k] for k in sorted(set(allowed))]
    if not values:
        raise cl.CounterleafError(f"feature {name!r} has no allowed value; allow at least one")
    listed = series(list(map(word, values)), "or") if len(values) <= _MAX_LISTED else f"{len(values)} of its values"
    shown = label_of(feature)
    return Setting(f"{shown} limited to {listed}", "allowed", name, cl.allow(name, values), f"{shown} to be {listed}")


def _with_steps_and_ranges(explainer: cl.Explainer, request: PageQuestion) -> cl.Explainer:
    new = []
    for feature in explainer.schema:
        control = request.controls.get(feature.name)
        if control is None or not isinstance(feature, cl.Numeric):
            continue
        lower, upper = min([feature.lower, *control.ends]), max([feature.upper, *control.ends])
        step = feature.step if control.step is None else control.step
        if (lower, upper, step) != (feature.lower, feature.upper, feature.step):
            new.append(replace(feature, lower=lower, upper=upper, step=step, values=None))
    return explainer.with_features(*new) if new else explainer


def _make_cost(scene: Scene, request: PageQuestion) -> Any:
    multipliers, spread = request.multipliers or None, None if request.spread == "none" else request.spread
    if request.cost != "Q":
        kinds: dict[str, list[Any]] = {"L1": [cl.L1], "L2": [cl.L2], "mixed": [cl.L1, cl.L2]}
        first, *more = (kind(spread, multiplier=multipliers) for kind in kinds[request.cost])
        return sum(more, first)
    if scene.shape is None:
        raise cl.CounterleafError("the cost Q couples neighbouring pixels, but the rows are not images; use L1, L2 or mixed")
    if multipliers:
        raise cl.CounterleafError(
            f"the cost Q takes no multiplier, but {next(iter(multipliers))!r} has one; use L1, L2 or mixed"
        )
    return _smooth_cost(scene.shape)


@cache
def _smooth_cost(shape: tuple[int, int]) -> cl.Quadratic:
    """Q = I + c L with L the Laplacian of the pixel grid: it is cheaper if neighbouring pixels change together."""

    def line(n: int) -> Any:
        difference = sparse.eye_array(n - 1, n, k=1) - sparse.eye_array(n - 1, n)
        return difference.T @ difference

    down, across = (sparse.eye_array(n) for n in shape)
    laplacian = sparse.kron(line(shape[0]), across) + sparse.kron(down, line(shape[1]))
    return cl.Quadratic(sparse.csr_array(sparse.eye_array(shape[0] * shape[1]) + _COUPLING * laplacian))


def find_conflict(posed: Posed, answer: cl.Explanation) -> list[Setting]:
    """A smallest set of settings that rules out every row; a margin or a step is included if a row exists without it.

    A range wider than the data's range extends the bounds of its feature. If the other settings rule out every row within
    the data's ranges, such a range is not part of the conflict.
    """
    if answer.status is not cl.Status.INFEASIBLE:
        return []
    settings = posed.settings
    found = [setting for setting in settings if any(setting.constraint is one for one in answer.conflict)]
    constraints = [setting.constraint for setting in found]
    widened = _wider_ranges(posed)
    rest = [setting for setting in found if setting.kind != "range" or setting.feature not in widened]
    if len(rest) < len(found):
        narrower = _changed(posed, widened, low=None, high=None)
        if narrower.explain(count=1, constraints=[one.constraint for one in rest]).status is cl.Status.INFEASIBLE:
            found = rest
        if not found:
            return find_conflict(narrower, narrower.explain(count=1))
    others = [setting for setting in settings if setting.kind in ("margin", "step")]
    if others:
        found += _needed(lambda relaxed: len(relaxed.explain(count=1, constraints=constraints)) > 0, posed, others)[1]
    return [setting for setting in settings if setting in found]


def broken_rules(posed: Posed) -> list[str]:
    """What the settings require that a row breaks as it is, each by itself; none if it breaks only several together."""

    def stays(kept: Setting | None) -> bool:
        relaxed = posed
        for setting in posed.settings:
            if setting.kind in ("margin", "step") and setting is not kept:
                relaxed = _without(relaxed, setting)
        rules = [cl.max_changes(0), *([kept.constraint] if kept is not None and kept.constraint is not None else [])]
        return len(relaxed.explain(count=1, constraints=rules)) > 0

    if not stays(None):
        return []
    return [setting.required for setting in posed.settings if setting.required is not None and not stays(setting)]


def _wider_ranges(posed: Posed) -> set[str]:
    """The features whose ranges extend beyond those of the data."""
    schema = posed.scene.explainer.schema
    features = {name: schema.features[schema.index(name)] for name in posed.request.controls}
    return {
        name
        for name, control in posed.request.controls.items()
        if isinstance(one := features[name], cl.Numeric) and any(not one.lower <= end <= one.upper for end in control.ends)
    }


def _needed(is_possible: Callable[[Posed], bool], posed: Posed, part: list[Setting]) -> tuple[Posed, list[Setting]]:
    """The question without those margins and steps of a part that are not needed to rule out every row, and the others.

    Many of them are removed at once if that is possible.
    """
    relaxed = posed
    for setting in part:
        relaxed = _without(relaxed, setting)
    if not is_possible(relaxed):
        return relaxed, []
    if len(part) == 1:
        return posed, part
    middle = len(part) // 2
    posed, first = _needed(is_possible, posed, part[:middle])
    posed, second = _needed(is_possible, posed, part[middle:])
    return posed, first + second


def _without(posed: Posed, setting: Setting) -> Posed:
    return posed.but(margin=0.0) if setting.feature is None else _changed(posed, {setting.feature}, step=None)


def _changed(posed: Posed, names: set[str], **fields: Any) -> Posed:
    controls = posed.request.controls
    return posed.but(controls=controls | {name: controls[name].model_copy(update=fields) for name in names})
