"""The changes of many rows in words: "age 30 -> 31; job clerk -> nurse"."""

from __future__ import annotations

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.text import source_value
from counterleaf.table.features import MISSING, Feature, Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import word
from counterleaf.types import Array

_MOST = 40  # features that are listed for a row, as many as ``print`` lists


class ChangeWords:
    """Puts changes into words; the words for a value are made once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._old = [_Words(feature, old=True) for feature in schema]
        self._new = [_Words(feature) for feature in schema]

    def of(self, before: Array, after: Array, differ: Array, changed: list[int], answered: Array) -> Array:
        """Return the changes of each row as text, None where it is not ``answered``; ``changed`` are the features that do."""
        out = np.full(len(before), "", object)
        out[~answered] = None
        listed = np.zeros(len(before), np.int64)
        for d in changed:
            lines = np.flatnonzero(differ[:, d] & (listed < _MOST))
            pieces = self._pieces(d, before[lines, d], after[lines, d].tolist())
            texts = zip(out[lines].tolist(), pieces, strict=True)
            out[lines] = [f"{text}; {piece}" if text else piece for text, piece in texts]
            listed[lines] += 1
        more = differ.sum(axis=1) - listed if len(changed) > _MOST else np.zeros(0, np.int64)
        for k in np.flatnonzero(more).tolist():
            out[k] = f"{out[k]}; {more[k]} more"
        return out

    def _pieces(self, d: int, before: Array, after: list[float]) -> list[str]:
        """Return the changes of one feature; if the old value looks like the new one, it gets more digits."""
        name, feature, words = " ".join(self.schema.names[d].splitlines()), self.schema.features[d], self._new[d]
        old, new = self._old[d].of(before), [words[code] for code in after]
        for k in [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a == b]:
            old[k] = source_value(feature, float(before[k]), [new[k]])
        return [f"{name} {a} -> {b}" for a, b in zip(old, new, strict=True)]


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

    def of(self, codes: Array) -> list[str]:
        """Return the words for some codes of the source."""
        values, feature = codes.tolist(), self._feature
        if not isinstance(feature, Numeric) or not feature.any_number:
            return [self[code] for code in values]
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(codes)
            long = (codes.astype(np.float32) != codes) & (np.round(codes, 6) != codes) & (size >= 1e-4) & (size < 999_999)
        # six digits, as ``source_value`` writes these
        return [f"{code:.6g}" if six else self[code] for code, six in zip(values, long.tolist(), strict=True)]

    def _made(self, code: float) -> str:
        feature = self._feature
        if isinstance(feature, Numeric):
            return source_value(feature, code, []) if self._old else plain(code)
        return word(feature.values[int(code)]) if code < len(feature.values) else MISSING
