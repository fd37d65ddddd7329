"""The problem of one leaf: the cheapest row of a region, as a linear or quadratic program with 0/1 columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterleaf.model.tree import Tree
from counterleaf.types import Array

Region = tuple[Array, Array]  # A and r of A x >= r


class SolverError(RuntimeError):
    """A solver neither solved a program nor proved that it is infeasible."""


class SolverTimeoutError(SolverError):
    """A solver reached its time limit."""


class Leaves:
    """The regions of a tree's leaves by label; they include their boundaries, since solvers have no strict inequalities."""

    def __init__(self, tree: Tree) -> None:
        self.by_label: dict[Any, list[Region]] = {}
        weights, labels = tree.weights.toarray(), tree.classes.tolist()
        stack: list[tuple[int, list[Array], list[float]]] = [(0, [], [])]
        while stack:
            node, A, r = stack.pop()
            if tree.left[node] < 0:
                region = np.array(A).reshape(-1, tree.n_features), np.array(r)
                self.by_label.setdefault(labels[tree.value[node]], []).append(region)
                continue
            stack.append((tree.left[node], [*A, -weights[node]], [*r, float(tree.bias[node])]))
            stack.append((tree.right[node], [*A, weights[node]], [*r, -float(tree.bias[node])]))


@dataclass(frozen=True)
class Question:
    """The cheapest change of a row: minimise the sum of weight |x - source|^power with lower <= x <= upper.

    In each of ``spans`` exactly one of the 0/1 columns is 1. A frozen column has lower = upper = source; a span is frozen as a
    whole or not at all.
    """

    source: Array
    lower: Array
    upper: Array
    weight: Array
    power: int
    spans: tuple[slice, ...] = ()

    @cached_property
    def _moves(self) -> Array:
        """The columns that may change."""
        return np.flatnonzero(self.lower < self.upper)

    @cached_property
    def _whole(self) -> Array:
        """Whether each column is a 0/1 column."""
        whole = np.zeros(len(self.source), bool)
        for span in self.spans:
            whole[span] = True
        return whole

    @cached_property
    def _origin(self) -> Array:
        """Numeric columns are expressed as changes, because large numbers would make the solvers' tolerances too coarse."""
        return np.where(self._whole & (self.lower < self.upper), 0.0, self.source)

    @cached_property
    def _spans(self) -> tuple[slice, ...]:
        """The spans that may change, as indices into the columns that may change."""
        moves = self.lower < self.upper
        before: Array = np.cumsum(moves) - moves
        ends = [(int(before[span.start]), span.stop - span.start) for span in self.spans if moves[span.start]]
        return tuple(slice(start, start + size) for start, size in ends)

    def program(self, region: Region) -> Program:
        """The problem of one leaf over the columns that may change."""
        A, r = region
        k, origin = self._moves, self._origin
        return Program(
            A=np.ascontiguousarray(A[:, k]),
            r=r - A @ origin,
            start=(self.source - origin)[k],
            lower=(self.lower - origin)[k],
            upper=(self.upper - origin)[k],
            weight=self.weight[k],
            whole=self._whole[k],
            power=self.power,
            spans=self._spans,
        )

    def row(self, y: Array) -> Array:
        """The row of a program's answer, 0/1 columns rounded."""
        x = self.source.copy()
        x[self._moves] = y + self._origin[self._moves]
        return np.where(self._whole, np.round(x), x)


@dataclass(frozen=True)
class Program:
    """min sum_j weight_j |y_j - start_j|^power over y: A y >= r, lower <= y <= upper, one 1 in each span; ``whole`` are 0/1."""

    A: Array
    r: Array
    start: Array
    lower: Array
    upper: Array
    weight: Array
    whole: Array
    power: int
    spans: tuple[slice, ...] = field(default=())

    def cost(self, y: Array) -> float:
        """The cost of y."""
        return float(self.weight @ np.abs(y - self.start) ** self.power)

    @property
    def slopes(self) -> Array:
        """The cost added by a 0/1 column equal to 1, where |y - start| is linear for any power; 0 for numeric columns."""
        return np.where(self.whole, self.weight * (1.0 - 2.0 * self.start), 0.0)

    def linear(self) -> Linear:
        """Power 1 as a linear program over (rise, fall, 0/1 columns): a number moves by rise - fall, each at least 0."""
        d, b = ~self.whole, self.whole
        low, high = self.lower[d], self.upper[d]
        n, k = int(d.sum()), int(b.sum())
        sums = np.zeros((len(self.spans), 2 * n + k))
        before = np.cumsum(b) - b  # 0/1 columns to the left
        for line, span in zip(sums, self.spans, strict=True):
            at = 2 * n + int(before[span.start])
            line[at : at + span.stop - span.start] = 1.0
        return Linear(
            cost=np.concatenate([self.weight[d], self.weight[d], self.slopes[b]]),
            A=np.hstack([self.A[:, d], -self.A[:, d], self.A[:, b]]),
            r=self.r,
            lower=np.concatenate([low.clip(0.0), (-high).clip(0.0), self.lower[b]]),
            upper=np.concatenate([high.clip(0.0), (-low).clip(0.0), self.upper[b]]),
            whole=np.concatenate([np.zeros(2 * n, bool), np.ones(k, bool)]),
            sums=sums,
        )

    def point(self, z: Array) -> Array:
        """The y of an answer to ``linear``."""
        n = int((~self.whole).sum())
        y = np.empty(len(self.start))
        y[~self.whole] = z[:n] - z[n : 2 * n]
        y[self.whole] = z[2 * n :]
        return y


@dataclass(frozen=True)
class Linear:
    """min cost @ z over A z >= r, sums @ z = 1, lower <= z <= upper, ``whole`` columns 0 or 1."""

    cost: Array
    A: Array
    r: Array
    lower: Array
    upper: Array
    whole: Array
    sums: Array


class Solver(Protocol):
    """The interface of every solver in this package."""

    name: str

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        ...

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none. Raises ``SolverError`` if the solver ends with neither."""
        ...


def enumerate_leaves(solver: Solver, regions: list[Region], question: Question) -> tuple[float, Array | None]:
    """The least cost over regions and its row; infinity and None if every region is empty."""
    cost, row = math.inf, None
    for region in regions:
        program = question.program(region)
        y = solver.solve(program)
        if y is not None and program.cost(y) < cost:
            cost, row = program.cost(y), question.row(y)
    return cost, row
