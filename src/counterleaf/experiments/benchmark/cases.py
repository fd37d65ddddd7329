"""What every method is asked: a tree, a cost, what is frozen, rows and their targets; and how an answer is judged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterleaf.experiments.benchmark.grounds import Ground
from counterleaf.question.constraint import freeze
from counterleaf.question.cost import L1, L2
from counterleaf.explainer import Explainer
from counterleaf.table.features import Numeric
from counterleaf.types import Array
from counterleaf.experiments.solvers import Leaves, Question
from counterleaf.model.tree import Tree

_CATEGORY = 0.5  # per 0/1 column: two move, so that a change of category costs 1, as much as a number's whole range


class Subject:
    """A tree, the explainer of it and the rows that it is asked about."""

    def __init__(self, ground: Ground, model: Any, rows: int, seed: int) -> None:
        self.ground, self.model = ground, model
        self.explainer = Explainer(model, schema=ground.schema)
        self.tree: Tree = self.explainer.tree
        self.axis = not isinstance(model, Tree)
        self.target = self._one_target()
        self.places = self._draw(rows, np.random.default_rng(seed))
        labels = self.tree.classes.tolist()
        said = model.predict(ground.X[self.places]).tolist()
        others = [self._other(labels, label) if self.target is None else self.target for label in said]
        self.targets: list[Any] = others

    @property
    def title(self) -> str:
        kind = "axis-aligned" if self.axis else "oblique"
        return f"{self.ground.title}, {kind}, {len(self.tree.leaves)} leaves, {self.tree.n_features} columns"

    @cached_property
    def leaves(self) -> Leaves:
        return Leaves(self.tree)

    def _one_target(self) -> Any:
        """None, that is the other one, of two classes; of several the one whose number of leaves is the median."""
        labels = self.tree.classes.tolist()
        if len(labels) == 2:
            return None
        counts = np.bincount(self.tree.value[self.tree.leaves], minlength=len(labels))
        reached = np.flatnonzero(counts)
        return labels[reached[np.argsort(counts[reached], kind="stable")[len(reached) // 2]]]

    def _other(self, labels: list[Any], label: Any) -> Any:
        return labels[1 - labels.index(label)]

    def _draw(self, rows: int, rng: np.random.Generator) -> Array:
        """Test rows, then training rows; the classes that the model sees in them take turns, so that few rows hold all."""
        ground = self.ground
        places = np.concatenate([rng.permutation(ground.test), rng.permutation(ground.train)])[: 20 * rows]
        said = self.model.predict(ground.X[places])
        turn = np.empty(len(places), np.int64)
        for label in np.unique(said):
            turn[said == label] = np.arange((said == label).sum())
        turn[said == self.target] = len(places)  # these need no change
        order = np.argsort(turn, kind="stable")
        return places[order[turn[order] < len(places)]][:rows]


@dataclass(frozen=True)
class Case:
    """One cost and one set of frozen features on a subject."""

    subject: Subject
    power: int
    frozen: tuple[str, ...] = ()
    words: str = ""

    @property
    def title(self) -> str:
        return f"{self.subject.title}, L{self.power}" + (f", {self.words}" if self.words else "")

    @cached_property
    def weight(self) -> Array:
        """Per column: 1 for numbers."""
        schema = self.subject.ground.schema
        return np.repeat(self._per_feature, [feature.size for feature in schema])

    @property
    def _per_feature(self) -> Array:
        return np.array([1.0 if isinstance(f, Numeric) else _CATEGORY for f in self.subject.ground.schema])

    @cached_property
    def cost(self) -> L1 | L2:
        return (L1 if self.power == 1 else L2)(self._per_feature)

    @cached_property
    def constraints(self) -> list[Any]:
        return [freeze(*self.frozen)] if self.frozen else []

    @cached_property
    def stays(self) -> Array:
        """Which columns are frozen."""
        schema = self.subject.ground.schema
        out = np.zeros(schema.width, bool)
        for name in self.frozen:
            out[schema.span(schema.index(name))] = True
        return out

    def source(self, k: int) -> Array:
        return np.asarray(self.subject.ground.X[self.subject.places[k]])

    def row(self, k: int) -> Any:
        """Row k as ``explain`` takes it."""
        ground, place = self.subject.ground, self.subject.places[k]
        return ground.X[place] if ground.frame is None else ground.frame.iloc[place].to_dict()

    def question(self, k: int) -> Question:
        """Row k as a solver takes it."""
        source, bounds = self.source(k), self.subject.ground.schema.bounds()
        lower, upper = (np.where(self.stays, source, end) for end in bounds)
        return Question(source, lower, upper, self.weight, self.power, self.subject.ground.spans)

    def judge(self, k: int, x: Array | None) -> float:
        """What a row of columns costs; NaN unless each category is one of its values and the model says the target."""
        if x is None or not np.isfinite(x).all():
            return math.nan
        for span in self.subject.ground.spans:
            if not (np.isin(x[span], (0.0, 1.0)).all() and x[span].sum() == 1.0):
                return math.nan
        if self.subject.model.predict(x[None])[0] != self.subject.targets[k]:
            return math.nan
        return float(self.weight @ np.abs(x - self.source(k)) ** self.power)


def cases(subject: Subject) -> Iterator[Case]:
    """Both costs; on tables also with the paper's strictest constraints, and with nothing but categories free."""
    yield Case(subject, 1)
    yield Case(subject, 2)
    ground = subject.ground
    if ground.frame is not None:
        yield Case(subject, 2, ground.strictest, f"{len(ground.strictest)} categories frozen")
        numbers = tuple(feature.name for feature in ground.schema if isinstance(feature, Numeric))
        yield Case(subject, 2, numbers, "numbers frozen")
