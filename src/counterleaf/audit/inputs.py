"""The input files of an audit: found, recognised by their suffix, and identified by a fingerprint."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from counterleaf.audit.files import AnyPath, StorePath, absolute, has_magic, is_within, matching, open_file, place, resolved
from counterleaf.errors import CounterleafError

PARQUET, CSV, JSON = "Parquet", "CSV", "JSON lines"
_SUFFIXES = {
    ".parquet": PARQUET,
    ".csv": CSV,
    ".csv.gz": CSV,
    ".jsonl": JSON,
    ".ndjson": JSON,
    ".jsonl.gz": JSON,
    ".ndjson.gz": JSON,
}
_ENDS = 1 << 20  # bytes at each end of a Parquet file that its fingerprint includes


@dataclass(frozen=True, slots=True)
class Input:
    """One input file: its path, its format, its size in bytes and its fingerprint."""

    path: str
    kind: str
    bytes: int
    fingerprint: str

    @property
    def is_compressed(self) -> bool:
        """Whether the file has to be read from its beginning."""
        return place(self.path).name.lower().endswith(".gz")

    def check(self) -> None:
        """Refuse a file that was changed since the audit began."""
        self.check_same(Input(self.path, self.kind, *_fingerprint(place(self.path), self.kind)))

    def check_same(self, other: Input) -> None:
        """Refuse the same file as it is now, if it was changed since the audit began."""
        if (other.bytes, other.fingerprint) != (self.bytes, self.fingerprint):
            raise CounterleafError(
                f"{self.path} was changed since the audit began; restore it, or start a new audit with another --out"
            )


def kind_of(path: AnyPath) -> str | None:
    """Return the format of a file by its suffix, None if it is unknown."""
    name = path.name.lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def find_inputs(patterns: Iterable[str | os.PathLike[str]], without: AnyPath | None = None) -> list[Input]:
    """Find the files that paths, folders and patterns name, each once, in their order and by name; none in ``without``."""
    paths: dict[str, AnyPath] = {}
    for pattern in patterns:
        for path in _matches(os.fspath(pattern), without):
            paths.setdefault(resolved(path), path)
    if not paths:
        raise CounterleafError("there are no input files; expected files, folders or patterns such as 'rows/*.parquet'")
    out: list[Input] = []
    for path in paths.values():
        kind = kind_of(path)
        if kind is None:
            raise CounterleafError(f"{path}: unknown file type; expected {', '.join(_SUFFIXES)}")
        size, fingerprint = _fingerprint(path, kind)
        if not size:
            raise CounterleafError(f"{path} is empty; expected a file of rows")
        if out and kind != out[0].kind:
            raise CounterleafError(f"{path} is {kind} and {out[0].path} is {out[0].kind}; expected files of one format")
        out.append(Input(absolute(path), kind, size, fingerprint))
    return out


def _matches(pattern: str, out: AnyPath | None) -> list[AnyPath]:
    path = place(pattern)
    if path.is_dir():
        every = path.files() if isinstance(path, StorePath) else sorted(one for one in path.rglob("*") if one.is_file())
        found = [one for one in _outside(every, out) if kind_of(one) and not _is_hidden(one, path)]
        if not found:
            raise CounterleafError(f"{pattern} has no file of a known type; expected {', '.join(_SUFFIXES)}")
        return found
    if path.exists():
        return [path]
    is_pattern = has_magic(path) if isinstance(path, StorePath) else glob.has_magic(str(path))
    if isinstance(path, StorePath):
        found = _outside(matching(path) if is_pattern else (), out)
    else:
        every = sorted(Path(one) for one in glob.glob(str(path), recursive=True) if os.path.isfile(one))
        found = _outside(every, out)
    if not found:
        what = "no file matches" if is_pattern else "there is no file"
        raise CounterleafError(f"{what} {pattern}")
    return found


def _outside(paths: Iterable[AnyPath], out: AnyPath | None) -> list[AnyPath]:
    return [one for one in paths if out is None or not is_within(one, out)]


def _is_hidden(path: AnyPath, folder: AnyPath) -> bool:
    below = str(path)[len(str(folder)) :] if isinstance(path, Path) else path.key[len(getattr(folder, "key", "")) :]
    return any(part.startswith((".", "_")) for part in below.replace(os.sep, "/").split("/"))


def _fingerprint(path: AnyPath, kind: str) -> tuple[int, str]:
    """Return the size of a file, and a hash of its size and content.

    Of a Parquet file, the hash includes the beginning and the end, which has the places and statistics of all pages.
    """
    if not path.exists():
        raise CounterleafError(f"there is no file {path}; it is an input of the audit")
    if not path.is_file():  # a pipe would block
        raise CounterleafError(f"{path} is not a regular file; expected {', '.join(_SUFFIXES)}")
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        found = hashlib.sha256(str(size).encode())
        while block := file.read(_ENDS):
            found.update(block)
            if kind == PARQUET and file.tell() == _ENDS:
                file.seek(max(_ENDS, size - _ENDS))
    return size, found.hexdigest()
