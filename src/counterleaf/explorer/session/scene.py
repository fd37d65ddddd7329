"""A model to explore, with rows to start from."""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import some
from counterleaf.explorer.session.words import number_apart, percent_apart
from counterleaf.table.features import is_missing
from counterleaf.table.frames import Frame, take
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_BLOCK = 2000  # rows that are predicted together
_SAMPLED = 200  # random rows, where there is no table
_REMEMBERED = 64  # explainers with other steps or bounds, and costs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model says of a row: a class, with its probability if the model has one, or a value."""

    label: str
    class_index: int | None  # None for a value
    value: float | None  # the probability or the value
    text: str | None  # the same in words

    def describe(self) -> dict[str, Any]:
        """The outcome as the page reads it."""
        number = None if self.value is None else {"value": self.value, "text": self.text}
        return {"label": self.label, "class_index": self.class_index, "number": number}


@dataclass(frozen=True, slots=True, eq=False)
class SceneSource:
    """A data set that is loaded when it is first opened."""

    key: str
    title: str
    about: str
    noun: str
    kind: str
    load: Callable[[], Scene]


@dataclass(frozen=True, eq=False)
class Scene:
    """A model and a table of rows; without a table there is one row, in the middle of the bounds."""

    key: str
    title: str
    about: str
    explainer: cl.Explainer
    rows: Frame | None
    first_row: int = 0
    target: str | None = None  # the initial target class; None: any class but the row's
    at_least: float | None = None  # the initial goal: the interval of the value, or of the probability of the target class
    at_most: float | None = None
    shape: tuple[int, int] | None = None  # height and width, if the rows are images
    locked_features: tuple[str, ...] = ()  # locked at first, because nobody can change them
    constraints: tuple[cl.Constraint, ...] = ()  # of the user; they hold in every answer
    noun: str = "Row"  # what a row is, such as "Application"
    _remembered: OrderedDict[Any, Any] = field(default_factory=OrderedDict, init=False, repr=False)

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of a key, made unless it is among the most recently used ones."""
        value = self._remembered[key] = self._remembered.pop(key) if key in self._remembered else make()
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return value

    @property
    def kind(self) -> str:
        """The kind of goal: "class" or "value"."""
        return "value" if self.explainer.tree.is_regression else "class"

    @property
    def n_rows(self) -> int:
        return 1 if self.rows is None else len(self.rows)

    @property
    def costs(self) -> tuple[str, ...]:
        """The kinds of cost that the page offers."""
        coupled = self.shape is not None and self.explainer.schema.plain and self.explainer.tree.is_one_tree
        return ("L1", "L2", "mixed", *(["Q"] if coupled else []))

    def check_row(self, row: int) -> int:
        """Return the row number, or raise if the table has no such row."""
        if not 0 <= row < self.n_rows:
            raise cl.CounterleafError(f"no row {row} in {self.title}, which has {self.n_rows}; expected 0 to {self.n_rows - 1}")
        return row

    def values(self, row: int, edits: Mapping[str, float | None]) -> dict[str, Any]:
        """The values of a row by feature name, with the edits applied."""
        schema = self.explainer.schema
        self.check_row(row)
        unknown = [name for name in edits if name not in schema.names]
        if unknown:
            raise cl.CounterleafError(
                f"no feature {unknown[0]!r} to edit in {self.title}; expected one of {some(schema.names)}"
            )
        source = None if self.rows is None else take(self.rows, row)
        out = {}
        for feature in schema:
            if feature.name in edits:
                out[feature.name] = _decode_value(feature, edits[feature.name])
            else:
                value = _middle(feature) if source is None else source[feature.name]
                out[feature.name] = value.item() if hasattr(value, "item") else value
        return out

    def predict(self, values: dict[str, Any]) -> str:
        """The class that the model predicts for a row, or its value in words."""
        return self.outcome(values).label

    def outcome(self, values: dict[str, Any]) -> Outcome:
        """What the model says of a row, which may have missing numbers."""
        explainer, source = self.explainer.located(values)
        return self.outcomes(explainer.tree, source.vector[None])[0]

    def outcomes(self, tree: Any, points: Array, ends: Sequence[float | None] = (), of: str | None = None) -> list[Outcome]:
        """What a tree or an ensemble over the variables of the schema says of some points.

        Numbers have enough digits to show on which side of the ends of a goal they are: a value, or the probability of the
        class ``of``.
        """
        if tree.is_regression:
            return [self._value_outcome(number, ends) for number in self._values(tree, points)]
        labels = tree.classes.tolist()
        places = [labels.index(label) for label in tree.predict(points).tolist()]
        shares = tree.predict_proba(points) if tree.has_probabilities else None
        if shares is None:
            return [Outcome(str(labels[k]), k, None, None) for k in places]
        chances = [float(row[k]) for row, k in zip(shares, places, strict=True)]
        found = [(str(labels[k]), k, p) for k, p in zip(places, chances, strict=True)]
        return [Outcome(label, k, p, percent_apart(p, ends if label == of else ())) for label, k, p in found]

    def _values(self, tree: Any, points: Array) -> list[float]:
        found, rescale = tree.predict(points), self.explainer.adapter.rescale
        return [float(one) for one in (found if rescale is None else rescale.outward(found))]

    def _value_outcome(self, number: float, ends: Sequence[float | None]) -> Outcome:
        if not math.isfinite(number):
            raise cl.CounterleafError(f"the model of {self.title} predicts a number that is too large for this row")
        text = number_apart(number, ends)
        return Outcome(text, None, number, text)

    @functools.cached_property
    def output_range(self) -> tuple[float, float]:
        """The lowest and the highest value that the model predicts for the first rows, or for random ones."""
        schema = self.explainer.schema
        if self.rows is None:
            points = _random_points(schema.bounds(), schema)
        else:
            codes = TableRows(self.rows, schema).codes(slice(0, min(self.n_rows, _BLOCK)))
            points = schema.spread(codes[np.isfinite(codes).all(axis=1)])
        with np.errstate(over="ignore", invalid="ignore"):
            values = [one for one in self._values(self.explainer.tree, points) if math.isfinite(one)] or [0.0]
        if not math.isfinite(max(values) - min(values)):
            raise cl.CounterleafError(f"the model of {self.title} predicts numbers that are too large to show")
        return min(values), max(values)

    def find(self, start: int, direction: int, label: str | None) -> int | None:
        """The first row from ``start`` on that the model predicts as ``label``; rows with invalid values are skipped."""
        if self.rows is None:
            return 0
        sheet, at = TableRows(self.rows, self.explainer.schema), start
        while 0 <= at < self.n_rows:
            raise_if_stopped()
            block = slice(at, min(at + _BLOCK, self.n_rows)) if direction > 0 else slice(max(at + 1 - _BLOCK, 0), at + 1)
            matches = np.flatnonzero(self._matches(sheet.codes(block), label))
            if len(matches):
                return block.start + int(matches[0 if direction > 0 else -1])
            at = block.stop if direction > 0 else block.start - 1
        return None

    def _matches(self, codes: Array, label: str | None) -> Array:
        """Which of the encoded rows are valid and predicted as ``label``, as a boolean mask."""
        mask: Array = np.asarray(np.isfinite(codes).all(axis=1))
        if label is not None and mask.any():
            found = self.explainer.tree.predict(self.explainer.schema.spread(codes[mask]))
            mask[mask] = [str(one) == label for one in found.tolist()]
        return mask


def encode_value(feature: cl.Feature, value: Any) -> float | None:
    """The number that the page uses for a value."""
    if isinstance(feature, cl.Numeric):
        return None if is_missing(value) else float(value)
    return float(feature.place(value))


def _decode_value(feature: cl.Feature, number: float | None) -> Any:
    """The value that a number from the page means; the inverse of ``encode_value``."""
    if number is None:
        return None
    if isinstance(feature, cl.Numeric):
        return int(number) if feature.integer and number.is_integer() else number
    if not number.is_integer() or not 0 <= number < feature.size:
        raise cl.CounterleafError(
            f"feature {feature.name!r} has no value {number:g}; expected an index from 0 to {feature.size - 1}"
        )
    return feature.values[int(number)] if number < len(feature.values) else None


def _random_points(bounds: tuple[Array, Array], schema: Any) -> Array:
    """Random encoded rows within the bounds; an infinite bound counts as 1 away from the other one, or from 0."""
    rng, (lower, upper) = np.random.default_rng(0), bounds
    codes = np.empty((_SAMPLED, len(schema)))
    for d, feature in enumerate(schema):
        if isinstance(feature, cl.Numeric):
            at = schema.starts[d]
            low, high = float(lower[at]), float(upper[at])
            low = low if math.isfinite(low) else min(high, 1.0) - 1.0
            codes[:, d] = rng.uniform(low, high if math.isfinite(high) else low + 1.0, _SAMPLED)
        else:
            codes[:, d] = rng.integers(0, len(feature.values), _SAMPLED)
    return np.asarray(schema.spread(codes))


def _middle(feature: cl.Feature) -> Any:
    """An initial value: half-way between the bounds, or the first category."""
    if not isinstance(feature, cl.Numeric):
        return feature.values[0]
    ends = [end for end in (feature.lower, feature.upper) if abs(end) < float("inf")]
    middle = sum(ends) / len(ends) if ends else 0.0
    return feature.nearest(middle, feature.lower, feature.upper)
