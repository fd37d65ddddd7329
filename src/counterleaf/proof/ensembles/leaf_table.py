"""The leaves of an ensemble that a cheap row can reach, as arrays: what the check of a proof sums over. NumPy only.

A leaf is a box of cells: an interval for each number on its path, a set for each group. The table holds the leaves whose
cheapest cells cost less than a cutoff; no other leaf matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.question.cells import CellForest
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class LeafTable:
    """L leaves with up to D coordinates on their paths."""

    node: Array  # (L,)
    tree: Array  # (L,) the leaves of a tree are neighbours
    which: Array  # (L, D) the coordinates on the path, -1 for none
    low: Array  # (L, D) the first cell, counted over all coordinates; for a group, that of the whole group
    high: Array  # (L, D) the last one
    allowed: Array  # (L, B) which of the B cells of all groups are allowed

    def take(self, kept: Array) -> LeafTable:
        """The table of some of the leaves, given by their positions or as a mask."""
        parts = self.node, self.tree, self.which, self.low, self.high, self.allowed
        return LeafTable(*(part[kept] for part in parts))


class RangeLeast:
    """The least of some numbers over intervals of their positions."""

    def __init__(self, numbers: Array) -> None:
        lines = [numbers]
        width = 1
        while 2 * width <= len(numbers):
            last = lines[-1]
            lines.append(np.concatenate([np.minimum(last[:-width], last[width:]), last[-width:]]))
            width *= 2
        self._lines = np.stack(lines)

    def of(self, first: Array, last: Array) -> Array:
        """The least number from ``first`` to ``last``, each included; infinity where the interval is empty."""
        length = last - first + 1
        level = np.frexp(np.maximum(length, 1))[1] - 1
        start = np.maximum(np.minimum(first, last), 0)
        end = np.maximum(last - (1 << level) + 1, 0)
        return np.where(length > 0, np.minimum(self._lines[level, start], self._lines[level, end]), np.inf)


def group_cells(forest: CellForest) -> Array:
    """(C,) the position of each cell among those of groups, -1 for a cell of a number."""
    in_group = np.repeat(forest.grouped, np.diff(forest.first_cell))
    return np.where(in_group, np.cumsum(in_group) - 1, -1)


def leaf_table(forest: CellForest, cost: Array, cutoff: float) -> LeafTable:
    """Follow all trees at once, level by level, to the leaves whose cheapest cells cost less than ``cutoff``.

    ``cost`` is that of each cell, infinity for cells that are out.
    """
    first, sizes = forest.first_cell[:-1], np.diff(forest.first_cell)
    least = np.minimum.reduceat(cost, first)
    base = float(least.sum())
    ranges = RangeLeast(cost)
    place = group_cells(forest)
    n_group = int((place >= 0).sum())
    trees = len(forest.roots)
    node: Array = forest.roots.copy()
    tree: Array = np.arange(trees)
    which, low, high = (np.full((trees, 1), -1) for _ in range(3))
    extra: Array = np.zeros((trees, 1))
    allowed: Array = np.ones((trees, n_group), bool)
    done: list[tuple[Array, ...]] = []
    group_cost = cost[place >= 0]
    while len(node):
        at_leaf = forest.coordinate[node] < 0
        open_leaf = at_leaf & ~forest.closed[node]
        done.append(tuple(part[open_leaf] for part in (node, tree, which, low, high, allowed)))
        node, tree, which, low, high, extra, allowed = (
            part[~at_leaf] for part in (node, tree, which, low, high, extra, allowed)
        )
        if not len(node):
            break
        j = forest.coordinate[node]
        same = which == j[:, None]
        slot = np.where(same.any(axis=1), same.argmax(axis=1), (which >= 0).sum(axis=1))
        if slot.max(initial=-1) >= which.shape[1]:
            none = np.full((len(node), 1), -1)
            which, low, high = (np.hstack([part, none]) for part in (which, low, high))
            extra = np.hstack([extra, np.zeros((len(node), 1))])
        line = np.arange(len(node))
        fresh = which[line, slot] < 0
        which[line, slot] = j
        low[line, slot] = np.where(fresh, first[j], low[line, slot])
        high[line, slot] = np.where(fresh, first[j] + sizes[j] - 1, high[line, slot])
        parts: list[tuple[Array, ...]] = []
        for right in (False, True):
            a, b, c, d = low.copy(), high.copy(), extra.copy(), allowed
            number = ~forest.grouped[j]
            cut = first[j] + forest.cut[node]
            if right:
                a[line[number], slot[number]] = np.maximum(a[line, slot], cut + 1)[number]
            else:
                b[line[number], slot[number]] = np.minimum(b[line, slot], cut)[number]
            c[line, slot] = ranges.of(a[line, slot], b[line, slot]) - least[j]
            grouped = np.flatnonzero(~number)
            if len(grouped):
                d = allowed.copy()
                _narrow_groups(d, c, forest, (node, j, slot, grouped, right), place, group_cost - least[_owner(forest, place)])
            keep = base + c.sum(axis=1) < cutoff
            child = (forest.right if right else forest.left)[node]
            parts.append(tuple(part[keep] for part in (child, tree, which, a, b, c, d)))
        node, tree, which, low, high, extra, allowed = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    depth = max((part[2].shape[1] for part in done), default=0)
    padded = [[*part[:2], *(_pad(one, depth) for one in part[2:5]), part[5]] for part in done]
    out = LeafTable(*(np.concatenate(column) for column in zip(*padded, strict=True)))
    return out.take(np.argsort(out.tree, kind="stable"))


def _owner(forest: CellForest, place: Array) -> Array:
    """The coordinate of each cell of a group."""
    return np.repeat(np.arange(forest.size), np.diff(forest.first_cell))[place >= 0]


def _narrow_groups(
    allowed: Array, extra: Array, forest: CellForest, split: tuple[Array, Array, Array, Array, bool], place: Array, above: Array
) -> None:
    """Restrict the sets of groups to one side of their splits; ``above`` is the cost of each group cell above the least one."""
    node, coordinate, slot, lines, right = split
    for j in np.unique(coordinate[lines]).tolist():
        mine = lines[coordinate[lines] == j]
        span = forest.span(j)
        here = slice(int(place[span.start]), int(place[span.start]) + span.stop - span.start)
        start = forest.subset_start[forest.cut[node[mine]]]
        sides = forest.subset[start[:, None] + np.arange(span.stop - span.start)]
        allowed[mine, here] &= sides == right
        extra[mine, slot[mine]] = np.where(allowed[mine, here], above[here], np.inf).min(axis=1)


def _pad(part: Array, depth: int) -> Array:
    return np.hstack([part, np.full((len(part), depth - part.shape[1]), -1)])
