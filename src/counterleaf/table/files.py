"""Read and write tables with pandas. ``storage`` reports problems with files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from counterleaf.table.frames import Frame

# those of pandas except "None" and "none", which people use as categories
_MISSING = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]


def read_header(source: Any, compression: Any = None) -> list[str]:
    """Read the column names in the first line of a CSV file; an open ``source`` is rewound."""
    import pandas as pd

    first = pd.read_csv(source, header=None, nrows=1, dtype=str, keep_default_na=False, compression=compression)
    if not isinstance(source, Path):
        source.seek(0)
    return list(first.iloc[0].tolist())


def read_csv(source: Any, compression: Any = None, types: dict[str, type] | None = None) -> Frame:
    """Read a CSV file; numbers are read exactly, and each column gets one type even if the file is long."""
    import pandas as pd

    options: dict[str, Any] = {"compression": compression, "keep_default_na": False, "na_values": _MISSING}
    return pd.read_csv(source, dtype=types or None, low_memory=False, **options, **exact_numbers())


def exact_numbers() -> dict[str, Any]:
    """The options of ``pandas.read_csv`` that read numbers bit for bit."""
    import pandas as pd

    exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)  # exact by default, with a warning about the option
    return {} if exact else {"float_precision": "round_trip"}


def read_parquet(source: Any) -> Frame:
    """Read a Parquet file; an index with a name becomes a column, one without is dropped.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    import pandas as pd

    frame = pd.read_parquet(source)
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named).reset_index(drop=True) if named else frame.reset_index(drop=True)


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


def write_parquet(frame: Frame, target: Any) -> None:
    """Write a frame as Parquet without its index.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    frame.to_parquet(target, index=False)
