"""One question as arrays: the line between the user's words and the solver's symbols."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from counterleaf.coupling import Coupling
from counterleaf.cuts import cuts
from counterleaf.errors import CounterleafError
from counterleaf.features import some
from counterleaf.layout import Layout, Table
from counterleaf.schema import Array
from counterleaf.tree import Tree


class Form(IntEnum):
    """What a node splits on: one number, one group of 0/1 variables, or several variables."""

    LEAF, NUMBER, GROUP, OBLIQUE = range(4)


NODE = np.dtype(
    [
        ("left", np.int64),
        ("right", np.int64),
        ("form", np.int64),  # see Form
        ("index", np.int64),  # of the number or group that is split on
        ("cut_left", np.float64),  # the last value of that number sent left
        ("cut_right", np.float64),  # the first one sent right
        ("below", np.float64),  # least class cost of a leaf below; inf if none is a target
        ("leaves", np.int64),  # target leaves below, itself included
        ("first", np.int64),  # the least of them
    ]
)


class Question(NamedTuple):
    """What is asked, as arrays: D variables, N nodes, K rows of the user."""

    nodes: Array  # (N,) NODE
    indptr: Array  # (N + K + 1,) the rows of the splits, then the user's, in CSR
    indices: Array
    data: Array
    bias: Array  # (N + K,) row i is data @ x + bias
    features: Array  # (9, D): source, lower, upper, curve and slope up, curve and slope down, scale, horizon
    equal: int  # how many of the user's rows (the first) are equalities
    method: int  # how the core bounds a region; nothing of the proof depends on it
    margin: float
    right_closed: bool
    narrow: bool
    home: int  # the source's own leaf if it obeys the user's constraints and nothing earns by moving, else -1


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A tree made ready for a margin; nothing in it depends on the row or the target."""

    nodes: Array  # (N,) NODE without what depends on the target; on one-feature splits the right child is the high side
    levels: tuple[Array, ...]  # inner nodes by depth
    oblique: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """min cost(x - source) + class cost over the rows that the tree sends to a target leaf, in a box, under rows."""

    tree: Tree
    splits: Splits
    pose: Callable[[], tuple[Question, Table | None]]  # makes the arrays when they are first read
    coupling: Coupling | None = None

    @functools.cached_property
    def _posed(self) -> tuple[Question, Table | None]:
        return self.pose()

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "splits": self.splits, "coupling": self.coupling, "_posed": self._posed}

    @property
    def question(self) -> Question:
        return self._posed[0]

    @property
    def table(self) -> Table | None:
        """Groups, grids and clauses, where there are any."""
        return self._posed[1]

    @property
    def source(self) -> Array:
        return np.asarray(self.question.features[0])

    def cost_of(self, rows: Array) -> Array:
        """Cost of each row of a 2-D array, class cost left out."""
        alone, together = self._costs(rows)
        cost = alone.sum(axis=-1)
        if together is not None:
            cost = cost + np.maximum(together.sum(axis=-1), 0.0)  # negative by rounding only
        return np.asarray(cost)

    def shares(self, row: Array) -> Array:
        """What the change of each feature costs, in a row or in each of several; their sum is ``cost_of``.

        Of a cost that two features share, each bears half: a share may be negative.
        """
        alone, together = self._costs(row)
        return np.asarray(alone if together is None else alone + together)

    def _costs(self, rows: Array) -> tuple[Array, Array | None]:
        """Per feature: the separable cost, and the coupled one if there is any."""
        _, _, _, cu, gu, cd, gd, _, _ = self.question.features
        d = rows - self.source
        if (cu == cd).all() and (gu == -gd).all():  # the usual case, and whole tables are passed: no more arrays than needed
            size = np.abs(d)
            alone = cu * size
            alone += gu
            alone *= size
        else:
            up, down = np.maximum(d, 0.0), np.minimum(d, 0.0)
            alone = (cu * up + gu) * up + (cd * down + gd) * down
        return alone, None if self.coupling is None else d * (self.coupling.matrix @ d.T).T


def read_target(target: Any, classes: Array, own: int) -> dict[int, float]:
    """Class index -> class cost, from a class, several, a dict of costs, or None (any class but the row's own)."""
    labels = classes.tolist()
    if target is None:
        return {k: 0.0 for k in range(len(labels)) if k != own}
    if isinstance(target, np.ndarray):
        target = target.tolist()
    try:
        if isinstance(target, Mapping):
            wanted = dict(target)
        elif isinstance(target, Iterable) and not isinstance(target, (str, bytes)):
            wanted = dict.fromkeys(target, 0.0)
        else:
            wanted = {target: 0.0}
    except TypeError:
        raise CounterleafError(f"target is {target!r}; expected a class, a list of classes or a dict of costs") from None
    if not wanted:
        raise CounterleafError("target is empty; name at least one class")
    out: dict[int, float] = {}
    for label, price in wanted.items():
        if label not in labels:
            raise CounterleafError(f"no class {label!r}; the model's classes are {some(labels)}")
        try:
            out[labels.index(label)] = float(price)
        except (TypeError, ValueError):
            raise CounterleafError(f"the cost of class {label!r} is {price!r}; expected a number") from None
        if not math.isfinite(out[labels.index(label)]):
            raise CounterleafError(
                f"the cost of class {label!r} is {price!r}; expected a finite number: leave out what is forbidden"
            )
    return out


def prepare(tree: Tree, margin: float, layout: Layout | None) -> Splits:
    """Settle the cuts of the splits on one variable, or on one group, and the order of the nodes."""
    index, swapped, low_side, high_side = cuts(tree, margin)
    inner = tree.left >= 0
    form = np.where(inner, np.where(index >= 0, Form.NUMBER, Form.OBLIQUE), Form.LEAF)
    if layout is not None and len(layout.first):
        w = tree.weights
        for node in np.flatnonzero(inner & (np.diff(w.indptr) > 0)).tolist():
            g = layout.group_of(w.indices[w.indptr[node] : w.indptr[node + 1]])
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
    return Splits(nodes, tuple(levels), bool((form == Form.OBLIQUE).any()))


def aim(tree: Tree, splits: Splits, target: Mapping[int, float]) -> Array:
    """The nodes with the least class cost of a target leaf below each, and the number of such leaves."""
    price = np.full(len(tree.classes) + 1, math.inf)
    price[list(target)] = list(target.values())
    below = np.where(tree.left < 0, price[tree.value], math.inf)
    leaves = np.isfinite(below).astype(np.int64)
    first = np.where(leaves > 0, np.arange(tree.n_nodes), tree.n_nodes)
    for inner in reversed(splits.levels):
        below[inner] = np.minimum(below[tree.left[inner]], below[tree.right[inner]])
        leaves[inner] = leaves[tree.left[inner]] + leaves[tree.right[inner]]
        first[inner] = np.minimum(first[tree.left[inner]], first[tree.right[inner]])
    nodes = splits.nodes.copy()
    nodes["below"], nodes["leaves"], nodes["first"] = below, leaves, first
    return nodes
