"""The answers of all rows in few bytes each: what became of the row, its cost, and which features change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from counterleaf.question.query import Probability, Value
from counterleaf.question.words import classes_of
from counterleaf.table.features import Feature
from counterleaf.table.frames import Column, Frame, cells_of, column_names, factorized, kind_of, numbers_of, take
from counterleaf.table.output import INVALID, STATUSES
from counterleaf.table.rows import TableRows, differs
from counterleaf.types import Array, is_missing

_MOST_PROBLEMS = 1000  # different reasons that are counted
_MOST_CHANGES = 2_000_000  # changes whose old and new values are kept; of more, a random part


class State(IntEnum):
    """What is known of a row."""

    HAS = 0  # the model already says the target
    CAN = 1  # the cheapest change is proved
    FOUND = 2  # a change was found before a limit stopped the search, perhaps not the cheapest
    CANNOT = 3  # proved: no change within the constraints reaches the target
    OPEN = 4  # a limit stopped the search before it found a change, or the model does not confirm the change
    INVALID = 5  # the row cannot be explained


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The changes of one feature: positions of the rows, codes before and after; a missing number is NaN, imputed or not."""

    rows: Array
    old: Array
    new: Array


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The answers of some rows next to each other."""

    status: Array  # positions in STATUSES
    costs: Array
    has: Array  # whether the model already says the target
    changes: Mapping[int, Values]  # by feature; rows from 0
    unconfirmed: Array  # whether there is an answer that the model did not confirm
    problems: Mapping[str, int] = field(default_factory=dict)  # why rows are invalid, and how many


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The answers of all rows.

    A row takes 13 bytes: its state, its cost, and the set of features that change, as a position in ``sets``.
    """

    state: Array
    costs: Array  # NaN unless a change is known
    patterns: Array  # -1 unless a change is known
    sets: tuple[tuple[int, ...], ...]
    values: Mapping[int, Values]
    kept: float  # the share of the rows with a change that are in ``values``
    unconfirmed: int
    outside: int  # rows that have the target but do not satisfy the constraints or the margin themselves
    problems: tuple[tuple[str, int], ...] = ()  # the most frequent reasons why rows are invalid

    def __len__(self) -> int:
        return len(self.state)

    @property
    def reached(self) -> Array:
        """Positions of the rows with a change that reaches the target."""
        return np.flatnonzero((self.state == State.CAN) | (self.state == State.FOUND))


class Collector:
    """Collects blocks of answers.

    The old and new values of at most ``most`` changes are kept. If there are more, each row with a change stays with the
    same probability, which depends on the seed and on the blocks, not on the answers.
    """

    def __init__(self, seed: int, most: int = _MOST_CHANGES) -> None:
        self._rng, self._most = np.random.default_rng([seed, 1]), most
        self._blocks: list[tuple[Array, Array, Array]] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._values: dict[int, list[tuple[Array, Array, Array, Array]]] = {}  # feature -> rows, old, new, chances
        self._problems: Counter[str] = Counter()
        self._kept, self._share, self._n, self._unconfirmed, self._outside = 0, 1.0, 0, 0, 0

    def add(self, block: Block) -> None:
        """Add the next rows."""
        state = _states(block)
        reached = (state == State.CAN) | (state == State.FOUND)
        patterns, sets = _patterns(len(state), block.changes)
        codes = np.array([self._known.setdefault(one, len(self._known)) for one in sets], np.int32)
        self._blocks.append((state, np.where(reached, block.costs, np.nan), np.where(reached, codes[patterns], -1)))
        chance = self._rng.random(len(state))
        chance[~reached] = 2.0  # a row that has the target may change all the same, for a margin or a gain
        for d, one in block.changes.items():
            keep = chance[one.rows] < self._share
            kept = one.rows[keep] + self._n, one.old[keep], one.new[keep], chance[one.rows][keep]
            self._values.setdefault(d, []).append(kept)
            self._kept += len(kept[0])
        while self._kept > self._most:
            self._thin()
        self._n += len(state)
        self._unconfirmed += int(np.count_nonzero(block.unconfirmed & (state == State.OPEN)))
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.update(block.problems)
        settled = ~np.isnan(block.costs)
        for one in block.changes.values():
            settled[one.rows] = False
        self._outside += int(np.count_nonzero((state == State.HAS) & ~settled))

    def _thin(self) -> None:
        """Halve the share of the rows whose values are kept."""
        self._share /= 2
        self._kept = 0
        for d, parts in self._values.items():
            whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
            keep = whole[3] < self._share
            self._values[d] = [tuple(column[keep] for column in whole)]  # type: ignore[list-item]  # of the same length
            self._kept += int(keep.sum())

    def cases(self) -> Cases:
        """Return the answers of all rows."""
        values = {}
        for d in sorted(self._values):
            rows, old, new, _ = (np.concatenate(column) for column in zip(*self._values.pop(d), strict=True))
            values[d] = Values(rows, old, new)
        parts = [list(part) for part in zip(*self._blocks, strict=True)] or [[np.empty(0)]] * 3
        self._blocks = []
        state, costs, patterns = (np.concatenate(parts.pop(0)) for _ in range(3))
        return Cases(
            state.astype(np.int8, copy=False),
            costs.astype(float, copy=False),
            patterns.astype(np.int32, copy=False),
            tuple(self._known),
            values,
            self._share,
            self._unconfirmed,
            self._outside,
            tuple(sorted(self._problems.items(), key=lambda one: (-one[1], one[0]))[:3]),
        )


def _states(block: Block) -> Array:
    answered = ~np.isnan(block.costs)
    out = np.array([State.CAN, State.CANNOT, State.OPEN, State.INVALID], np.int8)[block.status]
    out[(out == State.OPEN) & answered] = State.FOUND
    changes = np.zeros(len(out), bool)
    for one in block.changes.values():
        changes[one.rows] = True
    out[answered & block.unconfirmed] = State.OPEN
    as_it_is = answered & ~changes  # what the model says of the answer, it says of the row
    out[(out != State.INVALID) & np.where(as_it_is, ~block.unconfirmed, block.has)] = State.HAS
    return out


def _patterns(n: int, changes: Mapping[int, Values]) -> tuple[Array, list[tuple[int, ...]]]:
    """Return the sets of features that change, and for each row the position of its set."""
    patterns, sets = np.zeros(n, np.int64), [()]
    found: list[tuple[int, ...]] = list(sets)
    for d in sorted(changes):
        rows = changes[d].rows
        before = patterns[rows]
        used = np.flatnonzero(np.bincount(before, minlength=len(found)))
        place = np.zeros(len(found), np.int64)
        place[used] = len(found) + np.arange(len(used))
        patterns[rows] = place[before]
        found += [(*found[k], d) for k in used.tolist()]
    used = np.flatnonzero(np.bincount(patterns, minlength=len(found)))
    place = np.zeros(len(found), np.int64)
    place[used] = np.arange(len(used))
    return place[patterns], [found[k] for k in used.tolist()]


def block_of(rows: TableRows, answers: Frame, target: Any) -> Block:
    """Return the answers of ``explain_many`` as a block."""
    answered = ~np.isnan(numbers_of(answers["cost"], "cost"))
    names, changes = set(column_names(answers)), {}
    for d, feature in enumerate(rows.schema):
        if feature.name in names:
            old = rows.column_codes(feature, rows.columns[d])
            new = rows.column_codes(feature, answers[feature.name])
            lines = np.flatnonzero(answered & differs(old, new))
            if len(lines):
                changes[d] = Values(lines, stated(rows, feature, take(rows.columns[d], lines)), new[lines])
    return block(answers, changes, target)


def block(answers: Frame, changes: Mapping[int, Values], target: Any) -> Block:
    """Return answers and what they change as a block."""
    status, costs = status_codes(answers["status"]), numbers_of(answers["cost"], "cost")
    unconfirmed = ~np.isnan(costs) & ~_truths(answers["confirmed"])
    problems = _problem_counts(answers["problem"], status) if "problem" in column_names(answers) else {}
    return Block(status, costs, _has_target(answers["source_label"], target), changes, unconfirmed, problems)


def stated(rows: TableRows, feature: Feature, column: Column) -> Array:
    """Return the codes of a column as the table has them: NaN where a number is missing, also if the model imputes one."""
    codes = rows.column_codes(feature, column)
    return np.where(missing_in(column), np.nan, codes) if feature.name in rows.schema.fills else codes


def missing_in(column: Column) -> Array:
    """Return which values of a column are missing."""
    kind = kind_of(column)
    if kind == "b":
        return np.zeros(len(column), bool)
    return np.isnan(numbers_of(column, "")) if kind in "iuf" else factorized(column)[0] < 0


def _problem_counts(column: Column, status: Array) -> dict[str, int]:
    """Return how many invalid rows have each problem."""
    lines = np.flatnonzero(status == STATUSES.index(INVALID))
    return dict(Counter(str(one) for one in cells_of(take(column, lines)) if not is_missing(one)))


def status_codes(column: Column) -> Array:
    """Return the position of each status in STATUSES."""
    places, values = factorized(column)
    return np.array([STATUSES.index(str(value)) for value in values] + [len(STATUSES) - 1], np.int8)[places]


def _truths(column: Column) -> Array:
    """Return a column of truth values as an array, missing ones as False."""
    places, values = factorized(column)
    return np.array([bool(value) for value in values] + [False])[places]


def _has_target(labels: Column, target: Any) -> Array:
    """Return which of the sources the model already gives the target, as far as their labels show it."""
    if target is None or isinstance(target, Probability):
        return np.zeros(len(labels), bool)
    if isinstance(target, Value):
        numbers = numbers_of(labels, "source_label")
        low = -np.inf if target.at_least is None else target.at_least
        high = np.inf if target.at_most is None else target.at_most
        return np.asarray((numbers >= low) & (numbers <= high))
    wanted = classes_of(target)
    places, values = factorized(labels)
    return np.array([value in wanted for value in values] + [False])[places]
