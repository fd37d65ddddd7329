"""The files of a run: written aside and renamed, so that a stop leaves whole files or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd


def write(path: Path, content: str | bytes) -> None:
    """Put a whole file in place of an older one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(content.encode() if isinstance(content, str) else content)
    aside.replace(path)


def kept_table(path: Path, make: Callable[..., pd.DataFrame], *arguments: Any) -> pd.DataFrame:
    """The table of a CSV file, made and written if there is none: this is what makes a run resumable."""
    if not path.exists():
        write(path, make(*arguments).to_csv(index=False))
    return read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """The table of a CSV file, its numbers bit for bit; only an empty cell is a gap."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], float_precision="round_trip")
