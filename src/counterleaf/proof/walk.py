"""The walk over the tree: which part of the proof holds which target leaf, and what that part proves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from counterleaf.proof.bound import Region
from counterleaf.proof.lattice import is_off_lattice
from counterleaf.proof.problem import Problem
from counterleaf.question.arrays import Form
from counterleaf.question.discrete import at_or_above
from counterleaf.types import Array


class Parting(IntEnum):
    """What parts a state from its sibling.

    The SPLIT of a node; or, at a leaf, a CUT (a variable at most, or at least, a number), a COUNT (a feature stays, or is one
    of those that change), a CLAUSE (the first, or the second, box of a clause). In each case the two hold every row.
    """

    SPLIT, CUT, COUNT, CLAUSE = range(4)


@dataclass(frozen=True, slots=True)
class Part:
    """A tree node's region with the multipliers of its faces: the user's first, then the path's from the root.

    They prove a bound or, if ``empty``, that the region holds no row: by a contradiction, or by divisibility if ``over`` is
    not 0 (what the multipliers are to be divided by).
    """

    node: int
    lam: Array
    empty: bool
    tangent: Array  # the point of the tangent to the coupled cost, as a change; empty without one
    over: float = 0.0


@dataclass(frozen=True, slots=True)
class Fork:
    """A leaf's region in two."""

    how: int  # see Parting
    what: int
    cuts: tuple[float, float]
    low: Part | Fork
    high: Part | Fork


class IncompleteError(Exception):
    """Some target leaf is in no part, or a part does not fit its place."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A part where the walk has found it."""

    part: Part
    region: Region
    problem: Problem

    def holds(self, row: Array) -> bool:
        """Whether a row lies in the part's box."""
        return bool(((self.region.lower <= row) & (row <= self.region.upper)).all())

    def is_empty(self, wide: bool) -> bool:
        """Whether the part proves that it holds no row."""
        part, region = self.part, self.region
        if self._is_one_row() and not obeys(self.problem, part.node, region.lower):
            return True
        if not part.empty:
            return False
        return is_off_lattice(region, part.lam, part.over, wide) if part.over else region.is_empty(part.lam, wide)

    def _is_one_row(self) -> bool:
        leaf = self.problem.tree.left[self.part.node] < 0
        return leaf and bool((self.region.lower == self.region.upper).all())

    def bound(self, enough: float) -> float:
        """What the part proves that its rows cost, class cost included; as much as it can unless that is ``enough``."""
        below = float(self.problem.question.nodes["below"][self.part.node])
        alone = self.region.box_bound()
        if alone + below >= enough or not (len(self.part.lam) or len(self.part.tangent)):
            return alone + below
        return max(alone, self.region.bound(self.part.lam, self.part.tangent, _less(enough, below))) + below


def _less(enough: float, below: float) -> float:
    """``enough`` without the class cost, rounded up."""
    return enough - below if math.isinf(enough) or not below else math.nextafter(enough - below, math.inf)


def obeys(problem: Problem, leaf: int, row: Array, tight: bool = False) -> bool:
    """A row in the box that keeps the user's rows (see ``keeps``) and the table's, and that the model sends to a leaf."""
    source, lower, upper = problem.question.features[:3]
    if not (np.isfinite(row).all() and (lower <= row).all() and (row <= upper).all()):
        return False
    if problem.table is not None and not problem.table.holds(source, row):
        return False
    return problem.keeps(row, tight) and problem.leaf_of(row) == leaf


class Walk:
    """One pass over the tree; every target leaf is found in some part."""

    def __init__(self, problem: Problem, parts: dict[int, Part | Fork]) -> None:
        self.problem, self.q, self.table = problem, problem.question, problem.table
        self.parts = parts

    def places(self) -> Iterator[Place]:
        """Every part that is needed; depth-first, with an explicit stack. Raises IncompleteError where one is missing."""
        _, lower, upper = self.q.features[:3]
        stack: list[tuple[int, tuple[tuple[int, int], ...], Array, Array]] = [(0, (), lower.copy(), upper.copy())]
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
        """The values of a group that do not go to a side of a split."""
        q, table = self.q, self.table
        assert table is not None
        values = np.arange(table.first[g], table.last[g])
        columns, weights = q.row(node)
        f = np.full(len(values), q.bias[node])
        f[columns - table.first[g]] += weights
        right = (f > 0) | ((f == 0) & q.right_closed)
        return np.asarray(values[(right != (side > 0)) | ((q.margin > 0) & (side * f < q.margin))])

    def _has_room(self, lower: Array, upper: Array) -> bool:
        """Whether a box holds a row; groups and grids make it as tight as they can."""
        if self.table is not None and not self.table.tighten(self.q.features[0], lower, upper):
            return False
        return not ((lower > upper) | (lower == np.inf) | (upper == -np.inf)).any()

    def _within(
        self, part: Part | Fork, leaf: int, path: tuple[tuple[int, int], ...], lower: Array, upper: Array
    ) -> Iterator[Place]:
        """The part, and every part of a fork."""
        faces = [*self.problem.limits, *(self.problem.face(node, side) for node, side in path)]
        stack: list[tuple[Part | Fork, Array, Array, frozenset[int]]] = [(part, lower, upper, frozenset())]
        if self.table is not None and self.table.most == 0:
            self._freeze(np.ones(len(lower), bool), lower, upper)
        while stack:
            part, lower, upper, counted = stack.pop()
            if not self._has_room(lower, upper):
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

    def _expect(self, so: bool) -> None:
        if not so:
            raise IncompleteError

    def _narrow(self, fork: Fork, side: int, low: Array, high: Array, counted: frozenset[int]) -> frozenset[int]:
        """Narrow a box to one side of a fork; returns the features that are counted there."""
        table = self.table
        assert table is not None
        if fork.how == Parting.COUNT and side > 0:
            counted = counted | {fork.what}
            if len(counted) == table.most:
                self._freeze(~np.isin(table.feature, list(counted)), low, high)
        elif fork.how == Parting.COUNT:
            self._freeze(table.feature == fork.what, low, high)
        elif fork.how == Parting.CLAUSE:
            table.narrow(fork.what, 0 if side < 0 else 1, low, high)
        elif side > 0:
            low[fork.what] = max(low[fork.what], fork.cuts[1])
        else:
            high[fork.what] = min(high[fork.what], fork.cuts[0])
        return counted

    def _freeze(self, which: Array, lower: Array, upper: Array) -> None:
        source = self.q.features[0]
        lower[which], upper[which] = np.maximum(lower, source)[which], np.minimum(upper, source)[which]

    def _parts_all(self, fork: Fork) -> bool:
        """Every row of the table lies on one side of the fork or the other."""
        table = self.table
        if table is None:
            return False
        if fork.how == Parting.COUNT:
            return table.most >= 0 and 0 <= fork.what <= table.feature.max(initial=-1)
        if fork.how == Parting.CLAUSE:
            return 0 <= fork.what < len(table.clauses)
        low, high = fork.cuts
        if fork.how != Parting.CUT or not 0 <= fork.what < len(table.group) or math.isnan(low) or math.isnan(high):
            return False
        if table.group[fork.what] >= 0:
            return low >= 0.0 and high <= 1.0
        step, source = table.step[:, [fork.what]], self.q.features[0, [fork.what]]
        if not step[0, 0] or low == -math.inf:
            return high <= low
        return bool(high <= at_or_above(step, source, np.nextafter(np.array([low]), np.inf))[0])
