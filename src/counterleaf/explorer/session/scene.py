"""A model to explore, with rows to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError, some
from counterleaf.explainer import Explainer
from counterleaf.model.gaps import predict_rows
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.table.features import Feature, Numeric, is_missing
from counterleaf.table.frames import Frame, take
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

_BLOCK = 2000  # rows that are predicted together


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A model and a table of rows; without a table there is one row, in the middle of the bounds."""

    key: str
    title: str
    about: str
    explainer: Explainer
    rows: Frame | None
    first_row: int = 0
    target: str | None = None  # the initial target class; None: any class but the row's
    shape: tuple[int, int] | None = None  # height and width, if the rows are images
    locked_features: tuple[str, ...] = ()  # locked at first, because nobody can change them
    constraints: tuple[Constraint, ...] = ()  # of the user's file; they hold in every answer

    @property
    def n_rows(self) -> int:
        return 1 if self.rows is None else len(self.rows)

    @property
    def costs(self) -> tuple[str, ...]:
        """The kinds of cost that the page offers."""
        return ("L1", "L2", "mixed", *(["Q"] if self.shape is not None and self.explainer.schema.plain else []))

    def check_row(self, row: int) -> int:
        """Return the row number, or raise if the table has no such row."""
        if not 0 <= row < self.n_rows:
            raise CounterleafError(f"no row {row} in {self.title}, which has {self.n_rows}; expected 0 to {self.n_rows - 1}")
        return row

    def values(self, row: int, edits: Mapping[str, float | None]) -> dict[str, Any]:
        """The values of a row by feature name, with the edits applied."""
        schema = self.explainer.schema
        self.check_row(row)
        unknown = [name for name in edits if name not in schema.names]
        if unknown:
            raise CounterleafError(f"no feature {unknown[0]!r} to edit in {self.title}; expected one of {some(schema.names)}")
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
        """The class that the model predicts for a row."""
        return str(predict_rows(self.explainer._adapter, [values])[0])

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
        tree = self.explainer.tree
        mask: Array = np.asarray(np.isfinite(codes).all(axis=1))
        if label is not None:
            leaves = tree.apply(self.explainer.schema.spread(codes[mask]))
            mask[mask] = np.array([str(one) == label for one in tree.classes.tolist()])[tree.value[leaves]]
        return mask


def encode_value(feature: Feature, value: Any) -> float | None:
    """The number that the page uses for a value."""
    if isinstance(feature, Numeric):
        return None if is_missing(value) else float(value)
    return float(feature.place(value))


def _decode_value(feature: Feature, number: float | None) -> Any:
    """The value that a number from the page means; the inverse of ``encode_value``."""
    if number is None:
        return None
    if isinstance(feature, Numeric):
        return int(number) if feature.integer and number.is_integer() else number
    if not number.is_integer() or not 0 <= number < feature.size:
        raise CounterleafError(
            f"feature {feature.name!r} has no value {number:g}; expected an index from 0 to {feature.size - 1}"
        )
    return feature.values[int(number)] if number < len(feature.values) else None


def _middle(feature: Feature) -> Any:
    """An initial value: half-way between the bounds, or the first category."""
    if not isinstance(feature, Numeric):
        return feature.values[0]
    ends = [end for end in (feature.lower, feature.upper) if abs(end) < float("inf")]
    middle = sum(ends) / len(ends) if ends else 0.0
    return feature.nearest(middle, feature.lower, feature.upper)
