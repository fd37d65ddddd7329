"""Axis-aligned trees as the kernel for many rows wants them: features, not variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.cost import Prices
from counterleaf.features import Numeric
from counterleaf.kernels.boxes import BoxNodes, Fields, cheapest_boxes, nearest_boxes
from counterleaf.kernels.memory import OBLIQUE
from counterleaf.layout import Layout
from counterleaf.notice import announced
from counterleaf.problem import Splits
from counterleaf.schema import Array, Schema
from counterleaf.search import Outcomes
from counterleaf.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """An axis-aligned tree and a cost without rows, coupling or gains, ready for many rows."""

    fields: Fields
    nodes: BoxNodes
    labels: Array  # of the leaves, as numbers
    unreachable: Array  # nodes whose box is empty; known where ``plain``
    plain: bool  # numbers without grids, no margin

    @classmethod
    def of(cls, tree: Tree, splits: Splits, margin: float, schema: Schema, layout: Layout, prices: Prices) -> Boxes:
        start = schema.starts[:-1]
        number = np.array([isinstance(feature, Numeric) for feature in schema])
        size = np.where(number, 0, np.diff(schema.starts))
        names = ("left", "right", "feature", "cut_left", "cut_right")
        left, right, variable, cut_left, cut_right = (np.ascontiguousarray(splits.nodes[name]) for name in names)
        inner = tree.left >= 0
        groups = inner & (variable < OBLIQUE)
        variable[groups] = layout.first[-2 - variable[groups]]
        feature = np.where(inner, layout.feature[variable], 0)
        sides, at, where = [np.empty(0, np.int8)], 0, np.zeros(tree.n_nodes, np.int64)
        for node in np.flatnonzero(inner & (size[feature] > 0)).tolist():
            d = feature[node]
            columns = slice(tree.weights.indptr[node], tree.weights.indptr[node + 1])
            f = np.full(size[d], tree.bias[node])
            f[tree.weights.indices[columns] - start[d]] += tree.weights.data[columns]
            goes_right = (f > 0) | ((f == 0) & (tree.closed == "right"))
            clear = (margin == 0) | (np.abs(f) >= margin)
            sides.append(np.where(clear, goes_right, 2).astype(np.int8))
            left[node], right[node], where[node] = tree.left[node], tree.right[node], at
            at += int(size[d])
        nodes = BoxNodes(left, right, feature, where, cut_left, cut_right)
        places = np.concatenate([[0], np.cumsum(size**2)])[:-1]
        moves = np.concatenate([np.empty(0), *(table.ravel() for table in prices.moves)])
        step = np.ascontiguousarray(layout.step[:, start])
        fields = Fields(start, size, step, prices.rows[:, start].copy(), places, moves, np.concatenate(sides))
        plain = margin == 0 and schema.plain
        return cls(fields, nodes, tree.value, _unreachable(nodes) if plain else np.empty(0, np.int64), plain)

    def least(self, nodes: Array) -> Array:
        """The least class cost below each node, one line per target."""
        out = np.ascontiguousarray(nodes["below"])
        out[:, self.unreachable] = np.inf
        return out

    def nearest(self, codes: Array, least: Array, lower: Array, upper: Array, limit: float) -> Outcomes:
        """The cheapest target leaf of every row inside one box, for trees that are ``plain``; see ``nearest_boxes``."""
        told = _room(codes)
        with announced("boxes"):
            nearest_boxes(self.nodes, self.labels, self.fields.prices, least, codes, lower, upper, limit, *told)
        return _outcomes(*told)

    def cheapest(self, codes: Array, least: Array, kinds: Array, lower: Array, upper: Array, limit: float) -> Outcomes:
        """The cheapest target leaf of every row, in one box for all or each in its own; see ``cheapest_boxes``."""
        told = _room(codes)
        with announced("boxes"):
            cheapest_boxes(self.fields, self.nodes, least, kinds, codes, lower, upper, limit, *told)
        return _outcomes(*told)


def _room(codes: Array) -> tuple[Array, Array, Array, Array]:
    """Arrays for what a kernel tells: outcome, leaf, cost and the row's codes there."""
    n = len(codes)
    return np.empty(n, np.int8), np.empty(n, np.int64), np.empty(n), np.empty(codes.shape)


def _outcomes(outcome: Array, leaves: Array, costs: Array, points: Array) -> Outcomes:
    return Outcomes(outcome, leaves, costs, costs.copy(), points)  # the costs are proved: they are the bounds


def _unreachable(nodes: BoxNodes) -> Array:
    """Children that no row reaches, since a split above them sends it elsewhere: their box is empty."""
    out: list[int] = []
    left, right, feature = nodes.left.tolist(), nodes.right.tolist(), nodes.feature.tolist()
    cut_left, cut_right = nodes.cut_left.tolist(), nodes.cut_right.tolist()
    stack: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while stack:
        node, box = stack.pop()
        if left[node] < 0:
            continue
        d = feature[node]
        low, high = box.get(d, (-np.inf, np.inf))
        for child, ends in (
            (left[node], (low, min(high, cut_left[node]))),
            (right[node], (max(low, cut_right[node]), high)),
        ):
            if ends[0] > ends[1] or ends[0] == np.inf or ends[1] == -np.inf:
                out.append(child)
            else:
                stack.append((child, {**box, d: ends}))
    return np.array(out, np.int64)
