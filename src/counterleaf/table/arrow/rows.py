"""The rows of a batch of pyarrow, encoded column by column; they become a pandas frame only if a model needs one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.table.features import Finite, Numeric
from counterleaf.table.rows import TableRows, check_present, place_of, places_of
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRows(TableRows):
    """The rows of a record batch, with the methods of ``TableRows``."""

    typed = False

    def __init__(self, batch: pa.RecordBatch, schema: Schema, output: pa.Schema) -> None:
        self.schema, self.output, self.batch = schema, output, batch
        self.named, self.polars, self.n = True, False, batch.num_rows
        check_columns(batch.schema.names, schema, "the batch")
        self.columns = [batch.column(name) for name in schema.names]

    @functools.cached_property
    def _frame(self) -> TableRows:
        wanted = {*self.schema.names, *self.schema.columns}
        names = [name for name in self.batch.schema.names if name in wanted]
        return TableRows(_frame_of(self.batch, names), self.schema)

    @property
    def rows(self) -> Any:
        return self._frame.rows

    @property
    def index(self) -> Any:
        """None: the rows of a batch have positions only."""
        return None

    def one(self, k: int) -> Any:
        return self._frame.one(k)

    def part(self, at: Any) -> Any:
        return self._frame.part(at)

    def codes(self, at: slice) -> Array:
        """Return (rows, features) codes, the same as those of the rows as a frame."""
        out = np.empty((at.stop - at.start, len(self.columns)))
        for d, (feature, column) in enumerate(zip(self.schema, self.columns, strict=True)):
            part = column.slice(at.start, at.stop - at.start)
            out[:, d] = self._cells(feature, part) if isinstance(feature, Numeric) else _places(feature, part)
        return out

    def _cells(self, feature: Numeric, column: pa.Array) -> Array:
        """Return part of a column as numbers, as ``TableRows`` does."""
        import pyarrow.types as kinds

        while kinds.is_dictionary(column.type):
            column = column.dictionary_decode()
        dtype = column.type
        if kinds.is_boolean(dtype):
            column = column.cast("uint8")
        elif kinds.is_null(dtype):
            column = column.cast("float64")
        elif not (kinds.is_integer(dtype) or kinds.is_floating(dtype)):
            return self._numbers(feature, in_pandas(column, f"column {feature.name!r}"))
        found = column.to_numpy(zero_copy_only=False)
        return self._checked(feature, np.asarray(found, np.float64), kinds.is_integer(dtype) or kinds.is_boolean(dtype))

    def holds_codes(self, d: int) -> bool:
        """False: the answers hold new values only, and a cell that does not change is null."""
        return False

    def changed(self, d: int, codes: Array, answered: Array) -> Any:
        return self._frame.changed(d, codes, answered)

    def groups(self, before: Array, after: Array) -> list[Array]:
        return self._frame.groups(before, after)

    def rewritten(self, at: Any, before: Array, after: Array) -> Any:
        return self._frame.rewritten(at, before, after)


def records_of(batch: pa.RecordBatch, schema: Schema, lines: list[int]) -> list[dict[str, Any]]:
    """Return some rows of a batch as dicts of plain values, which ``explain`` takes."""
    chosen = batch.select(schema.names).take(lines) if lines else batch.select(schema.names).slice(0, 0)
    return [{name: _plain(value) for name, value in row.items()} for row in chosen.to_pylist()]


def _plain(value: Any) -> Any:
    """Return a decimal as a float, which JSON can hold; any other value as it is."""
    return float(value) if type(value).__name__ == "Decimal" else value


def check_columns(found: list[str], schema: Schema, what: str) -> None:
    """Refuse columns of which a feature is missing or there twice; ``what`` has them."""
    check_present(found, schema, what, "")
    twice = [name for name in schema.names if found.count(name) > 1] if len(set(found)) < len(found) else []
    if twice:
        raise CounterleafError(f"{what} has two columns named {twice[0]!r}; names must differ")


def _places(feature: Finite, column: pa.Array) -> Array:
    """Return the position of each value; each different value is looked up once."""
    import pyarrow.types as kinds

    while kinds.is_dictionary(column.type) and kinds.is_dictionary(column.type.value_type):
        column = column.dictionary_decode()
    dtype = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    simple = kinds.is_string(dtype) or kinds.is_large_string(dtype) or kinds.is_integer(dtype) or kinds.is_boolean(dtype)
    if not (simple or kinds.is_floating(dtype) or kinds.is_decimal128(dtype) or kinds.is_null(dtype)):
        return places_of(feature, in_pandas(column, f"column {feature.name!r}"))
    if kinds.is_null(dtype):
        return np.full(len(column), place_of(feature, None))
    encoded = column if kinds.is_dictionary(column.type) else column.dictionary_encode()
    keys = encoded.indices
    known = np.array([*(place_of(feature, value) for value in encoded.dictionary.to_pylist()), place_of(feature, None)])
    if keys.null_count:
        last = len(known) - 1
        keys = (keys if last <= np.iinfo(keys.type.to_pandas_dtype()).max else keys.cast("int32")).fill_null(last)
    return np.asarray(known[keys.to_numpy()])


def _frame_of(batch: pa.RecordBatch, names: list[str]) -> Any:
    """Return some columns as a pandas frame; a dictionary with equal or missing values, which pandas refuses, is decoded."""
    import pyarrow as pa

    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise CounterleafError(f"the batch has two columns named {twice[0]!r}; names must differ")
    table = pa.Table.from_batches([batch.select(names)])
    for k, name in enumerate(names):
        column = batch.column(name)
        if pa.types.is_dictionary(column.type) and len(column.dictionary.drop_null().unique()) < len(column.dictionary):
            table = table.set_column(k, name, column.dictionary_decode())
    return in_pandas(table, "the batch")


def in_pandas(content: Any, what: str) -> Any:
    """Return a column or a table in pandas."""
    import pyarrow as pa

    try:
        return content.to_pandas()
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        raise CounterleafError(f"{what} holds values that pandas cannot represent ({flat(error)})") from None
