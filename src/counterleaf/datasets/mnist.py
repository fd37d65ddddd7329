"""MNIST, too large to come along: from a folder of its IDX files or from OpenML, its content checked either way."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterleaf.datasets.dataset import Dataset
from counterleaf.errors import CounterleafError
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema

Bytes = npt.NDArray[np.uint8]

# sha256 of the training part's bytes followed by the test part's
_SUMS = {
    "pixels": "5b92582eb909c82a9bfefcd44acbe9233be3eb5b419a44cf211022ad2bf4bf96",
    "labels": "671ff9d70b4811116d55c3dd479efa7a981e2e62753ef7a6d5c15fea81e63d27",
}
_KINDS = {"images-idx3": (2051, 3), "labels-idx1": (2049, 1)}  # the number that opens an IDX file, and how many sizes follow


def load_mnist(folder: Any = None, download: bool = False, *, return_X_y: bool = False) -> Any:
    """Which digit is it? 28 x 28 grey levels from 0 to 1, columns ``p0_0`` to ``p27_27`` by row and column.

    ``folder`` holds the four IDX files, plain or as ``.gz``; ``download=True`` asks OpenML through scikit-learn, which keeps a
    copy. Returns a ``Dataset``, or (data, target) with ``return_X_y``. Raises ``CounterleafError`` where the content is not
    MNIST's, byte for byte.

    Examples
    --------
    >>> load_mnist()
    Traceback (most recent call last):
        ...
    counterleaf.errors.CounterleafError: MNIST does not come along; pass folder= with its four IDX files, or download=True
    """
    if folder is None and not download:
        raise CounterleafError("MNIST does not come along; pass folder= with its four IDX files, or download=True")
    if folder is not None and download:
        raise CounterleafError(f"folder is {str(folder)!r} and download is True; pass one of them")
    found = _downloaded() if folder is None else _local(Path(folder))
    for (what, expected), values in zip(_SUMS.items(), found, strict=True):
        got = hashlib.sha256(values.data).hexdigest()
        if got != expected:
            where = "the OpenML copy" if folder is None else str(folder)
            raise CounterleafError(
                f"the {what} in {where} are not MNIST's: sha256 {got[:16]}..., expected {expected[:16]}...; get another copy"
            )
    pixels, labels = found
    names = [f"p{row}_{column}" for row in range(28) for column in range(28)]
    data = pd.DataFrame(pixels.reshape(-1, 784) / 255.0, columns=names)
    target = pd.Series(labels.astype(np.int64), name="digit")
    if return_X_y:
        return data, target
    return Dataset(
        "MNIST",
        data,
        target,
        Schema([Numeric(name, 0, 1) for name in names]),
        60_000,
        "The MNIST database of handwritten digits",
        "LeCun, Y., Bottou, L., Bengio, Y. and Haffner, P. (1998). Gradient-based learning applied to document recognition. "
        "Proceedings of the IEEE 86(11). doi:10.1109/5.726791",
        "copyright Y. LeCun and C. Cortes; CC BY-SA 3.0 as the Keras documentation states it",
        (28, 28),
    )


def _local(folder: Path) -> list[Bytes]:
    """Pixels and labels, the training part before the test part."""
    return [
        np.concatenate([_idx(folder, f"{part}-{kind}-ubyte", *_KINDS[kind]) for part in ("train", "t10k")]) for kind in _KINDS
    ]


def _idx(folder: Path, name: str, magic: int, sizes: int) -> Bytes:
    """The bytes of an IDX file after its header of big-endian 32-bit numbers."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise CounterleafError(f"{folder} has no {name}, plain or .gz; expected the four IDX files of MNIST there")
    raw = path.read_bytes()
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise CounterleafError(f"{path} does not unpack ({error}); get the file again") from None
    header = 4 * (1 + sizes)
    if len(raw) < header or int.from_bytes(raw[:4], "big") != magic:
        raise CounterleafError(
            f"{path} starts with the bytes {raw[:4].hex(' ')}; expected an IDX file, {magic:08x}: is it another?"
        )
    told = math.prod(np.frombuffer(raw, ">u4", sizes, offset=4).tolist())
    if len(raw) - header != told:
        raise CounterleafError(f"{path} has {len(raw) - header} bytes of content; its header says {told}: get the file again")
    return np.frombuffer(raw, np.uint8, offset=header)


def _downloaded() -> list[Bytes]:
    from sklearn.datasets import fetch_openml

    try:
        data, target = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    except (OSError, HTTPException, EOFError, ValueError) as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise CounterleafError(
            f"MNIST did not come from OpenML ({told}); check the network, or pass folder= with its four IDX files"
        ) from error
    return [np.ascontiguousarray(values, dtype=np.uint8) for values in (data, target.astype(np.int64))]
