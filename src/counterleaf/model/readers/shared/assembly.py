"""From the nodes of many trees to an Ensemble: equal splits are listed once, and children come after their parents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble, catalogue
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.types import Array

Codes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one tree or of several."""

    left: Array  # (N,) array of int: the children of each node; -1 marks a leaf
    right: Array  # (N,) array of int: the children of each node; -1 marks a leaf
    column: Array  # (N,) array: what a split tests; ignored at leaves
    threshold: Array  # (N,) array: what a split tests; ignored at leaves
    gap_right: Array  # (N,) array of bool: whether a missing value goes right
    value: Array  # (N, W) array of float: what the leaves hold
    subset: dict[int, Codes] = field(default_factory=dict)  # by node, for splits on category codes: the codes that go right


def joined(trees: Sequence[Nodes]) -> tuple[Nodes, Array]:
    """Return the nodes of all trees, one after another, and the roots."""
    sizes = np.array([len(tree.left) for tree in trees], np.int64)
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)

    def one(name: str) -> Array:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def link(name: str) -> Array:
        child = one(name).astype(np.int64)
        return np.where(child >= 0, child + shift, -1)

    subset = {int(root) + k: codes for root, tree in zip(roots, trees, strict=True) for k, codes in tree.subset.items()}
    found = Nodes(link("left"), link("right"), one("column"), one("threshold"), one("gap_right"), one("value"), subset)
    return found, roots


def ordered(nodes: Nodes, roots: Array) -> tuple[Nodes, Array]:
    """Return the nodes in an order in which children come after their parents, without nodes that no row reaches."""
    inner = np.flatnonzero(nodes.left >= 0)
    sound = (np.minimum(nodes.left, nodes.right)[inner] > inner).all() and 2 * len(inner) + len(roots) == len(nodes.left)
    if sound:
        return nodes, roots
    levels, level = [], np.asarray(roots, np.int64)
    while len(level):
        levels.append(level)
        level = level[nodes.left[level] >= 0]
        level = np.column_stack([nodes.left[level], nodes.right[level]]).ravel()
        if len(levels) > len(nodes.left):
            raise CounterleafError("the nodes of a tree form a cycle: the model is damaged; fit it again")
    return _taken(nodes, np.concatenate(levels)), np.arange(len(roots))


def in_order(nodes: Nodes) -> Nodes:
    """Return the nodes of one tree so that each is followed by all nodes on its left, then by those on its right."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if nodes.left[node] >= 0:
            stack += [int(nodes.right[node]), int(nodes.left[node])]
    return _taken(nodes, np.array(order))


def _taken(nodes: Nodes, order: Array) -> Nodes:
    """Return some nodes in another order."""
    new = np.full(len(nodes.left), -1)
    new[order] = np.arange(len(order))
    left, right = (np.where(child[order] >= 0, new[child[order]], -1) for child in (nodes.left, nodes.right))
    subset = {int(new[k]): codes for k, codes in nodes.subset.items() if new[k] >= 0}
    column, threshold, gap_right = nodes.column[order], nodes.threshold[order], nodes.gap_right[order]
    return Nodes(left, right, column, threshold, gap_right, nodes.value[order], subset)


def assemble(
    trees: Sequence[Nodes],
    scoring: Scoring,
    *,
    width: int,
    start: Any,
    classes: Any = (),
    output: Any = None,
    gaps: bool = True,
    compares: tuple[str, str] = ("left", "float64"),
) -> Ensemble:
    """Return the ensemble of some trees."""
    nodes, roots = ordered(*joined(trees))
    inner = np.flatnonzero(nodes.left >= 0)
    split, first, subsets = _distinct(nodes, inner, gaps)
    place = np.full(len(nodes.left), -1)
    place[inner] = split
    column = nodes.column[first].astype(np.int64)
    threshold = nodes.threshold[first].astype(np.float64)
    threshold[list(subsets)] = 0.0
    value = np.where((nodes.left < 0)[:, None], nodes.value, 0.0)
    start = np.asarray(start, np.float64)
    if not (np.isfinite(value).all() and np.isfinite(start).all()):
        raise CounterleafError("a leaf of the model does not hold a finite number; fit it again")
    return Ensemble(
        catalogue(column, threshold, width, *compares),
        roots,
        nodes.left,
        nodes.right,
        place,
        value,
        np.zeros(len(roots), np.int64) if output is None else np.asarray(output, np.int64),
        start,
        scoring,
        np.asarray(classes),
        nodes.gap_right[first].astype(bool) if gaps else None,
        column if gaps else None,
        subsets,
    )


def _distinct(nodes: Nodes, inner: Array, gaps: bool) -> tuple[Array, Array, dict[int, Array]]:
    """Return the place of each inner node's split in the catalogue, a node of each split, and the codes by split."""
    kinds: dict[Codes, int] = {}
    kind = np.zeros(len(nodes.left), np.int64)  # 0 for numbers, otherwise the number of a set of codes
    for k, codes in nodes.subset.items():
        kind[k] = kinds.setdefault(codes, len(kinds) + 1)
    column = nodes.column[inner].astype(np.int64)
    threshold = np.where(kind[inner] > 0, 0.0, nodes.threshold[inner]) + 0.0  # 0 and -0 are the same threshold
    right = nodes.gap_right[inner].astype(np.int64) if gaps else np.zeros(len(inner), np.int64)
    key = (column * (len(kinds) + 1) + kind[inner]) * 2 + right
    order = np.lexsort((threshold, key))
    new = np.append(True, (np.diff(key[order]) != 0) | (threshold[order][1:] != threshold[order][:-1]))[: len(order)]
    place = np.empty(len(inner), np.int64)
    place[order] = np.cumsum(new) - 1
    first = inner[order[new]]
    known = {number: np.array(codes, np.int64) for codes, number in kinds.items()}
    return place, first, {int(k): known[int(kind[first[k]])] for k in np.flatnonzero(kind[first])}


def scattered(values: Array, places: Iterable[int], width: int) -> Array:
    """Return an array of ``width`` columns with the columns of another in some places, 0 elsewhere."""
    out = np.zeros((len(values), width))
    out[:, list(places)] = values
    return out
