"""Text files as records: lines of JSON, or rows of CSV, whose quoted cells may hold line breaks.

A file is read once, when the audit is planned, to find the bytes at which each part begins and ends. Later each part is read
alone; a compressed file is read from its beginning.
"""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np

from counterleaf.audit.files import open_file, place
from counterleaf.errors import CounterleafError, flat
from counterleaf.types import Array

_BLOCK = 1 << 22  # bytes that are read at a time
_LONGEST = 1 << 26  # bytes of a record
NEWLINE, _BLANKS = b"\n", np.array([9, 11, 12, 13, 32])


@contextlib.contextmanager
def open_binary(path: str) -> Iterator[BinaryIO]:
    """Open a text file, compressed or not."""
    where = place(path)
    with open_file(where) as file:
        packed = where.name.lower().endswith(".gz")
        yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]  # both read bytes


def guarded(path: str, error: Exception) -> CounterleafError:
    """Return the error for a compressed file that is damaged."""
    return CounterleafError(f"{path} cannot be read: {flat(error)}")


class OpenQuoteError(CounterleafError):
    """A quote of a CSV file that is not closed where it should be."""


DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


def record_ends(
    file: BinaryIO, begin: int, separator: bytes | None, check: Callable[[bytes], str] = lambda record: ""
) -> Iterator[Array]:
    """Yield the positions after each record that is not blank, in several arrays.

    ``separator`` is that of a CSV file, whose cells may be quoted, None for JSON lines. A quote that is not closed is refused,
    and a record of several lines with which ``check`` finds a mistake: rows would disappear in a cell.
    """
    rest, at = b"", begin  # the unfinished record, and its position
    while block := file.read(_BLOCK):
        content = rest + block
        ends, used, several = _ends(content, separator)
        for first, last in several:
            _check_lines(file, at + first, content[first:last], check)
        yield at + ends
        rest, at = content[used:], at + used
        if len(rest) > _LONGEST:
            what = "line" if separator is None else "row, or a quoted cell that is not closed,"
            raise CounterleafError(
                f"a {what} at byte {at:,}, line {_line(file, at):,}, is longer than {_LONGEST >> 20} MiB; expected shorter ones"
            )
    if rest.strip():
        opened = None if separator is None else _open_quote(rest, separator)
        if opened is not None:
            raise OpenQuoteError(
                f"the quote in line {_line(file, at + opened):,} opens a cell and is not closed, so that the rest of the file "
                "would be this cell; close the quote, or double a quote that is text"
            )
        if NEWLINE in rest:
            _check_lines(file, at, rest, check)
        yield np.array([at + len(rest)])


def _check_lines(file: BinaryIO, at: int, record: bytes, check: Callable[[bytes], str]) -> None:
    """Refuse a record of several lines that is not one row."""
    if problem := check(record):
        line = _line(file, at)
        raise OpenQuoteError(
            f"a quoted cell holds the line breaks of lines {line:,} to {line + record.rstrip(NEWLINE).count(NEWLINE):,}, and "
            f"{problem}; close the quote, or double a quote that is text"
        )


def _line(file: BinaryIO, position: int) -> int:
    """Return the number of the line at a position, from 1."""
    file.seek(0)
    line = 1
    while position > 0 and (block := file.read(min(position, _BLOCK))):
        line, position = line + block.count(NEWLINE), position - len(block)
    return line


def _open_quote(content: bytes, separator: bytes) -> int | None:
    """Return where the line begins whose quote is open at the end of the content, None if no quote is."""
    at, opened = 0, None
    for line in content.split(NEWLINE):
        is_open = ends_inside_quotes(line, separator, opened is not None)
        again = opened is None or b'"' in line.replace(b'""', b"")  # one cell was closed, and another one opened
        opened = None if not is_open else at if again else opened
        at += len(line) + 1
    return opened


def _ends(content: bytes, separator: bytes | None) -> tuple[Array, int, list[tuple[int, int]]]:
    """Return the ends of records but for blank ones, the position after them, and the places of records of several lines."""
    if separator is None or b'"' not in content:
        marks = np.frombuffer(content, np.uint8)
        newlines = np.flatnonzero(marks == NEWLINE[0])
        if not len(newlines):
            return np.zeros(0, np.int64), 0, []
        starts = np.concatenate([[0], newlines[:-1] + 1])
        blank = newlines == starts
        doubtful = np.flatnonzero(~blank & np.isin(marks[starts], _BLANKS))
        for k in doubtful.tolist():
            blank[k] = is_blank(content[starts[k] : newlines[k]], separator)
        return newlines[~blank] + 1, int(newlines[-1]) + 1, []
    out, several, at, start = [], [], 0, 0  # the current line, and the record that it belongs to
    is_open = False
    while (end := content.find(NEWLINE, at)) >= 0:
        line = content[at:end]
        is_open = ends_inside_quotes(line, separator, is_open)
        line_at, at = at, end + 1
        if not is_open:
            if start < line_at:
                several.append((start, at))
            if not is_blank(content[start:end], separator):
                out.append(at)
            start = at
    return np.array(out, np.int64), start, several


def is_blank(line: bytes, separator: bytes | None) -> bool:
    """Whether a line holds nothing but blanks; tabs that separate cells are not blanks."""
    return not line.strip() and not (separator is not None and separator in line)


def ends_inside_quotes(line: bytes, separator: bytes, is_open: bool) -> bool:
    """Whether a quoted cell is still open at the end of a line; a quote opens a cell only as its first character."""
    if b'"' not in line:
        return is_open
    at = 0
    while True:
        if is_open or line[at : at + 1] == b'"':
            at = at if is_open else at + 1
            while True:
                close = line.find(b'"', at)
                if close < 0:
                    return True
                if line[close + 1 : close + 2] != b'"':
                    break
                at = close + 2
            is_open, at = False, close + 1
        following = line.find(separator, at)
        if following < 0:
            return False
        at = following + 1


def split(content: bytes, separator: bytes | None) -> list[bytes]:
    """Return the records of part of a file, blank ones left out, without their line breaks."""
    ends, used, _ = _ends(content, separator)
    tail = [len(content)] if content[used:].strip() else []
    out, at = [], 0
    for end in [*ends.tolist(), *tail]:
        while (line := content.find(b"\n", at, end - 1)) >= 0 and is_blank(content[at:line], separator):
            at = line + 1
        out.append(content[at:end].removesuffix(b"\n").removesuffix(b"\r"))
        at = end
    return out


def first_records(path: str, begin: int, separator: bytes | None, most: int) -> list[bytes]:
    """Return the first records of a file."""
    with open_binary(path) as file:
        file.seek(begin)
        found: list[int] = []
        for ends in record_ends(file, begin, separator):
            found += ends[: most - len(found)].tolist()
            if len(found) >= most:
                break
        file.seek(begin)
        return split(file.read(found[-1] - begin), separator) if found else []


def cut(ends: Iterator[Array], begin: int, part_rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield (rows, begin, end) for each part: so that each has ``part_rows`` records, the last one fewer."""
    rows, last = 0, begin
    for block in ends:
        taken = 0
        while len(block) - taken >= part_rows - rows:
            taken += part_rows - rows
            end = int(block[taken - 1])
            yield part_rows, begin, end
            rows, begin = 0, end
        rows += len(block) - taken
        last = int(block[-1]) if len(block) else last
    if rows:
        yield rows, begin, last


def read_ranges(path: str, ranges: list[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of increasing ranges of a file; a compressed file is read once for all of them."""
    try:
        with open_binary(path) as file:
            for begin, end in ranges:
                file.seek(begin)
                content: Any = file.read(end - begin)
                if len(content) != end - begin:
                    raise CounterleafError(f"{path} is shorter than it was when the audit began; restore it")
                yield content
    except DAMAGED as error:
        raise guarded(path, error) from None
