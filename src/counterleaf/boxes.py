"""Axis-aligned trees as the kernel for many rows wants them: features, not variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterleaf.cost import Prices
from counterleaf.features import Numeric
from counterleaf.kernels.boxes import BoxNodes, Fields, cheapest_boxes, nearest_boxes
from counterleaf.kernels.memory import OBLIQUE, UNASKED
from counterleaf.layout import Layout
from counterleaf.notice import announce
from counterleaf.problem import Splits
from counterleaf.schema import Array, Schema
from counterleaf.search import Outcomes
from counterleaf.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """An axis-aligned tree and a cost without rows, coupling or gains, ready for ``find``."""

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

    def find(
        self,
        codes: Array,
        least: Array,
        kinds: Callable[[Array], Array],
        lower: Array,
        upper: Array,
        widen: bool,
        limit: float,
    ) -> Outcomes:
        """The cheapest target leaf of every row, and the row's codes there; see ``kernels.boxes``.

        ``kinds`` tells the line of ``least`` for each of some codes.
        """
        n = len(codes)
        out = Outcomes(np.empty(n, np.int8), np.empty(n, np.int64), np.empty(n), np.empty(0), np.empty(codes.shape))
        told = out.outcome, out.leaves, out.costs, out.points
        notice = announce("boxes")
        try:
            if self.plain and len(lower) == 1:
                least[:, self.unreachable] = np.inf
                nearest_boxes(self.nodes, self.labels, self.fields.prices, least, codes, lower, upper, limit, *told)
                lines = np.flatnonzero(out.outcome == UNASKED)
                if len(lines):  # outside of the user's box, or with a gap
                    outside = tuple(array[lines] for array in told)
                    asked = kinds(codes[lines]), codes[lines]
                    cheapest_boxes(self.fields, self.nodes, least, *asked, lower, upper, widen, limit, *outside)
                    for array, part in zip(told, outside, strict=True):
                        array[lines] = part
            else:
                cheapest_boxes(self.fields, self.nodes, least, kinds(codes), codes, lower, upper, widen, limit, *told)
        finally:
            if notice is not None:
                notice.cancel()
        return Outcomes(out.outcome, out.leaves, out.costs, out.costs, out.points)


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
