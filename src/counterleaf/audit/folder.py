"""The folder of an audit: its files, and the lock of the process that writes to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any

from counterleaf.audit.files import TEMPORARY, StorePath, place
from counterleaf.errors import CounterleafError, brief

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # then there is no lock

MANIFEST, MODEL, SAMPLE, PARTS, PROOFS = "manifest.json", "model.json", "sample.json", "parts", "proofs"
KEY = b"counterleaf.audit"  # of the metadata of a part
_LOCK = ".lock"


class Folder:
    """The files of one audit."""

    def __init__(self, path: str | os.PathLike[str] | StorePath) -> None:
        self.path: Any = place(path)
        self.manifest, self.model, self.sample = (self.path / name for name in (MANIFEST, MODEL, SAMPLE))

    def part(self, number: int) -> Any:
        """Return the file of the answers of a part."""
        return self.path / PARTS / f"part-{number:08d}.parquet"

    def proofs(self, number: int) -> Any:
        """Return the file of the proofs of a part."""
        return self.path / PROOFS / f"part-{number:08d}.parquet"

    def create(self) -> None:
        """Make the folder, unless it is there; a store has no folders."""
        if any("\udc80" <= letter <= "\udcff" for letter in str(self.path)):
            raise CounterleafError(f"the name of the folder {str(self.path)!a} is not text in UTF-8; choose another one")
        if isinstance(self.path, StorePath):
            return
        try:
            (self.path / PARTS).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise CounterleafError(f"cannot write to {self.path}: it, or a folder above it, is a file") from None
        if not os.access(self.path / PARTS, os.W_OK):
            raise CounterleafError(f"cannot write to {self.path}: permission denied")

    def discard(self) -> None:
        """Remove a folder that holds nothing but its lock."""
        if isinstance(self.path, StorePath):
            return
        with contextlib.suppress(OSError):
            (self.path / PARTS).rmdir()
            (self.path / _LOCK).unlink()
            self.path.rmdir()

    def names(self) -> list[str]:
        """Return the names of its files, those in ``parts`` and ``proofs`` with their folder."""
        if isinstance(self.path, StorePath):
            return [one.key[len(self.path.key) :].lstrip("/") for one in self.path.files()]
        found = [one.name for one in self.path.iterdir() if one.name not in (PARTS, PROOFS)]
        below = [one for where in (PARTS, PROOFS) for one in sorted((self.path / where).glob("*"))]
        return found + [f"{one.parent.name}/{one.name}" for one in below]

    def check_empty(self) -> None:
        """Refuse a folder with other files: an audit begins in a new folder."""
        ours = (MODEL, _LOCK)
        others = [one for one in self.names() if one not in ours and not one.endswith(TEMPORARY)]
        if others:
            raise CounterleafError(f"{self.path} holds {others[0]} and no manifest of an audit; pass another --out")

    def check_known(self, numbers: Collection[int], remedy: str) -> None:
        """Refuse files among the parts that are not one of them; the names of temporary files begin with a point."""
        known = {self.part(number).name for number in numbers}
        for name in self.names():
            where, _, last = name.rpartition("/")
            if where and last not in known and not last.startswith("."):
                raise CounterleafError(f"{self.path / where / last} is not part of the audit; remove it{remedy}")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process; the lock disappears with the process. A store has none."""
        if isinstance(self.path, StorePath):
            yield
            return
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
        """Remove what an interrupted run has left; a store keeps nothing of an object that was not finished."""
        if isinstance(self.path, StorePath):
            return
        for where in (self.path, self.path / PARTS, self.path / PROOFS):
            for left in where.glob(f".*{TEMPORARY}"):
                left.unlink(missing_ok=True)


def open_folder(path: str | os.PathLike[str] | StorePath) -> Folder:
    """Return the folder of an audit that exists."""
    folder = Folder(path)
    try:
        is_folder = folder.path.is_dir()
    except OSError as error:  # a name that is too long
        raise CounterleafError(
            f"{brief(str(path))} cannot be opened: {error.strerror}; expected the folder of an audit"
        ) from None
    if not is_folder:
        raise CounterleafError(f"{folder.path} is not a folder; expected the folder of an audit")
    if not folder.manifest.is_file():
        raise CounterleafError(f"{brief(str(folder.path))} has no {MANIFEST}; expected the folder of an audit")
    return folder
