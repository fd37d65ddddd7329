"""A target of an ensemble: which scores reach it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.decision import Goal, Range, Reached
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.types import Array

_HUGE = 1e30  # beyond any score


@dataclass(frozen=True, slots=True)
class ScoreGoal:
    """Scores that reach a target: one class wins, or scores lie in intervals; ``cost`` is that of the class."""

    winner: int  # -1 for none
    intervals: tuple[tuple[int, float, float], ...]  # output, low, high
    cost: float = 0.0


@dataclass(frozen=True, eq=False)
class ScoreDecision(Reached):
    """A goal of an ensemble, with the methods of ``Decision``."""

    model: Ensemble  # the ensemble over the variables of the schema
    goal: Goal  # class index -> class cost, or a range of a probability or value
    # the leaves that do not count as reaching the goal, by node
    closed: frozenset[int] = field(default_factory=frozenset, repr=False)

    curved = False
    same_splits = True
    origin = np.zeros(1, np.int64)  # an ensemble has no single leaf: all answers have the leaf 0

    @functools.cached_property
    def target(self) -> dict[int, float]:
        """The classes that reach the goal, with their costs; one for a range."""
        return {0: 0.0} if isinstance(self.goal, Range) else dict(self.goal)

    @functools.cached_property
    def goals(self) -> tuple[ScoreGoal, ...]:
        """The scores that reach the goal, one for each class, the cheapest class first."""
        scoring = self.model.scoring
        if isinstance(self.goal, Range):
            return (ScoreGoal(-1, (_interval(self.model, self.goal),)),)
        out = []
        for label, cost in sorted(self.goal.items(), key=lambda item: (item[1], item[0])):
            if scoring.kind == "largest":
                out.append(ScoreGoal(label, (), cost))
            else:
                below = float(np.nextafter(np.dtype(scoring.dtype).type(scoring.cut), -np.inf))
                out.append(ScoreGoal(-1, ((0, scoring.cut, math.inf) if label else (0, -math.inf, below),), cost))
        return tuple(out)

    @functools.cached_property
    def noise(self) -> float:
        """A bound on the difference between the scores of the ensemble and those by which the model decides.

        Around a forest, a threshold looks at the share of one class. The share of the other class is 1 minus that only up to
        the rounding of both sums and of the shares that they add.
        """
        scoring = self.model.scoring
        other = isinstance(self.goal, Range) and self.goal.output == 0
        if other and scoring.kind == "threshold" and scoring.link == "share":
            return scoring.noise + 3.0 * self.model.rounding
        return scoring.noise

    @functools.cached_property
    def wanted(self) -> tuple[Any, ...]:
        """The labels of the target."""
        labels = self.model.classes.tolist()
        return tuple(labels[k] for k in self.target) if not isinstance(self.goal, Range) else ()


def _interval(model: Ensemble, goal: Range) -> tuple[int, float, float]:
    """The scores whose probability or value is in a range."""
    scoring = model.scoring
    if goal.output < 0:
        return 0, _least(model, goal.low, False), -_least(model, goal.high, True)
    if scoring.link == "share":
        if scoring.kind == "largest":
            return goal.output, goal.low, goal.high
        if goal.output:
            return 0, goal.low, goal.high
        return _turned(model, goal)
    if scoring.link == "softmax":
        raise CounterleafError(
            "the probabilities of this ensemble are a softmax of several sums, whose range is not supported; "
            "name the class itself"
        )
    if goal.output:
        return 0, _least(model, goal.low, False), -_least(model, goal.high, True)
    return _turned(model, goal)


def _turned(model: Ensemble, goal: Range) -> tuple[int, float, float]:
    """The scores whose probability of the first of two classes is in a range; it falls as the score rises."""

    def first(holds: Any) -> float:
        return float(first_number(lambda x: holds(_second(model, x)), 1, _HUGE)[0])

    low = first(lambda p: p <= goal.high)
    after = first(lambda p: p < goal.low)
    return 0, low, math.inf if after == math.inf else float(np.nextafter(after, -np.inf))


def _second(model: Ensemble, scores: Array) -> Array:
    """The probability of the first class for scores of a model with one score."""
    return np.asarray(model.scoring.probabilities(np.asarray(scores, float)[:, None])[:, 0])


def _least(model: Ensemble, end: float, turned: bool) -> float:
    """The least score whose value is at least ``end``; ``turned``: the negative of the greatest one that is at most ``end``."""
    scoring = model.scoring
    if math.isinf(end) or scoring.link in ("identity", "none"):
        return -end if turned else end

    def value(x: Array) -> Array:
        x = np.clip(np.asarray(x, float), -_HUGE, _HUGE)
        return scoring.linked(x) if model.is_regression else scoring.probabilities(x[:, None])[:, 1]

    if not turned:
        return float(first_number(lambda x: value(x) >= end, 1, _HUGE)[0])
    beyond = float(first_number(lambda x: value(x) > end, 1, _HUGE)[0])
    return -(beyond if math.isinf(beyond) else float(np.nextafter(beyond, -np.inf)))
