"""Axis-aligned trees prepared for many rows: splits on features instead of variables, leaves as boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np

from counterleaf import _core
from counterleaf.model.tree import Tree
from counterleaf.question.arrays import ChangeLimit, Form
from counterleaf.question.costs.prices import Prices
from counterleaf.question.splits import Margin, Splits
from counterleaf.question.variables import Variables
from counterleaf.search.search import Search
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_NEITHER = 2  # the side of a value within the margin; 0 is left, 1 right
_LAST: WeakKeyDictionary[Search, tuple[Prices, Margin, _core.Boxes]] = WeakKeyDictionary()  # the last one of each search


class Avoided(NamedTuple):
    """Limits on the features that change: for each of n rows K of them, or K for all rows if n is 1."""

    marked: Array  # (n, K, F): the features that a limit is about
    most: Array  # (n, K): how many of them may change

    @classmethod
    def nothing(cls, features: int, most: int = -1) -> Self:
        """Return no limit, or one on all features if ``most`` is not negative."""
        count = int(most >= 0)
        return cls(np.ones((1, count, features), np.int8), np.full((1, count), most, np.int64))

    def of(self, lines: Array) -> Self:
        """Return the limits of some rows."""
        return self if len(self.most) == 1 else type(self)(self.marked[lines], self.most[lines])

    def also(self, marked: Array, most: Array) -> Self:
        """Return the limits with one more for each row."""
        shapes = (len(marked), *self.marked.shape[1:]), (len(marked), self.most.shape[1])
        earlier = np.broadcast_to(self.marked, shapes[0]), np.broadcast_to(self.most, shapes[1])
        whole = np.concatenate([earlier[0], marked[:, None].astype(np.int8)], axis=1)
        return type(self)(whole, np.concatenate([earlier[1], most[:, None]], axis=1))

    def alike(self) -> Iterator[tuple[tuple[ChangeLimit, ...], Array]]:
        """Yield each combination of limits with the places of the rows that have it."""
        marks = np.packbits(self.marked.reshape(len(self.most), -1), axis=1)
        _, first, which = np.unique(np.concatenate([marks, self.most], axis=1), axis=0, return_index=True, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
        for k, here in zip(first.tolist(), groups, strict=True):
            limits = zip(self.marked[k], self.most[k].tolist(), strict=True)
            yield tuple(ChangeLimit(tuple(np.flatnonzero(marked).tolist()), most) for marked, most in limits), here


def boxes_of(search: Search, prices: Prices, margin: Margin) -> _core.Boxes:
    """Return the prepared tree; that of the last cost and margin is reused."""
    last = _LAST.get(search)
    if last is not None and last[0] is prices and last[1] == margin:
        return last[2]
    made = _boxes(search.tree, search.splits(margin), search.schema, search.variables, prices)
    _LAST[search] = prices, margin, made
    return made


def _boxes(tree: Tree, splits: Splits, schema: Schema, variables: Variables, prices: Prices) -> _core.Boxes:
    """An axis-aligned tree and a cost without coupling or gains, ready for many rows."""
    start, nodes = schema.starts[:-1], splits.nodes
    number = np.array([isinstance(feature, Numeric) for feature in schema])
    size = np.where(number, 0, np.diff(schema.starts))
    variable = nodes["index"].copy()
    groups = nodes["form"] == Form.GROUP
    variable[groups] = variables.first[variable[groups]]
    feature = np.where(tree.left >= 0, variables.feature[variable], 0)
    sides = [np.empty(0, np.int8)]
    for node in np.flatnonzero((tree.left >= 0) & (size[feature] > 0)).tolist():
        d = feature[node]
        columns = slice(tree.weights.indptr[node], tree.weights.indptr[node + 1])
        f = np.full(size[d], tree.bias[node])
        f[tree.weights.indices[columns] - start[d]] += tree.weights.data[columns]
        goes_right = (f > 0) | ((f == 0) & (tree.closed == "right"))
        clear = (splits.margins[node] == 0) | (np.abs(f) >= splits.margins[node])
        sides.append(np.where(clear, goes_right, _NEITHER).astype(np.int8))
    moves = np.concatenate([np.empty(0), *(table.ravel() for table in prices.moves)])
    charges = prices.charges if len(prices.charges) else np.zeros(len(schema))
    fields = _core.Fields(start, size, _core.Grids(*variables.grids.at(start)), prices.rows[:, start], charges, moves)
    cuts = np.stack([nodes["cut_left"], nodes["cut_right"]])
    left, right = np.ascontiguousarray(nodes["left"]), np.ascontiguousarray(nodes["right"])
    return _core.Boxes(fields, left, right, feature, cuts, np.concatenate(sides), tree.value)
