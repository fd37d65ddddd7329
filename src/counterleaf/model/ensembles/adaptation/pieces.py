"""Trees whose splits became several cuts of one number: each node becomes a small search tree whose branches are shared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.types import Array

_MOST_NODES = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The new splits of each split."""

    first: Array  # (S + 1,) array of int: the position of the first new split
    edges: Array  # (S,) array of int: the number of increasing cuts; a split with none is fixed, or separates categories
    low: Array  # (S,) array of bool: whether the lowest numbers go right. The side changes at every cut


def in_pieces(ensemble: Ensemble, sides: Sides) -> Ensemble:
    """Return an ensemble whose nodes refer to new splits."""
    inner = ensemble.left >= 0
    split = np.where(inner, ensemble.split, 0)
    cuts = np.where(inner, np.maximum(sides.edges[split], 1) if len(sides.edges) else 1, 1)
    if (cuts == 1).all():
        return replace(ensemble, split=np.where(inner, sides.first[split], -1))
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
        at, first = begin[nodes], sides.first[split[nodes]]
        branches = np.stack([begin[ensemble.left[nodes]], begin[ensemble.right[nodes]]])
        if size == 1:
            left[at], right[at], new_split[at] = branches[0], branches[1], first
            continue
        low, each = sides.low[split[nodes]], np.arange(len(nodes))
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
