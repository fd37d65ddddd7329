"""A model to explore, with rows to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError, some
from counterleaf.explainer import Explainer
from counterleaf.table.features import Feature, Numeric, is_missing
from counterleaf.table.rows import Sheet
from counterleaf.types import Array

_BLOCK = 2000  # rows that are asked about together


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A model that can be asked, and a table of rows to ask about; without rows, one in the middle of the bounds."""

    key: str
    title: str
    about: str
    explainer: Explainer
    rows: pd.DataFrame | None
    first: int = 0  # the row to open with
    target: str | None = None  # the class to ask for at first; None: any but the row's own
    shape: tuple[int, int] | None = None  # of the picture that a row is
    locked: tuple[str, ...] = ()  # features that are locked at first, since no one can change them

    @property
    def size(self) -> int:
        return 1 if self.rows is None else len(self.rows)

    @property
    def costs(self) -> tuple[str, ...]:
        """The kinds of cost that can be asked for."""
        return ("L1", "L2", "mixed", *(["Q"] if self.shape is not None and self.explainer.schema.plain else []))

    def checked(self, row: int) -> int:
        """The number of a row that there is."""
        if not 0 <= row < self.size:
            raise CounterleafError(f"row {row} of {self.title}: there are {self.size} rows; expected 0 to {self.size - 1}")
        return row

    def values(self, row: int, edits: Mapping[str, float | None]) -> dict[str, Any]:
        """A row with its edits, by feature name."""
        schema = self.explainer.schema
        self.checked(row)
        unknown = [name for name in edits if name not in schema.names]
        if unknown:
            raise CounterleafError(f"no feature {unknown[0]!r} to edit in {self.title}; expected some of {some(schema.names)}")
        line = None if self.rows is None else self.rows.iloc[row]
        out = {}
        for feature in schema:
            if feature.name in edits:
                out[feature.name] = _value(feature, edits[feature.name])
            else:
                value = _middle(feature) if line is None else line[feature.name]
                out[feature.name] = value.item() if hasattr(value, "item") else value
        return out

    def label(self, values: dict[str, Any]) -> str:
        """What the model says of a row."""
        tree = self.explainer.tree
        return str(tree.classes[tree.value[tree.leaf_of(self.explainer.schema.encode(values))]])

    def find(self, start: int, way: int, says: str | None) -> int | None:
        """The next row, in one direction, of which the model says this; rows that it cannot read are passed over."""
        if self.rows is None:
            return 0
        sheet, at = Sheet(self.rows, self.explainer.schema), start
        while 0 <= at < self.size:
            raise_if_stopped()
            block = slice(at, min(at + _BLOCK, self.size)) if way > 0 else slice(max(at + 1 - _BLOCK, 0), at + 1)
            fits = np.flatnonzero(self._fits(sheet.codes(block), says))
            if len(fits):
                return block.start + int(fits[0 if way > 0 else -1])
            at = block.stop if way > 0 else block.start - 1
        return None

    def _fits(self, codes: Array, says: str | None) -> Array:
        """Of which of some rows, given by their codes, the model says this."""
        tree = self.explainer.tree
        fits: Array = np.asarray(np.isfinite(codes).all(axis=1))
        if says is not None:
            leaves = tree.apply(self.explainer.schema.spread(codes[fits]))
            fits[fits] = np.array([str(label) == says for label in tree.classes.tolist()])[tree.value[leaves]]
        return fits


def _value(feature: Feature, given: float | None) -> Any:
    """A value from the number that stands for it."""
    if given is None:
        return None
    if isinstance(feature, Numeric):
        return int(given) if feature.integer and given.is_integer() else given
    if not given.is_integer() or not 0 <= given < feature.size:
        raise CounterleafError(f"feature {feature.name!r} is set to its value number {given:g}; it has {feature.size}, from 0")
    return feature.values[int(given)] if given < len(feature.values) else None


def _middle(feature: Feature) -> Any:
    """A value to begin with: half-way between the bounds, or the first one."""
    if not isinstance(feature, Numeric):
        return feature.values[0]
    ends = [end for end in (feature.lower, feature.upper) if abs(end) < float("inf")]
    middle = sum(ends) / len(ends) if ends else 0.0
    grid = feature.grid
    return middle if grid is None else min(max(round(middle / grid) * float(grid), feature.lower), feature.upper)


def code(feature: Feature, value: Any) -> float | None:
    """The number that stands for a value; the inverse of what edits do."""
    if isinstance(feature, Numeric):
        return None if is_missing(value) else float(value)
    return float(feature.place(value))
