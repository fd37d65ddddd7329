"""Rows that the user pastes or types: CSV, cells of a spreadsheet, JSON or JSON lines. The text is not trusted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.audit.report.cases import stated
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import flat, some
from counterleaf.explorer.session.rows.answers import MOST_ROWS
from counterleaf.storage.files import read_csv_text
from counterleaf.storage.models import fit_rows, text_types
from counterleaf.strict_json import loads
from counterleaf.table.frames import Frame, make_frame, take
from counterleaf.table.rows import TableRows

_MOST_COLUMNS = 10_000
_MOST_LISTED = 3  # columns that a sentence names
_SEPARATORS = "\t;,"


def read_pasted(name: str, text: str, schema: cl.Schema) -> tuple[Frame, list[str]]:
    """Read rows for a model from text, with sentences about how it was understood; every mistake is one line."""
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise cl.CounterleafError(f"{name} is empty; expected a line with the names of the columns and at least one row")
    if "\0" in text:
        raise cl.CounterleafError(f"{name} is not text; expected CSV, JSON or JSON lines, or cells copied from a spreadsheet")
    notes: list[str] = []
    if text.lstrip()[0] in "[{":
        frame, found = _read_json(name, text, schema)
    else:
        frame, found = _read_csv(name, text.strip("\r\n"), schema, notes)
    if not len(frame):
        raise cl.CounterleafError(f"{name} has names of columns but no rows; expected at least one")
    raise_if_stopped()
    rows = fit_rows(frame, schema, name)
    raise_if_stopped()
    unused = [column for column in found if column not in schema.names and column.strip()]
    n_rows = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    notes.insert(0, f"{n_rows} with the {len(schema):,} columns of the model.")
    if unused:
        listed = ", ".join(repr(column[:40]) for column in unused[:_MOST_LISTED])
        more = f" and {len(unused) - _MOST_LISTED} more" if len(unused) > _MOST_LISTED else ""
        notes.append(f"Not used by the model: {listed}{more}.")
    return rows, notes + _check_values(name, rows, schema)


def typical_row(rows: Frame | None, schema: cl.Schema) -> Frame:
    """One row with the median or the most frequent value of each feature, or the middle of its bounds."""
    table = None if rows is None else TableRows(rows, schema)
    values = {}
    for d, feature in enumerate(schema):
        codes = np.empty(0) if table is None else stated(table, feature, table.columns[d])
        values[feature.name] = _typical(feature, codes[np.isfinite(codes)])
    return make_frame([values])


def _typical(feature: cl.Feature, codes: Any) -> Any:
    if isinstance(feature, cl.Numeric):
        ends = [end for end in (feature.lower, feature.upper) if abs(end) < float("inf")]
        middle = float(np.median(codes)) if len(codes) else sum(ends) / len(ends) if ends else 0.0
        value = feature.nearest(middle, feature.lower, feature.upper)
        return int(value) if feature.integer and float(value).is_integer() else float(value)
    codes = codes[codes < len(feature.values)].astype(np.int64)
    return feature.values[int(np.bincount(codes).argmax()) if len(codes) else 0]


def _read_csv(name: str, text: str, schema: cl.Schema, notes: list[str]) -> tuple[Frame, list[str]]:
    """Read CSV text; without a line of names, the columns are in the order of the features."""
    if text.count("\n") > 2 * MOST_ROWS:
        raise cl.CounterleafError(f"{name} has more than {MOST_ROWS:,} rows; pass the file with --data")
    first = text.partition("\n")[0].rstrip("\r")
    if max(first.count(separator) for separator in _SEPARATORS) >= _MOST_COLUMNS:
        raise cl.CounterleafError(f"{name} has more than {_MOST_COLUMNS:,} columns; expected those of the model")
    header = _cells(name, first)
    renamed = _known_names(header, schema)
    if not any(column in schema.names for column in renamed) and len(header) == len(schema):
        notes.append("The text has no line with names, so its columns are taken in the order of the model's features.")
        renamed, body = list(schema.names), text
    else:
        body = text.partition("\n")[2]
    separator = max(_SEPARATORS, key=lambda one: len(_cells(name, first, one)))
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(renamed)
    frame = read_csv_text(name, line.getvalue() + body, text_types(schema))
    if len(frame) > MOST_ROWS:
        raise cl.CounterleafError(f"{name} has more than {MOST_ROWS:,} rows; pass the file with --data")
    if list(take(frame.index, slice(1))) not in ([0], []):  # pandas takes the first cells for the names of the rows
        raise cl.CounterleafError(f"{name} cannot be read as a table: the rows have more cells than the line of names")
    frame.columns = list(map(str, frame.columns))
    return frame, renamed


def _cells(name: str, line: str, separator: str | None = None) -> list[str]:
    """The cells of the first line, divided by the separator that makes most of them."""
    try:
        found = [next(csv.reader([line], delimiter=one), []) for one in (_SEPARATORS if separator is None else separator)]
    except csv.Error as error:
        raise cl.CounterleafError(f"{name} cannot be read as a table ({flat(error)}); expected CSV") from None
    return max(found, key=len)


def _read_json(name: str, text: str, schema: cl.Schema) -> tuple[Frame, list[str]]:
    rows = _json_rows(name, text)
    if len(rows) > MOST_ROWS:
        raise cl.CounterleafError(f"{name} has more than {MOST_ROWS:,} rows; pass the file with --data")
    present: dict[str, None] = {}
    for k, row in enumerate(rows):
        if not isinstance(row, dict):
            example = json.dumps({schema.names[0]: "..."})
            raise cl.CounterleafError(f"{name}: row {k} is not an object; expected rows such as {example}")
        present |= dict.fromkeys(row)
        if len(present) > _MOST_COLUMNS:
            raise cl.CounterleafError(f"{name} has more than {_MOST_COLUMNS:,} columns; expected those of the model")
    known, names = dict(zip(present, _known_names(list(present), schema), strict=True)), set(schema.names)
    raise_if_stopped()
    out = []
    for k, row in enumerate(rows):
        cells = {known[column]: value for column, value in row.items() if known[column] in names}
        nested = next((column for column, value in cells.items() if isinstance(value, list | dict)), None)
        if nested is not None:
            raise cl.CounterleafError(f"{name}: row {k} has an array or object in {nested!r}; expected text, a number or null")
        out.append(cells)
    found = list(dict.fromkeys(known.values()))
    columns = [column for column in schema.names if column in found]
    return make_frame([[row.get(column) for column in columns] for row in out], columns), found


def _json_rows(name: str, text: str) -> Sequence[Any]:
    try:
        content = loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or text.lstrip().startswith("["):
            raise cl.CounterleafError(f"{name} is not valid JSON: {_reason(error)}") from None
        return [_json_line(f"{name}, line {number},", line) for number, line in enumerate(lines, 1)]
    _check_escapes(name, text, content)
    return content if isinstance(content, list) else [content]


def _json_line(name: str, line: str) -> Any:
    try:
        content = loads(line)
    except (ValueError, RecursionError) as error:
        raise cl.CounterleafError(f"{name} is not valid JSON: {_reason(error)}") from None
    _check_escapes(name, line, content)
    return content


def _reason(error: BaseException) -> str:
    """The message of an error, without the advice to programmers that Python adds for a very long number."""
    return flat(error).partition("; use sys.")[0]


def _check_escapes(name: str, text: str, content: Any) -> None:
    if "\\u" in text:
        check_characters(name, content)


def check_characters(name: str, content: Any) -> None:
    """Refuse halves of characters, which an escape sequence in JSON can write but no file can contain."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise cl.CounterleafError(f"{name} contains half of a surrogate pair; expected whole characters") from None


def _known_names(columns: Sequence[str], schema: cl.Schema) -> list[str]:
    """The names of columns with those of features that differ only in case, spaces, hyphens or underscores."""
    by_letters: dict[str, list[str]] = {}
    for feature in schema:
        for text in {_letters(feature.name), _letters(str(getattr(feature, "label", None) or feature.name))}:
            by_letters.setdefault(text, []).append(feature.name)
    names, present, used = set(schema.names), set(columns), set[str]()
    out: list[str] = []
    for column in columns:
        alike = by_letters.get(_letters(column), [])
        known = column.strip() if column.strip() in names else alike[0] if len(alike) == 1 else column
        out.append(column if known in used or known in present else known)
        used.add(out[-1])
    return [column.strip() if column.strip() in names else column for column in out]


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _check_values(name: str, rows: Frame, schema: cl.Schema) -> list[str]:
    """A sentence about values that the model does not know; refuse rows that are all of this kind."""
    table = TableRows(rows, schema)
    unreadable = np.zeros(table.n, bool)
    example = ""
    for feature, column in zip(schema, table.columns, strict=True):
        codes, cells = table.column_codes(feature, column), list(column)
        bad = ~np.isfinite(codes)
        if isinstance(feature, cl.Numeric):
            bad &= np.array([not _is_gap(cell) for cell in cells])
        if bad.any() and not example:
            k = int(bad.argmax())
            expected = "a number" if isinstance(feature, cl.Numeric) else f"one of {some(feature.values, 4)}"
            example = f"row {k} has {str(cells[k])[:40]!r} in {feature.name!r}; expected {expected}"
        unreadable |= bad
    if unreadable.all():
        raise cl.CounterleafError(f"{name}: no row can be read: {example}")
    count = int(unreadable.sum())
    return [f"{count:,} {'row' if count == 1 else 'rows'} cannot be read: {example}."] if count else []


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)
