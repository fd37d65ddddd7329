"""Files: tables are read and written by their suffix, and every file is written atomically."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, brief, flat, not_installed
from counterleaf.table.files import (
    read_csv,
    read_excel,
    read_header,
    read_parquet,
    with_decimal_commas,
    write_csv,
    write_excel,
    write_parquet,
)
from counterleaf.table.frames import Frame, cells_of, make_frame

STDIN = Path("-")
_STARTS = {  # of files that are not text
    b"PK\x03\x04": "an Excel file or another archive",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a compressed file (gzip)",
    b"\xfd7zXZ": "a compressed file (xz)",
    b"\x80": "a pickle",
}
_FORMATS = {
    **dict.fromkeys(("counterleaf-tree", "counterleaf-ensemble", "counterleaf-explainer"), "a model"),
    "counterleaf-explanation": "an answer",
    "counterleaf-problem": "a row without an answer",
    "counterleaf-audit": "the manifest of an audit",
}
_SUFFIXES = (".csv", ".csv.gz", ".xlsx", ".parquet")  # that tables can be written to


def read_frame(path: Path, types: dict[str, type] | None = None) -> Frame:
    """Read a table from a ``.csv``, ``.csv.gz``, ``.jsonl``, ``.xlsx`` or ``.parquet`` file, or from standard input, ``-``.

    ``types`` are those of some columns of a CSV or Excel file.
    """
    name, suffix, source = _open(path)
    try:
        if suffix.endswith((".csv", ".csv.gz")):
            return _read_csv(name, source, "gzip" if suffix.endswith(".gz") else None, types)
        if suffix.endswith((".jsonl", ".ndjson")):
            return make_frame(_read_json_lines(source))
        if suffix.endswith(".xlsx"):
            return _read_excel(name, source, types)
        if suffix.endswith(".parquet"):
            return read_parquet(source)
    except ImportError:
        raise _needs(name, suffix) from None
    except CounterleafError:
        raise
    except UnicodeDecodeError:
        raise CounterleafError(f"{name} is not text in UTF-8; save it as UTF-8, which spreadsheets call CSV UTF-8") from None
    except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:  # raised by the parsers
        if isinstance(error, OSError) and error.errno is not None:  # raised by the disk
            raise
        expected = "the format of its suffix" if path != STDIN else "CSV, JSON lines, Excel or Parquet"
        raise CounterleafError(f"{name} cannot be read as a table ({flat(error)}); expected {expected}") from None
    raise CounterleafError(f"{name}: unknown file type; expected .csv, .csv.gz, .jsonl, .xlsx or .parquet")


def path_of(path: Any) -> Path:
    """Return a path, or refuse what is none."""
    try:
        return Path(path)
    except TypeError:
        raise CounterleafError(f"the file is {brief(path)}; expected the path of a file") from None


def contents(path: Any, expected: str) -> bytes:
    """Return the bytes of a file, which should be what is ``expected``."""
    file = path_of(path)
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        kind = "a directory" if isinstance(error, IsADirectoryError) else "a file that cannot be read"
        raise CounterleafError(f"{path} is {kind}; expected {expected}") from None


def is_binary(content: bytes) -> bool:
    """Return whether a file is of a known kind that is not text."""
    return content.startswith(tuple(_STARTS))


def what_is(content: bytes) -> str:
    """Return what a file is, for a message."""
    if not content.strip():
        return "empty"
    if is_binary(content):
        return next(kind for start, kind in _STARTS.items() if content.startswith(start))
    lines = content.strip().split(b"\n")
    for text in (content, lines[0]):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(found, dict):
            return "JSON of another kind"
        if {"version", "constraints"} <= found.keys():
            return "a file of constraints"
        kind = _FORMATS.get(str(found.get("format")), "JSON of another kind")
        return kind if text is content else f"{len(lines):,} lines of JSON"
    return "not JSON"


def read_csv_text(name: str, text: str, types: dict[str, type] | None = None) -> Frame:
    """Read a table from the text of a CSV file; messages call it ``name``."""
    try:
        return _read_csv(name, io.BytesIO(text.encode()), None, types)
    except CounterleafError:
        raise
    except (ValueError, RecursionError) as error:  # raised by the parser
        raise CounterleafError(f"{name} cannot be read as a table ({flat(error)}); expected CSV") from None


def _needs(name: object, suffix: str) -> CounterleafError:
    """Return the error for a file whose library is not installed."""
    excel = suffix.endswith(".xlsx")
    return not_installed(f"{name}: {'an Excel file' if excel else 'Parquet'}", "openpyxl" if excel else "pyarrow")


def _open(path: Path) -> tuple[str, str, Any]:
    """Return the name for messages, a file name with the suffix, and the path or stream to read."""
    if path != STDIN:
        return str(path), path.name.lower(), path
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise CounterleafError("standard input is empty; expected a table as CSV, JSON lines, Excel or Parquet")
    starts = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl", b"PK\x03\x04": ".xlsx"}
    suffix = next((suffix for start, suffix in starts.items() if content.lstrip().startswith(start)), ".csv")
    return "standard input", suffix, io.BytesIO(content)


def _read_csv(name: str, source: Any, compression: Any, types: dict[str, type] | None) -> Frame:
    """Read a CSV file; commas, semicolons or tabs separate its columns, those that make most columns of the first line."""
    headers = {separator: read_header(source, compression, separator) for separator in ",;\t"}
    separator, header = max(headers.items(), key=lambda one: len(one[1]))
    _check_header(name, header)
    frame = read_csv(source, compression, types, separator)
    return frame if separator == "," else with_decimal_commas(frame, types or ())


def _read_excel(name: str, source: Any, types: dict[str, type] | None) -> Frame:
    first = read_excel(source, rows=1)
    _check_header(name, [str(cell) for cell in cells_of(first.iloc[0])] if len(first) else [])
    if not isinstance(source, Path):
        source.seek(0)
    return read_excel(source, types)


def _check_header(name: str, header: list[str]) -> None:
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise CounterleafError(f"{name} has two columns named {twice!r}; names must differ")


def _read_json_lines(source: Any) -> list[dict[str, Any]]:
    """Read one object per line; text and numbers keep their types."""
    lines = (source.read_bytes() if isinstance(source, Path) else source.read()).decode().split("\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line, parse_int=_read_whole_number)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not a JSON object")
            rows.append(row)
    return rows


def _read_whole_number(digits: str) -> int | float:
    """Return a whole number, or infinity for one beyond the range of floats, which pandas 2 cannot store."""
    return int(digits) if math.isfinite(float(digits)) else float(digits)


def write_frame(path: Path, frame: Frame) -> None:
    """Write a table in the format of the suffix of ``path``."""
    name = path.name.lower()
    if not name.endswith(_SUFFIXES):
        raise CounterleafError(f"{path}: unknown file type; expected {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}")
    with aside(path) as part:
        try:
            if name.endswith(".parquet"):
                write_parquet(frame, part)
            elif name.endswith(".xlsx"):
                write_excel(frame, part)
            else:
                write_csv(frame, part, compressed=name.endswith(".gz"))
        except ImportError:
            raise _needs(path, name) from None
        except ValueError as error:
            raise CounterleafError(f"cannot write {path}: {flat(error)}; write a .csv file instead") from None


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file atomically."""
    with aside(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be; the folders in which it lies may be missing."""
    address = re.fullmatch("([A-Za-z][A-Za-z0-9+.-]+):/(.*)", str(path), re.DOTALL)  # a path has one slash of two
    if address:
        name = f"{address[1]}://{'/' * (address[1] == 'file')}{address[2]}"
        raise CounterleafError(f"cannot write {name}: it is an address; expected the name of a file on this machine")
    try:
        if path.exists() and not path.is_file():
            found = "a directory" if path.is_dir() else "not a regular file"
            raise CounterleafError(f"cannot write {path}: it is {found}; expected the name of a file")
        folder = next(one for one in Path(os.path.realpath(path)).parents if one.exists())
    except CounterleafError:
        raise
    except (OSError, ValueError) as error:  # a name that is too long, or that no file can have
        reason = error.strerror if isinstance(error, OSError) else flat(error)
        raise CounterleafError(f"cannot write {path}: {reason}; expected the name of a file") from None
    if not folder.is_dir():
        raise CounterleafError(f"cannot write {path}: its parent directory is a file")
    if not os.access(folder, os.W_OK):
        raise CounterleafError(f"cannot write {path}: there is no permission to write in {folder}")


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` when the block ends, and is removed if the block raises."""
    check_writable(path)
    path = Path(os.path.realpath(path))  # a symbolic link remains one
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # if two commands write one file, the last to end wins
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
