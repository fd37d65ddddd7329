"""Files on this machine and in stores such as S3, under one interface, and how a whole file is written and found.

A path of this machine is a ``pathlib.Path``; a ``StorePath`` has those of its methods that an audit uses. Files on this machine
appear by a rename once they are on the disk. A store keeps an object once it is complete.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from counterleaf.errors import CounterleafError, brief, flat

TEMPORARY = ".tmp"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/?]*)([^?]*)(\?.*)?", re.DOTALL)
_MAGIC = re.compile(r"[*\[]")  # not "?", which begins the options of an address
_PATIENCE = "retry_limit_seconds=20"  # of Google's store, which otherwise tries for a quarter of an hour


@dataclass(frozen=True, slots=True)
class StorePath:
    """An object in a store, or a prefix of objects: ``root`` such as ``s3://bucket``, ``key``, and ``options`` after ``?``."""

    root: str
    key: str
    options: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}{self.options}"

    def __truediv__(self, name: str) -> StorePath:
        return replace(self, key=f"{self.key}/{name}".lstrip("/"))

    @property
    def name(self) -> str:
        """The part of the key after the last slash."""
        return self.key.rpartition("/")[2]

    def is_file(self) -> bool:
        """Whether there is such an object."""
        return bool(self._info().is_file)

    def exists(self) -> bool:
        """Whether there is such an object, or one below it."""
        return self.is_file() or self.is_dir()

    def is_dir(self) -> bool:
        """Whether there are objects below it."""
        return bool(self._info().type.name == "Directory")

    def read_bytes(self) -> bytes:
        """Return the content."""
        with self.open() as file:
            return bytes(file.read())

    def open(self) -> BinaryIO:
        """Open the object for reading at any position."""
        with self._store() as (store, path):
            file: BinaryIO = store.open_input_file(path)
            return file

    def write_bytes(self, content: bytes) -> None:
        """Write the whole object."""
        with self._store() as (store, path):
            try:
                stream = store.open_output_stream(path, compression=None)
            except FileNotFoundError:  # a store with folders
                store.create_dir(path.rpartition("/")[0], recursive=True)
                stream = store.open_output_stream(path, compression=None)
            with stream:
                stream.write(content)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object."""
        if not missing_ok or self.is_file():
            with self._store() as (store, path):
                store.delete_file(path)

    def files(self) -> list[StorePath]:
        """Return all objects below it."""
        from pyarrow.fs import FileSelector

        with self._store() as (store, path):
            found = store.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
        names = [one.path[len(path) :].lstrip("/") for one in found if one.is_file]
        return [self / name for name in sorted(names)]

    def _info(self) -> Any:
        with self._store() as (store, path):
            return store.get_file_info(path)

    @contextlib.contextmanager
    def _store(self) -> Iterator[tuple[Any, str]]:
        """Yield the store and the path in it; every store has its own errors."""
        try:
            store, base = _connected(self.root, self.options)
            yield store, f"{base}/{self.key}".rstrip("/") or "/"
        except CounterleafError:
            raise
        except Exception as error:
            reason = flat(error)[:400] or type(error).__name__
            raise CounterleafError(f"{self.root}/{self.key} cannot be reached: {reason}") from None


AnyPath = Path | StorePath


def place(path: Any) -> AnyPath:
    """Return the path of a text, a path or an address such as ``s3://bucket/rows``."""
    if isinstance(path, StorePath):
        return path
    try:
        text = os.fspath(path)
        found = _ADDRESS.fullmatch(text if isinstance(text, str) else os.fsdecode(text))
    except TypeError:
        raise CounterleafError(f"the path is {brief(path)}; expected text, a path or an address such as s3://bucket") from None
    if found is None:
        return Path(os.fsdecode(text))
    scheme, host, key, options = found.groups()
    scheme = scheme.lower()
    if scheme == "file":
        if host not in ("", "localhost"):
            raise CounterleafError(f"{path} is on another machine; expected file:///folder/name")
        return Path(unquote(key))
    if ":" in host.rpartition("@")[0]:
        raise CounterleafError(
            f"the {scheme}:// address holds a password, which the manifest would keep; pass it by the environment"
        )
    return StorePath(f"{scheme}://{host}", key.strip("/"), options or "")


@functools.lru_cache
def _connected(root: str, options: str) -> tuple[Any, str]:
    """Return the store of an address and the path of its root in it; fsspec has those that pyarrow does not know."""
    import pyarrow as pa
    from pyarrow import fs

    scheme = root.partition(":")[0]
    if scheme in ("gs", "gcs") and "retry_limit_seconds" not in options:
        options = f"{options}&{_PATIENCE}" if options else f"?{_PATIENCE}"
    try:
        store, path = fs.FileSystem.from_uri(f"{root}/{options}")
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            raise
        if options:
            raise CounterleafError(f"{root}{options}: options of {scheme}:// are not known; omit what follows the ?") from None
        try:
            from fsspec.core import url_to_fs

            inner, path = url_to_fs(f"{root}/")
        except (ImportError, ValueError) as missing:
            raise CounterleafError(
                f"no file system for {scheme}:// ({flat(missing)}); expected a path, s3://, gs://, abfs://, hdfs://, or what "
                "an installed package of fsspec reads"
            ) from None
        store = fs.PyFileSystem(fs.FSSpecHandler(inner))
    return store, path.rstrip("/")


def open_file(path: AnyPath) -> BinaryIO:
    """Open a file for reading at any position."""
    return path.open() if isinstance(path, StorePath) else path.open("rb")


def absolute(path: AnyPath) -> str:
    """Return a path as text that does not depend on the working directory."""
    return str(path) if isinstance(path, StorePath) else os.path.abspath(path)


def resolved(path: AnyPath) -> str:
    """Return what two paths of the same file have in common."""
    return str(path) if isinstance(path, StorePath) else os.path.realpath(path)


def is_within(path: AnyPath, folder: AnyPath) -> bool:
    """Whether a file is in a folder, at any depth."""
    if isinstance(path, StorePath) and isinstance(folder, StorePath):
        return path.root == folder.root and path.key.startswith(f"{folder.key}/".lstrip("/"))
    if isinstance(path, StorePath) or isinstance(folder, StorePath):
        return False
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def matching(pattern: StorePath) -> list[StorePath]:
    """Return the objects whose keys match a pattern, by name; ``**`` stands for any number of folders."""
    pieces = pattern.key.split("/")
    fixed = next(k for k, piece in enumerate(pieces) if _MAGIC.search(piece))
    rule = "".join("(?:[^/]+/)*" if piece == "**" else f"{_piece(piece)}/" for piece in pieces)
    wanted = re.compile(rule.removesuffix("/"), re.DOTALL)
    return [one for one in replace(pattern, key="/".join(pieces[:fixed])).files() if wanted.fullmatch(one.key)]


def _piece(pattern: str) -> str:
    """Return one piece of a pattern as a regular expression that stays within a folder."""
    texts = re.split(r"(\*|\[[^\]]+\])", pattern)
    known = {"*": "[^/]*"}
    return "".join(known.get(text, fnmatch.translate(text)[4:-3] if text[:1] == "[" else re.escape(text)) for text in texts)


def has_magic(path: StorePath) -> bool:
    """Whether a key is a pattern."""
    return _MAGIC.search(path.key) is not None


def write_whole(path: AnyPath, content: bytes) -> None:
    """Write a file of which other processes see nothing or everything, also after a power failure."""
    if isinstance(path, StorePath):
        path.write_bytes(content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
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
