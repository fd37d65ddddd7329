"""A target of an ensemble: which scores reach it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import preimage
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


def _interval(model: Ensemble, goal: Range) -> tuple[int, float, float]:
    """The scores whose probability or value is in a range."""
    scoring, ends = model.scoring, (goal.low, goal.high)
    if goal.output < 0:
        return 0, *(ends if scoring.link in ("identity", "none") else preimage(scoring.linked, *ends, _HUGE))
    if scoring.link == "softmax":
        raise CounterleafError(
            "the probabilities of this ensemble are a softmax of several sums, whose range is not supported; "
            "name the class itself"
        )
    if scoring.link == "share" and (goal.output or scoring.kind == "largest"):
        return goal.output if scoring.kind == "largest" else 0, *ends

    def probability(scores: Array) -> Array:
        return np.asarray(scoring.probabilities(scores[:, None])[:, goal.output])

    if goal.output:
        return 0, *preimage(probability, *ends, _HUGE)
    return 0, *preimage(lambda scores: -probability(scores), -goal.high, -goal.low, _HUGE)  # it falls as the score rises
