"""Predictions of a pipeline for whole rows: all columns of the user's table, in their order and types."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.model.pipelines.probing import unused_value
from counterleaf.model.pipelines.steps import Survey
from counterleaf.table.frames import (
    column_names,
    column_types,
    copy_of,
    is_frame,
    is_series,
    narrow_columns,
    stacked,
    with_columns,
)
from counterleaf.table.row_types import in_types_of, table_like
from counterleaf.table.schema import Schema
from counterleaf.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows:
    """The rows of a user as tables for the user's pipeline."""

    model: Any  # the pipeline
    schema: Schema  # the features of the table
    found: Survey  # what the steps do to each column
    data: Any  # a table with the columns and types of the user's

    def predict(self, rows: Sequence[Any], method: str) -> Array:
        """Return what a method of the pipeline makes of rows of any type, just as they are if they are frames or arrays."""
        frames, first = is_frame(rows[0]), rows[0]
        if frames:
            tables = [copy_of(table) for table in stacked(rows)]  # a step may write to what it is given
        elif isinstance(first, np.ndarray) and not (self.found.named or is_frame(self.data)):
            alike = len({row.dtype for row in rows}) == 1
            tables = [np.stack(rows)] if alike else [row[None] for row in rows]
        else:
            return self._predict_untyped(rows, method)
        return np.concatenate([np.asarray(self.predict_table(table, method)) for table in tables])

    def in_types(self, table: Any) -> Any:
        """Return a pandas frame without types of its own, as from pyarrow, in those of the user's table."""
        return in_types_of(table, self.data, self.schema.names, self.found.gaps)

    def _predict_untyped(self, rows: Sequence[Any], method: str) -> Array:
        """Return what a method makes of rows without types of their own, each as a table in those that hold it."""
        table = self._table(rows)
        groups = narrow_columns(table, column_types(self.data)) if is_frame(table) else [(np.arange(len(rows)), table)]
        parts = [np.asarray(self.predict_table(part, method)) for _, part in groups]
        return np.concatenate(parts)[np.argsort(np.concatenate([at for at, _ in groups]))]

    def predict_table(self, table: Any, method: str) -> Any:
        """Return what a method makes of all columns of a table, or of those of the fit if it refuses the others."""
        predict = getattr(self.model, method)
        if not is_frame(table):
            return predict(table)
        own, order = column_names(table), self._order
        own = order if set(own) == set(order) else own
        *others, fitted = dict.fromkeys(map(tuple, (own, order, self.found.names if self.found.named else order)))
        for names in others:
            with contextlib.suppress(Exception):  # the steps may refuse columns that they do not know
                return predict(self._with_columns(table, names))
        return predict(self._with_columns(table, fitted))

    @property
    def _order(self) -> list[str]:
        """The columns of the user's table."""
        if is_frame(self.data):
            return column_names(self.data)
        return self.found.names if self.found.named else list(self.schema.columns or self.schema.names)

    def _with_columns(self, table: Any, names: Sequence[str]) -> Any:
        """Return the columns of a frame by name; those that the pipeline drops may be absent."""
        return with_columns(table, names, lambda name: unused_value(name, self.data))

    def _table(self, rows: Sequence[Any]) -> Any:
        """Return rows without types of their own as a table in the types of the user's."""
        order = self._order if self.found.named else self.found.names
        cells = [self._cells(row, order) for row in rows]
        by_column = [[row[k] for row in cells] for k in range(len(order))]
        return table_like(self.data, by_column, order, self.found.named, self.found.gaps)

    def _cells(self, row: Any, order: list[str]) -> list[Any]:
        """Return the values of a row in the order of the table's columns; those that the pipeline drops may be absent."""
        names = list(self.schema.columns or self.schema.names)
        if isinstance(row, Mapping) or is_series(row):
            by_name = {str(name): value for name, value in row.items()}
        else:
            by_name = dict(zip(names, row.tolist() if isinstance(row, np.ndarray) else row, strict=True))
        if not self.found.named:
            return [by_name[name] for name in names]
        return [by_name[name] if name in by_name else unused_value(name, self.data) for name in order]
