"""Arrays inside JSON, compressed: numbers are restored bit for bit, and a file cannot make them larger than its length allows.

An array is an object with the format of its numbers, its shape, and the base64 text of a zlib stream. The stream has the first
bytes of all numbers, then the second ones, and so on, in little-endian order, which compresses better than number by number.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief
from counterleaf.types import Array

_LEVEL = 6  # of zlib
_WHOLE, _REAL, _BYTES = ("i1", "i2", "i4", "i8"), ("f4", "f8"), ("u1",)
_FIELDS = {"dtype", "shape", "zlib"}
_ROOM = 1 << 27  # bytes that any file may need in memory
_RATIO = 200  # bytes that each character of a file may need besides
_most_room: ContextVar[float] = ContextVar("most_room", default=math.inf)  # bytes, for files from unknown sources


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Refuse files whose arrays need more than this number of bytes, however long the files are."""
    token = _most_room.set(most)
    try:
        yield
    finally:
        _most_room.reset(token)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """An array that is compressed when it is written; two are equal if they would be written alike."""

    array: Array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed) or self.array.dtype != other.array.dtype or self.array.shape != other.array.shape:
            return False
        return self.array is other.array or self.array.tobytes() == other.array.tobytes()

    __hash__ = None  # type: ignore[assignment]  # compared by value, and changeable

    def written(self) -> dict[str, Any]:
        """Return the array as JSON holds it."""
        size = self.array.dtype.itemsize
        content = self.array.tobytes() if size == 1 else self.array.reshape(-1, 1).view(np.uint8).T.tobytes()
        return self._object(base64.b64encode(zlib.compress(content, _LEVEL)).decode("ascii"))

    def digest(self) -> dict[str, Any]:
        """Return the same with a digest of the numbers, which does not depend on the version of zlib."""
        return self._object(hashlib.sha256(self.array.tobytes()).hexdigest())

    def _object(self, text: str) -> dict[str, Any]:
        return {"dtype": self.array.dtype.str[1:], "shape": list(self.array.shape), "zlib": text}


def pack(array: Any) -> Packed:
    """Return whole numbers, truth values or floats in the smallest format that holds them exactly; bytes stay as they are."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "b":
        return Packed(array.astype("i1"))
    if array.dtype.kind == "f":
        array = array.astype("<f8")
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = array.astype("<f4")
        return Packed(narrow if narrow.astype("<f8").tobytes() == array.tobytes() else array)
    if array.dtype == np.uint8:
        return Packed(array)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kind = next(kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return Packed(array.astype(f"<{kind}"))


def dumps(content: Any, of_array: Callable[[Packed], Any] = Packed.written) -> str:
    """Return JSON text in which arrays are compressed."""

    def default(value: Any) -> Any:
        if isinstance(value, Packed):
            return of_array(value)
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    return json.dumps(content, allow_nan=False, default=default)


def plain(content: Any) -> Any:
    """Return content as a strict reader would read it, with a digest in place of each array, for comparisons."""
    return json.loads(dumps(content, Packed.digest))


class Unpacker:
    """Reads the arrays of one file, each once; the file's length in characters limits the memory that they may need."""

    def __init__(self, length: int, what: str) -> None:
        self._room, self._what = min(_ROOM + _RATIO * length, _most_room.get()), what
        self._known: dict[int, tuple[Any, Array]] = {}  # by the identity of the JSON object, which is kept alive

    def whole(self, name: str, content: Any, *shape: int | None) -> Array:
        """Return whole numbers; the ``shape`` has None for any length."""
        return self._read(name, content, _WHOLE, shape, np.int64)

    def real(self, name: str, content: Any, *shape: int | None) -> Array:
        """Return floats, of which all are finite."""
        out = self._read(name, content, _REAL, shape, np.float64)
        if not np.isfinite(out).all():
            raise self._damaged(name, "it holds NaN or infinity")
        return out

    def octets(self, name: str, content: Any) -> Array:
        """Return bytes."""
        return self._read(name, content, _BYTES, (None,), np.uint8)

    def digests(self, content: Any) -> Any:
        """Return content with a digest in place of each array that was read, as ``plain`` does with what is written."""
        if isinstance(content, dict):
            known = self._known.get(id(content))
            if known is not None:
                return Packed(known[1]).digest()
            return {name: self.digests(value) for name, value in content.items()}
        return [self.digests(value) for value in content] if isinstance(content, list) else content

    def _damaged(self, name: str, why: str) -> CounterleafError:
        return CounterleafError(f"{self._what} has a damaged array {name!r}: {why}; write it again with to_json")

    def _read(self, name: str, content: Any, kinds: tuple[str, ...], shape: tuple[int | None, ...], wide: Any) -> Array:
        stored = self._stored(name, content, kinds)
        if len(stored.shape) != len(shape) or any(a not in (None, b) for a, b in zip(shape, stored.shape, strict=True)):
            expected = " x ".join("any" if size is None else f"{size:,}" for size in shape)
            found = " x ".join(f"{size:,}" for size in stored.shape)
            raise self._damaged(name, f"it has {found} numbers, expected {expected}")
        return stored.astype(wide)

    def _stored(self, name: str, content: Any, kinds: tuple[str, ...]) -> Array:
        """The array in the format of the file; its size is checked before it is decompressed."""
        if not isinstance(content, dict) or content.keys() != _FIELDS:
            raise self._damaged(name, "expected an object with dtype, shape and zlib")
        kind, shape, text = content["dtype"], content["shape"], content["zlib"]
        if kind not in kinds if isinstance(kind, str) else True:
            raise self._damaged(name, f"its dtype is {brief(kind)}, expected one of {', '.join(kinds)}")
        if id(content) in self._known:
            return self._known[id(content)][1]
        if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
            raise self._damaged(name, f"its shape is {brief(shape)}")
        count = math.prod(shape)
        if count * 8 > self._room or max(shape, default=0) * 8 > self._room:
            raise self._damaged(name, "it claims more numbers than a file of this length can hold")
        self._room -= count * 8
        array = np.frombuffer(self._decompressed(name, text, count * int(kind[1])), np.uint8)
        array = np.ascontiguousarray(array.reshape(int(kind[1]), count).T).view(f"<{kind}" if kind[1] != "1" else kind)
        out = array.reshape(shape)
        self._known[id(content)] = content, out
        return out

    def _decompressed(self, name: str, text: Any, size: int) -> bytes:
        try:
            stream = zlib.decompressobj()
            out = stream.decompress(base64.b64decode(text, validate=True), size + 1)
            if len(out) == size and not stream.eof:
                out += stream.decompress(stream.unconsumed_tail, 1)  # the end of the stream, which holds its checksum
        except (binascii.Error, zlib.error, TypeError, ValueError):
            raise self._damaged(name, "it cannot be decompressed") from None
        if len(out) != size or not stream.eof or stream.unused_data:
            raise self._damaged(name, "it does not have the stated number of bytes")
        return out
