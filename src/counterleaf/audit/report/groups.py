"""The groups of a report: the values of a column, or intervals of a number."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, near, number, some, values_of
from counterleaf.table.frames import Column, factorized, kind_of, numbers_of
from counterleaf.table.words import word
from counterleaf.types import Array

MISSING, OTHER, ALL = "(missing)", "(other)", "all rows"
MOST = 12  # groups of a column; of more values, the most frequent are kept
_MOST_VALUES = 100_000  # different values of a column
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class By:
    """A column whose values are groups, or whose numbers are cut at ``bounds``."""

    column: str
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A division of the rows: the name of a column, the names of its groups, and the group of each row."""

    name: str
    labels: tuple[str, ...]
    codes: Array  # positions in labels

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, code: int) -> str:
        """Return a group in words: "sex = f"."""
        return f"{self.name} = {self.labels[code]}" if self.name else self.labels[code]


def everyone(n: int) -> Grouping:
    """Return the division into one group."""
    return Grouping("", (ALL,), np.zeros(n, np.int8))


def crossed(a: Grouping, b: Grouping) -> Grouping:
    """Return the division into the pairs of groups of two columns."""
    labels = tuple(f"{one}, {other}" for one, other in itertools.product(a.labels, b.labels))
    return Grouping(f"{a.name} and {b.name}", labels, a.codes.astype(np.int32) * len(b) + b.codes)


def read_by(by: Any, names: Sequence[str], what: str = "the frame") -> tuple[By, ...]:
    """Read the columns that make the groups, each alone or with bounds: ``"age:25,40"`` or ``("age", [25, 40])``."""
    if by is None:
        by = ()
    expected = 'names of columns, such as ["sex", "age:25,40"]'
    single = [by] if isinstance(by, str) else None
    items = list(by.items()) if isinstance(by, Mapping) else single or values_of(by, "by", expected)
    found: list[By] = []
    for item in items:
        one = _read_one(item, names, what)
        if any(one.column == other.column for other in found):
            raise CounterleafError(f"by names {one.column!r} twice; expected each column once")
        found.append(one)
    return tuple(found)


def _read_one(item: Any, names: Sequence[str], what: str) -> By:
    bounds: Any = ()
    column = item
    if isinstance(item, tuple) and len(item) == 2:
        column, bounds = item
    if isinstance(column, str) and column not in names and ":" in column:
        column, _, text = column.rpartition(":")
        bounds = [one.strip() for one in text.split(",")]
    if not isinstance(column, str):
        raise CounterleafError(f'by contains {brief(item)}; expected the name of a column, such as "sex" or "age:25,40"')
    if column not in names:
        hint = near(column, names) or f"; its columns are {some(names)}"
        raise CounterleafError(f"{what} has no column {column!r} to group by{hint}")
    return By(column, _read_bounds(column, () if bounds is None else bounds))


def _read_bounds(column: str, bounds: Any) -> tuple[float, ...]:
    if isinstance(bounds, str) or not isinstance(bounds, Iterable):
        raise CounterleafError(f"the bounds of {column!r} are {brief(bounds)}; expected numbers, such as [25, 40]")
    out: list[float] = []
    for bound in bounds:
        try:
            out.append(number(float(bound) if isinstance(bound, str) else bound, f"a bound of {column!r}"))
        except ValueError as error:
            if isinstance(error, CounterleafError):
                raise
            raise CounterleafError(f"a bound of {column!r} is {bound!r}; expected a number, as in {column}:25,40") from None
    if any(b <= a for a, b in itertools.pairwise(out)):
        raise CounterleafError(f"the bounds of {column!r} are {brief(out)}; expected increasing numbers")
    return tuple(out)


class GroupColumn:
    """Collects a column, a block of rows at a time, and divides it into groups at the end.

    A column without bounds is kept as whole numbers of 4 bytes, or as floats if it holds numbers. With ``text``, numbers may
    be written as text, as in a CSV file.
    """

    def __init__(self, by: By, text: bool = False) -> None:
        self.by, self.name, self._text = by, by.column, text
        self._parts: list[Array] = []
        self._values: dict[Any, int] = {}  # in order of appearance
        self._numeric: bool | None = bool(by.bounds) or None
        self._categories: list[Any] = []  # of a pandas categorical column, in its order

    def add(self, column: Column) -> None:
        """Add the next rows."""
        numeric = kind_of(column) in "iuf" and not self._values
        if self.by.bounds or (numeric and self._numeric is not False):
            self._numeric = True
            numbers = self._numbers(column)
            self._parts.append(_bins(numbers, self.by.bounds) if self.by.bounds else numbers)
            return
        if self._numeric:  # the blocks before held numbers
            self._give_up_numbers()
        self._numeric = False
        try:
            places, values = factorized(column)
        except TypeError:
            raise CounterleafError(f"column {self.by.column!r} has values that cannot be groups, such as lists") from None
        if hasattr(column, "cat") and not self._values and not self._text:  # in files, the order is that of appearance
            self._categories = values
        codes = np.array([*(self._code(value) for value in values), -1], np.int32)
        self._parts.append(codes[places])

    @property
    def is_numeric(self) -> bool:
        """Whether the groups are intervals of a number or single numbers."""
        return bool(self._numeric)

    def _numbers(self, column: Column) -> Array:
        """Return a column as numbers, which may be written as text."""
        if not self._text or kind_of(column) != "O":
            return numbers_of(column, self.by.column)
        places, values = factorized(column)
        return np.array([*(_number(self.by.column, value) for value in values), np.nan])[places]

    def _give_up_numbers(self) -> None:
        """Keep the numbers of the blocks before as values."""
        for k, part in enumerate(self._parts):
            values, places = np.unique(part, return_inverse=True)
            codes = np.array([-1 if math.isnan(v) else self._code(int(v) if v.is_integer() else v) for v in values.tolist()])
            self._parts[k] = codes.astype(np.int32)[places]

    def _code(self, value: Any) -> int:
        found = self._values.setdefault(value, len(self._values))
        if found >= _MOST_VALUES:
            raise CounterleafError(
                f"column {self.by.column!r} has more than {_MOST_VALUES:,} different values; group by another column"
            )
        return found

    def settle(self) -> None:
        """Fix the bounds of a number at the quartiles of the rows so far, so that less is kept of the others."""
        values = np.concatenate(self._parts)
        there = values[~np.isnan(values)]
        if len(np.unique(there)) > MOST:
            self.by = By(self.by.column, tuple(quartile_bounds(there)))
            self._parts = [_bins(values, self.by.bounds)]

    def grouping(self) -> tuple[Grouping, list[str]]:
        """Return the groups, and remarks on how they were made."""
        name, parts = self.by.column, self._parts
        whole = np.concatenate(parts) if len(parts) != 1 else parts[0]
        self._parts = []
        if self.by.bounds:
            return _used(Grouping(name, (*intervals(self.by.bounds), MISSING), whole)), []
        if not self._numeric and self._text and self._values:
            whole = self._numbers_in_text(whole)
        return _of_numbers(name, whole) if self._numeric else self._of_values(name, whole)

    def _numbers_in_text(self, codes: Array) -> Array:
        """Return the numbers of a column if all of its texts are different numbers as programs write them, else its codes."""
        if not all(isinstance(value, str) and _NUMBER.fullmatch(value) for value in self._values):
            return codes  # "007" is a code
        numbers = np.array([*(float(value) for value in self._values), np.nan])
        if len(np.unique(numbers[:-1])) < len(self._values):
            return codes
        self._numeric = True
        return numbers[codes]

    def _of_values(self, name: str, codes: Array) -> tuple[Grouping, list[str]]:
        values = list(self._values)
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        rank = {value: k for k, value in enumerate(self._categories)}
        order = sorted(range(len(values)), key=lambda k: (rank.get(values[k], len(rank)), str(values[k])))
        order = [k for k in order if counts[k]]
        notes = []
        if len(order) > MOST:
            if 2 * len(order) > counts.sum():
                raise CounterleafError(
                    f"column {name!r} has {len(order):,} different values in {counts.sum():,} rows; group by another column"
                )
            common = sorted(order, key=lambda k: -counts[k])[: MOST - 1]
            notes.append(
                f"{name} has {len(order):,} different values: the {MOST - 1} most frequent are groups, the others are {OTHER}."
            )
            order = [k for k in order if k in common]
        place = np.full(len(values) + 1, len(order), np.int16)  # the group of all other values
        place[order] = np.arange(len(order))
        place[-1] = len(order) + 1  # of the code -1
        labels = [word(values[k]) for k in order]
        labels = [repr(one) if one in (OTHER, MISSING) else one for one in labels]
        return _used(Grouping(name, (*labels, OTHER, MISSING), place[codes])), notes


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise CounterleafError(f"column {name!r} of the data holds {value!r}; expected numbers") from None


def _bins(values: Array, bounds: Sequence[float]) -> Array:
    codes = np.searchsorted(bounds, values, side="right")
    codes[np.isnan(values)] = len(bounds) + 1
    return codes.astype(np.int16)


def intervals(bounds: Sequence[float], write: Callable[[float], str] | None = None) -> list[str]:
    """Return the intervals between some bounds in words; ``write`` writes a bound."""
    texts = [(write or as_bound)(bound) for bound in bounds]
    between = [f"{low} to under {high}" for low, high in itertools.pairwise(texts)]
    return [f"under {texts[0]}", *between, f"{texts[-1]} or more"]


def as_bound(value: float) -> str:
    """Return a number as people write it: 25, not 25.0."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.10g}"


def _of_numbers(name: str, values: Array) -> tuple[Grouping, list[str]]:
    """Return one group per number if there are few, else quarters of the rows."""
    there = values[~np.isnan(values)]
    few = np.unique(there[:100_000])
    few = np.unique(there) if len(few) <= MOST else few
    if len(few) <= MOST:
        codes = np.searchsorted(few, values)  # NaN comes last
        return _used(Grouping(name, (*map(as_bound, few.tolist()), MISSING), codes.astype(np.int16))), []
    bounds = quartile_bounds(there)
    written = ", ".join(map(as_bound, bounds))
    note = (
        f"{name} has many different numbers and no bounds: its groups are quarters of the rows, cut at {written}. "
        f'Other bounds: "{name}:{",".join(map(as_bound, bounds))}".'
    )
    return _used(Grouping(name, (*intervals(bounds), MISSING), _bins(values, bounds))), [note]


def quartile_bounds(values: Array) -> list[float]:
    """Return the different quartiles of some different numbers that divide them; else the second smallest number."""
    ordered = np.sort(values)
    cuts = np.unique(ordered[[len(values) * k // 4 for k in (1, 2, 3)]])
    return [float(cut) for cut in cuts if cut > ordered[0]] or [float(ordered[ordered > ordered[0]][0])]


def _used(grouping: Grouping) -> Grouping:
    """Return a division without its empty groups."""
    counts = np.bincount(grouping.codes, minlength=len(grouping))
    if counts.all():
        return grouping
    place = np.cumsum(counts > 0) - 1
    labels = tuple(label for label, count in zip(grouping.labels, counts.tolist(), strict=True) if count)
    return Grouping(grouping.name, labels, place.astype(np.int16)[grouping.codes])
