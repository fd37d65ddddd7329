"""A pipeline that ends with an ensemble: its splits over the variables of a schema.

Only the catalogue of splits is folded, each split once. A split on a raw number becomes a cut of that number, or several cuts
if the steps neither rise nor fall throughout; the nodes of the trees then share children. A split on the categories of a column
separates its values. What a split does is found by sending values through the fitted steps themselves.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.gaps import Routes
from counterleaf.model.pipelines import probing
from counterleaf.model.pipelines.gap_routes import probe_routes
from counterleaf.model.pipelines.probing import Probe
from counterleaf.model.pipelines.study import Study
from counterleaf.sparse import CSR
from counterleaf.types import Array

_CHOICE = 2.0**100  # the weight of a category: it decides its split alone, and exactly
_MOST_NODES = 10_000_000  # of trees whose splits became several cuts
_CELLS = 2_000_000  # of an encoded table of probes, and of sides that are compared at once


class ForestFolding:
    """The folded splits of the ensemble at the end of a pipeline."""

    exact = True

    def __init__(self, probe: Probe, seen: dict[int, Array], study: Study | None) -> None:
        self._probe, self._seen, self._study = probe, seen, study
        old = probe.found.read
        assert isinstance(old, Ensemble)
        self._old, tree = old, old.splits
        self._size = (tree.n_nodes - 1) // 2
        terms = np.diff(tree.weights.indptr)[: self._size]  # every split is on one column, or sends all numbers the same way
        self._column = np.full(self._size, -1) if old.gap_column is None else np.array(old.gap_column)
        self._column[terms > 0] = tree.weights.indices[tree.weights.indptr[: self._size][terms > 0]]
        _, self._swapped, _, self._first = (part[: self._size] for part in cuts(tree))  # infinite if all go the same way
        gap_right = np.zeros(self._size, bool) if old.gap_right is None else np.asarray(old.gap_right, bool)
        self._gap_right = gap_right[: self._size]
        self._subset = np.zeros(self._size, bool)
        self._subset[list(old.subsets)] = True
        self._low = np.zeros(self._size, bool)  # whether the lowest numbers go right
        self._edges: list[tuple[Array, Array]] = []  # splits, and the first number of another side
        self._chosen: list[tuple[Array, Array, Array]] = []  # splits, variables and weights
        self._raw = np.full(self._size, -1)  # the raw number of a split
        for j in np.unique(self._column).tolist():
            self._sort(j, np.flatnonzero(self._column == j))
        numeric = np.flatnonzero(self._raw >= 0)
        if len(numeric):
            (self._cut if study is None else self._probe_cuts)(numeric)

    def _sort(self, j: int, which: Array) -> None:
        """Settle the splits on a column that comes from a finite feature or from none; note those on a raw number."""
        raws, probe = self._probe.raws[j] if j >= 0 else (), self._probe
        if j < 0:
            self._low[which] = self._old.splits.bias[which] > 0
        elif not raws:
            assert self._study is not None
            self._low[which] = self.right(which, np.full(len(which), self._study.usual[j]))
        elif len(raws) > 1:
            raise CounterleafError(
                f"the steps of the pipeline mix columns ({some([probe.found.names[k] for k in raws])}) before the trees; an "
                f"ensemble needs splits on single features: apply the steps to the table beforehand"
            )
        elif raws[0] in self._seen:
            self._choose(raws[0], j, which)
        else:
            name = probe.found.names[raws[0]]
            if self._subset[which].any():
                raise CounterleafError(
                    f"feature {name!r} is a number in the schema, but the model takes it for a category; make it Categorical"
                )
            if self._study is not None and j in self._study.loose:
                raise CounterleafError(
                    f"the steps of the pipeline ({self._study.title}) round column {name!r} depending on the other columns; "
                    f"an ensemble needs splits on single features: apply the steps to the table beforehand"
                )
            self._raw[which] = raws[0]

    def _choose(self, k: int, j: int, which: Array) -> None:
        """Separate the values of a finite feature."""
        start, values = self._probe.starts[k], self._seen[k][:, j]
        side = self.right(which[:, None], np.broadcast_to(values, (len(which), len(values))))
        same = (side == side[:, :1]).all(axis=1)
        self._low[which[same]] = side[same, 0]
        rows, variables = np.nonzero(np.broadcast_to(~same[:, None], side.shape))
        weights = np.where(side[rows, variables], _CHOICE, -_CHOICE)
        self._chosen.append((which[rows], start + variables, weights))

    def right(self, which: Array, x: Array) -> Array:
        """Return whether the model sends rows to the right."""
        above = x >= self._first[which]
        out = np.asarray(np.where(np.isnan(x), self._gap_right[which], above ^ self._swapped[which]))
        for row in np.flatnonzero(self._subset[which].ravel()).tolist() if self._old.subsets else ():
            codes = self._old.subsets[int(which.ravel()[row])]
            out[row] = np.where(np.isnan(x[row]), out[row], np.isin(x[row], codes))
        return out

    def _cut(self, which: Array) -> None:
        """Fold splits on raw numbers: the steps are monotone, so one number is the first on its side."""
        probe, raw = self._probe, self._raw[which]
        slot = probing.slots(raw)
        size = max(1, _CELLS // len(probe.raws))
        for begin in range(0, int(slot.max()) + 1, size):
            here = (slot >= begin) & (slot < begin + size)
            self._cut_part(which[here], raw[here], slot[here] - begin)

    def _cut_part(self, which: Array, raw: Array, slot: Array) -> None:
        probe, slots = self._probe, int(slot.max()) + 1
        falling = np.zeros(len(which), bool)

        def beyond(x: Array) -> Array:
            return self.right(which[:, None], probe.numbers_at(raw, self._column[which], slot, x)) ^ falling[:, None]

        ends = beyond(np.repeat([[-probing.TOP, probing.TOP]], len(which), axis=0))
        falling = ends[:, 0] & ~ends[:, 1]
        self._low[which] = ends[:, 0]
        moves = np.flatnonzero(ends[:, 0] != ends[:, 1])
        if not len(moves):
            return
        low, high = self._brackets(which, raw, beyond)
        points = int(np.clip(_CELLS // (len(probe.raws) * slots), 1, 31))
        low = np.where(ends[:, 0] != ends[:, 1], low, high)
        found = probing.first_between(beyond, low, high, points)
        self._edges.append((which[moves], found[moves]))

    def _brackets(self, which: Array, raw: Array, beyond: Any) -> tuple[Array, Array]:
        """Return numbers on either side of each cut; scalers are affine, so interpolation brings them close."""
        probe = self._probe
        sizes = np.append(2.0 ** np.arange(-60.0, 61.0), probing.TOP)
        grid = np.concatenate([-sizes[::-1], [0.0], sizes])
        made, column = probe.numbers(dict.fromkeys(np.unique(raw).tolist(), grid)), self._column[which]
        at = np.zeros(len(which), np.int64)
        for j in np.unique(column).tolist():
            rising = made[-1, j] >= made[0, j]
            place = np.searchsorted(made[:, j] if rising else made[::-1, j], self._first[which[column == j]])
            at[column == j] = place if rising else len(grid) - place
        at = np.clip(at, 1, len(grid) - 1)
        low, high = grid[at - 1], grid[at]
        ends = made[at - 1, column], made[at, column]
        with np.errstate(all="ignore"):
            guess = low + (high - low) * ((self._first[which] - ends[0]) / (ends[1] - ends[0]))
            near = 2.0**-42 * np.maximum(np.abs(guess), np.abs(high) * 2.0**-8)
            tried = np.stack([guess - near, guess + near], axis=1)
        usable = (tried > low[:, None]) & (tried < high[:, None])
        tried = np.where(usable, tried, high[:, None])
        after = beyond(tried) | ~usable
        low = np.where(after[:, 0], low, tried[:, 0])
        high = np.where(after[:, 0], np.minimum(high, tried[:, 0]), high)
        low = np.where(after[:, 1] | after[:, 0], low, tried[:, 1])
        high = np.where(after[:, 1], np.minimum(high, tried[:, 1]), high)
        return low, high

    def _probe_cuts(self, which: Array) -> None:
        """Find where the side of the splits on a raw number changes, between numbers that were tried."""
        study = self._study
        assert study is not None
        for j in np.unique(self._column[which]).tolist():
            study.check_shape(j)
            mine = which[self._column[which] == j]
            k = int(self._raw[mine[0]])
            made = study.made[k][:, j]
            size = max(1, _CELLS // len(made))
            for begin in range(0, len(mine), size):
                part = mine[begin : begin + size]
                side = self.right(part[:, None], np.broadcast_to(made, (len(part), len(made))))
                self._low[part] = side[:, 0]
                row, at = np.nonzero(side[:, 1:] != side[:, :-1])
                for some_of in np.array_split(np.arange(len(row)), max(1, len(row) * len(study.usual) // _CELLS)):
                    if len(some_of):
                        split = part[row[some_of]]
                        right = functools.partial(self._right_of_column, split, j)
                        self._edges.append((split, study.changes(k, at[some_of], study.is_steps(j), right)))

    def _right_of_column(self, which: Array, j: int, made: Array) -> Array:
        """Return whether the model sends rows, given as it sees them, to the right at splits on a column."""
        return self.right(which[:, None], made[:, :, j])

    def folded(self) -> tuple[Ensemble, None]:
        """Return the ensemble over the variables."""
        probe, old = self._probe, self._old
        split = np.concatenate([np.empty(0, np.int64), *(part for part, _ in self._edges)])
        edge = np.concatenate([np.empty(0), *(part for _, part in self._edges)])
        order = np.lexsort((edge, split))
        split, edge = split[order], edge[order]
        counts = np.bincount(split, minlength=self._size)
        first = np.append(0, np.cumsum(np.maximum(counts, 1)))  # the new splits of each old one
        place = first[split] + np.arange(len(split)) - np.append(0, np.cumsum(counts))[split]
        bias = np.zeros(int(first[-1]))
        fixed = counts == 0
        bias[first[:-1][fixed]] = np.where(self._low[fixed], 1.0, -1.0)
        falls = self._low[split] & (counts[split] == 1)
        bias[place] = np.where(falls, edge, -np.nextafter(edge, -np.inf))  # 0 belongs to the left side
        raw = np.array([*probe.starts, -1])[self._raw[split]]
        rows, columns, data = [place], [raw], [np.where(falls, -1.0, 1.0)]
        for which, variables, sides in self._chosen:
            bias[first[which]] = 0.0
            rows.append(first[which])
            columns.append(variables)
            data.append(sides)
        shape = (2 * len(bias) + 1, probe.schema.width)
        weights = CSR.from_entries(np.concatenate(rows), np.concatenate(columns), np.concatenate(data), shape)
        made = replace(old, splits=heap(weights, bias), gap_right=None, gap_column=None, subsets={})
        return _in_pieces(made, first, counts, self._low), None

    def routes(self, _: None) -> Routes | None:
        """Return where missing numbers go; None if a split became several."""
        counts = np.bincount(np.concatenate([np.empty(0, np.int64), *(part for part, _ in self._edges)]), minlength=self._size)
        if (counts > 1).any():
            return None
        splits: dict[tuple[int, ...], Array] = {
            (j,): np.flatnonzero(self._column == j) for j in np.unique(self._column[self._column >= 0]).tolist()
        }

        def right(which: Array, made: Array) -> Array:
            return self.right(which, made[self._column[which]])

        mixes, routed = "the steps of the pipeline compute with it", self._old.gap_right is not None
        return probe_routes(self._probe, splits, right, 2 * self._size + 1, mixes, routed)


def _in_pieces(ensemble: Ensemble, starts: Array, edges: Array, rises: Array) -> Ensemble:
    """Return an ensemble whose nodes refer to new splits; a node whose split has several cuts becomes one node per cut.

    The catalogue of the ensemble is the new one, but its nodes refer to the old splits. Each of these has its first new split,
    its number of increasing cuts (none if it is fixed or separates categories), and whether the lowest numbers go right; the
    side changes at every cut.
    """
    inner = ensemble.left >= 0
    split = np.where(inner, ensemble.split, 0)
    cuts = np.where(inner, np.maximum(edges[split], 1) if len(edges) else 1, 1)
    if (cuts == 1).all():
        return replace(ensemble, split=np.where(inner, starts[split], -1))
    if (total := int(cuts.sum())) > _MOST_NODES:
        raise CounterleafError(
            f"the steps cut the numbers of the table into pieces, and the ensemble needs more than {_MOST_NODES:,} nodes; "
            f"use fewer bins, or transform the table beforehand"
        )
    begin = np.append(0, np.cumsum(cuts))[:-1]
    left, right, new_split = np.full(total, -1), np.full(total, -1), np.full(total, -1)
    value = np.zeros((total, ensemble.value.shape[1]))
    value[begin[~inner]] = ensemble.value[~inner]
    for size in np.unique(cuts[inner]).tolist():
        nodes = np.flatnonzero(inner & (cuts == size))
        at, first = begin[nodes], starts[split[nodes]]
        branches = np.stack([begin[ensemble.left[nodes]], begin[ensemble.right[nodes]]])
        if size == 1:
            left[at], right[at], new_split[at] = branches[0], branches[1], first
            continue
        low, each = rises[split[nodes]], np.arange(len(nodes))
        for t, (edge, below, above) in enumerate(_search_tree(size)):
            new_split[at + t] = first + edge
            for links, child in ((left, below), (right, above)):
                links[at + t] = at + child if child >= 0 else branches[(low ^ bool((-1 - child) % 2)).astype(int), each]
    return replace(ensemble, roots=begin[ensemble.roots], left=left, right=right, split=new_split, value=value)


def _search_tree(size: int) -> list[tuple[int, int, int]]:
    """Return the nodes of a balanced tree over some cuts: the cut and two children; -1 - p stands for the p-th piece."""
    out: list[tuple[int, int, int]] = []

    def add(low: int, high: int) -> int:
        if low == high:
            return -1 - low
        here, middle = len(out), (low + high) // 2
        out.append((middle, -1, -1))
        below = add(low, middle)
        out[here] = (middle, below, add(middle + 1, high))
        return here

    add(0, size)
    return out
