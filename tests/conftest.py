"""Kernels are cached by the age of their own file only: after a change to one, forget all that call it."""

from pathlib import Path

import counterleaf

folder = Path(counterleaf.__file__).parent
cached = [*folder.rglob("__pycache__/*.nbi"), *folder.rglob("__pycache__/*.nbc")]
newest = max(source.stat().st_mtime for source in folder.rglob("kernels/*.py"))
if any(entry.stat().st_mtime < newest for entry in cached):
    for entry in cached:
        entry.unlink(missing_ok=True)
