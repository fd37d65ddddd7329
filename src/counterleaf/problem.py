"""One question as arrays: the line between the user's words and the solver's symbols."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.constraint import Limits
from counterleaf.cost import Prices
from counterleaf.coupling import Coupling
from counterleaf.cuts import cuts
from counterleaf.errors import CounterleafError
from counterleaf.features import some
from counterleaf.kernels.memory import BOX, COUPLED, CURVED, FLAT, MIXED, NODE, OBLIQUE, Question, Table
from counterleaf.layout import SOFT, Layout, Tables, lay_out
from counterleaf.schema import Array
from counterleaf.tree import Tree

_NO_INDEX, _NOTHING = np.empty(0, np.int64), np.empty(0)
_LAST = 1e38  # a bound further out, such as the last float32, is none
_HORIZON = 1e9  # a cost that still falls this far out (in units of the source, at least 1) counts as unbounded


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A tree made ready for a margin; nothing in it depends on the row or the target."""

    nodes: Array  # (N,) NODE without what depends on the target; on one-feature splits the right child is the high side
    levels: tuple[Array, ...]  # inner nodes by depth
    depth: int  # most oblique splits on a path
    oblique: bool


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """min cost(x - source) + class cost over the rows that the tree sends to a target leaf, in a box, under rows."""

    tree: Tree
    splits: Splits
    question: Question
    coupling: Coupling | None = None
    table: Table | None = None  # groups, grids and clauses, where there are any

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
        return alone, None if self.coupling is None else d * (d @ self.coupling.matrix)


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """n problems that differ in their source, and in what follows from it."""

    tree: Tree
    splits: Splits
    shared: Question  # what they have in common; the rest is that of the first
    nodes: Array  # (K, N) one line per target
    kinds: Array  # (n,) the line of each question
    features: Array  # (n, 9, D)
    methods: Array  # (n,)
    homes: Array  # (n,)
    coupling: Coupling | None
    tables: Tables | None

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, k: int) -> Problem:
        question = self.shared._replace(
            nodes=self.nodes[self.kinds[k]],
            features=self.features[k],
            method=int(self.methods[k]),
            home=int(self.homes[k]),
        )
        return Problem(self.tree, self.splits, question, self.coupling, None if self.tables is None else self.tables[k])


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
    feature, swapped, low_side, high_side = cuts(tree, margin)
    if layout is not None and len(layout.first):
        w = tree.weights
        for node in np.flatnonzero((tree.left >= 0) & (np.diff(w.indptr) > 0)).tolist():
            g = layout.group_of(w.indices[w.indptr[node] : w.indptr[node + 1]])
            if g >= 0:
                feature[node], swapped[node] = -2 - g, False
    nodes = np.zeros(tree.n_nodes, NODE)
    nodes["left"] = np.where(swapped, tree.right, tree.left)
    nodes["right"] = np.where(swapped, tree.left, tree.right)
    nodes["feature"], nodes["cut_left"], nodes["cut_right"] = feature, low_side, high_side
    depth = np.zeros(tree.n_nodes, np.int64)
    levels = []
    level = np.array([0])
    while len(inner := level[tree.left[level] >= 0]):
        levels.append(inner)
        for child in (tree.left, tree.right):
            depth[child[inner]] = depth[inner] + (feature[inner] == OBLIQUE)
        level = np.concatenate([tree.left[inner], tree.right[inner]])
    oblique = bool((feature[tree.left >= 0] == OBLIQUE).any())
    return Splits(nodes, tuple(levels), int(depth.max()), oblique)


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


def pose(
    tree: Tree,
    splits: Splits,
    nodes: Array,
    kinds: Array,
    layout: Layout | None,
    sources: Array,
    prices: Prices,
    limits: Limits,
    margin: float,
    leaves: Array,
    guard: float = 0.0,
) -> Questions:
    """Assemble the arrays of n questions that differ in their source; ``leaves`` are the sources' own.

    ``nodes`` has one line per target, and ``kinds`` tells the line of each question.
    """
    rows = limits.rows
    indptr, indices, data, bias, equal = _stack_rows(tree, rows)
    tables, costs = (None, None) if layout is None else lay_out(layout, prices, limits, sources)
    features = np.empty((len(sources), 9, sources.shape[1]))
    features[:, 0], features[:, 1], features[:, 2] = sources, limits.lower, limits.upper
    features[:, 3:7], features[:, 7], features[:, 8] = prices.rows, prices.size, 0.0
    if prices.runs:
        features[:, 8] = _horizon(features, prices.coupling is not None and prices.coupling.theta > 0)
    methods = np.full(len(sources), BOX)
    if splits.oblique or rows or prices.coupling:
        methods[:] = _methods(prices, features, layout)
    if tables is not None and costs is not None:
        features[:, 4] += costs
        features[:, 6] += costs
        of_groups = tables.layout.group >= 0
        soft = np.where((methods == FLAT)[:, None], tables.soft / SOFT, np.sqrt(2.0 * tables.soft))
        features[:, 7, of_groups] = soft[:, tables.layout.group[of_groups]]
    if splits.oblique or rows or prices.coupling:
        for k in np.flatnonzero(~features[:, 7].all(axis=1)).tolist():
            features[k, 7] = _scale_free(features[k, 7], indptr, indices, data)
    stays: Array = np.all((limits.lower <= sources) & (sources <= limits.upper), axis=1)
    if prices.runs:
        stays[:] = False
    elif costs is not None:
        stays &= ~(costs < 0).any(axis=1)
    if rows:
        stays &= _keep(rows, sources)
    Q = None if prices.coupling is None else prices.coupling.matrix
    shared = Question(
        nodes=nodes[0],
        indptr=indptr,
        indices=indices,
        data=data,
        bias=bias,
        features=features[0],
        equal=equal,
        couples=_NO_INDEX if Q is None else Q.indptr.astype(np.int64),
        coupled=_NO_INDEX if Q is None else Q.indices.astype(np.int64),
        coupling=_NOTHING if Q is None else Q.data,
        method=int(methods[0]),
        margin=margin,
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        guard=guard,
        home=-1,
    )
    homes = np.where(stays, leaves, -1)
    return Questions(tree, splits, shared, nodes, kinds, features, methods, homes, prices.coupling, tables)


def _keep(rows: list[tuple[dict[int, float], str, float]], sources: Array) -> Array:
    """Whether each source obeys the rows, to the rounding of their sums."""
    out = np.ones(len(sources), bool)
    for used, relation, rhs in rows:
        terms = np.column_stack([np.array(list(used.values())) * sources[:, list(used)], np.full(len(sources), -rhs)])
        miss, size = terms.sum(axis=1), 1e-15 * np.abs(terms).sum(axis=1)
        for k in np.flatnonzero(np.abs(miss) <= 1e3 * size).tolist():  # near its face a row is summed without rounding
            miss[k] = math.fsum(terms[k])
        if relation != "<=":
            out &= miss >= -size
        if relation != ">=":
            out &= miss <= size
    return out


def _methods(prices: Prices, features: Array, layout: Layout | None) -> Any:
    """How to bound a region: by the curvature of the numbers that can move, in the directions they can move."""
    if prices.coupling is not None:
        return COUPLED
    if layout is None and (prices.curved or prices.flat):
        return CURVED if prices.curved else FLAT
    source, lower, upper, curve_up, _, curve_down = (features[:, k] for k in range(6))
    free = (lower < upper) & (True if layout is None else layout.group < 0)
    up, down = (upper > source) & free, (lower < source) & free
    curved = ((curve_up > 0) | ~up).all(axis=1) & ((curve_down > 0) | ~down).all(axis=1)
    bent = (free & ((curve_up != 0) | (curve_down != 0))).any(axis=1)
    return np.where(curved, CURVED, np.where(bent, MIXED, FLAT))


def _scale_free(scale: Array, indptr: Array, indices: Array, data: Array) -> Array:
    """Scales for features that cost nothing to change: as large in some row as the rest of that row."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    priced = scale[indices] > 0
    length = np.sqrt(np.bincount(row[priced], (data[priced] / scale[indices[priced]]) ** 2, minlength=len(indptr) - 1))
    share = np.abs(data) / np.where(length > 0, length, 1.0)[row]
    most = np.zeros(len(scale))
    np.maximum.at(most, indices, share)
    return np.where(scale > 0, scale, np.where(most > 0, most, 1.0))


def _horizon(features: Array, held: bool) -> Array:
    """Where the cost falls without end towards an infinite bound: stop it far out, and mark the side.

    ``held``: a coupling holds every feature back in the end.
    """
    source, lower, upper, curve_up, slope_up, curve_down, slope_down = (features[:, k] for k in range(7))
    if held:
        return np.zeros(source.shape)
    far = _HORIZON * np.maximum(1.0, np.abs(source))
    runs_up = (upper > _LAST) & (curve_up == 0) & (slope_up < 0)
    runs_down = (lower < -_LAST) & (curve_down == 0) & (slope_down > 0)
    low, high = np.minimum(upper, source) - far, np.maximum(lower, source) + far
    features[:, 2] = np.where(runs_up, high, upper)
    features[:, 1] = np.where(runs_down, low, lower)
    return np.asarray(runs_up * 1.0 - runs_down * 1.0)


def _stack_rows(tree: Tree, rows: list[tuple[dict[int, float], str, float]]) -> tuple[Array, Array, Array, Array, int]:
    """The splits' rows in CSR, then the user's as coef @ x + bias >= 0, equalities (= 0) first."""
    w = tree.weights
    if not rows:
        return w.indptr, w.indices, w.data, tree.bias, 0
    equalities = [row for row in rows if row[1] == "=="]
    indptr, indices, data, bias = w.indptr.tolist(), w.indices.tolist(), w.data.tolist(), tree.bias.tolist()
    for terms, relation, rhs in equalities + [row for row in rows if row[1] != "=="]:
        sign = -1.0 if relation == "<=" else 1.0
        used = sorted((d, sign * a) for d, a in terms.items())
        indices += [d for d, _ in used]
        data += [a for _, a in used]
        indptr.append(len(indices))
        bias.append(-sign * rhs)
    arrays = np.array(indptr), np.array(indices), np.array(data), np.array(bias)
    for array in arrays:
        array.setflags(write=False)  # as the tree's own: kernels are compiled for one kind
    return *arrays, len(equalities)
