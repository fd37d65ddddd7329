"""MNIST, which is too large to bundle: read from its IDX files or from OpenML, and checked against a checksum."""

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
_KINDS = {
    "images-idx3": (2051, 3),
    "labels-idx1": (2049, 1),
}  # the first number of an IDX file, and the number of sizes after it


def load_mnist(folder: Any = None, download: bool = False, *, return_X_y: bool = False) -> Any:
    """Load MNIST, images of handwritten digits.

    The label is the digit; the features are 28 x 28 grey levels from 0 to 1, in columns from ``p0_0`` to ``p27_27`` by row and
    column of the image.

    Parameters
    ----------
    folder : str, Path or None, default=None
        Folder with the four IDX files, plain or as ``.gz``.
    download : bool, default=False
        Download the data from OpenML through scikit-learn, which caches a copy.
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Raises
    ------
    CounterleafError
        If the files cannot be read, or their content is not exactly that of MNIST.

    Examples
    --------
    >>> load_mnist()
    Traceback (most recent call last):
        ...
    counterleaf.errors.CounterleafError: MNIST is not bundled; pass folder= with its four IDX files, or download=True
    """
    if folder is None and not download:
        raise CounterleafError("MNIST is not bundled; pass folder= with its four IDX files, or download=True")
    if folder is not None and download:
        raise CounterleafError(f"folder is {str(folder)!r} and download is True; pass one of them")
    arrays = (
        _download()
        if folder is None
        else [
            np.concatenate([_read_idx(Path(folder), f"{part}-{kind}-ubyte", *_KINDS[kind]) for part in ("train", "t10k")])
            for kind in _KINDS
        ]
    )
    for (part, expected), values in zip(_SUMS.items(), arrays, strict=True):
        digest = hashlib.sha256(values.data).hexdigest()
        if digest != expected:
            where = "the OpenML copy" if folder is None else str(folder)
            raise CounterleafError(
                f"the {part} in {where} are not MNIST's: sha256 {digest[:16]}..., expected {expected[:16]}...; get another copy"
            )
    pixels, labels = arrays
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


def _read_idx(folder: Path, name: str, magic: int, sizes: int) -> Bytes:
    """The bytes of an IDX file after its header of big-endian 32-bit numbers."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise CounterleafError(f"{folder} has no {name}, plain or .gz; expected the four IDX files of MNIST there")
    raw = path.read_bytes()
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise CounterleafError(f"{path} cannot be unpacked ({error}); get the file again") from None
    header = 4 * (1 + sizes)
    if len(raw) < header or int.from_bytes(raw[:4], "big") != magic:
        raise CounterleafError(
            f"{path} starts with the bytes {raw[:4].hex(' ')}; expected an IDX file, {magic:08x}: check the file"
        )
    size = math.prod(np.frombuffer(raw, ">u4", sizes, offset=4).tolist())
    if len(raw) - header != size:
        raise CounterleafError(f"{path} has {len(raw) - header} bytes of content; the header says {size}: get it again")
    return np.frombuffer(raw, np.uint8, offset=header)


def _download() -> list[Bytes]:
    from sklearn.datasets import fetch_openml  # only a download needs scikit-learn

    try:
        data, target = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    except (OSError, HTTPException, EOFError, ValueError) as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise CounterleafError(
            f"cannot download MNIST from OpenML ({message}); check the network, or pass folder= with its IDX files"
        ) from error
    return [np.ascontiguousarray(values, dtype=np.uint8) for values in (data, target.astype(np.int64))]
