"""The input files of an audit: found, recognised by their suffix, and identified by a fingerprint."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
        return self.path.lower().endswith(".gz")

    def check(self) -> None:
        """Refuse a file that was changed since the audit began."""
        self.check_same(Input(self.path, self.kind, *_fingerprint(Path(self.path), self.kind)))

    def check_same(self, other: Input) -> None:
        """Refuse the same file as it is now, if it was changed since the audit began."""
        if (other.bytes, other.fingerprint) != (self.bytes, self.fingerprint):
            raise CounterleafError(
                f"{self.path} was changed since the audit began; restore it, or start a new audit with another --out"
            )


def kind_of(path: Path) -> str | None:
    """Return the format of a file by its suffix, None if it is unknown."""
    name = path.name.lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def find_inputs(patterns: Iterable[str | os.PathLike[str]], without: Path | None = None) -> list[Input]:
    """Find the files that paths, folders and patterns name, in a fixed order.

    Parameters
    ----------
    patterns : iterable of str or path-like
        Files, folders (all files in them with a known suffix), or patterns such as ``rows/*.parquet``.
    without : Path, optional
        A folder whose files are not inputs, even if a folder or a pattern includes them.

    Returns
    -------
    list of Input
        The files, in the order of the patterns and within a pattern by name; none appears twice.

    Raises
    ------
    CounterleafError
        If a pattern matches no file, or a file has an unknown suffix, is empty, or has another format than the first.
    """
    paths: dict[str, Path] = {}
    for pattern in patterns:
        for path in _matches(os.fspath(pattern), None if without is None else Path(os.path.realpath(without))):
            paths.setdefault(os.path.realpath(path), path)
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
        out.append(Input(os.path.abspath(path), kind, size, fingerprint))
    return out


def _matches(pattern: str, out: Path | None) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and kind_of(one) and not _is_hidden(one, path))
        found = [one for one in found if out not in Path(os.path.realpath(one)).parents]
        if not found:
            raise CounterleafError(f"{pattern} has no file of a known type; expected {', '.join(_SUFFIXES)}")
        return found
    if path.exists():
        return [path]
    found = sorted(Path(one) for one in glob.glob(pattern, recursive=True) if os.path.isfile(one))
    found = [one for one in found if out not in Path(os.path.realpath(one)).parents]
    if not found:
        what = "no file matches" if glob.has_magic(pattern) else "there is no file"
        raise CounterleafError(f"{what} {pattern}")
    return found


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _fingerprint(path: Path, kind: str) -> tuple[int, str]:
    """Return the size of a file, and a hash of its size and content.

    Of a Parquet file, the hash includes the beginning and the end, which has the places and statistics of all pages.
    """
    if not path.exists():
        raise CounterleafError(f"there is no file {path}; it is an input of the audit")
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
        raise CounterleafError(f"{path} is not a regular file; expected {', '.join(_SUFFIXES)}")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        found = hashlib.sha256(str(status.st_size).encode())
        while block := file.read(_ENDS):
            found.update(block)
            if kind == PARQUET and file.tell() == _ENDS:
                file.seek(max(_ENDS, status.st_size - _ENDS))
    return status.st_size, found.hexdigest()
