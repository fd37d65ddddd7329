"""From an ensemble over the variables of a schema to trees over cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.cells import CellForest
from counterleaf.question.splits import Margin
from counterleaf.question.variables import Variables
from counterleaf.types import Array


def cell_forest(
    ensemble: Ensemble, variables: Variables, margin: Margin = 0.0, leaves_out: frozenset[int] = frozenset()
) -> CellForest:
    """Cut the variables of an ensemble into cells, with distances by feature that rows keep from every split on their way.

    A margin of one number is about scores, not about splits. The leaves in ``leaves_out`` do not count.
    """
    firsts, grouped = _coordinates(variables)
    splits = _Splits(ensemble, variables, margin, firsts)
    cuts_of = _cells(ensemble.splits, variables, splits, firsts, grouped)
    by_feature, closed = isinstance(margin, tuple) and any(margin), None
    if leaves_out:
        closed = np.zeros(len(ensemble.left), bool)
        closed[list(leaves_out)] = True
    roots, where, cut, left, right, value, shut = _nodes(ensemble, splits, cuts_of, by_feature, closed)
    subsets, scoring = cuts_of.subsets, ensemble.scoring
    return CellForest(
        first_cell=np.concatenate([[0], np.cumsum(cuts_of.counts)]),
        grouped=grouped,
        variable=firsts,
        edges=tuple(cuts_of.edges),
        roots=roots,
        coordinate=where,
        cut=cut,
        left=left,
        right=right,
        subset_start=np.cumsum([0, *map(len, subsets[:-1])]).astype(np.int64) if subsets else np.empty(0, np.int64),
        subset=np.concatenate(subsets) if subsets else np.empty(0, bool),
        value=value,
        output=ensemble.output,
        start=ensemble.start,
        narrow=scoring.dtype == "float32",
        late=scoring.late,
        divisor=scoring.divisor,
        closed=shut,
    )


class _Splits:
    """The splits of the catalogue: the coordinate of each, whether it is on a group, and its two sides."""

    def __init__(self, ensemble: Ensemble, variables: Variables, margin: Margin, firsts: Array) -> None:
        tree = ensemble.splits
        self.size = size = int((tree.left >= 0).sum())
        index, swapped, low_side, self.high_side = (part[:size] for part in cuts(tree, _margins(ensemble, variables, margin)))
        place = np.full(len(variables.group), -1)
        place[firsts] = np.arange(len(firsts))
        w, owner = tree.weights, np.full(size, -1)
        for k in np.flatnonzero(np.diff(w.indptr[: size + 1]) > 0).tolist():
            group = variables.group_of(w.indices[w.indptr[k] : w.indptr[k + 1]])
            if group >= 0:
                owner[k] = place[variables.first[group]]
        self.on_group = owner >= 0
        self.coordinate = np.maximum(np.where(self.on_group, owner, place[np.maximum(index, 0)]), 0)
        self.swapped = swapped & ~self.on_group
        # the first number that is not on the low side
        self.beyond = np.where(np.isinf(low_side), low_side, np.nextafter(low_side, np.inf))


class _Cuts(NamedTuple):
    """The cells of the coordinates, and the cuts of the splits in terms of them."""

    counts: Array  # (V,) cells
    edges: list[Array]  # of numbers
    subsets: list[Array]  # of groups: which cells go right
    low: Array  # (S,) the last cell of the low side, or the position of the subset
    high: Array  # (S,) the last cell that is not on the high side, or the position of the subset


def _cells(tree: Tree, variables: Variables, splits: _Splits, firsts: Array, grouped: Array) -> _Cuts:
    """Cut every coordinate at the sides of its splits."""
    out = _Cuts(np.ones(len(firsts), np.int64), [], [], *np.zeros((2, splits.size), np.int64))
    for j, first in enumerate(firsts.tolist()):
        mine = np.flatnonzero(splits.coordinate == j)
        if grouped[j]:
            span = slice(first, int(variables.last[variables.group[first]]))
            out.counts[j] = span.stop - span.start
            out.edges.append(np.empty(0))
            for k in mine.tolist():
                out.low[k] = out.high[k] = len(out.subsets)
                always = np.full(out.counts[j], splits.high_side[k] == -np.inf)
                out.subsets.append(_right(tree, k, span) if splits.on_group[k] else always)
            continue
        ends = np.concatenate([splits.beyond[mine], splits.high_side[mine]])
        out.edges.append(np.unique(ends[np.isfinite(ends)]))
        out.counts[j] = len(out.edges[-1]) + 1
        for cut, side in ((out.low, splits.beyond[mine]), (out.high, splits.high_side[mine])):
            here = np.searchsorted(out.edges[-1], side)
            cut[mine] = np.where(side == np.inf, out.counts[j] - 1, np.where(side == -np.inf, -1, here))
    return out


def _margins(ensemble: Ensemble, variables: Variables, margin: Margin) -> float | Array:
    """The distance that w @ x + b keeps from 0 at each split of the catalogue."""
    if not isinstance(margin, tuple):
        return 0.0
    tree = ensemble.splits
    numbers = (variables.group < 0) & (np.diff(variables.feature, prepend=-1) > 0)
    of_variable = np.where(numbers, np.array(margin)[variables.feature], 0.0)
    w = tree.weights
    out = np.zeros(tree.n_nodes)
    single = np.flatnonzero(np.diff(w.indptr) == 1)
    at = w.indptr[single]
    out[single] = np.abs(w.data[at]) * of_variable[w.indices[at]]
    return out


def _coordinates(variables: Variables) -> tuple[Array, Array]:
    """The first variable of each coordinate, and whether it is a group."""
    alone = np.flatnonzero(variables.group < 0)
    firsts = np.sort(np.concatenate([alone, variables.first]).astype(np.int64))
    return firsts, np.asarray(variables.group[firsts] >= 0)


def _right(tree: Tree, k: int, span: slice) -> Array:
    """Which values of a group go right at a split."""
    columns, weights = tree.weights.row(k)
    sums = np.zeros(span.stop - span.start)
    sums[columns - span.start] = weights
    sums += tree.bias[k]
    return np.asarray((sums > 0) | ((sums == 0) & (tree.closed == "right")))


def _nodes(ensemble: Ensemble, splits: _Splits, cuts_of: _Cuts, by_feature: bool, closed: Array | None) -> tuple[Array, ...]:
    """Roots, and coordinate, cut, left, right, value and closed of every node.

    With margins, every split becomes two: node 2 i leaves the low side, node 2 i + 1 separates the high side from the rows that
    are too near to the split, which end in a closed leaf.
    """
    split, left, right = ensemble.split, ensemble.left, ensemble.right
    inner = split >= 0
    k = np.maximum(split, 0)

    def at(line: Array) -> Array:
        return line[k] if splits.size else np.zeros(len(k), line.dtype)

    turned = inner & at(splits.swapped)
    low, high = np.where(turned, right, left), np.where(turned, left, right)
    where = np.where(inner, at(splits.coordinate), -1)
    first_cut, last_cut = (np.where(inner, at(cut), 0) for cut in (cuts_of.low, cuts_of.high))
    shut = np.zeros(len(split), bool) if closed is None else np.asarray(closed, bool)
    if not by_feature:
        return ensemble.roots, where, last_cut, low, high, ensemble.value, shut
    n = len(split)
    out = np.full((4, 2 * n + 1), -1)
    even, odd, dead = 2 * np.arange(n), 2 * np.arange(n) + 1, 2 * n
    out[0, even], out[0, odd] = where, where
    out[1, even], out[1, odd] = first_cut, last_cut
    out[2, even], out[3, even] = np.where(inner, 2 * low, -1), np.where(inner, odd, -1)
    out[2, odd], out[3, odd] = np.where(inner, dead, -1), np.where(inner, 2 * high, -1)
    value = np.zeros((2 * n + 1, ensemble.value.shape[1]))
    value[even] = ensemble.value
    gone = np.zeros(2 * n + 1, bool)
    gone[even], gone[dead] = shut, True
    return 2 * ensemble.roots, out[0], out[1], out[2], out[3], value, gone
