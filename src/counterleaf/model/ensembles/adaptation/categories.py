"""Columns of categories that a model takes as they are, as the codes by which its splits know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.frames import cells_of, columns, is_frame, numbers_of
from counterleaf.types import Array, is_missing


@dataclass(frozen=True, slots=True, eq=False)
class CategoryCodes:
    """Turns the tables that a model takes into numbers."""

    # by position of a column; the code of a category is its place in the list, NaN if it is missing or not in the list
    categories: Mapping[int, Sequence[Any]]  # if the list is empty, the column holds codes
    closed: bool = False  # whether to refuse a value that is not in the list, because it is not known where the model sends it

    def numbers(self, rows: Any) -> Array:
        """Return a frame, an array or a sparse matrix as (n, D) numbers."""
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        if not is_frame(rows):
            rows = np.asarray(rows)
        out = np.empty(rows.shape)
        for j, (name, column) in enumerate(columns(rows)):
            out[:, j] = self._codes(j, column) if self.categories.get(j) else numbers_of(column, name)
        return out

    def _codes(self, j: int, column: Any) -> Array:
        place = {value: float(code) for code, value in enumerate(self.categories[j]) if not is_missing(value)}
        odd = next((value for value in cells_of(column) if self.closed and not is_missing(value) and value not in place), None)
        if odd is not None:
            raise CounterleafError(f"the model does not tell where it sends {odd!r}; pass data= with rows that hold it")
        return np.array([np.nan if is_missing(value) else place.get(value, np.nan) for value in cells_of(column)])
