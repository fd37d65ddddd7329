"""Files: tables are read by their suffix; whatever is written is written aside and renamed, so a stop leaves no half of it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError

STDIN = Path("-")
# pandas' own list but for "None" and "none", which are words people use for a category
_GAPS = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]
# from 3.1 on pandas reads every float exactly by itself, and warns where it is told to
_EXACT: dict[str, Any] = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
_MOST = 2.0**53  # beyond it floats skip whole numbers
_SUFFIXES = ".csv, .csv.gz, .jsonl or .parquet"


def read_frame(path: Path, types: dict[str, type] | None = None) -> pd.DataFrame:
    """The table of a file: ``.csv`` (also ``.csv.gz``), ``.jsonl`` or ``.parquet``; ``types`` are for columns of CSV.

    ``-`` is standard input, of which the first bytes tell what it is.
    """
    told, kind, source = _open(path)
    try:
        if kind.endswith((".csv", ".csv.gz")):
            return _whole(pd.read_csv(source, keep_default_na=False, na_values=_GAPS, dtype=types or None, **_EXACT))
        if kind.endswith((".jsonl", ".ndjson")):
            return _whole(_json_lines(source))
        if kind.endswith(".parquet"):
            return pd.read_parquet(source)
    except OSError:
        raise
    except ImportError:
        raise CounterleafError(f"{told}: reading Parquet needs pyarrow; install it with: pip install pyarrow") from None
    except (ValueError, RecursionError) as error:  # of pandas' parsers, with their many subclasses
        reason = " ".join(str(error).split())
        raise CounterleafError(f"{told} does not read as a table ({reason}); expected what its suffix says") from None
    raise CounterleafError(f"{told} has no suffix that is known; expected {_SUFFIXES}")


def _open(path: Path) -> tuple[str, str, Any]:
    """(what to call it, its name or one that tells its kind, what pandas can read)."""
    if path != STDIN:
        return str(path), path.name.lower(), path
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise CounterleafError("standard input is empty; expected a table as CSV, JSON lines or Parquet")
    kind = ".parquet" if content.startswith(b"PAR1") else ".jsonl" if content.lstrip().startswith(b"{") else ".csv"
    return "standard input", kind, io.BytesIO(content)


def _json_lines(source: Any) -> pd.DataFrame:
    """One object a line; unlike pandas' reader this one leaves text and numbers what they are."""
    lines = (source.read_bytes() if isinstance(source, Path) else source.read()).decode().splitlines()
    rows = []
    for k, line in enumerate(lines):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {k + 1}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"line {k + 1} holds no object")
            rows.append(row)
    return pd.DataFrame(rows)


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Whole numbers with gaps as whole numbers with gaps; pandas has made floats of them."""
    for name in frame.select_dtypes("float64").columns:
        column = frame[name]
        if (
            column.hasnans
            and column.notna().any()
            and (column.dropna().abs() < _MOST).all()
            and (column.dropna() % 1 == 0).all()
        ):
            frame[name] = column.astype("Int64")
    return frame


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """A table in the form that the suffix of ``path`` says."""
    name = path.name.lower()
    with aside(path) as part:
        if name.endswith(".csv"):
            frame.to_csv(part, index=False)
        elif name.endswith(".csv.gz"):
            frame.to_csv(part, index=False, compression={"method": "gzip", "mtime": 1})
        elif name.endswith(".parquet"):
            try:
                frame.to_parquet(part, index=False)
            except ImportError:
                raise CounterleafError(f"{path}: writing Parquet needs pyarrow; install it with: pip install pyarrow") from None
        else:
            raise CounterleafError(f"{path} has no suffix that is known; expected .csv, .csv.gz or .parquet")


def write(path: Path, content: str | bytes) -> None:
    """Put a whole file in place of an older one."""
    with aside(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A file to write to, beside ``path``, that takes its place once all is written and is gone if it is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
