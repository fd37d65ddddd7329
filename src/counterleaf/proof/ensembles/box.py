"""The bound that multipliers prove for a box of cells of an ensemble, computed again in NumPy.

Is there a row in the box that costs less than C and reaches the target? With multipliers mu >= 0 (cost), lambda >= 0 (rows of
the target), nu >= 0 (limits on changes) and messages m (any function of tree, coordinate and cell),

    Z = - mu C - lambda bias - nu most
        + sum over coordinates j of min over cells s of [ mu cost(s) + nu moved(s) - sum over trees of m(s) ]
        + sum over trees         of min over leaves  of [ - lambda gain + sum over j of min over cells of the leaf of m ]

is at most 0 if there is one: put in that row and every minimum is at most its term. So Z > 0 proves that there is none.
Messages are whole multiples of a unit and are added as whole numbers, without rounding; the rounding of all other terms is
bounded.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterleaf.proof.ensembles.leaf_table import LeafTable, RangeLeast, group_cells, leaf_table
from counterleaf.proof.ensembles.pieces import Links, Pieces
from counterleaf.proof.walk import IncompleteError
from counterleaf.question.cells import CellForest, CellPrices, ScoreTarget
from counterleaf.types import Array

_EPS = 2.0**-52
_FAR = 1 << 60  # in place of an infinite message
_LARGEST = 1 << 31  # of stored messages


class Multipliers(NamedTuple):
    """The multipliers of one bound; ``messages`` has one whole number per piece of each link, in multiples of ``unit``."""

    mu: float
    lam: Array
    nu: Array
    unit: float
    messages: Array


@dataclass(frozen=True, eq=False)
class Setting:
    """What all boxes of one proof share: the question, the cutoff, and the links of its messages."""

    forest: CellForest
    prices: CellPrices
    target: ScoreTarget
    members: Array  # (I, V) the coordinates of each limit on changes
    most: Array  # (I,)
    cutoff: float
    links: Links

    @functools.cached_property
    def owner(self) -> Array:
        """(C,) the coordinate of each cell."""
        return np.repeat(np.arange(self.forest.size), np.diff(self.forest.first_cell))

    @functools.cached_property
    def groups(self) -> list[tuple[int, slice]]:
        """The coordinates that are groups, and the positions of their cells among those of all groups."""
        place = group_cells(self.forest)
        spans = [(j, self.forest.span(j)) for j in np.flatnonzero(self.forest.grouped).tolist()]
        return [(j, slice(int(place[span.start]), int(place[span.start]) + span.stop - span.start)) for j, span in spans]

    @functools.cached_property
    def gain(self) -> Array:
        """(T, W, R) the coefficients of the values of each tree's leaves in the rows of the target."""
        f = self.forest
        columns = f.output[:, None] + np.arange(f.value.shape[1])
        return np.asarray(self.target.coefficients.T[columns])

    def gains(self, table: LeafTable) -> Array:
        """(L, R) what each leaf adds to each row of the target."""
        return np.asarray(np.einsum("lw,lwr->lr", self.forest.value[table.node], self.gain[table.tree]))

    @functools.cached_property
    def sizes(self) -> float:
        """A bound on the sum of the absolute gains of one leaf of every tree, and of the bias."""
        return float(
            (np.abs(self.gain) * self.forest.largest[:, :, None]).sum(axis=(0, 1)).max() + np.abs(self.target.bias).max()
        )

    @functools.cached_property
    def first(self) -> Box:
        """The box of all cells."""
        alive = np.isfinite(self.prices.cost)
        return Box(alive, leaf_table(self.forest, self.prices.cost, self.cutoff), np.empty(0, np.int64)).tightened(self)

    @functools.cached_property
    def links_at(self) -> Array:
        """(T, V) the link of a tree and a coordinate, -1 if there is none."""
        out = np.full((len(self.forest.roots), self.forest.size), -1)
        out[self.links.tree, self.links.coordinate] = np.arange(len(self.links.tree))
        return out

    @functools.cached_property
    def pieces(self) -> Pieces:
        """The pieces of the links as arrays."""
        return Pieces.of(self.links, self.forest, self.first.alive)


class Entries(NamedTuple):
    """The coordinates on the paths of a box's leaves, one entry each."""

    leaf: Array
    slot: Array
    coordinate: Array
    link: Array


class Folded(NamedTuple):
    """The trees that depend on one coordinate of a box at most, as functions of its cells."""

    trees: Array  # (T,) whether each tree is one of them
    gain: Array  # (C, R) what they add to each row of the target
    uncovered: Array  # (C,) cells in which one of them has no leaf


@dataclass(frozen=True, eq=False)
class Box:
    """A set of cells per coordinate, and the leaves that rows in it can reach at a cost below the cutoff."""

    alive: Array
    table: LeafTable
    counts: Array  # (T,) the number of leaves of each tree
    empty: bool = False

    def without(self, removed: Array) -> Box:
        """The box without some cells."""
        return Box(self.alive & ~removed, self.table, self.counts, self.empty)

    def tightened(self, s: Setting) -> Box:
        """The box without cells and leaves that cost too much, or that a limit on changes excludes."""
        first, alive = s.forest.first_cell[:-1], self.alive
        while True:
            cost = np.where(alive, s.prices.cost, np.inf)
            least = np.minimum.reduceat(cost, first)
            base = float(least.sum())
            kept = alive & (base + (cost - least[s.owner]) < s.cutoff) if base < s.cutoff else alive
            if not base < s.cutoff or not _obey_limits(s, kept):
                return Box(alive, self.table, self.counts, True)
            if np.array_equal(kept, alive):
                break
            alive = kept
        table = self.table.take(base + self._extra(s, cost, least) < s.cutoff)
        counts = np.bincount(table.tree, minlength=len(s.forest.roots))
        return Box(alive, table, counts, bool((counts == 0).any()))

    def _extra(self, s: Setting, cost: Array, least: Array) -> Array:
        """What the cheapest cells of each leaf cost above the cheapest ones of the box."""
        t = self.table
        used = t.which >= 0
        out = np.where(used, RangeLeast(cost).of(t.low, t.high) - least[np.maximum(t.which, 0)], 0.0)
        for j, here in s.groups:
            line, slot = np.nonzero(t.which == j)
            costs = np.where(t.allowed[line, here], cost[s.forest.span(j)], np.inf).min(axis=1, initial=np.inf)
            out[line, slot] = costs - least[j]
        return np.asarray(out.sum(axis=1))

    def folded(self, s: Setting, gains: Array) -> Folded:
        """The trees that depend on one coordinate at most, given what each leaf adds to each row of the target."""
        t, first, cells = self.table, s.forest.first_cell, s.forest.cells
        total = np.concatenate([[0], np.cumsum(self.alive)])
        used = t.which >= 0
        at = np.maximum(t.which, 0)
        inside = total[t.high + 1] - total[np.maximum(t.low, 0)]
        for j, here in s.groups:
            line, slot = np.nonzero(t.which == j)
            inside[line, slot] = (t.allowed[line, here] & self.alive[s.forest.span(j)]).sum(axis=1)
        matters = used & (inside < (total[first[1:]] - total[first[:-1]])[at])
        depends = np.zeros((len(s.forest.roots), s.forest.size), bool)
        line, slot = np.nonzero(matters)
        depends[t.tree[line], t.which[line, slot]] = True
        trees = depends.sum(axis=1) <= 1
        mine = trees[t.tree]
        rows = gains.shape[1]
        change, cover = np.zeros((cells + 1, rows)), np.zeros(cells + 1, np.int64)
        single = mine & ~matters.any(axis=1)  # the only leaf of its tree: any coordinate will do
        np.add.at(change, np.zeros(single.sum(), np.int64), gains[single])
        change[first[1]] -= gains[single].sum(axis=0)
        need = np.bincount(depends[trees].argmax(axis=1)[depends[trees].any(axis=1)], minlength=s.forest.size)
        line, slot = np.nonzero(matters & mine[:, None])
        number = ~s.forest.grouped[t.which[line, slot]]
        low, high = t.low[line, slot][number], t.high[line, slot][number] + 1
        np.add.at(change, low, gains[line[number]])
        np.add.at(change, high, -gains[line[number]])
        np.add.at(cover, low, 1)
        np.add.at(cover, high, -1)
        gain, covered = np.cumsum(change, axis=0)[:-1], np.cumsum(cover)[:-1]
        for j, here in s.groups:
            group = np.flatnonzero(~number & (t.which[line, slot] == j))
            allowed = t.allowed[line[group], here]
            gain[s.forest.span(j)] += allowed.T.astype(float) @ gains[line[group]]
            covered[s.forest.span(j)] += allowed.sum(axis=0)
        return Folded(trees, gain, covered < need[s.owner])


def _obey_limits(s: Setting, alive: Array) -> bool:
    """Remove moves that a limit on changes excludes; False if it cannot hold."""
    first = s.forest.first_cell[:-1]
    for members, most in zip(s.members, s.most.tolist(), strict=True):
        stays = np.logical_or.reduceat(alive & ~s.prices.moved, first)
        moving = int((members & ~stays).sum())
        if moving > most:
            return False
        if moving == most:
            alive &= ~((members & stays)[s.owner] & s.prices.moved)
    return True


class Bound:
    """Z of a box, and by how much it rises if a cell is chosen."""

    def __init__(self, s: Setting, box: Box, by: Multipliers) -> None:
        self.s, self.box, self.by = s, box, by
        self._check()
        table, trees = box.table, np.cumsum(box.counts) - box.counts
        gains = s.gains(table)
        self._folded = box.folded(s, gains)
        self._entries = _entries(s, table)
        self._free = ~self._folded.trees[s.links.tree]  # the links whose messages count
        self._message = np.where(np.repeat(self._free, s.links.pieces), by.messages, 0)
        energy = -(gains @ by.lam)
        self._unary = self._states()
        self._leaf_message, self._whole = self._least_messages()
        e = self._entries
        linked = e.link >= 0
        change = np.zeros(len(table.node), np.int64)
        np.add.at(change, e.leaf[linked], self._leaf_message[linked] - self._whole[e.link[linked]])
        of_tree = np.zeros(len(s.forest.roots), np.int64)
        np.add.at(of_tree, s.links.tree, self._whole)
        self.theta = energy + (change + of_tree[table.tree]) * by.unit
        self.least_theta = np.where(self._folded.trees, 0.0, np.minimum.reduceat(self.theta, trees))
        self.least_state = np.minimum.reduceat(np.where(box.alive, self._unary, np.inf), s.forest.first_cell[:-1])
        constant = -by.mu * s.cutoff - float(by.lam @ s.target.bias) - float(by.nu @ s.most)
        self.value = constant + float(self.least_state.sum()) + float(self.least_theta.sum())
        self.error = self._rounding()

    def _check(self) -> None:
        s, by = self.s, self.by
        numbers = np.concatenate([[by.mu, by.unit], by.lam, by.nu])
        sound = (
            np.isfinite(numbers).all()
            and (numbers >= 0).all()
            and by.lam.shape == s.target.bias.shape
            and by.nu.shape == s.most.shape
            and len(by.messages) == int(s.pieces.start[-1])
            and by.messages.min(initial=0) > -_LARGEST
            and by.messages.max(initial=0) < _LARGEST
        )
        if not sound:
            raise IncompleteError

    def _states(self) -> Array:
        """(C,) the bracket of the first sum, for every cell of the first box."""
        s, by = self.s, self.by
        total = np.zeros(s.forest.cells + 1, np.int64)
        live = np.flatnonzero(np.repeat(~s.forest.grouped[s.links.coordinate], s.links.pieces) & (self._message != 0))
        np.add.at(total, s.pieces.low[live], self._message[live])
        np.add.at(total, s.pieces.high[live] + 1, -self._message[live])
        total = np.cumsum(total)[:-1]
        np.add.at(total, s.pieces.group_cell, self._message[s.pieces.group_piece])
        priced = np.where(np.isfinite(s.prices.cost), s.prices.cost, 0.0)
        moved = (by.nu @ s.members)[s.owner] * s.prices.moved if len(by.nu) else 0.0
        out = by.mu * priced + moved - total * by.unit - self._folded.gain @ by.lam
        return np.where(self._folded.uncovered, np.inf, out)

    def _least_messages(self) -> tuple[Array, Array]:
        """The least message over the cells of each entry in the box, and over all cells of each link in the box."""
        s, e, links = self.s, self._entries, self.s.links
        if not len(links.tree):
            return np.zeros(len(e.leaf), np.int64), np.zeros(0, np.int64)
        masked = np.append(np.where(s.pieces.with_some(self.box.alive), self._message, _FAR), _FAR)
        whole = np.minimum.reduceat(masked, s.pieces.start[:-1])
        out = np.zeros(len(e.leaf), np.int64)
        number = np.flatnonzero((e.link >= 0) & ~s.forest.grouped[e.coordinate])
        first, last = self._piece_range(number)
        bounds = np.column_stack([first, last + 1]).ravel()
        found = np.minimum.reduceat(masked, bounds)[::2] if len(bounds) else np.empty(0, np.int64)
        out[number] = np.where(first <= last, found, _FAR)
        for j, mine, cells in self._group_entries():
            table = self._group_messages(j, mine)
            out[mine] = np.where(cells, table, _FAR).min(axis=1, initial=_FAR)
        return out, whole

    def _piece_range(self, entries: Array) -> tuple[Array, Array]:
        """The first and the last piece, over all links, of entries on numbers; the first one is larger if there is none."""
        s, e, pieces = self.s, self._entries, self.s.pieces
        link, t = e.link[entries], self.box.table
        offset = pieces.begin[link] - s.forest.first_cell[e.coordinate[entries]]
        low = pieces.after[t.low[e.leaf[entries], e.slot[entries]] + offset]
        high = pieces.before[t.high[e.leaf[entries], e.slot[entries]] + offset]
        start = pieces.start[link]
        none = low > high
        low, high = np.where(none, 0, low), np.where(none, 0, high)
        return np.where(none, 1, start + s.links.piece_of[low]), np.where(none, 0, start + s.links.piece_of[high])

    def _group_entries(self) -> list[tuple[int, Array, Array]]:
        """For each group: its entries, and which of its cells they allow in the box."""
        s, e, t = self.s, self._entries, self.box.table
        out = []
        for j, here in s.groups:
            mine = np.flatnonzero((e.coordinate == j) & (e.link >= 0))
            if len(mine):
                out.append((j, mine, t.allowed[e.leaf[mine], here] & self.box.alive[s.forest.span(j)]))
        return out

    def _group_messages(self, j: int, entries: Array) -> Array:
        """The message of each cell of a group, for each of some entries."""
        s, pieces = self.s, self.s.pieces
        link = self._entries.link[entries]
        at = pieces.begin[link][:, None] + np.arange(s.forest.span(j).stop - s.forest.span(j).start)
        piece = s.links.piece_of[at]
        return np.where(piece >= 0, self._message[pieces.start[link][:, None] + np.maximum(piece, 0)], _FAR)

    def _rounding(self) -> float:
        """A bound on the rounding error of Z and of its rises."""
        s, by = self.s, self.by
        cost = np.where(self.box.alive, np.abs(s.prices.cost), 0.0)
        paid = float(np.maximum.reduceat(cost, s.forest.first_cell[:-1]).sum())
        messages = float(np.abs(by.messages).sum()) * by.unit
        size = (
            by.mu * (abs(s.cutoff) + paid)
            + by.lam.sum() * s.sizes
            + float(by.nu @ np.abs(s.most))
            + by.nu.sum() * s.forest.size
        )
        # besides the terms of Z, up to as many gains as there are leaves are added and taken away again along a coordinate
        terms = len(self.box.table.node) + len(s.forest.roots) + s.forest.size + len(by.lam) + len(by.nu) + 32
        return 4.0 * _EPS * terms * float(size + messages)

    @property
    def proves(self) -> bool:
        """Whether Z is positive in spite of rounding."""
        return self.value > self.error

    def excludes(self, cells: Array) -> Array:
        """Which of some cells of the box cannot be in a row cheaper than the cutoff."""
        if self.proves:
            return np.ones(len(cells), bool)
        return np.asarray(self.value + self._rises(cells) > 2.0 * self.error)

    def _rises(self, cells: Array) -> Array:
        """By how much Z rises if each of some cells is chosen, which is what its best alternatives lose."""
        s, by = self.s, self.by
        owner = s.owner[cells]
        out = self._unary[cells] - self.least_state[owner]
        if not len(s.links.tree):
            return out
        wanted = np.zeros(s.forest.cells, bool)
        wanted[cells] = True
        marginal = self._marginals(wanted)
        pieces = s.pieces
        first, count = pieces.coordinate_start[owner], np.diff(pieces.coordinate_start)[owner]
        of = np.repeat(np.arange(len(cells)), count)
        link = pieces.by_coordinate[first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)]
        piece = s.links.piece_of[pieces.begin[link] + (cells - s.forest.first_cell[owner])[of]]
        if (piece < 0).any():
            raise IncompleteError
        at = pieces.start[link] + piece
        lost = marginal[at] + self._message[at] * by.unit - self.least_theta[s.links.tree[link]]
        rise = np.zeros(len(cells))
        np.add.at(rise, of, np.where(self._free[link], lost, 0.0))
        return np.asarray(out + rise)

    def _marginals(self, wanted: Array) -> Array:
        """For each piece, the least energy of a leaf that allows it, without its message, over the pieces of wanted cells."""
        s, e, unit = self.s, self._entries, self.by.unit
        out = np.full(int(s.pieces.start[-1]), np.inf)
        linked = np.flatnonzero(e.link >= 0)
        rest = self.theta[e.leaf] - self._leaf_message * unit
        number = linked[~s.forest.grouped[e.coordinate[linked]]]
        first, last = self._piece_range(number)
        count = np.maximum(last - first + 1, 0)
        needed = s.pieces.with_some(wanted)
        total = np.concatenate([[0], np.cumsum(needed)])
        hit = total[np.minimum(last + 1, len(needed))] > total[np.minimum(first, len(needed))]
        number, first, count = number[hit & (count > 0)], first[hit & (count > 0)], count[hit & (count > 0)]
        of = np.repeat(np.arange(len(number)), count)
        at = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
        np.minimum.at(out, at, rest[number][of])
        for j, mine, allowed in self._group_entries():
            line, cell = np.nonzero(allowed)
            link = e.link[mine][line]
            piece = s.links.piece_of[s.pieces.begin[link] + cell]
            if (piece < 0).any():
                raise IncompleteError
            np.minimum.at(out, s.pieces.start[link] + piece, rest[mine][line])
        away = self._elsewhere() - self._whole * unit
        return np.asarray(np.minimum(out, np.repeat(away, s.links.pieces)))

    def _elsewhere(self) -> Array:
        """For each link, the least energy of a leaf of its tree whose path does not have its coordinate."""
        s, t = self.s, self.box.table
        starts = np.cumsum(self.box.counts) - self.box.counts
        order = np.lexsort([self.theta, t.tree])
        tree, coordinate = s.links.tree, s.links.coordinate
        out = np.full(len(tree), np.inf)
        open_links = np.arange(len(tree))
        k = 0
        while len(open_links):
            open_links = open_links[k < self.box.counts[tree[open_links]]]
            leaf = order[starts[tree[open_links]] + k]
            lacks = ~(t.which[leaf] == coordinate[open_links][:, None]).any(axis=1)
            out[open_links[lacks]] = self.theta[leaf[lacks]]
            open_links = open_links[~lacks]
            k += 1
        return out


def _entries(s: Setting, table: LeafTable) -> Entries:
    leaf, slot = np.nonzero(table.which >= 0)
    coordinate = table.which[leaf, slot]
    return Entries(leaf, slot, coordinate, s.links_at[table.tree[leaf], coordinate])
