"""The changes of many rows in words: "age 30 -> 31; job clerk -> nurse"."""

from __future__ import annotations

import struct

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.text import source_value, word
from counterleaf.table.features import MISSING, Feature, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_FLOAT32 = struct.Struct("f")
_LARGEST = float(np.finfo(np.float32).max)
_SHORT = 8  # characters that are not worth shortening
_MOST = 40  # features that are listed for a row, as many as ``print`` lists


class ChangeWords:
    """Puts changes into words; the words for a value are made once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._old = [_Words(feature, old=True) for feature in schema]
        self._new = [_Words(feature) for feature in schema]

    def of(self, before: Array, after: Array, differ: Array, changed: list[int], answered: Array) -> Array:
        """Return the changes of each row.

        Parameters
        ----------
        before, after : (n, F) array
            The codes of the rows and of the answers.
        differ : (n, F) array
            Whether a feature changes.
        changed : list of int
            The features that change in some row.
        answered : (n,) array
            Whether the row has an answer.

        Returns
        -------
        (n,) array
            Text, empty where nothing changes; None where there is no answer.
        """
        out = np.full(len(before), "", object)
        out[~answered] = None
        listed = np.zeros(len(before), np.int64)
        for d in changed:
            lines = np.flatnonzero(differ[:, d] & (listed < _MOST))
            pieces = self._pieces(d, before[lines, d].tolist(), after[lines, d].tolist())
            texts = zip(out[lines].tolist(), pieces, strict=True)
            out[lines] = [f"{text}; {piece}" if text else piece for text, piece in texts]
            listed[lines] += 1
        more = differ.sum(axis=1) - listed if len(changed) > _MOST else np.zeros(0, np.int64)
        for k in np.flatnonzero(more).tolist():
            out[k] = f"{out[k]}; {more[k]} more"
        return out

    def _pieces(self, d: int, before: list[float], after: list[float]) -> list[str]:
        """Return the changes of one feature; if the old value looks like the new one, it gets more digits."""
        name, feature = " ".join(self.schema.names[d].splitlines()), self.schema.features[d]
        old_words, new_words = self._old[d], self._new[d]
        pairs = [(old_words[a], new_words[b]) for a, b in zip(before, after, strict=True)]
        for k in [k for k, (old, new) in enumerate(pairs) if old == new]:
            pairs[k] = source_value(feature, before[k], [pairs[k][1]]), pairs[k][1]
        return [f"{name} {old} -> {new}" for old, new in pairs]


class _Words(dict[float, str]):
    """The words for the codes of a feature, made when they are first needed."""

    def __init__(self, feature: Feature, old: bool = False) -> None:
        super().__init__()
        self._feature, self._old = feature, old

    def __missing__(self, code: float) -> str:
        if code != code:  # each NaN is a key of its own
            return MISSING
        self[code] = text = self._made(code)
        return text

    def _made(self, code: float) -> str:
        feature = self._feature
        if not isinstance(feature, Numeric):
            return word(feature.values[int(code)]) if code < len(feature.values) else MISSING
        text = plain(code)
        if not self._old or len(text) <= _SHORT:
            return text
        if feature.grid is None and not code.is_integer() and not _is_narrow(code):
            short = f"{code:.6g}"  # as ``source_value`` writes it, which is slower
            return plain(short) if "e" in short else short
        return source_value(feature, code, [])


def _is_narrow(number: float) -> bool:
    """Return whether a number is a float32, which is written with fewer digits."""
    return abs(number) <= _LARGEST and _FLOAT32.unpack(_FLOAT32.pack(number))[0] == number
