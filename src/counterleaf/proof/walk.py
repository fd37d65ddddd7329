"""The walk over the tree: it finds the parts of the proof that cover each target leaf, and what each of them proves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from counterleaf.proof.bound import Region
from counterleaf.proof.lattice import is_off_lattice
from counterleaf.proof.problem import Problem
from counterleaf.question.arrays import Form
from counterleaf.types import Array


class Parting(IntEnum):
    """How a region is divided in two, which together hold all of its rows.

    SPLIT divides it by a node of the tree. The others divide a leaf: CUT by a number (a variable is at most, or at least, so
    large), COUNT by a feature (it stays, or is one of those that change), CLAUSE by the two boxes of a clause.
    """

    SPLIT, CUT, COUNT, CLAUSE = range(4)


@dataclass(frozen=True, slots=True)
class Part:
    """The region of a tree node with multipliers for its faces: those of the user's rows, then those of the path.

    The multipliers prove a bound or, if ``empty``, that the region holds no row: by a contradiction, or by divisibility if
    ``divisor``, by which the multipliers are divided, is not 0.
    """

    node: int
    lam: Array
    empty: bool
    tangent: Array  # the change at which the tangent touches the coupled cost; empty without such a cost
    divisor: float = 0.0


@dataclass(frozen=True, slots=True)
class Fork:
    """A leaf's region divided in two."""

    parting: Parting
    index: int  # the variable of a CUT, the feature of a COUNT, the number of a CLAUSE
    cuts: tuple[float, float]  # of a CUT: the largest value of the low side, the smallest one of the high side
    low: Part | Fork
    high: Part | Fork


_has_ended: ContextVar[Callable[[], bool] | None] = ContextVar("counterleaf_check_has_ended", default=None)

Path = tuple[tuple[int, int], ...]  # the oblique splits from the root: node, and side (-1 for left, 1 for right)


class IncompleteError(Exception):
    """No part covers some target leaf, or a part does not fit its place."""


class InterruptedCheckError(Exception):
    """The time for a check is over."""


@contextmanager
def interruptible(has_ended: Callable[[], bool]) -> Iterator[None]:
    """Let the checks in this block raise InterruptedCheckError once ``has_ended()`` is true."""
    token = _has_ended.set(has_ended)
    try:
        yield
    finally:
        _has_ended.reset(token)


def raise_if_ended() -> None:
    """Interrupt a check between two of its parts if the time for it is over."""
    has_ended = _has_ended.get()
    if has_ended is not None and has_ended():
        raise InterruptedCheckError


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A part of the proof with the region in which the walk found it."""

    part: Part
    region: Region
    problem: Problem

    def holds(self, row: Array) -> bool:
        """Whether a row lies in the box of the part."""
        return bool(((self.region.lower <= row) & (row <= self.region.upper)).all())

    def is_empty(self, wide: bool) -> bool:
        """Whether the part proves that it holds no row."""
        part, region = self.part, self.region
        if self._is_one_row() and not obeys(self.problem, part.node, region.lower):
            return True
        if not part.empty:
            return False
        return is_off_lattice(region, part.lam, part.divisor, wide) if part.divisor else region.is_empty(part.lam, wide)

    def _is_one_row(self) -> bool:
        leaf = self.problem.tree.left[self.part.node] < 0
        return leaf and bool((self.region.lower == self.region.upper).all())

    def bound(self, enough: float) -> float:
        """A lower bound on the cost of the part's rows, class cost included: the best one, or any that reaches ``enough``."""
        below = float(self.problem.question.nodes["below"][self.part.node])
        alone = self.region.box_bound()
        if alone + below >= enough or not (len(self.part.lam) or len(self.part.tangent)):
            return alone + below
        return max(alone, self.region.bound(self.part.lam, self.part.tangent, _less(enough, below))) + below


def _less(enough: float, below: float) -> float:
    """Subtract the class cost from ``enough``, rounding up."""
    return enough - below if math.isinf(enough) or not below else math.nextafter(enough - below, math.inf)


def obeys(problem: Problem, leaf: int, row: Array, tight: bool = False) -> bool:
    """Whether a row lies in the box, satisfies the user's rows (see ``keeps``) and the table, and reaches a leaf."""
    f = problem.question.features
    if not (np.isfinite(row).all() and (f.lower <= row).all() and (row <= f.upper).all()):
        return False
    if problem.table is not None and not problem.table.holds(f.source, row):
        return False
    return problem.keeps(row, tight) and problem.leaf_of(row) == leaf


class Walk:
    """One pass over the tree that finds the parts of every target leaf."""

    def __init__(self, problem: Problem, parts: dict[int, Part | Fork]) -> None:
        self.problem, self.q, self.table = problem, problem.question, problem.table
        self.parts = parts

    def places(self) -> Iterator[Place]:
        """Every part that the proof needs, depth-first; raises IncompleteError if one is missing."""
        lower, upper = self.q.features.lower, self.q.features.upper
        stack: list[tuple[int, Path, Array, Array]] = [(0, (), lower.copy(), upper.copy())]
        while stack:
            node, path, lower, upper = stack.pop()
            entry = self.q.nodes[node]
            if not math.isfinite(entry["below"]) or not self._has_room(lower, upper):
                continue
            part = self.parts.get(node)
            if part is not None:
                yield from self._within(part, node, path, lower, upper)
                continue
            if entry["left"] < 0:
                raise IncompleteError
            for child, side in ((int(entry["left"]), -1), (int(entry["right"]), 1)):
                low, high = lower.copy(), upper.copy()
                form, d = entry["form"], int(entry["index"])
                if form == Form.NUMBER and side > 0:
                    low[d] = max(low[d], entry["cut_right"])
                elif form == Form.NUMBER:
                    high[d] = min(high[d], entry["cut_left"])
                elif form == Form.GROUP:
                    high[self._turned_away(node, d, side)] = 0.0
                stack.append((child, (*path, (node, side)) if form == Form.OBLIQUE else path, low, high))

    def _turned_away(self, node: int, g: int, side: int) -> Array:
        """The variables of a group whose values a split sends to the other side."""
        q, table = self.q, self.table
        assert table is not None
        values = np.arange(table.first[g], table.last[g])
        columns, weights = q.row(node)
        f = np.full(len(values), q.bias[node])
        f[columns - table.first[g]] += weights
        right = (f > 0) | ((f == 0) & q.right_closed)
        margin = q.margins[node]
        return np.asarray(values[(right != (side > 0)) | ((margin > 0) & (side * f < margin))])

    def _has_room(self, lower: Array, upper: Array, counted: frozenset[int] = frozenset()) -> bool:
        """Whether a box can hold a row; it is first tightened to the values of groups and grids, and by limits on changes."""
        raise_if_ended()
        table, source = self.table, self.q.features.source
        if table is not None and not (
            table.tighten(source, lower, upper)
            and table.limit_changes(source, lower, upper, counted)
            and table.tighten(source, lower, upper)
        ):
            return False
        return not ((lower > upper) | (lower == np.inf) | (upper == -np.inf)).any()

    def _within(self, part: Part | Fork, leaf: int, path: Path, lower: Array, upper: Array) -> Iterator[Place]:
        """The part itself, or every part of a fork."""
        faces = [*self.problem.limits, *(self.problem.face(node, side) for node, side in path)]
        stack: list[tuple[Part | Fork, Array, Array, frozenset[int]]] = [(part, lower, upper, frozenset())]
        while stack:
            part, lower, upper, counted = stack.pop()
            if not self._has_room(lower, upper, counted):
                continue
            if isinstance(part, Part):
                self._expect(len(part.lam) == len(faces) and bool(np.isfinite(part.lam).all()))
                self._expect(all(a >= 0 or face.equal for a, face in zip(part.lam.tolist(), faces, strict=True)))
                self._expect(len(part.tangent) == (0 if self.q.matrix is None else len(lower)))
                self._expect(bool(np.isfinite(part.tangent).all()))
                yield Place(part, Region(self.problem, faces, lower, upper, counted), self.problem)
                continue
            self._expect(self.q.nodes["left"][leaf] < 0 and self._parts_all(part))
            for side, below in ((-1, part.low), (1, part.high)):
                low, high = lower.copy(), upper.copy()
                stack.append((below, low, high, self._narrow(part, side, low, high, counted)))

    def _expect(self, condition: bool) -> None:
        if not condition:
            raise IncompleteError

    def _narrow(self, fork: Fork, side: int, low: Array, high: Array, counted: frozenset[int]) -> frozenset[int]:
        """Narrow a box to one side of a fork; return the features that count as changed there."""
        table = self.table
        assert table is not None
        if fork.parting == Parting.COUNT and side > 0:
            counted = counted | {fork.index}
        elif fork.parting == Parting.COUNT:
            self._freeze(table.feature == fork.index, low, high)
        elif fork.parting == Parting.CLAUSE:
            table.narrow(fork.index, 0 if side < 0 else 1, low, high)
        elif side > 0:
            low[fork.index] = max(low[fork.index], fork.cuts[1])
        else:
            high[fork.index] = min(high[fork.index], fork.cuts[0])
        return counted

    def _freeze(self, which: Array, lower: Array, upper: Array) -> None:
        source = self.q.features.source
        lower[which], upper[which] = np.maximum(lower, source)[which], np.minimum(upper, source)[which]

    def _parts_all(self, fork: Fork) -> bool:
        """Whether every row of the table lies on one of the two sides of a fork."""
        table = self.table
        if table is None:
            return False
        if fork.parting == Parting.COUNT:
            return table.counts_changes and 0 <= fork.index <= table.feature.max(initial=-1)
        if fork.parting == Parting.CLAUSE:
            return 0 <= fork.index < len(table.clauses)
        low, high = fork.cuts
        if fork.parting != Parting.CUT or not 0 <= fork.index < len(table.group) or math.isnan(low) or math.isnan(high):
            return False
        if table.group[fork.index] >= 0:
            return low >= 0.0 and high <= 1.0
        grid, source = table.grids.at(np.array([fork.index])), self.q.features.source[[fork.index]]
        if not grid.on[0] or low == -math.inf:
            return high <= low
        return bool(high <= grid.above(source, np.nextafter(np.array([low]), np.inf))[0])
