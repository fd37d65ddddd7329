"""The tree of a question as arrays: the cuts of its splits, and the target leaves below each node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterleaf.model.cuts import cuts
from counterleaf.model.tree import Tree
from counterleaf.question.arrays import NODE, Form
from counterleaf.question.variables import Variables
from counterleaf.types import Array

Margin = float | tuple[float, ...]  # of every split, or of each feature in its own units


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A tree prepared for a margin; nothing in it depends on the row or the target."""

    margin: Margin
    margins: Array  # (N,) how far w @ x + b stays from 0 at each split

    nodes: Array  # (N,) NODE, the fields of the target not filled; on one-feature splits the right child is the high side
    levels: tuple[Array, ...]  # inner nodes by depth
    oblique: bool


def prepare(tree: Tree, margin: Margin, variables: Variables, sums: Array | None = None) -> Splits:
    """Compute the cuts of the splits on one variable or on one group, and the order of the nodes.

    ``sums`` marks splits that the model computes as sums of several terms even if one variable is left: they have no cuts.
    """
    margins = _margins(tree, margin, variables)
    index, swapped, low_side, high_side = cuts(tree, margins)
    inner = tree.left >= 0
    if sums is not None:
        summed = sums & (np.diff(tree.weights.indptr) == 1)
        index[summed], swapped[summed], low_side[summed], high_side[summed] = -1, False, np.inf, -np.inf
    form = np.where(inner, np.where(index >= 0, Form.NUMBER, Form.OBLIQUE), Form.LEAF)
    if len(variables.first):
        w = tree.weights
        for node in np.flatnonzero(inner & (np.diff(w.indptr) > 0)).tolist():
            g = variables.group_of(w.indices[w.indptr[node] : w.indptr[node + 1]])
            if g >= 0:
                form[node], index[node], swapped[node] = Form.GROUP, g, False
    nodes = np.zeros(tree.n_nodes, NODE)
    nodes["left"] = np.where(swapped, tree.right, tree.left)
    nodes["right"] = np.where(swapped, tree.left, tree.right)
    nodes["form"], nodes["index"], nodes["cut_left"], nodes["cut_right"] = form, index, low_side, high_side
    levels = []
    level = np.array([0])
    while len(splits := level[inner[level]]):
        levels.append(splits)
        level = np.concatenate([tree.left[splits], tree.right[splits]])
    return Splits(margin, margins, nodes, tuple(levels), bool((form == Form.OBLIQUE).any()))


def _margins(tree: Tree, margin: Margin, variables: Variables) -> Array:
    """(N,) the margin of each split. Margins of features add up: the split holds for every change within them."""
    if not isinstance(margin, tuple):
        return np.where(tree.left >= 0, margin, 0.0)
    numbers = (variables.group < 0) & (np.diff(variables.feature, prepend=-1) > 0)  # not the 0/1 variable of a gap
    of_variable = np.where(numbers, np.array(margin)[variables.feature], 0.0)
    w = tree.weights
    terms = np.append(np.abs(w.data) * of_variable[w.indices], 0.0)
    return np.where(np.diff(w.indptr) > 0, np.add.reduceat(terms, w.indptr[:-1]), 0.0)


def aim(tree: Tree, splits: Splits, target: Mapping[int, float], closed: Array | None = None) -> Array:
    """Fill in the fields of the nodes that depend on the target, given as class index -> class cost.

    ``closed`` marks leaves that do not count, of any class.
    """
    price = np.full(len(tree.classes) + 1, math.inf)
    price[list(target)] = list(target.values())
    below = np.where(tree.left < 0, price[tree.value], math.inf)
    if closed is not None:
        below[closed] = math.inf
    leaves = np.isfinite(below).astype(np.int64)
    first = np.where(leaves > 0, np.arange(tree.n_nodes), tree.n_nodes)
    for inner in reversed(splits.levels):
        below[inner] = np.minimum(below[tree.left[inner]], below[tree.right[inner]])
        leaves[inner] = leaves[tree.left[inner]] + leaves[tree.right[inner]]
        first[inner] = np.minimum(first[tree.left[inner]], first[tree.right[inner]])
    nodes = splits.nodes.copy()
    nodes["below"], nodes["leaves"], nodes["first"] = below, leaves, first
    return nodes
