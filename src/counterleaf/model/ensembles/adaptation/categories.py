"""Columns of categories that a model takes as they are, as the codes by which its splits know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.table.frames import cells_of, columns, is_frame, numbers_of
from counterleaf.types import Array, is_missing


@dataclass(frozen=True, slots=True, eq=False)
class CategoryCodes:
    """Turns the tables that a model takes into numbers.

    Parameters
    ----------
    categories : mapping
        The categories of some columns, by position. The code of a category is its position in the list; -1 is the code of a
        value that is not in the list, NaN that of a missing one. If the list is empty, the column holds codes.
    """

    categories: Mapping[int, Sequence[Any]]

    def numbers(self, rows: Any) -> Array:
        """Return a frame, an array or a sparse matrix as (n, D) numbers.

        Parameters
        ----------
        rows : DataFrame, array or sparse matrix
            Rows that the model takes.

        Returns
        -------
        (n, D) array
            The numbers; codes in columns of categories.
        """
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
        return np.array([np.nan if is_missing(value) else place.get(value, -1.0) for value in cells_of(column)])
