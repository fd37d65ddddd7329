"""A tree of fixed shape in flat arrays, parents before children: what the sweeps improve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterleaf._core import learn as kernels
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Shape:
    """Right iff x @ W[node] + b[node] >= 0; -1 children mark leaves. The sweeps write into W and b."""

    left: Array
    right: Array
    W: Array
    b: Array

    def copy(self) -> Shape:
        return Shape(self.left, self.right, self.W.copy(), self.b.copy())

    def turned(self) -> Shape:
        """The same tree with the largest weight of every oblique split positive: easier to read.

        A cut of one column keeps the side that owns it.
        """
        largest = self.W[np.arange(len(self.W)), np.abs(self.W).argmax(axis=1)]
        turn = (largest < 0) & (np.count_nonzero(self.W, axis=1) > 1)
        sign = np.where(turn, -1.0, 1.0)
        left, right = np.where(turn, self.right, self.left), np.where(turn, self.left, self.right)
        return Shape(left, right, self.W * sign[:, None], self.b * sign)

    @cached_property
    def core(self) -> kernels.Tree:
        """The tree as the core reads it, and writes into W and b."""
        return kernels.Tree(self.left, self.right, self.W, self.b)

    @cached_property
    def parent(self) -> Array:
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
        """(nodes, classes): the weight of each class at each node, for rows that end in ``leaf``."""
        n = len(self.left)
        counts = np.bincount(leaf * classes + y, weight, n * classes).reshape(n, classes)
        for level in reversed(self.levels[1:]):
            np.add.at(counts, self.parent[level], counts[level])
        return counts

    def labels(self, counts: Array) -> tuple[Array, Array]:
        """The majority class of each node, its parent's where no row comes; and the class all leaves below share, or -1."""
        label, empty = counts.argmax(axis=1), counts.sum(axis=1) == 0
        for level in self.levels[1:]:
            lost = level[empty[level]]
            label[lost] = label[self.parent[lost]]
        sure = label.copy()
        for level in reversed(self.levels[:-1]):
            inner = level[self.left[level] >= 0]
            a, b = sure[self.left[inner]], sure[self.right[inner]]
            sure[inner] = np.where(a == b, a, -1)
        return label, sure
