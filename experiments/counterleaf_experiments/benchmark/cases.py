"""The questions of the benchmark: a tree, a cost, frozen features, rows and targets; and the check of an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.bounds import freeze
from counterleaf.question.costs.terms import L1, L2
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array
from counterleaf_experiments.benchmark.scaled_data import ScaledData
from counterleaf_experiments.solvers import Leaves, Question

_CATEGORY = 0.5  # per 0/1 column: two of them change, so a change of category costs 1, like the whole range of a number


class Subject:
    """A tree, its explainer, and the rows to explain."""

    def __init__(self, data: ScaledData, model: Any, rows: int, seed: int) -> None:
        self.data, self.model = data, model
        self.explainer = Explainer(model, schema=data.schema)
        self.tree: Tree = self.explainer.tree
        self.axis = not isinstance(model, Tree)
        self.target = self._one_target()
        self.places = self._draw(rows, np.random.default_rng(seed))
        labels = self.tree.classes.tolist()
        predicted = model.predict(data.X[self.places]).tolist()
        self.targets: list[Any] = [self._other(labels, label) if self.target is None else self.target for label in predicted]

    @property
    def title(self) -> str:
        """The tree in a few words."""
        kind = "axis-aligned" if self.axis else "oblique"
        return f"{self.data.title}, {kind}, {len(self.tree.leaves)} leaves, {self.tree.n_features} columns"

    @cached_property
    def leaves(self) -> Leaves:
        """The regions of the leaves, in the form of the solvers."""
        return Leaves(self.tree)

    def _one_target(self) -> Any:
        """None for two classes, which means the other class; for more the class with the median number of leaves."""
        labels = self.tree.classes.tolist()
        if len(labels) == 2:
            return None
        counts = np.bincount(self.tree.value[self.tree.leaves], minlength=len(labels))
        reached = np.flatnonzero(counts)
        return labels[reached[np.argsort(counts[reached], kind="stable")[len(reached) // 2]]]

    def _other(self, labels: list[Any], label: Any) -> Any:
        """The other one of two labels."""
        return labels[1 - labels.index(label)]

    def _draw(self, rows: int, rng: np.random.Generator) -> Array:
        """Draw test rows, then training rows; the predicted classes alternate, so that a few rows contain all of them."""
        data = self.data
        places = np.concatenate([rng.permutation(data.test), rng.permutation(data.train)])[: 20 * rows]
        predicted = self.model.predict(data.X[places])
        if self.target is not None:  # rows of this class need no change
            places, predicted = places[predicted != self.target], predicted[predicted != self.target]
        return places[alternate(predicted)][:rows]


@dataclass(frozen=True)
class Case:
    """One cost and one set of frozen features on a subject."""

    subject: Subject
    power: int
    frozen: tuple[str, ...] = ()
    note: str = ""

    @property
    def title(self) -> str:
        """The tree, the cost and the frozen features in a few words."""
        return f"{self.subject.title}, L{self.power}" + (f", {self.note}" if self.note else "")

    @cached_property
    def weight(self) -> Array:
        """The weight of each column, 1 for numbers."""
        return column_weights(self.subject.data.schema)

    @cached_property
    def cost(self) -> L1 | L2:
        """The cost, in the form that ``explain`` accepts."""
        return (L1 if self.power == 1 else L2)(feature_weights(self.subject.data.schema))

    @cached_property
    def constraints(self) -> list[Any]:
        """The frozen features, in the form that ``explain`` accepts."""
        return [freeze(*self.frozen)] if self.frozen else []

    @cached_property
    def frozen_columns(self) -> Array:
        """Whether each column is frozen."""
        schema = self.subject.data.schema
        out = np.zeros(schema.width, bool)
        for name in self.frozen:
            out[schema.span(schema.index(name))] = True
        return out

    def source(self, k: int) -> Array:
        """The columns of row k."""
        return np.asarray(self.subject.data.X[self.subject.places[k]])

    def row(self, k: int) -> Any:
        """Row k in the form that ``explain`` accepts."""
        data, place = self.subject.data, self.subject.places[k]
        return data.X[place] if data.frame is None else data.frame.iloc[place].to_dict()

    def question(self, k: int) -> Question:
        """Row k in the form of the solvers."""
        source, bounds = self.source(k), self.subject.data.schema.bounds()
        lower, upper = (np.where(self.frozen_columns, source, end) for end in bounds)
        return Question(source, lower, upper, self.weight, self.power, self.subject.data.spans)

    def valid_cost(self, k: int, x: Array | None) -> float:
        """The cost of an answer; NaN unless each category has one of its values and the model predicts the target."""
        subject = self.subject
        return row_cost(subject.model, subject.data.spans, self.weight, self.power, self.source(k), subject.targets[k], x)


def cases(subject: Subject) -> Iterator[Case]:
    """Both costs; for tables also with the paper's strictest constraints, and with all numbers frozen."""
    yield Case(subject, 1)
    yield Case(subject, 2)
    data = subject.data
    if data.frame is not None:
        yield Case(subject, 2, data.strictest, f"{len(data.strictest)} categories frozen")
        numbers = tuple(feature.name for feature in data.schema if isinstance(feature, Numeric))
        yield Case(subject, 2, numbers, "numbers frozen")


def feature_weights(schema: Schema) -> Array:
    """The weight of each feature, 1 for numbers."""
    return np.array([1.0 if isinstance(feature, Numeric) else _CATEGORY for feature in schema])


def column_weights(schema: Schema) -> Array:
    """The weight of each column, 1 for numbers."""
    return np.repeat(feature_weights(schema), [feature.size for feature in schema])


def alternate(predicted: Array) -> Array:
    """Order rows so that their predicted classes take turns, and a few rows contain all classes."""
    turn = np.empty(len(predicted), np.int64)
    for label in np.unique(predicted):
        turn[predicted == label] = np.arange((predicted == label).sum())
    return np.argsort(turn, kind="stable")


def row_cost(
    model: Any, spans: tuple[slice, ...], weight: Array, power: int, source: Array, target: Any, x: Array | None
) -> float:
    """The cost of a row; NaN unless each category has one of its values and the model predicts the target."""
    if x is None or not np.isfinite(x).all():
        return math.nan
    for span in spans:
        if not (np.isin(x[span], (0.0, 1.0)).all() and x[span].sum() == 1.0):
            return math.nan
    if model.predict(x[None])[0] != target:
        return math.nan
    return float(weight @ np.abs(x - source) ** power)
