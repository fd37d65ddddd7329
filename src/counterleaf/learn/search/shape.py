"""A tree of fixed shape in flat arrays, parents before children: the sweeps improve it, pruning shortens it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterleaf._core import learn as kernels
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Shape:
    """A row goes right iff x @ W[node] + b[node] >= 0; leaves have children -1. The sweeps write into W and b."""

    left: Array
    right: Array
    W: Array
    b: Array

    def copy(self) -> Shape:
        return Shape(self.left, self.right, self.W.copy(), self.b.copy())

    def turned(self) -> Shape:
        """The same tree with the largest weight of every oblique split positive, which is easier to read.

        A split of one column stays as it is, because its threshold belongs to one of the sides.
        """
        largest = self.W[np.arange(len(self.W)), np.abs(self.W).argmax(axis=1)]
        turn = (largest < 0) & (np.count_nonzero(self.W, axis=1) > 1)
        sign = np.where(turn, -1.0, 1.0)
        left, right = np.where(turn, self.right, self.left), np.where(turn, self.left, self.right)
        return Shape(left, right, self.W * sign[:, None], self.b * sign)

    @cached_property
    def core(self) -> kernels.Tree:
        """The tree in the form of the compiled core, which writes into W and b."""
        return kernels.Tree(self.left, self.right, self.W, self.b)

    @cached_property
    def parent(self) -> Array:
        """The parent of each node, -1 for the root."""
        parent = np.full(len(self.left), -1)
        inner = np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent

    @cached_property
    def levels(self) -> list[Array]:
        """The nodes of each depth."""
        levels = [np.array([0])]
        while True:
            inner = levels[-1][self.left[levels[-1]] >= 0]
            if not len(inner):
                return levels
            levels.append(np.sort(np.concatenate([self.left[inner], self.right[inner]])))

    def tally(self, leaf: Array, y: Array, weight: Array, classes: int) -> Array:
        """Sum the weight of each class at each node, (nodes, classes), for rows that end in ``leaf``."""
        n = len(self.left)
        counts = np.bincount(leaf * classes + y, weight, n * classes).reshape(n, classes)
        for level in reversed(self.levels[1:]):
            np.add.at(counts, self.parent[level], counts[level])
        return counts

    def labels(self, counts: Array) -> tuple[Array, Array]:
        """The majority class of each node (its parent's if empty), and the class that all leaves below share or -1."""
        label, empty = counts.argmax(axis=1), counts.sum(axis=1) == 0
        for level in self.levels[1:]:
            unreached = level[empty[level]]
            label[unreached] = label[self.parent[unreached]]
        shared = label.copy()
        for level in reversed(self.levels[:-1]):
            inner = level[self.left[level] >= 0]
            a, b = shared[self.left[inner]], shared[self.right[inner]]
            shared[inner] = np.where(a == b, a, -1)
        return label, shared


def prune(shape: Shape, weight: Array, loss: Array, price: float, slack: float) -> tuple[Array, Array]:
    """Choose the nodes of the pruned tree, root first, and their children among them, (nodes, 2), -1 at leaves.

    Of all prunings it is the one with the least loss + price * leaves (exact, from the leaves up); a split that saves no more
    than ``slack`` is removed. ``weight`` is that of the rows that reach each node, ``loss`` their loss if the node is a leaf.
    A split with an empty side is replaced by its other side.
    """
    alone = loss + price  # cost of a node as a leaf
    cost, is_leaf, replacement = alone.copy(), shape.left < 0, np.arange(len(weight))
    for level in reversed(shape.levels[:-1]):
        for node in level[shape.left[level] >= 0]:
            a, b = shape.left[node], shape.right[node]
            if weight[a] == 0 or weight[b] == 0:
                full = b if weight[a] == 0 else a
                replacement[node], cost[node] = replacement[full], cost[full]
            elif alone[node] <= cost[a] + cost[b] + slack:
                is_leaf[node] = True
            else:
                cost[node] = cost[a] + cost[b]
    nodes, children = [int(replacement[0])], []
    for node in nodes:
        if is_leaf[node]:
            children.append((-1, -1))
        else:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [int(replacement[shape.left[node]]), int(replacement[shape.right[node]])]
    return np.array(nodes), np.array(children)
