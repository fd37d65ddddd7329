"""Rows of CSV: parsed by pyarrow if every cell fits, and one by one, with the reasons, if some do not."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as fast

from counterleaf.audit.reading.cells import Problems, cell_type, text_column
from counterleaf.audit.reading.records import OpenQuoteError, first_records, open_binary, record_ends, split
from counterleaf.errors import CounterleafError, flat
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.files import DECIMAL, MISSING_TEXTS

_BLOCK = 1 << 24  # bytes that pyarrow parses at a time
_LARGEST = 1 << 30  # characters of a cell
_SAMPLE = 1000  # rows that show the decimal mark
_MARK = b"\xef\xbb\xbf"  # some programs begin a file with it


def read_header(path: str) -> tuple[list[str], str, int]:
    """Return the columns of a CSV file, its separator, and the position of the first row.

    Commas, semicolons or tabs separate the columns, those that make most columns of the first line.
    """
    with open_binary(path) as file:
        begin = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
        found: dict[str, tuple[list[str], int]] = {}
        is_open: OpenQuoteError | None = None
        for separator in ",;\t":
            file.seek(begin)
            try:
                end = next((int(ends[0]) for ends in record_ends(file, begin, separator.encode()) if len(ends)), begin)
            except OpenQuoteError as error:  # with another separator, the quote may be in the middle of a cell
                end, is_open = begin, error
            file.seek(begin)
            lines = split(file.read(end - begin), separator.encode())
            found[separator] = (_cells(lines[0], separator, path) if lines else []), end
    separator, (header, end) = max(found.items(), key=lambda one: len(one[1][0]))
    if is_open is not None and len(header) < 2:
        raise is_open
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise CounterleafError(f"{path} has two columns named {twice!r}; names must differ")
    return header, separator, end


def swallowed(record: bytes, form: Any) -> str:
    """Return what is wrong with a record of several lines, "" if it is one row: a missing quote makes one of many rows."""
    try:
        cells = next(csv.reader([record.decode(errors="replace")], delimiter=form.separator, strict=True))
    except csv.Error:
        return "text follows a quote that closes a cell"
    except StopIteration:
        return ""
    given, expected = len(cells), len(form.columns)
    return "" if given == expected else f"the number of cells is {given}, that of the header {expected}"


def _cells(line: bytes, separator: str, path: str) -> list[str]:
    try:
        return _parsed(line.decode(), separator)
    except (UnicodeDecodeError, csv.Error) as error:
        raise CounterleafError(f"{path} has no header that can be read ({flat(error)}); expected CSV in UTF-8") from None


def _parsed(line: str, separator: str) -> list[str]:
    csv.field_size_limit(_LARGEST)
    return next(csv.reader([line], delimiter=separator), [])


def decimal_mark(path: str, begin: int, separator: str, columns: Sequence[str], features: Mapping[str, Feature]) -> str:
    """Return the decimal mark that the first rows of a file show; a file that is separated by commas has points."""
    if separator == ",":
        return "."
    places = [k for k, name in enumerate(columns) if isinstance(features.get(name), Numeric)]
    for line in first_records(path, begin, separator.encode(), _SAMPLE):
        try:
            cells = _parsed(line.decode(errors="replace"), separator)
        except csv.Error:
            continue  # the row is refused later
        if any(DECIMAL.fullmatch(cells[k].strip()) for k in places if k < len(cells)):
            return ","
    return "."


def parse(content: bytes, rows: int, form: Any, wanted: Mapping[str, Feature | None]) -> tuple[pa.RecordBatch, Problems]:
    """Return the rows of part of a file, and the reasons for those that cannot be read."""
    if b'"' not in content:
        try:
            return _fast(content, rows, form, wanted), {}
        except (pa.ArrowException, ValueError):  # some row does not fit
            pass
    return _slow(content, rows, form, wanted)


def _fast(content: bytes, rows: int, form: Any, wanted: Mapping[str, Feature | None]) -> pa.RecordBatch:
    options = fast.ConvertOptions(
        column_types={name: cell_type(feature) for name, feature in wanted.items()},
        include_columns=list(wanted),
        null_values=MISSING_TEXTS,
        strings_can_be_null=True,
        decimal_point=form.decimal,
    )
    table = fast.read_csv(
        pa.BufferReader(content),
        fast.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=list(form.columns)),
        fast.ParseOptions(delimiter=form.separator, quote_char=False, double_quote=False),
        options,
    )
    if table.num_rows != rows:
        raise ValueError
    batches = table.combine_chunks().to_batches()
    if len(batches) != 1 or any(pa.types.is_floating(one.type) and _has_nan(one) for one in batches[0].columns):
        raise ValueError
    return batches[0]


def _has_nan(column: pa.Array) -> bool:
    """Whether a cell is some spelling of NaN that is not among the marks of missing values."""
    return bool(compute.any(compute.is_nan(column)).as_py())


def _slow(content: bytes, rows: int, form: Any, wanted: Mapping[str, Feature | None]) -> tuple[pa.RecordBatch, Problems]:
    """Parse row by row."""
    problems: Problems = {}
    lines = split(content, form.separator.encode())
    if len(lines) != rows:
        raise CounterleafError(f"the part has {len(lines)} rows and not {rows}; the file was changed since the audit began")
    places = [form.columns.index(name) for name in wanted]
    table: list[list[str]] = [[] for _ in places]
    for k, line in enumerate(lines):
        cells = _row(k, line, form, problems)
        chosen = [cells[place] if cells else "" for place in places]
        if not all(map(_is_text, chosen)):
            problems[k], chosen = "the row is not text in UTF-8", [""] * len(places)
        for column, cell in zip(table, chosen, strict=True):
            column.append(cell)
    arrays = [
        text_column(feature, texts, form.decimal, problems) for feature, texts in zip(wanted.values(), table, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted)), problems


def _is_text(cell: str) -> bool:
    """Whether a cell was UTF-8; other columns of its row may be anything."""
    return cell.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in cell)


def _row(k: int, line: bytes, form: Any, problems: Problems) -> list[str]:
    """Return the cells of a row, nothing if it cannot be read."""
    try:
        cells = _parsed(line.decode(errors="surrogateescape"), form.separator)
    except csv.Error as error:
        problems[k] = f"the row cannot be read as CSV ({flat(error)})"
        return []
    if len(cells) != len(form.columns):
        problems[k] = f"the row has {len(cells)} cells; the header has {len(form.columns)} columns"
        return []
    return cells
