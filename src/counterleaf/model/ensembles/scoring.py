"""How an ensemble adds up what its leaves hold, and what it makes of the scores: the arithmetic of the model itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.errors import CounterleafError, brief
from counterleaf.types import Array

KINDS = ("value", "largest", "threshold")
LINKS = ("none", "identity", "share", "logistic", "softmax", "exp")


@dataclass(frozen=True, slots=True)
class Scoring:
    """The sum of an ensemble, in the model's order and precision, and the decision that follows from it."""

    # "value": the number that a regression model predicts is a function of one score
    # "largest": one score per class, of which the largest wins, the first of equal ones
    # "threshold": one score; the second class wins if it is at least ``cut``
    kind: str
    # from scores to probabilities ("share": the scores are probabilities; "logistic", "softmax") or to values ("identity",
    # "logistic", "exp")
    link: str = "none"
    dtype: str = "float64"  # the format of the sums
    divisor: float = 1.0  # the number by which the sums are divided at the end
    late: bool = False  # whether the start is added after the trees, not before them
    cut: float = 0.0  # the least score, after the division, at which the second class wins
    temperature: float = 1.0  # the number by which "logistic" and "softmax" divide the scores
    # a bound on the difference between these scores, after the division, and those by which the model decides: 0 if they are
    # the same bit for bit; a model that adds in parallel, or compares rounded probabilities, has some noise
    noise: float = 0.0

    def __post_init__(self) -> None:
        for name, known in (("kind", KINDS), ("link", LINKS), ("dtype", ("float64", "float32"))):
            if getattr(self, name) not in known:
                raise CounterleafError(f"the scoring has the {name} {brief(getattr(self, name))}; expected {', '.join(known)}")
        if not min(self.divisor, self.temperature) > 0.0 or not np.isfinite([self.divisor, self.temperature, self.cut]).all():
            raise CounterleafError(
                "the scoring has a divisor, a temperature or a cut that is not a finite number; "
                "expected a divisor and a temperature above 0"
            )
        if not 0.0 <= self.noise < np.inf:
            raise CounterleafError(f"the scoring has the noise {self.noise}; expected a finite number, at least 0")

    def add(self, start: Array, value: Array, output: Array, leaves: Array) -> Array:
        """Return the (n, K) scores of rows, given the (n, T) leaves that they reach in each tree."""
        kind = np.dtype(self.dtype)
        out = np.zeros((len(leaves), len(start)), kind)
        if not self.late:
            out += start.astype(kind)
        width, held = value.shape[1], value.astype(kind)
        for t, first in enumerate(output.tolist()):
            out[:, first : first + width] += held[leaves[:, t]]
        if self.late:
            out += start.astype(kind)
        if self.divisor != 1.0:
            out /= kind.type(self.divisor)
        return out.astype(np.float64)

    def decide(self, scores: Array) -> Array:
        """Return the place of the class that wins for each row."""
        if self.kind == "largest":
            return np.asarray(scores.argmax(axis=1))
        return (scores[:, 0] >= self.cut).astype(np.int64)

    def lead(self, scores: Array) -> Array:
        """Return how far the scores of each row are from those of another class."""
        if self.kind == "largest" and scores.shape[1] > 1:
            top = np.sort(scores, axis=1)
            return np.asarray(top[:, -1] - top[:, -2])
        return np.asarray(np.abs(scores[:, 0] - self.cut))

    def values(self, scores: Array) -> Array:
        """Return the number that the model predicts for each row."""
        return self.linked(scores[:, 0])

    def linked(self, score: Array) -> Array:
        """Return a monotone function of one score: the value, or the probability of the second of two classes."""
        score = np.asarray(score).astype(self.dtype)
        with np.errstate(over="ignore"):
            if self.link == "logistic":
                score = score / score.dtype.type(self.temperature)
                score = _expit(score) if self.dtype == "float64" else 1 / (1 + self._exp(-score))
            elif self.link == "exp":
                score = self._exp(score)
        return score.astype(np.float64)

    def _exp(self, x: Array) -> Array:
        """Return exp in the format of the sums; the libraries' exp of a float32 is that of a float64, rounded."""
        return np.asarray(np.exp(x.astype(np.float64))).astype(x.dtype)

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class."""
        if self.link == "share":
            return np.column_stack([1.0 - scores, scores]) if self.kind == "threshold" else scores
        if self.link == "logistic":
            second = self.linked(scores[:, 0]).astype(self.dtype)
            return np.column_stack([1 - second, second]).astype(np.float64)
        scores = scores.astype(self.dtype) / np.dtype(self.dtype).type(self.temperature)
        raised = self._exp(scores - scores.max(axis=1, keepdims=True))
        total = raised.astype(np.float64).sum(axis=1, keepdims=True).astype(self.dtype)
        return np.asarray(raised / total).astype(np.float64)


def _expit(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) with the exp of the C library, which differs from NumPy's in the last digit."""
    from scipy.special import expit  # the libraries with such models have imported SciPy

    return np.asarray(expit(x))
