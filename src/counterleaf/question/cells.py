"""A question about a sum of trees as cells, in the form that the search and the proof read. NumPy only.

Only the thresholds matter: no tree can tell two numbers apart that lie between the same neighbouring thresholds. Every
coordinate (a number, or a feature with finitely many values) is a list of cells, and a row is one cell per coordinate. The cost
of a cell is that of its cheapest allowed value.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterleaf.question.arrays import Features, Grids, SeparableCost, Table
from counterleaf.types import Array

_NOWHERE = np.empty((0, 3))
_HIGHEST = 1e250  # the largest price of a cell; sums of prices stay finite


class UnboundedError(ValueError):
    """A cost keeps decreasing as a number moves away; ``variable`` is its position."""

    def __init__(self, variable: int) -> None:
        super().__init__(variable)
        self.variable = variable


class TooCostlyError(UnboundedError):
    """A change costs more than can be computed with; ``variable`` is its position."""


@dataclass(frozen=True, eq=False)
class CellForest:
    """Trees over cells: V coordinates, C cells in all, T trees with N nodes, W values per leaf, K scores."""

    first_cell: Array  # (V + 1,) where the cells of each coordinate begin
    grouped: Array  # (V,) whether a coordinate is a feature with finitely many values, whose cells have no order
    variable: Array  # (V,) the first variable of each coordinate; a group has one variable per cell
    edges: tuple[Array, ...]  # for each coordinate the first number of every cell but the first; empty for a group
    roots: Array  # (T,)
    coordinate: Array  # (N,) of the split of a node; -1 for a leaf. Children have larger numbers than their parents
    cut: Array  # (N,) cells up to it go left; for a group, it is the position of a subset
    left: Array  # (N,)
    right: Array  # (N,)
    subset_start: Array  # (U,) where each subset begins in ``subset``
    subset: Array  # whether each cell of a group goes right
    value: Array  # (N, W) what a leaf adds
    output: Array  # (T,) the first score to which a tree adds
    start: Array  # (K,) the scores without trees
    narrow: bool  # whether sums are in float32
    late: bool  # whether the start is added last
    divisor: float  # of the sums
    closed: Array  # (N,) leaves that no answer may reach

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.grouped)

    @property
    def cells(self) -> int:
        """The number of cells of all coordinates."""
        return int(self.first_cell[-1])

    def span(self, j: int) -> slice:
        """The cells of a coordinate."""
        return slice(int(self.first_cell[j]), int(self.first_cell[j + 1]))

    def cells_of(self, rows: Array) -> Array:
        """The (n, V) cells of rows, given as variables."""
        out = np.empty((len(rows), self.size), np.int64)
        for j in range(self.size):
            v = int(self.variable[j])
            if self.grouped[j]:
                out[:, j] = rows[:, v : v + self.first_cell[j + 1] - self.first_cell[j]].argmax(axis=1)
            else:
                out[:, j] = np.searchsorted(self.edges[j], rows[:, v], side="right")
        return out

    def goes_right(self, nodes: Array, cells: Array) -> Array:
        """Whether a cell of the coordinate of each of some splits goes right there."""
        grouped = self.grouped[self.coordinate[nodes]]
        right = cells > self.cut[nodes]
        if grouped.any():
            at = self.subset_start[self.cut[nodes[grouped]]] + cells[grouped]
            right[grouped] = self.subset[at]
        return np.asarray(right)

    def leaves(self, cells: Array) -> Array:
        """The leaf of each tree that a row of cells reaches, or each of several rows."""
        rows = np.atleast_2d(cells)
        node = np.tile(self.roots, len(rows))
        while len(inner := np.flatnonzero(self.coordinate[node] >= 0)):
            at = node[inner]
            right = self.goes_right(at, rows[inner // len(self.roots), self.coordinate[at]])
            node[inner] = np.where(right, self.right[at], self.left[at])
        return node.reshape(*cells.shape[:-1], len(self.roots))

    def scores(self, leaves: Array) -> Array:
        """The K scores of the leaves that a row reaches, added in the model's order and precision."""
        kind = np.dtype(np.float32 if self.narrow else np.float64)
        terms = np.zeros((len(leaves) + 1, len(self.start)), kind)
        lines, width = np.arange(len(leaves)), self.value.shape[1]
        for k in range(width):
            terms[lines + (not self.late), self.output + k] = self.value[leaves, k]
        terms[-1 if self.late else 0] = self.start
        sums = np.cumsum(terms, axis=0, dtype=kind)[-1]
        return np.asarray((sums / kind.type(self.divisor) if self.divisor != 1.0 else sums).astype(np.float64))

    @functools.cached_property
    def tree_of(self) -> Array:
        """(N,) the tree to which each node belongs; -1 for a node that no tree reaches."""
        out = np.full(len(self.coordinate), -1)
        node, tree = self.roots, np.arange(len(self.roots))
        while len(node):
            out[node] = tree
            inner = self.coordinate[node] >= 0
            node = np.concatenate([self.left[node[inner]], self.right[node[inner]]])
            node, first = np.unique(node, return_index=True)
            tree = np.tile(tree[inner], 2)[first]
            fresh = out[node] < 0
            node, tree = node[fresh], tree[fresh]
        return out

    @functools.cached_property
    def largest(self) -> Array:
        """(T, W) the largest absolute values of the leaves of each tree."""
        out = np.zeros((len(self.roots), self.value.shape[1]))
        leaves = np.flatnonzero((self.coordinate < 0) & (self.tree_of >= 0))
        np.maximum.at(out, self.tree_of[leaves], np.abs(self.value[leaves]))
        return out

    @functools.cached_property
    def rounding(self) -> Array:
        """(K,) by how much each sum of the model may differ from the sum of real numbers."""
        unit = 2.0**-24 if self.narrow else 2.0**-53
        sizes = np.zeros((len(self.roots) + 1, len(self.start)))
        sizes[0] = np.abs(self.start)
        lines = np.arange(len(self.roots)) + 1
        for k in range(self.value.shape[1]):
            sizes[lines, self.output + k] = self.largest[:, k]
        partial = np.cumsum(sizes, axis=0)
        added = np.vstack([np.ones((1, len(self.start)), bool), sizes[1:] > 0])
        # each addition is off by at most a unit of its result, and the division by another two
        return np.asarray(1.01 * unit * (np.where(added, partial, 0.0).sum(axis=0) + 3.0 * partial[-1]))

    @functools.cached_property
    def reach(self) -> float:
        """A number beyond twice the size of every sum, and of every difference of two of them."""
        return float(2.0 + 4.0 * (np.abs(self.start).max() + self.largest.max(axis=1).sum()))

    @functools.cached_property
    def quantum(self) -> float:
        """A power of two of which all sums are multiples, so that they are exact; 0 if there is none above 1/16."""
        held = np.append(self.value[(self.coordinate < 0) & (self.tree_of >= 0)].ravel(), self.start)
        total = float(np.abs(self.start).max() + self.largest.max(axis=1).sum())
        for quantum in (1.0, 0.5, 0.25, 0.125, 0.0625):
            if (held % quantum == 0).all() and total / quantum < (2.0**20 if self.narrow else 2.0**40):
                return quantum
        return 0.0


class ScoreTarget(NamedTuple):
    """What the scores must reach: one class is the largest, or scores lie in intervals, as exact tests and as R rows.

    A row of cells is accepted if the exact tests hold for its scores. Then coefficients @ sums + bias >= 0 holds for the sums
    of real numbers before the division: the bias has room for the rounding of the model.
    """

    winner: int  # the class that wins, the first of equal ones; -1 for none
    margin: float  # by which it wins
    intervals: Array  # (I, 3) output, low, high
    coefficients: Array  # (R, K)
    bias: Array  # (R,)
    room: float
    noise: float = 0.0  # by how much the scores may differ from those by which the model decides

    def accepts(self, scores: Array) -> bool:
        """Whether the scores of a row reach the target."""
        return bool(self.accepting(scores))

    def accepting(self, scores: Array) -> Array:
        """Whether the scores of each of several rows reach the target."""
        return self._clears(scores, 0.0)

    def surely_rejects(self, scores: Array) -> bool:
        """Whether no noise could make the model accept a row with these scores."""
        return not self._clears(scores, self.noise)

    def _clears(self, scores: Array, slack: float) -> Array:
        """Whether the scores of a row, or of each of several, reach the target if each of them may be off by ``slack``."""
        found, k = scores[..., self.intervals[:, 0].astype(np.int64)], self.winner
        out = ((self.intervals[:, 1] - slack <= found) & (found <= self.intervals[:, 2] + slack)).all(axis=-1)
        if k >= 0:
            ahead = scores[..., k : k + 1] - np.delete(scores, k, axis=-1)
            out &= (ahead >= self.margin - 2.0 * slack).all(axis=-1)
            if slack == 0:
                out &= (ahead[..., :k] > 0).all(axis=-1)
        return np.asarray(out)


def wins(forest: CellForest, winner: int, margin: float = 0.0, noise: float = 0.0) -> ScoreTarget:
    """The target that one class wins, by a margin of its score; ``noise`` bounds how far the model's scores are from ours."""
    k, size = winner, len(forest.start)
    others = np.array([r for r in range(size) if r != k], np.int64)
    coefficients = np.zeros((len(others), size))
    coefficients[:, k] = 1.0
    coefficients[np.arange(len(others)), others] = -1.0
    bias = coefficients @ forest.start - margin * forest.divisor
    if margin * forest.divisor > forest.reach:  # no row has such a margin
        return ScoreTarget(k, margin, _NOWHERE, 0.0 * coefficients, np.full(len(others), -1.0), 0.0, noise)
    if forest.quantum and not margin and not noise:
        half = 0.5 * forest.quantum  # sums are exact multiples: a smaller class wins ties, a larger one needs a quantum more
        return ScoreTarget(k, margin, _NOWHERE, coefficients, bias + np.where(others > k, half, -half), 0.5 * half)
    room = forest.rounding[k] + forest.rounding[others] + 2.0 * noise * forest.divisor
    room = room + 2.0**-50 * (np.abs(bias) + margin * forest.divisor)
    return ScoreTarget(k, margin, _NOWHERE, coefficients, bias + room, float(room.max()), noise)


def lies(forest: CellForest, intervals: list[tuple[int, float, float]], noise: float = 0.0) -> ScoreTarget:
    """The target that scores lie in intervals, given as output, low and high."""
    coefficients, bias, rooms = [], [], []
    for output, low, high in intervals:
        for sign, end in ((1.0, low), (-1.0, high)):
            if end == -sign * np.inf:
                continue
            line = np.zeros(len(forest.start))
            line[output] = sign
            if not abs(end * forest.divisor) <= forest.reach or low > high:  # beyond all sums, or in an empty interval
                if low <= high and end * sign < 0:
                    continue  # every sum will do
                line[output], constant, room = 0.0, -1.0, 0.0
            else:
                level = end * forest.divisor
                constant = sign * (float(forest.start[output]) - level)
                room = float(forest.rounding[output]) + 2.0**-50 * (abs(level) + abs(constant)) + noise * forest.divisor
            coefficients.append(line)
            bias.append(constant + room)
            rooms.append(room)
    if not bias:  # every score will do
        coefficients, bias, rooms = [np.zeros(len(forest.start))], [1.0], [0.0]
    ends = np.array(intervals, float).reshape(-1, 3)
    return ScoreTarget(-1, 0.0, ends, np.array(coefficients), np.array(bias), max(rooms), noise)


class CellPrices(NamedTuple):
    """The cheapest value of each of C cells: its cost, infinity if there is none, and whether it differs from the source."""

    cost: Array
    value: Array  # a number, or for a group the position of its value
    moved: Array


def price_cells(forest: CellForest, features: Features, table: Table | None) -> CellPrices:
    """Price the cells of a question; an infinite price means that a cell is not allowed.

    Raises ``UnboundedError`` if the cost of a number keeps decreasing, and ``TooCostlyError`` if the price of a cell overflows.
    """
    out = CellPrices(np.full(forest.cells, np.inf), np.zeros(forest.cells), np.zeros(forest.cells, bool))
    for j in range(forest.size):
        (_price_group if forest.grouped[j] else _price_number)(out, forest, j, features, table)
    return out


def _price_group(out: CellPrices, forest: CellForest, j: int, features: Features, table: Table | None) -> None:
    at, first = forest.span(j), int(forest.variable[j])
    count = at.stop - at.start
    here = slice(first, first + count)
    source, lower, upper = features.source[here], features.lower[here], features.upper[here]
    change = np.eye(count) - source
    cost = SeparableCost(*(line[here] for line in features.cost)).of(change).sum(axis=1)
    chosen = int(source.argmax())
    cost[chosen] = 0.0
    allowed = (upper >= 1.0) & ((lower <= 0.0) | (np.arange(count) == int(lower.argmax())))
    if (lower > 0).any():
        allowed &= lower > 0
    _check_prices(cost[allowed], first)
    out.cost[at] = np.where(allowed, cost, np.inf)
    out.value[at] = np.arange(count)
    out.moved[at] = np.arange(count) != chosen


def _check_prices(costs: Array, variable: int) -> None:
    if not (np.abs(costs) <= _HIGHEST).all():
        raise TooCostlyError(variable)


def _price_number(out: CellPrices, forest: CellForest, j: int, features: Features, table: Table | None) -> None:
    at, v = forest.span(j), int(forest.variable[j])
    source, edges = float(features.source[v]), forest.edges[j]
    low = np.maximum(np.concatenate([[-np.inf], edges]), features.lower[v])
    high = np.minimum(np.concatenate([np.nextafter(edges, -np.inf), [np.inf]]), features.upper[v])
    grid = None if table is None or not table.grids.on[v] else table.grids.at(np.full(len(low), v))
    if grid is not None:
        sources = np.full(len(low), source)
        low, high = grid.above(sources, low), grid.below(sources, high)
    valid = (low <= high) & (low < np.inf) & (high > -np.inf)
    prices = SeparableCost(*(np.full(len(low), float(line[v])) for line in features.cost))
    charge, follows = _charge(v, features.source, table)
    value = np.minimum(np.maximum(source, low), high)
    if prices.slope_up[0] < 0 or prices.slope_down[0] > 0:
        value = _best_numbers(value, valid, (low, high), source, prices, charge, grid, v)
    with np.errstate(over="ignore"):
        cost = prices.of(np.where(valid, value - source, 0.0)) + np.where(value != source, charge, 0.0)
    _check_prices(cost[valid], v)
    out.cost[at] = np.where(valid, cost, np.inf)
    out.value[at] = value
    out.moved[at] = (value != source) & (not follows)


def _charge(v: int, source: Array, table: Table | None) -> tuple[float, bool]:
    """What it costs to change a number at all, and whether the variable behind it tells if its feature changes.

    A number that the source lacks is free: filling it in is a change of the 0/1 variable behind it, which says that it lacks.
    """
    if table is None:
        return 0.0, False
    has_gap = v + 1 < len(source) and table.feature[v + 1] == table.feature[v]
    if has_gap and source[v + 1] > 0:
        return 0.0, True
    return float(table.charges[table.feature[v]]), False


def _best_numbers(
    value: Array,
    valid: Array,
    ends: tuple[Array, Array],
    source: float,
    prices: SeparableCost,
    charge: float,
    grid: Grids | None,
    variable: int,
) -> Array:
    """The cheapest numbers where some earn by moving away from the source."""
    low, high = ends
    free = source + prices.best_change(np.zeros(len(value)), low - source, high - source)
    if not np.isfinite(free[valid]).all():
        raise UnboundedError(variable)
    free = np.where(valid, free, value)
    tried = [value, np.clip(free, low, high)]
    if grid is not None:
        sources = np.full(len(value), source)
        tried += [np.clip(grid.below(sources, free), low, high), np.clip(grid.above(sources, free), low, high)]
        tried.pop(1)
    costs = [prices.of(np.where(valid, one - source, 0.0)) + np.where(one != source, charge, 0.0) for one in tried]
    return np.asarray(np.choose(np.argmin(costs, axis=0), tried))
