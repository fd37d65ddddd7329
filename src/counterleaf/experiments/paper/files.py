"""The tables of a run, kept in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.storage.files import write


def kept_table(path: Path, make: Callable[..., pd.DataFrame], *arguments: Any) -> pd.DataFrame:
    """The table of a CSV file, made and written if there is none: this is what makes a run resumable."""
    if not path.exists():
        write(path, make(*arguments).to_csv(index=False))
    return read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """The table of a CSV file, its numbers bit for bit; only an empty cell is a gap."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], float_precision="round_trip")
