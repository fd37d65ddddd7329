"""Rows of JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from counterleaf.audit.reading.cells import Problems, value_column
from counterleaf.audit.reading.records import first_records, split
from counterleaf.errors import CounterleafError, flat
from counterleaf.table.features import Feature

_SAMPLE = 1000  # rows that show the columns


def read_columns(path: str) -> list[str]:
    """Return the names in the first rows of a file, in order."""
    names: dict[str, None] = {}
    for line in first_records(path, 0, None, _SAMPLE):
        row, _ = _row(line)
        names.update(dict.fromkeys(row or ()))
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise CounterleafError(f"{path} has a column whose name holds half a character; rename it") from None
    return list(names)


def parse(content: bytes, rows: int, wanted: Mapping[str, Feature | None]) -> tuple[pa.RecordBatch, Problems]:
    """Return the rows of part of a file, and the reasons for those that cannot be read."""
    problems: Problems = {}
    table: list[list[Any]] = [[] for _ in wanted]
    lines = split(content, None)
    if len(lines) != rows:
        raise CounterleafError(f"the part has {len(lines)} rows and not {rows}; the file was changed since the audit began")
    for k, line in enumerate(lines):
        row, problem = _row(line)
        if problem:
            problems[k] = problem
        for name, column in zip(wanted, table, strict=True):
            column.append((row or {}).get(name))
    arrays = [value_column(feature, values, problems) for feature, values in zip(wanted.values(), table, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted)), problems


def _row(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object of a line, or why it is not one."""
    try:
        row = json.loads(line.decode(), parse_int=_whole_number)
    except UnicodeDecodeError:
        return None, "the row is not text in UTF-8"
    except (ValueError, RecursionError) as error:
        return None, f"the row is not valid JSON ({flat(error)})"
    return (row, "") if isinstance(row, dict) else (None, "the row is not a JSON object")


def _whole_number(digits: str) -> int | float:
    """Return a whole number, or a float for one beyond the range of 64 bits, whose digits a float does not hold either."""
    if len(digits) <= 20 and -(2**63) <= (whole := int(digits)) < 2**63:
        return whole
    return float(digits)
