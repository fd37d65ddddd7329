"""Files: tables are read by their suffix; whatever is written is written aside and renamed, so a stop leaves no half of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError

# pandas' own list but for "None" and "none", which are words people use for a category
_GAPS = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]
# from 3.1 on pandas reads every float exactly by itself, and warns where it is told to
_EXACT: dict[str, Any] = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def read_frame(path: Path, types: dict[str, type] | None = None) -> pd.DataFrame:
    """The table of a file: ``.csv`` (also ``.csv.gz``), ``.jsonl`` or ``.parquet``; ``types`` are for columns of CSV."""
    name = path.name.lower()
    try:
        if name.endswith((".csv", ".csv.gz")):
            frame: pd.DataFrame = pd.read_csv(path, keep_default_na=False, na_values=_GAPS, dtype=types or None, **_EXACT)
            return frame
        if name.endswith(".jsonl"):
            return pd.read_json(path, lines=True, precise_float=True)
        if name.endswith(".parquet"):
            return pd.read_parquet(path)
    except OSError:
        raise
    except ImportError:
        raise CounterleafError(f"{path}: reading Parquet needs pyarrow; install it with: pip install pyarrow") from None
    except ValueError as error:  # of pandas' parsers, with their many subclasses
        told = " ".join(str(error).split())
        raise CounterleafError(f"{path} does not read as a table ({told}); expected what its suffix says") from None
    raise CounterleafError(f"{path} has no suffix that is known; expected .csv, .csv.gz, .jsonl or .parquet")


def write(path: Path, content: str | bytes) -> None:
    """Put a whole file in place of an older one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(content.encode() if isinstance(content, str) else content)
    aside.replace(path)
