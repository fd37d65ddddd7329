"""The problem that an answer solves: its cost, its faces, and the route of a row through the tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.exact import ROUNDING, dot, exact_dot, whole
from counterleaf.question.arrays import LinearRow, Posed, Table, unit_of
from counterleaf.sparse import CSR
from counterleaf.types import Array

HOLDS = 1e-9  # of its terms: the most by which a linear constraint may be violated


@dataclass(frozen=True, eq=False)
class Face:
    """The half-space weights @ x + constants >= 0; in terms of changes d from the source, weights @ d >= miss."""

    columns: Array
    weights: Array
    constants: tuple[float, ...]
    miss: float  # rounded once
    equal: bool = False
    open: bool = False  # > 0
    size: float = 0.0  # the size of the terms of a linear constraint, which holds to HOLDS of it; 0 for a split
    tolerance: float = 0.0  # the effect of rounding on such a row, to which it counts as satisfied

    @functools.cached_property
    def whole(self) -> tuple[Array, Array, int]:
        """The row as ``combined`` takes it, for sums in rational numbers."""
        return self.columns, *whole(self.weights)

    @property
    def wide_tolerance(self) -> float:
        """The most by which a linear constraint may be violated."""
        return max(HOLDS * self.size, self.tolerance)


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise cost(x - source) + class cost over the rows x of a box that satisfy the constraints and reach a target leaf."""

    tree: Any  # left, right, weights (in CSR) and bias of every node
    splits: Any
    pose: Callable[[], tuple[Posed, Table | None]]  # builds the arrays when they are first read

    @functools.cached_property
    def _posed(self) -> tuple[Posed, Table | None]:
        return self.pose()

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "splits": self.splits, "_posed": self._posed}

    @property
    def question(self) -> Posed:
        return self._posed[0]

    @property
    def table(self) -> Table | None:
        """Groups, grids and clauses; None if the question has none of them."""
        return self._posed[1]

    @property
    def source(self) -> Array:
        return self.question.features.source

    def cost_of(self, rows: Array) -> Array:
        """The cost of each row of a 2-D array, without class costs."""
        alone, together = self._costs(rows)
        cost = alone.sum(axis=-1)
        if together is not None:
            cost = cost + np.maximum(together.sum(axis=-1), 0.0)  # negative by rounding only
        return np.asarray(cost)

    def shares(self, row: Array) -> Array:
        """The share of each variable in the cost of a row, or of each of several rows; the shares add up to ``cost_of``.

        A cost that two features have together is divided equally between them, so a share may be negative.
        """
        alone, together = self._costs(row)
        return np.asarray(alone if together is None else alone + together)

    def size_of(self, row: Array, leaf: int, terms: bool = False) -> float:
        """The sum of the absolute parts of a row's cost in a leaf; with ``terms``, of all the terms that are added up."""
        alone, together = self._costs(row)
        if self.table is not None and len(self.table.first):  # for a group, only the cost of a change of value counts
            grouped = np.add.reduceat(np.where(self.table.group >= 0, alone, 0.0), np.sort(self.table.first))
            alone = np.append(alone[self.table.group < 0], grouped)
        coupled = 0.0 if together is None else abs(float(together.sum()))
        if terms and self.question.matrix is not None:
            change = np.abs(row - self.source)
            coupled = float(change @ times(self.question.matrix, change, absolute=True))
        return float(np.abs(alone).sum()) + coupled + abs(float(self.question.nodes["below"][leaf]))

    def _costs(self, rows: Array) -> tuple[Array, Array | None]:
        """The separable cost of each variable, and the coupled one if there is any."""
        f, d = self.question.features, rows - self.source
        if (f.curve_up == f.curve_down).all() and (f.slope_up == -f.slope_down).all():  # common, and rows may be a whole table
            size = np.abs(d)
            alone = f.curve_up * size
            alone += f.slope_up
            alone *= size
        else:
            alone = f.cost.of(d)
        if self.table is not None and self.table.charges.any():
            alone += self._charges(d)
        matrix = self.question.matrix
        return alone, None if matrix is None else d * times(matrix, d)

    def _charges(self, change: Array) -> Array:
        """The charge of each feature that changes, at the first of its variables."""
        assert self.table is not None
        out, feature = np.zeros(change.shape), self.table.feature
        for charged in np.flatnonzero(self.table.charges).tolist():
            variables = np.flatnonzero(feature == charged)
            out[..., variables[0]] = np.where((change[..., variables] != 0).any(axis=-1), self.table.charges[charged], 0.0)
        return out

    @functools.cached_property
    def limits(self) -> list[Face]:
        """The user's rows as the search used them; a widened equality is two rows."""
        return self._widened_faces() if self.question.widened else self._user_faces()

    def _user_faces(self) -> list[Face]:
        q = self.question
        return [self._limit(i) for i in range(len(q.nodes), len(q.bias))]

    def _widened_faces(self) -> list[Face]:
        return [self._widened(face, sign) for face in self._user_faces() for sign in ((1, -1) if face.equal else (1,))]

    def _limit(self, i: int) -> Face:
        q = self.question
        columns, weights = q.row(i)
        bias = float(q.bias[i])
        near, far = (abs(bias) + float(np.abs(weights) @ sizes[columns]) for sizes in self.references)
        tolerance = 4 * (len(columns) + 2) * ROUNDING * far
        miss = -dot(weights, self.source[columns], bias)
        return Face(columns, weights, (bias,), miss, i < len(q.nodes) + q.equal, size=near, tolerance=tolerance)

    def _widened(self, face: Face, sign: int) -> Face:
        """One side of a row that may be violated by HOLDS of its terms."""
        weights, constants = sign * face.weights, (sign * face.constants[0], face.wide_tolerance)
        miss = -dot(weights, self.source[face.columns], *constants)
        return Face(face.columns, weights, constants, miss, size=face.size, tolerance=face.tolerance)

    def widened_rows(self) -> list[LinearRow]:
        """The user's rows with the tolerance that the search allows if no row meets them to rounding."""
        return [
            LinearRow(dict(zip(face.columns.tolist(), face.weights.tolist(), strict=True)), ">=", -sum(face.constants))
            for face in self._widened_faces()
        ]

    @functools.cached_property
    def references(self) -> tuple[Array, Array]:
        """The sizes of the variables in the user's rows: of the fixed or source value, and of the largest of finitely many."""
        features = self.question.features
        source, lower, upper = np.abs(features.source), np.abs(features.lower), np.abs(features.upper)
        fixed = features.lower == features.upper
        near = np.where(fixed, lower, source)
        finite = np.zeros(len(source), bool)
        if self.table is not None:
            finite = ((self.table.group >= 0) | self.table.grids.on) & np.isfinite(lower) & np.isfinite(upper)
        return near, np.where(finite & ~fixed, np.maximum(lower, upper), near)

    @functools.cached_property
    def unit(self) -> float:
        """A number of which every cost, without class costs, is a whole multiple; 0 if there is none."""
        q = self.question
        if self.table is None or (q.matrix is not None and np.diff(q.matrix.indptr)[self.table.group >= 0].any()):
            return 0.0
        return unit_of(self.table, q.features, q.matrix is not None)

    def face(self, node: int, side: int) -> Face:
        """One side of an oblique split, at the distance of the margin."""
        known = self._faces.get((node, side))
        if known is None:
            q = self.question
            columns, weights = q.row(node)
            constants = (side * float(q.bias[node]), -float(q.margins[node]))
            miss = -dot(side * weights, self.source[columns], *constants)
            is_open = q.margins[node] == 0 and (side < 0) == q.right_closed
            known = self._faces[node, side] = Face(columns, side * weights, constants, miss, open=is_open)
        return known

    def exact_miss(self, face: Face) -> Fraction:
        """``face.miss`` without rounding."""
        known = self._misses.get(face)
        if known is None:
            known = self._misses[face] = -exact_dot(face.weights, self.source[face.columns], *face.constants)
        return known

    @functools.cached_property
    def _misses(self) -> dict[Face, Fraction]:
        return {}

    @functools.cached_property
    def _faces(self) -> dict[tuple[int, int], Face]:
        return {}

    def keeps(self, row: Array, tight: bool = False) -> bool:
        """Whether a row satisfies the user's rows to HOLDS of their terms; if ``tight``, to rounding unless widened."""
        for face in self._user_faces():
            terms = face.weights * row[face.columns]
            miss = dot(face.weights, row[face.columns], *face.constants)
            size = abs(face.constants[0]) + float(np.abs(terms).sum())
            rounding = max(face.tolerance, 16 * (len(terms) + 2) * ROUNDING * size)
            wide = max(face.wide_tolerance, HOLDS * size) + rounding
            allowed = rounding if tight and not self.question.widened else wide
            if not (abs(miss) if face.equal else -miss) <= allowed:
                return False
        return True

    def leaf_of(self, row: Array) -> int:
        """The leaf to which the model sends a row, summed in the model's order; -1 if the row violates the margin."""
        tree, q = self.tree, self.question
        node = 0
        while tree.left[node] >= 0:
            columns, w = q.row(node)
            x, bias = row[columns], float(q.bias[node])
            seen = x.astype(np.float32).astype(np.float64) if q.narrow else x
            # the sum of one term, as in most trees, needs no array
            f = w[0] * seen[0] + bias if len(w) == 1 else np.cumsum(np.append(w * seen, 0.0))[-1] + bias
            if q.margins[node] > 0 and abs(dot(w, x, bias)) < q.margins[node]:
                return -1
            node = int(tree.right[node] if f > 0 or (f == 0 and q.right_closed) else tree.left[node])
        return node


def times(matrix: CSR, vectors: Array, absolute: bool = False) -> Array:
    """A symmetric matrix, or with ``absolute`` its absolute values, times a vector or each of several vectors."""
    indptr = matrix.indptr
    terms = vectors[..., matrix.indices] * (np.abs(matrix.data) if absolute else matrix.data)
    sums = np.zeros((*vectors.shape[:-1], len(indptr) - 1))
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[..., filled] = np.add.reduceat(terms, indptr[filled], axis=-1)
    return sums
