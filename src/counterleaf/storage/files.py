"""Files: tables are read and written by their suffix, and every file is written atomically."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, flat
from counterleaf.table.files import read_csv, read_header, read_parquet, write_csv, write_parquet
from counterleaf.table.frames import Frame, make_frame

STDIN = Path("-")
_PARQUET = 'Parquet needs pyarrow; install it with: pip install "counterleaf[parquet]"'


def read_frame(path: Path, types: dict[str, type] | None = None) -> Frame:
    """Read a table from a ``.csv``, ``.csv.gz``, ``.jsonl`` or ``.parquet`` file.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input, whose format follows from its first bytes.
    types : dict of str to type, optional
        The types of some columns of a CSV file.

    Returns
    -------
    DataFrame
        The table.
    """
    name, suffix, source = _open(path)
    try:
        if suffix.endswith((".csv", ".csv.gz")):
            return _read_csv(name, source, "gzip" if suffix.endswith(".gz") else None, types)
        if suffix.endswith((".jsonl", ".ndjson")):
            return make_frame(_read_json_lines(source))
        if suffix.endswith(".parquet"):
            return read_parquet(source)
    except ImportError:
        raise CounterleafError(f"{name}: {_PARQUET}") from None
    except CounterleafError:
        raise
    except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:  # raised by the parsers
        if isinstance(error, OSError) and error.errno is not None:  # raised by the disk
            raise
        expected = "the format of its suffix" if path != STDIN else "CSV, JSON lines or Parquet"
        raise CounterleafError(f"{name} cannot be read as a table ({flat(error)}); expected {expected}") from None
    raise CounterleafError(f"{name}: unknown file type; expected .csv, .csv.gz, .jsonl or .parquet")


def _open(path: Path) -> tuple[str, str, Any]:
    """Return the name for messages, a file name with the suffix, and the path or stream to read."""
    if path != STDIN:
        return str(path), path.name.lower(), path
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise CounterleafError("standard input is empty; expected a table as CSV, JSON lines or Parquet")
    starts = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}
    suffix = next((suffix for start, suffix in starts.items() if content.lstrip().startswith(start)), ".csv")
    return "standard input", suffix, io.BytesIO(content)


def _read_csv(name: str, source: Any, compression: Any, types: dict[str, type] | None) -> Frame:
    header = read_header(source, compression)
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise CounterleafError(f"{name} has two columns named {twice!r}; names must differ")
    if len(header) == 1 and any(sign in header[0] for sign in ";\t"):
        raise CounterleafError(f"{name} has one column, named {header[0][:40]!r}; expected columns separated by commas")
    return read_csv(source, compression, types)


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
    with aside(path) as part:
        if name.endswith((".csv", ".csv.gz")):
            write_csv(frame, part, compressed=name.endswith(".gz"))
        elif name.endswith(".parquet"):
            try:
                write_parquet(frame, part)
            except ImportError:
                raise CounterleafError(f"{path}: {_PARQUET}") from None
        else:
            raise CounterleafError(f"{path}: unknown file type; expected .csv, .csv.gz or .parquet")


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file atomically."""
    with aside(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` when the block ends, and is removed if the block raises."""
    if path.exists() and not path.is_file():
        found = "a directory" if path.is_dir() else "not a regular file"
        raise CounterleafError(f"cannot write {path}: it is {found}; expected the name of a file")
    path = Path(os.path.realpath(path))  # a symbolic link remains one
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise CounterleafError(f"cannot write {path}: its parent directory is a file") from None
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # if two commands write one file, the last to end wins
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
