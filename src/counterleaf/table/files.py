"""Read and write tables with pandas. ``storage`` reports problems with files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from counterleaf.table.frames import Frame

# those of pandas except "None" and "none", which people use as categories
MISSING_TEXTS = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]

_COMMA = re.compile(r"[-+]?\d+(,\d+)?([eE][-+]?\d+)?", re.ASCII)  # a number that may have a decimal comma
DECIMAL = re.compile(r"[-+]?(0,\d+|\d+,(\d{1,2}|\d{4,})|\d{4,},\d+)([eE][-+]?\d+)?", re.ASCII)  # one whose comma is decimal
_FORMULAS = ("=", "+", "-", "@")  # a spreadsheet may take text that begins so for a formula


def read_header(source: Any, compression: Any = None, separator: str = ",") -> list[str]:
    """Read the column names in the first line of a CSV file; an open ``source`` is rewound."""
    import pandas as pd

    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "compression": compression, "sep": separator}
    first = pd.read_csv(source, header=None, nrows=1, **options)
    if not isinstance(source, Path):
        source.seek(0)
    return list(first.iloc[0].tolist())


def read_csv(source: Any, compression: Any = None, types: dict[str, type] | None = None, separator: str = ",") -> Frame:
    """Read a CSV file; numbers are read exactly, and each column gets one type even if the file is long."""
    import pandas as pd

    options: dict[str, Any] = {
        "compression": compression,
        "keep_default_na": False,
        "na_values": MISSING_TEXTS,
        "sep": separator,
    }
    return pd.read_csv(source, dtype=types or None, low_memory=False, **options, **exact_numbers())


def read_excel(source: Any, types: dict[str, type] | None = None, rows: int | None = None) -> Frame:
    """Read the first sheet of an Excel file; with ``rows``, only its first lines, the header included."""
    import openpyxl  # noqa: F401  # pandas needs it
    import pandas as pd

    options: dict[str, Any] = {"keep_default_na": False, "na_values": MISSING_TEXTS, "engine": "openpyxl"}
    first: dict[str, Any] = {} if rows is None else {"header": None, "nrows": rows}
    try:
        return pd.read_excel(source, dtype=types or None, **options, **first)
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as error:  # a garbled file can raise anything
        raise ValueError(f"{type(error).__name__}: {error}") from None


def with_decimal_commas(frame: Frame, skip: Iterable[str]) -> Frame:
    """Return a frame in which columns of text such as "1,5" are numbers; a column that may hold thousands is refused."""
    found = {}
    for name in set(frame.columns) - set(skip):
        texts = frame[name].dropna()
        if len(texts) and all(isinstance(text, str) and _COMMA.fullmatch(text.strip()) for text in texts):
            found[name] = [text.strip() for text in texts if "," in text]
    clear = any(DECIMAL.fullmatch(text) for texts in found.values() for text in texts)
    for name, texts in found.items():
        if not clear:
            raise ValueError(f"column {name!r} holds {texts[0]!r}, which may be a decimal or thousands; write decimal points")
        frame[name] = frame[name].str.strip().str.replace(",", ".").astype(float)
    return frame


def exact_numbers() -> dict[str, Any]:
    """The options of ``pandas.read_csv`` that read numbers bit for bit."""
    import pandas as pd

    exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)  # exact by default, with a warning about the option
    return {} if exact else {"float_precision": "round_trip"}


def read_parquet(source: Any) -> Frame:
    """Read a Parquet file; an index with a name becomes a column, one without is dropped."""
    import pandas as pd

    frame = pd.read_parquet(source)
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named).reset_index(drop=True) if named else frame.reset_index(drop=True)


def without_formulas(frame: Frame) -> Frame:
    """Return a pandas frame whose text a spreadsheet does not take for a formula: an apostrophe precedes such cells."""

    def safe(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith((*_FORMULAS, "\t", "\r")) else cell

    texts = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    return frame.assign(**{name: frame[name].map(safe) for name in texts})


def write_csv(frame: Frame, target: Any, compressed: bool = False) -> None:
    """Write a frame as CSV without its index to a path or an open file.

    With ``compressed``, the target is a path, and the gzip file contains neither a name nor a time: the same frame gives the
    same bytes.
    """
    if not compressed:
        frame.to_csv(target, index=False)
        return
    with Path(target).open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as out:
        frame.to_csv(out, index=False, mode="wb")


def write_excel(frame: Frame, target: Any) -> None:
    """Write a frame as an Excel file without its index; text is never a formula."""
    import openpyxl  # noqa: F401  # pandas needs it
    import pandas as pd

    with Path(target).open("wb") as file, pd.ExcelWriter(file, engine="openpyxl") as writer:
        try:
            frame.to_excel(writer, index=False)
        except Exception as error:  # openpyxl has its own errors, for example for control characters
            raise ValueError(str(error).rstrip(".") or type(error).__name__) from None
        for line in writer.book.active.iter_rows():
            for cell in line:
                if isinstance(cell.value, str) and cell.value.startswith(_FORMULAS):
                    cell.data_type, cell.quotePrefix = "s", True


def write_parquet(frame: Frame, target: Any) -> None:
    """Write a frame as Parquet without its index."""
    frame.to_parquet(target, index=False)
