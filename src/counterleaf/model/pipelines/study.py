"""What steps of any kind do to each raw column, found by sending made-up rows through them.

One column of a usual row is varied at a time, which shows on which raw columns each column of the tree depends. The findings
are then compared with what the steps make of random rows, in which all columns vary together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.pipelines.probing import TOP, Probe, first_between, first_line, frame_of
from counterleaf.table.features import Numeric
from counterleaf.table.frames import cells_of, columns, numbers_of, take
from counterleaf.types import Array

_NARROW = float(np.finfo(np.float32).max)  # scikit-learn's trees refuse larger numbers
_ENDLESS = 1e30  # bounds beyond it are left out
_MOST_EDGES = 400  # of a map that is made of steps
_MOST_NUMBERS = 5000  # of a column of whole numbers that is tried number by number
_ROUNDING = 1e-9  # a map that turns back by less than this share is monotone up to rounding
_ROWS = 200  # random rows
_CELLS = 1_000_000  # of an encoded table of probes


class Study:
    """The maps from raw columns to columns of the tree."""

    def __init__(self, probe: Probe, seen: dict[int, Array]) -> None:
        self.probe, self.seen, self.title, read = probe, seen, probe.found.title, probe.found.read
        tree = read.splits
        self.usual = probe.encode([probe.usual])[0][0]  # what the tree sees of the usual row
        if len(self.usual) != tree.n_features:
            raise CounterleafError(
                f"the steps make {len(self.usual)} columns but the tree takes {tree.n_features}; fit the pipeline as a whole"
            )
        self.limit = _NARROW if tree.dtype == "float32" else np.inf
        slope = None if tree.outputs is None else tree.outputs.slope
        used = [tree.weights.indices] if slope is None else [tree.weights.indices, slope.indices]
        self.used = np.unique(np.concatenate(used))
        self.x: dict[int, Array] = {}  # numbers of each raw column in increasing order
        self.made: dict[int, Array] = {}  # what the tree sees of them
        self.domains: dict[int, tuple[float, float]] = {}  # the lowest and the highest number for which the findings hold
        self.loose: set[int] = set()  # columns of which the steps make the same only up to rounding
        self.whole: set[int] = set()  # raw columns of which every whole number within the domain was tried, and no other
        self._curves: set[int] = set()  # columns that are neither monotone nor steps
        self._steps: set[int] = set()  # columns with few values
        for k, feature in enumerate(probe.features):
            if isinstance(feature, Numeric) and probe.starts[k] >= 0:
                self._scan(k)
        self._depend()
        for k in self.x:
            self._shape(k)
        self._compare()

    def _scan(self, k: int) -> None:
        """Try numbers in a column, and find the interval around the usual one in which the steps make finite numbers."""
        x = self._numbers(k)
        made = self.probe.safely(k, x)
        fine = self._fine(made)
        at = int(np.searchsorted(x, self.probe.usual[k]))
        lo = at - int((~fine[:at][::-1]).argmax() if not fine[:at].all() else at)
        hi = at + int((~fine[at:]).argmax() if not fine[at:].all() else len(x) - at) - 1
        low, high = -np.inf, np.inf

        def holds(k: int, wanted: bool, numbers: Array) -> Array:
            return np.asarray(self._fine(self.probe.safely(k, numbers.ravel())) == wanted).reshape(numbers.shape)

        if lo > 0 and -x[lo] < _ENDLESS:
            low = float(first_between(lambda t: holds(k, True, t), x[[lo - 1]], x[[lo]], 1)[0])
        if hi < len(x) - 1 and x[hi] < _ENDLESS:
            high = float(first_between(lambda t: holds(k, False, t), x[[hi]], x[[hi + 1]], 1)[0])
            high = float(np.nextafter(high, -np.inf))
        ends = np.array([end for end in (low, high) if np.isfinite(end)])
        self.x[k], self.made[k] = self._merge(k, x[lo : hi + 1], made[lo : hi + 1], ends)
        if max(-low, 0.0) < _ENDLESS or max(high, 0.0) < _ENDLESS:
            self.domains[k] = (low if -low < _ENDLESS else -np.inf, high if high < _ENDLESS else np.inf)

    def _fine(self, made: Array) -> Array:
        """Return which rows are finite; a number without a category has the code of a missing value, and fails in no step."""
        codes = self.probe.found.codes
        fits = np.isfinite(made) & (np.abs(made) <= self.limit)
        coded = [] if codes is None else [j for j, listed in codes.categories.items() if listed]
        fits[:, coded] |= np.isnan(made[:, coded])
        return np.asarray(fits.all(axis=1))

    def _merge(self, k: int, x: Array, made: Array, more: Array) -> tuple[Array, Array]:
        """Return numbers and what the tree sees of them, with more numbers among them."""
        more = np.setdiff1d(more, x)
        if not len(more):
            return x, made
        order = np.argsort(np.concatenate([x, more]))
        return np.concatenate([x, more])[order], np.concatenate([made, self.probe.safely(k, more)])[order]

    def _numbers(self, k: int) -> Array:
        """Return numbers to try: of all sizes, those of the data and between them, and those that the steps have learned."""
        feature = self.probe.features[k]
        sizes = 2.0 ** np.concatenate([np.arange(-40, 60, 0.125), np.arange(60, 500, 10)])
        parts = [sizes, -sizes, [0.0, TOP, -TOP, self.probe.usual[k]], np.arange(-200.0, 201.0)]
        ends = [end for end in (getattr(feature, "lower", -np.inf), getattr(feature, "upper", np.inf)) if np.isfinite(end)]
        data = self._data(k)
        if len(data):
            data = np.unique(data)
            data = data[np.unique(np.linspace(0, len(data) - 1, 600).astype(int))]
            ends += [data[0], data[-1]]
            parts += [data, (data[1:] + data[:-1]) / 2, np.nextafter(data, np.inf), np.nextafter(data, -np.inf)]
        if ends:
            parts += [ends, np.linspace(min(ends), max(ends), 300)]
        learned = np.array([number for step in self.probe.found.probed for number in _learned(step)])
        parts += [learned, np.nextafter(learned, -np.inf)] if len(learned) else []
        return np.unique(np.concatenate([np.asarray(part, float) for part in parts]))

    def _data(self, k: int) -> Array:
        """Return the numbers of the data in a raw column."""
        if self.probe.data is None:
            return np.empty(0)
        found, name = columns(self.probe.data), self.probe.found.names[k]
        column = dict(found).get(name) if self.probe.found.named else found[k][1]
        numbers = np.empty(0) if column is None else numbers_of(column, name)
        return np.asarray(numbers[np.isfinite(numbers)])

    def _depend(self) -> None:
        """Find the raw columns on which each column of the tree depends."""
        raws: list[list[int]] = [[] for _ in self.usual]
        for k, made in sorted({**self.made, **self.seen}.items()):
            if self.probe.starts[k] < 0:
                continue
            size = np.where(np.isfinite(made), np.abs(made), 0.0).max(axis=0)  # sums may be rounded in several ways
            same = (np.abs(made - self.usual) <= 1e-14 * size) | (np.isnan(made) & np.isnan(self.usual))
            for j in np.flatnonzero(~same.all(axis=0)).tolist():
                raws[j].append(k)
        self.probe.raws = [tuple(found) for found in raws]

    def _shape(self, k: int) -> None:
        """Find out which columns rise or fall throughout and which have few values; elsewhere, try it within the bounds."""
        feature: Any = self.probe.features[k]
        mine = [j for j in self.used.tolist() if self.probe.raws[j] == (k,)]
        x, made, steps, curves = self._judge(k, self.x[k], self.made[k], mine)
        low, high = max(feature.lower, x[0]), min(feature.upper, x[-1])
        if curves and (feature.lower > x[0] or feature.upper < x[-1]) and low <= high:
            there = (self.x[k] >= low) & (self.x[k] <= high)
            inside = self._merge(k, self.x[k][there], self.made[k][there], np.array([low, high]))
            x, made, steps, curves = self._judge(k, *inside, mine)
            if curves and feature.integer and high - low <= _MOST_NUMBERS:
                fills = np.array(self.probe.found.statistics.get(feature.name, []), float)  # they need not be whole
                x = np.union1d(np.arange(np.ceil(low), np.floor(high) + 1), fills[(fills >= low) & (fills <= high)])
                made = self.probe.safely(k, x)
                steps, curves = set(mine), set()
                self.whole.add(k)
            if not curves:
                self.domains[k] = (float(x[0]), float(x[-1]))
        if not curves:
            self.x[k], self.made[k] = x, made
        self._steps |= steps
        self._curves |= curves

    def _judge(self, k: int, x: Array, made: Array, mine: list[int]) -> tuple[Array, Array, set[int], set[int]]:
        """Return numbers that include every edge of the columns made of steps, these columns, and those that are neither."""
        rises, size = np.diff(made[:, mine], axis=0), np.abs(made[:, mine])
        least = _ROUNDING * np.maximum(size[1:], size[:-1])
        turns = np.asarray((rises < -least).any(axis=0) & (rises > least).any(axis=0))
        neither = [j for j, turn in zip(mine, turns, strict=True) if turn]
        few = [j for j, d in zip(mine, rises.T, strict=True) if np.count_nonzero(d) <= min(_MOST_EDGES, len(x) // 4)]
        found = self._refined(k, x, made, few) if few else None
        if found is None:
            few = [j for j in few if j in neither]
            found = self._refined(k, x, made, few) if few else None
        if found is None:
            return x, made, set(), set(neither)
        return *found, set(few), set(neither) - set(few)

    def _refined(self, k: int, x: Array, made: Array, few: list[int]) -> tuple[Array, Array] | None:
        """Return numbers that include both sides of every edge of some columns, None if they do not consist of steps."""
        rng = np.random.default_rng(k)
        for _ in range(20):
            jump = (made[1:, few] != made[:-1, few]).any(axis=1)
            wide = jump & (np.nextafter(x[:-1], np.inf) < x[1:])
            if jump.sum() > _MOST_EDGES:
                return None
            if wide.any():
                found = self._edges(k, x[:-1][wide], x[1:][wide], made[:-1][wide][:, few], few)
                x, made = self._merge(k, x, made, np.concatenate([found, np.nextafter(found, -np.inf)]))
                continue
            flat = np.flatnonzero(~jump)
            tried = np.concatenate([x[flat] + (x[flat + 1] - x[flat]) * rng.random(len(flat)) for _ in range(2)])
            size = len(x)
            tried = tried[(tried > x[0]) & (tried < x[-1])]
            at = np.searchsorted(x, tried, side="right") - 1
            values = self.probe.safely(k, tried)
            odd = (values[:, few] != made[at][:, few]).any(axis=1)
            if not odd.any():
                return x, made
            x, made = self._merge(k, x, made, tried[odd])
            if len(x) == size:
                return None
        return None

    def _edges(self, k: int, low: Array, high: Array, before: Array, few: list[int]) -> Array:
        """Return the first number of another step between pairs of numbers."""

        def other(numbers: Array) -> Array:
            made = self.probe.safely(k, numbers.ravel())[:, few].reshape(*numbers.shape, len(few))
            return np.asarray((made != before[:, None]).any(axis=2))

        return first_between(other, low, high, self.points(len(low)))

    def changes(self, k: int, at: Array, stepped: Any, right: Callable[[Array], Array]) -> Array:
        """Return the first number after each change of side between the numbers ``at`` and ``at + 1`` of a raw column.

        ``right`` takes what the tree sees of (n, m) numbers to try, for each of the n changes; ``stepped`` tells which of them
        are in columns made of steps, whose numbers are on both sides of every edge.
        """
        x = self.x[k]
        low = np.where(stepped, np.nextafter(x[at + 1], -np.inf), x[at])
        before = right(self.made[k][at][:, None])

        def other(numbers: Array) -> Array:
            return np.asarray(right(self.probe.safely(k, numbers.ravel()).reshape(*numbers.shape, -1)) != before)

        return first_between(other, low, x[at + 1], self.points(len(at)))

    def points(self, size: int) -> int:
        """Return how many numbers to try at a time in each of ``size`` searches."""
        return int(np.clip(_CELLS // (len(self.usual) * max(size, 1)), 1, 31))

    def _compare(self) -> None:
        """Compare the findings with what the steps make of random rows."""
        rng, probe = np.random.default_rng(0), self.probe
        self.picks = np.zeros((_ROWS, len(probe.features)), np.int64)
        rows = [list(probe.usual) for _ in range(_ROWS)]
        for k, feature in enumerate(probe.features):
            values: Any = probe.usual[k : k + 1]
            if k in self.x:
                self.picks[:, k] = rng.choice(self._common(k), _ROWS)
                values = self.x[k].tolist()
            elif k in self.seen:
                self.picks[:, k] = rng.integers(0, len(self.seen[k]), _ROWS)
                values = [None] if isinstance(feature, Numeric) else [*feature.values, None]
            for row, pick in zip(rows, self.picks[:, k].tolist(), strict=True):
                row[k] = values[pick]
        try:
            self.rows_made = probe.seen(frame_of(rows, probe.found, probe.data))
            self._check_ignored(rows)
            halves = [probe.seen(frame_of(half, probe.found, probe.data)) for half in (rows[: _ROWS // 2], rows[_ROWS // 2 :])]
        except CounterleafError:
            raise
        except Exception as error:
            raise CounterleafError(
                f"the steps of the pipeline ({self.title}) fail on made-up rows: {first_line(error)}"
            ) from None
        if not np.allclose(np.concatenate(halves), self.rows_made, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise CounterleafError(
                f"the steps of the pipeline ({self.title}) make different numbers of a row depending on the other rows; "
                f"expected steps that treat each row alone"
            )
        for j in self.used.tolist():
            if len(probe.raws[j]) == 1:
                k = probe.raws[j][0]
                expected = (self.made[k] if k in self.x else self.seen[k])[self.picks[:, k], j]
            elif not probe.raws[j]:
                expected = np.full(_ROWS, self.usual[j])
            else:
                continue
            found = self.rows_made[:, j]
            if not np.array_equal(found, expected, equal_nan=True):
                if not np.allclose(found, expected, rtol=1e-12, atol=1e-300, equal_nan=True):
                    raise self.mixed(probe.raws[j])
                self.loose.add(j)

    def _check_ignored(self, rows: list[list[Any]]) -> None:
        """Raise an error if a column of which no feature can be made changes what the steps make of the random rows."""
        probe, rng = self.probe, np.random.default_rng(2)
        for k, name in enumerate(probe.found.names):
            if name not in probe.found.ignored:
                continue
            column = dict(columns(probe.data))[name]
            cells = cells_of(take(column, rng.integers(0, len(column), len(rows))))
            others = [[*row[:k], cell, *row[k + 1 :]] for row, cell in zip(rows, cells, strict=True)]
            if not np.array_equal(probe.seen(frame_of(others, probe.found, probe.data)), self.rows_made, equal_nan=True):
                raise CounterleafError(
                    f"column {name!r} of the data holds {column.dtype}, and the steps of the pipeline ({self.title}) read it; "
                    f"expected numbers or categories: convert it beforehand"
                )

    def _common(self, k: int) -> Array:
        """Return the positions of numbers that are as large as those of the data."""
        x, data = self.x[k], self._data(k)
        low, high = (data.min(), data.max()) if len(data) else (-1e6, 1e6)
        at = np.flatnonzero((x >= low) & (x <= high))
        return at if len(at) else np.arange(len(x))

    def mixed(self, raws: Any) -> CounterleafError:
        """Return the error for columns that are combined in another way than by a weighted sum."""
        names = some([self.probe.found.names[k] for k in raws])
        return CounterleafError(
            f"the steps of the pipeline ({self.title}) combine columns ({names}, ...) other than by a weighted sum; "
            f"apply them to the table beforehand"
        )

    def is_steps(self, j: int) -> bool:
        """Whether a column of the tree has few values, with known edges."""
        return j in self._steps and j not in self.loose

    def check_shape(self, j: int) -> None:
        """Raise an error if a column of the tree neither rises nor falls throughout and does not consist of steps."""
        if j in self._curves:
            name = self.probe.found.names[self.probe.raws[j][0]]
            raise CounterleafError(
                f"column {name!r} goes through a step ({self.title}) that neither rises nor falls throughout and does not "
                f"consist of few constant pieces; give the column bounds within which it does, or transform it beforehand"
            )


def _learned(step: Any) -> list[float]:
    """Return the numbers among the fitted attributes of a step, which may be the edges of its pieces."""
    out: list[float] = []
    for value in list(getattr(step, "__dict__", {}).values()):
        for part in value if isinstance(value, (list, tuple)) else [value]:
            for one in part if isinstance(part, np.ndarray) and part.dtype == object else [part]:
                try:
                    numbers = np.asarray(one, dtype=np.float64).ravel()
                except (TypeError, ValueError):
                    continue
                out += numbers[np.isfinite(numbers) & (np.abs(numbers) < TOP)][:500].tolist()
    return out[:2000]
