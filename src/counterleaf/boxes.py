"""Axis-aligned trees as the kernel for many rows wants them: features, not variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.cost import Prices
from counterleaf.features import Numeric
from counterleaf.kernels.boxes import BOX_NODE, Fields, cheapest_boxes
from counterleaf.kernels.memory import OBLIQUE
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
    nodes: Array

    @classmethod
    def of(cls, tree: Tree, splits: Splits, margin: float, schema: Schema, layout: Layout, prices: Prices) -> Boxes:
        start = schema.starts[:-1]
        number = np.array([isinstance(feature, Numeric) for feature in schema])
        size = np.where(number, 0, np.diff(schema.starts))
        nodes = np.zeros(tree.n_nodes, BOX_NODE)
        inner = np.flatnonzero(tree.left >= 0)
        for name in ("left", "right", "cut_left", "cut_right"):
            nodes[name] = splits.nodes[name]
        variable = splits.nodes["feature"].copy()
        groups = inner[variable[inner] < OBLIQUE]
        variable[groups] = layout.first[-2 - variable[groups]]
        nodes["feature"][inner] = layout.feature[variable[inner]]
        sides, at = [np.empty(0, np.int8)], 0
        for node in inner[size[nodes["feature"][inner]] > 0].tolist():
            d = nodes["feature"][node]
            columns = slice(tree.weights.indptr[node], tree.weights.indptr[node + 1])
            f = np.full(size[d], tree.bias[node])
            f[tree.weights.indices[columns] - start[d]] += tree.weights.data[columns]
            right = (f > 0) | ((f == 0) & (tree.closed == "right"))
            clear = (margin == 0) | (np.abs(f) >= margin)
            sides.append(np.where(clear, right, 2).astype(np.int8))
            nodes["left"][node], nodes["right"][node], nodes["sides"][node] = tree.left[node], tree.right[node], at
            at += int(size[d])
        places = np.concatenate([[0], np.cumsum(size**2)])[:-1]
        moves = np.concatenate([np.empty(0), *(table.ravel() for table in prices.moves)])
        step = np.ascontiguousarray(layout.step[:, start])
        return cls(Fields(start, size, step, prices.rows[:, start].copy(), places, moves, np.concatenate(sides)), nodes)

    def find(self, codes: Array, least: Array, kinds: Array, lower: Array, upper: Array, widen: bool, limit: float) -> Outcomes:
        """The cheapest target leaf of every row, and the row's codes there; see ``kernels.boxes``."""
        n = len(codes)
        out = Outcomes(np.empty(n, np.int8), np.empty(n, np.int64), np.empty(n), np.empty(0), np.empty(codes.shape))
        notice = announce("boxes")
        try:
            cheapest_boxes(
                self.fields, self.nodes, least, kinds, codes, lower, upper, widen, limit,
                out.outcome, out.leaves, out.costs, out.points,
            )  # fmt: skip
        finally:
            if notice is not None:
                notice.cancel()
        return Outcomes(out.outcome, out.leaves, out.costs, out.costs, out.points)
