"""The folder of an audit: its files, the lock of the process that writes to it, and files that are written atomically."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, brief

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # then there is no lock

MANIFEST, MODEL, SAMPLE, PARTS, PROOFS = "manifest.json", "model.json", "sample.json", "parts", "proofs"
KEY = b"counterleaf.audit"  # of the metadata of a part
_LOCK, _TEMPORARY = ".lock", ".tmp"


class Folder:
    """The files of one audit.

    Parameters
    ----------
    path : str or path-like
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest, self.model, self.sample = (self.path / name for name in (MANIFEST, MODEL, SAMPLE))

    def part(self, number: int) -> Path:
        """Return the file of the answers of a part."""
        return self.path / PARTS / f"part-{number:08d}.parquet"

    def proofs(self, number: int) -> Path:
        """Return the file of the proofs of a part."""
        return self.path / PROOFS / f"part-{number:08d}.parquet"

    def create(self) -> None:
        """Make the folder, unless it is there."""
        if any("\udc80" <= letter <= "\udcff" for letter in str(self.path)):
            raise CounterleafError(f"the name of the folder {str(self.path)!a} is not text in UTF-8; choose another one")
        try:
            (self.path / PARTS).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise CounterleafError(f"cannot write to {self.path}: it, or a folder above it, is a file") from None
        if not os.access(self.path / PARTS, os.W_OK):
            raise CounterleafError(f"cannot write to {self.path}: permission denied")

    def check_empty(self) -> None:
        """Refuse a folder with other files: an audit begins in a new folder."""
        ours = {MODEL, _LOCK, PARTS, PROOFS}
        others = [one.name for one in self.path.iterdir() if one.name not in ours and not one.name.endswith(_TEMPORARY)]
        others += [f"{one.parent.name}/{one.name}" for one in self.path.glob(f"{PARTS}/*.parquet")]
        if others:
            raise CounterleafError(f"{self.path} holds {others[0]} and no manifest of an audit; pass another --out")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process; the lock disappears with the process."""
        with (self.path / _LOCK).open("a") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise CounterleafError(
                        f"another process is writing to {self.path}; wait until it ends, or pass another --out"
                    ) from None
            yield

    def clean(self) -> None:
        """Remove what an interrupted run has left."""
        for place in (self.path, self.path / PARTS, self.path / PROOFS):
            for left in place.glob(f".*{_TEMPORARY}"):
                left.unlink(missing_ok=True)

    def has_part(self, number: int, run: str, proofs: bool) -> bool:
        """Return whether the files of a part are there, as far as their metadata shows; remove damaged ones.

        Raises
        ------
        CounterleafError
            If the part belongs to another audit.
        """
        return self._has(self.part(number), number, run) and (not proofs or self._has(self.proofs(number), number, run))

    def _has(self, path: Path, number: int, run: str) -> bool:
        if not path.exists():
            return False
        found = read_metadata(path)
        if found is None:
            path.unlink()  # damaged: it is done again
            return False
        if found.get("run") != run or found.get("part") != number:
            raise CounterleafError(f"{path} belongs to another audit; remove it, or pass another --out")
        return True


def read_metadata(path: Path) -> dict[str, Any] | None:
    """Return what a part says about itself, None if the file is damaged."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        content = json.loads((parquet.read_metadata(path).metadata or {})[KEY])
        good = isinstance(content, dict) and isinstance(content.get("counts"), dict)
        return content if good and all(type(count) is int for count in content["counts"].values()) else None
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError):
        return None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` once it is on the disk, and is removed if the block raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{_TEMPORARY}")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make the names of the files in a folder durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """Return the folder of an audit that exists.

    Raises
    ------
    CounterleafError
        If there is no audit.
    """
    folder = Folder(path)
    if not folder.path.is_dir():
        raise CounterleafError(f"{folder.path} is not a folder; expected the folder of an audit")
    if not folder.manifest.is_file():
        raise CounterleafError(f"{brief(str(folder.path))} has no {MANIFEST}; expected the folder of an audit")
    return folder
