"""Files: tables are read by their suffix; whatever is written is written aside and renamed, so a stop leaves no half of it."""

from __future__ import annotations

import io
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterleaf.errors import CounterleafError, flat

if TYPE_CHECKING:
    import pandas as pd

STDIN = Path("-")
# pandas' own list but for "None" and "none", which are words people use for a category
_GAPS = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]
_SUFFIXES = ".csv, .csv.gz, .jsonl or .parquet"


def read_frame(path: Path, types: dict[str, type] | None = None) -> pd.DataFrame:
    """The table of a file: ``.csv`` (also ``.csv.gz``), ``.jsonl`` or ``.parquet``; ``types`` are for columns of CSV.

    ``-`` is standard input, of which the first bytes tell what it is.
    """
    import pandas as pd  # here and below: commands that read no table need not wait for it

    told, kind, source = _open(path)
    try:
        if kind.endswith((".csv", ".csv.gz")):
            return _csv(told, source, "gzip" if kind.endswith(".gz") else None, types)
        if kind.endswith((".jsonl", ".ndjson")):
            return pd.DataFrame(_json_lines(source))
        if kind.endswith(".parquet"):
            return _numbered(pd.read_parquet(source))
    except ImportError:
        raise CounterleafError(f'{told}: Parquet needs pyarrow; install it with: pip install "counterleaf[parquet]"') from None
    except CounterleafError:
        raise
    except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:  # of the many parsers behind pandas
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of what the file holds
            raise
        expected = "what its suffix says" if path != STDIN else "CSV, JSON lines or Parquet"
        raise CounterleafError(f"{told} does not read as a table ({flat(error)}); expected {expected}") from None
    raise CounterleafError(f"{told} has no suffix that is known; expected {_SUFFIXES}")


def _open(path: Path) -> tuple[str, str, Any]:
    """(what to call it, its name or one that tells its kind, what pandas can read)."""
    if path != STDIN:
        return str(path), path.name.lower(), path
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise CounterleafError("standard input is empty; expected a table as CSV, JSON lines or Parquet")
    starts = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}
    kind = next((kind for start, kind in starts.items() if content.lstrip().startswith(start)), ".csv")
    return "standard input", kind, io.BytesIO(content)


def _csv(told: str, source: Any, compression: Any, types: dict[str, type] | None) -> pd.DataFrame:
    """Columns are read whole, so that one type is found for all of a column, not one for each stretch of it."""
    import pandas as pd

    plain: dict[str, Any] = {"keep_default_na": False, "compression": compression}
    names = pd.read_csv(source, header=None, nrows=1, dtype=str, **plain).iloc[0].tolist()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CounterleafError(f"{told} has two columns named {twice!r}; names must differ")
    if len(names) == 1 and any(sign in names[0] for sign in ";\t"):
        raise CounterleafError(f"{told} has one column, named {names[0][:40]!r}; expected columns separated by commas")
    if not isinstance(source, Path):
        source.seek(0)
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later ones always do, and warn about the option
        plain["float_precision"] = "round_trip"
    frame: pd.DataFrame = pd.read_csv(source, na_values=_GAPS, dtype=types or None, low_memory=False, **plain)
    return frame


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """What pandas wrote as the names of the rows is a column, unless it has no name."""
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named).reset_index(drop=True) if named else frame.reset_index(drop=True)


def _json_lines(source: Any) -> list[dict[str, Any]]:
    """One object a line; unlike pandas' reader this one leaves text and numbers what they are."""
    lines = (source.read_bytes() if isinstance(source, Path) else source.read()).decode().split("\n")
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
    return rows


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
                raise CounterleafError(
                    f'{path}: Parquet needs pyarrow; install it with: pip install "counterleaf[parquet]"'
                ) from None
        else:
            raise CounterleafError(f"{path} has no suffix that is known; expected .csv, .csv.gz or .parquet")


def write(path: Path, content: str | bytes) -> None:
    """Put a whole file in place of an older one."""
    with aside(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A file to write to, beside ``path``, that takes its place once all is written and is gone if it is not."""
    if path.exists() and not path.is_file():
        raise CounterleafError(f"{path} is {'a folder' if path.is_dir() else 'no file'}; expected the name of a file to write")
    path = Path(os.path.realpath(path))  # a link stays one
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise CounterleafError(f"{path} cannot be written: what its folder is named like is a file") from None
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # two commands may write one file: the last to end has it
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
