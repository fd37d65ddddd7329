"""From the best tree of the sweeps to the one that is kept: no branch that no row reaches, no split that saves nothing."""

from __future__ import annotations

import numpy as np

from counterleaf.learn.shape import Shape
from counterleaf.types import Array


def prune(shape: Shape, counts: Array, price: float, slack: float) -> tuple[Array, Array]:
    """The nodes to keep, root first, and their children among them (kept, 2), -1 at leaves.

    Of all prunings it is the one of least misclassified weight + price * leaves (exact, from the leaves up); a split that
    saves no more than ``slack`` goes. ``counts`` is (nodes, classes); a split with an empty side is replaced by its other side.
    """
    weight = counts.sum(axis=1)
    alone = weight - counts.max(axis=1) + price  # cost of a node as a leaf
    cost, is_leaf, stands_for = alone.copy(), shape.left < 0, np.arange(len(weight))
    for level in reversed(shape.levels[:-1]):
        for node in level[shape.left[level] >= 0]:
            a, b = shape.left[node], shape.right[node]
            if weight[a] == 0 or weight[b] == 0:
                full = b if weight[a] == 0 else a
                stands_for[node], cost[node] = stands_for[full], cost[full]
            elif alone[node] <= cost[a] + cost[b] + slack:
                is_leaf[node] = True
            else:
                cost[node] = cost[a] + cost[b]
    kept, children = [int(stands_for[0])], []
    for node in kept:
        if is_leaf[node]:
            children.append((-1, -1))
        else:
            children.append((len(kept), len(kept) + 1))
            kept += [int(stands_for[shape.left[node]]), int(stands_for[shape.right[node]])]
    return np.array(kept), np.array(children)
