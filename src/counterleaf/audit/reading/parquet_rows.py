"""Rows of Parquet: parts follow the row groups of a file, so that no group is decoded for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.files import StorePath, place
from counterleaf.errors import CounterleafError, flat

_BATCH = 1 << 16  # rows that are decoded at a time
_BUFFER = 1 << 20  # bytes of a column that are read at a time


def open_parquet(path: str) -> parquet.ParquetFile:
    """Open a file."""
    try:
        where = place(path)
        return parquet.ParquetFile(where.open() if isinstance(where, StorePath) else where, buffer_size=_BUFFER)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CounterleafError(f"{path} cannot be read as Parquet ({flat(error)})") from None


def row_groups(file: parquet.ParquetFile) -> list[int]:
    """Return the number of rows of each row group."""
    return [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]


def divide(groups: Sequence[int], part_rows: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (rows, first row group, row group after the last, rows to skip) for each part.

    A part consists of whole row groups with at most ``part_rows`` rows; a larger group is cut into several parts.
    """
    waiting, first = 0, 0
    for k, rows in enumerate(groups):
        if waiting and waiting + rows > part_rows:
            yield waiting, first, k, 0
            waiting = 0
        if not waiting:
            first = k
        if rows <= part_rows:
            waiting += rows
            continue
        for skip in range(0, rows, part_rows):
            yield min(part_rows, rows - skip), k, k + 1, skip
    if waiting:
        yield waiting, first, len(groups), 0


def read(path: str, spans: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[Any, list[pa.RecordBatch]]]:
    """Yield each of several parts, which lie in the same row groups, with its rows."""
    groups = list(range(spans[0].begin, spans[0].end))
    waiting, found, position = list(spans), [], 0
    try:
        for batch in open_parquet(path).iter_batches(_BATCH, row_groups=groups, columns=list(names), use_threads=False):
            begin, position = position, position + batch.num_rows
            while waiting and waiting[0].skip < position:
                span = waiting[0]
                first, last = max(span.skip, begin), min(span.skip + span.rows, position)
                found.append(batch.slice(first - begin, last - first))
                if last < span.skip + span.rows:
                    break
                yield waiting.pop(0), found
                found = []
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CounterleafError(f"{path} cannot be read as Parquet ({flat(error)})") from None
    if waiting:
        raise CounterleafError(f"{path} has fewer rows than it had when the audit began; restore it")
