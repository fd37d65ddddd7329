"""A report in files: the page, and its tables as CSV and Parquet next to it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write, write_frame
from counterleaf.table.files import without_formulas
from counterleaf.table.frames import Frame


def save(path: Path, page: str, tables: Mapping[str, Frame]) -> list[Path]:
    """Write the page and the tables, and return the files; each is written atomically."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise CounterleafError(f"the report is {path}; expected a name that ends in .html")
    parquet = importlib.util.find_spec("pyarrow") is not None
    files = [path]
    for name, frame in tables.items():
        csv = path.with_name(f"{path.stem}_{name}.csv")
        write_frame(csv, without_formulas(frame))
        files.append(csv)
        if parquet:
            write_frame(csv.with_suffix(".parquet"), frame)
            files.append(csv.with_suffix(".parquet"))
    write(path, page)  # last, so that the page of a report that is complete has its tables
    return files
