"""One question as arrays: what an answer is about, and what a proof of it rests on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.exact import ROUNDING, dot, exact_dot, whole
from counterleaf.question.arrays import Question
from counterleaf.question.discrete import Table, unit_of
from counterleaf.types import Array

HOLDS = 1e-9  # of its terms: how far a row of the user's may be missed


@dataclass(frozen=True, eq=False)
class Face:
    """weights @ x + constants >= 0, as changes d from the source: weights @ d >= miss."""

    columns: Array
    weights: Array
    constants: tuple[float, ...]
    miss: float  # rounded once
    equal: bool = False
    open: bool = False  # > 0
    size: float = 0.0  # of the terms of a row of the user's, of which HOLDS may be missed; 0 for a split
    give: float = 0.0  # what rounding may do to such a row: it counts as met to this

    @functools.cached_property
    def whole(self) -> tuple[Array, Array, int]:
        """The row for sums in rational numbers, see ``combined``."""
        return self.columns, *whole(self.weights)

    @property
    def wide(self) -> float:
        """By how much a row of the user's may be missed at all."""
        return max(HOLDS * self.size, self.give)


@dataclass(frozen=True, eq=False)
class Problem:
    """min cost(x - source) + class cost over the rows that the tree sends to a target leaf, in a box, under rows."""

    tree: Any  # left, right, weights (in CSR) and bias of every node
    splits: Any
    pose: Callable[[], tuple[Question, Table | None]]  # makes the arrays when they are first read

    @functools.cached_property
    def _posed(self) -> tuple[Question, Table | None]:
        return self.pose()

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "splits": self.splits, "_posed": self._posed}

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

    def size_of(self, row: Array, leaf: int, terms: bool = False) -> float:
        """The size of what a row costs in a leaf: its cost, where no part is negative; ``terms``: of all that is added up."""
        alone, together = self._costs(row)
        if self.table is not None and len(self.table.first):  # of a group only what a change of value costs counts
            grouped = np.add.reduceat(np.where(self.table.group >= 0, alone, 0.0), np.sort(self.table.first))
            alone = np.append(alone[self.table.group < 0], grouped)
        coupled = 0.0 if together is None else abs(float(together.sum()))
        if terms and self.question.matrix is not None:
            indptr, indices, data = self.question.matrix
            change = np.abs(row - self.source)
            coupled = float(change @ times((indptr, indices, np.abs(data)), change))
        return float(np.abs(alone).sum()) + coupled + abs(float(self.question.nodes["below"][leaf]))

    def _costs(self, rows: Array) -> tuple[Array, Array | None]:
        """Per feature: the separable cost, and the coupled one if there is any."""
        _, _, _, cu, gu, cd, gd = self.question.features
        d = rows - self.source
        if (cu == cd).all() and (gu == -gd).all():  # the usual case, and whole tables are passed: no more arrays than needed
            size = np.abs(d)
            alone = cu * size
            alone += gu
            alone *= size
        else:
            up, down = np.maximum(d, 0.0), np.minimum(d, 0.0)
            alone = (cu * up + gu) * up + (cd * down + gd) * down
        matrix = self.question.matrix
        return alone, None if matrix is None else d * times(matrix, d)

    @functools.cached_property
    def limits(self) -> list[Face]:
        """The user's rows, as the search took them: where they are widened, an equality is two rows."""
        return self._wide() if self.question.widened else self._given()

    def _given(self) -> list[Face]:
        q = self.question
        return [self._limit(i) for i in range(len(q.nodes), len(q.bias))]

    def _wide(self) -> list[Face]:
        return [self._widened(face, sign) for face in self._given() for sign in ((1, -1) if face.equal else (1,))]

    def _limit(self, i: int) -> Face:
        q = self.question
        columns, weights = q.row(i)
        bias = float(q.bias[i])
        near, far = (abs(bias) + float(np.abs(weights) @ sizes[columns]) for sizes in self.references)
        give = 4 * (len(columns) + 2) * ROUNDING * far
        miss = -dot(weights, self.source[columns], bias)
        return Face(columns, weights, (bias,), miss, i < len(q.nodes) + q.equal, size=near, give=give)

    def _widened(self, face: Face, sign: int) -> Face:
        """One side of a row that may be missed by HOLDS of its terms."""
        weights, constants = sign * face.weights, (sign * face.constants[0], face.wide)
        miss = -dot(weights, self.source[face.columns], *constants)
        return Face(face.columns, weights, constants, miss, size=face.size, give=face.give)

    def widened_rows(self) -> list[tuple[dict[int, float], str, float]]:
        """The user's rows as they are asked where nothing meets them to rounding: each as terms, relation and number."""
        return [
            (dict(zip(face.columns.tolist(), face.weights.tolist(), strict=True)), ">=", -sum(face.constants))
            for face in self._wide()
        ]

    @functools.cached_property
    def references(self) -> tuple[Array, Array]:
        """How large variables count in the user's rows: as fixed or in the source; and, of finitely many values, the most."""
        source, lower, upper = np.abs(self.question.features[:3])
        fixed = self.question.features[1] == self.question.features[2]
        near = np.where(fixed, lower, source)
        finite = np.zeros(len(source), bool)
        if self.table is not None:
            finite = ((self.table.group >= 0) | (self.table.step[0] > 0)) & np.isfinite(lower) & np.isfinite(upper)
        return near, np.where(finite & ~fixed, np.maximum(lower, upper), near)

    @functools.cached_property
    def unit(self) -> float:
        """What every cost, class cost left out, is a whole multiple of; 0 if there is no such number."""
        q = self.question
        if self.table is None or (q.matrix is not None and np.diff(q.matrix[0])[self.table.group >= 0].any()):
            return 0.0
        return unit_of(self.table, q.features)

    def face(self, node: int, side: int) -> Face:
        """One side of an oblique split, the margin kept."""
        known = self._faces.get((node, side))
        if known is None:
            q = self.question
            columns, weights = q.row(node)
            constants = (side * float(q.bias[node]), -q.margin)
            miss = -dot(side * weights, self.source[columns], *constants)
            is_open = q.margin == 0 and (side < 0) == q.right_closed
            known = self._faces[node, side] = Face(columns, side * weights, constants, miss, open=is_open)
        return known

    def exact_miss(self, face: Face) -> Fraction:
        """``face.miss``, not rounded."""
        known = self._misses.get(id(face))
        if known is None:
            known = self._misses[id(face)] = -exact_dot(face.weights, self.source[face.columns], *face.constants)
        return known

    @functools.cached_property
    def _misses(self) -> dict[int, Fraction]:
        return {}

    @functools.cached_property
    def _faces(self) -> dict[tuple[int, int], Face]:
        return {}

    def keeps(self, row: Array, tight: bool = False) -> bool:
        """Whether a row meets the user's rows as given, to HOLDS of their terms; ``tight``: to rounding, unless widened."""
        for face in self._given():
            terms = face.weights * row[face.columns]
            miss = dot(face.weights, row[face.columns], *face.constants)
            size = abs(face.constants[0]) + float(np.abs(terms).sum())
            rounding = max(face.give, 16 * (len(terms) + 2) * ROUNDING * size)
            allowed = rounding if tight and not self.question.widened else max(face.wide, HOLDS * size) + rounding
            if not (abs(miss) if face.equal else -miss) <= allowed:
                return False
        return True

    def leaf_of(self, row: Array) -> int:
        """Where the model sends a row, summing as it does; -1 if the row does not keep the margin."""
        tree, q = self.tree, self.question
        node = 0
        while tree.left[node] >= 0:
            columns, w = q.row(node)
            x, bias = row[columns], float(q.bias[node])
            seen = x.astype(np.float32).astype(np.float64) if q.narrow else x
            f = np.cumsum(np.append(w * seen, 0.0))[-1] + bias
            if q.margin > 0 and abs(dot(w, x, bias)) < q.margin:
                return -1
            node = int(tree.right[node] if f > 0 or (f == 0 and q.right_closed) else tree.left[node])
        return node


def times(matrix: tuple[Array, Array, Array], vectors: Array) -> Array:
    """A symmetric matrix in CSR times a vector, or times each of several."""
    indptr, indices, data = matrix
    terms = vectors[..., indices] * data
    sums = np.zeros((*vectors.shape[:-1], len(indptr) - 1))
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[..., filled] = np.add.reduceat(terms, indptr[filled], axis=-1)
    return sums


def diagonal(matrix: tuple[Array, Array, Array]) -> Array:
    """The diagonal of a matrix in CSR."""
    indptr, indices, data = matrix
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    out = np.zeros(len(indptr) - 1)
    out[rows[rows == indices]] = data[rows == indices]
    return out
