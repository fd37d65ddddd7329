"""The proof that no row of an ensemble is cheaper than a cutoff: boxes that are narrowed, divided and closed, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from counterleaf.proof.ensembles.box import Bound, Box, Multipliers, Setting
from counterleaf.proof.ensembles.pieces import Links
from counterleaf.proof.walk import IncompleteError
from counterleaf.types import Array


class StepKind(IntEnum):
    """What a step does with a box; the values are those of the core."""

    REDUCE, BRANCH, CLOSE, EMPTY, REJECT = range(5)


@dataclass(frozen=True, eq=False)
class ForestProof:
    """The steps of a search over an ensemble: B boxes, S steps, and Q sets of multipliers."""

    parent: Array  # (B,) the box that each one is part of, -1 for the first
    side: Array  # (B,) which side of it: 0 or 1
    node: Array  # (S,) the box of each step
    kind: Array  # (S,) what it does with the box
    multipliers: Array  # (S,) which ones it uses, -1 for none
    coordinate: Array  # (S,) the one that it divides
    cells: Array  # (S,) where its marked cells begin
    marks: Array  # eight cells per byte: those that are removed, or those of the first side
    mu: Array  # (Q,)
    unit: Array  # (Q,) of the messages
    weights: Array  # (Q, R + I) of the rows of the target and of the limits on changes
    set_links: Array  # (Q + 1,) where the links of each set begin
    set_messages: Array  # (Q + 1,) where its messages begin
    links_used: Array  # the links that have messages
    messages: Array  # of these links, link after link, in multiples of the unit
    links: Links

    @classmethod
    def of_core(cls, found: Mapping[str, Any], width: int) -> ForestProof:
        """The proof that the core wrote; ``width`` is the number of rows of the target and of limits on changes."""
        f = {name: np.asarray(value) for name, value in found.items()}
        links = Links(f["link_tree"], f["link_coordinate"], f["link_pieces"], f["piece_of"])
        same = {name: f[name] for name in ("parent", "side", "mu", "unit", "messages")}
        steps = {name: f[f"step_{name}"] for name in ("node", "kind", "multipliers", "coordinate", "cells")}
        more = {"marks": f["cells"], "links_used": f["links"], "weights": f["weights"].reshape(len(f["mu"]), width)}
        more["set_links"] = np.append(f["set_links"], len(f["links"]))
        more["set_messages"] = np.append(f["set_messages"], len(f["messages"]))
        return cls(**same, **steps, **more, links=links)

    def holds(self, setting: Setting) -> bool:
        """Whether the steps prove that no row costs less than the cutoff; raises one of UNPROVABLE if they prove nothing."""
        return _Check(self, setting).run()

    def multipliers_of(self, k: int, setting: Setting) -> Multipliers:
        """A set of multipliers, with the messages of all pieces."""
        start = setting.pieces.start
        at = slice(int(self.set_links[k]), int(self.set_links[k + 1]))
        used, stored = self.links_used[at], self.messages[int(self.set_messages[k]) : int(self.set_messages[k + 1])]
        out = np.zeros(int(start[-1]), np.int64)
        if len(used):
            if used.min() < 0 or used.max() >= len(start) - 1 or len(np.unique(used)) < len(used):
                raise IncompleteError
            count = np.diff(start)[used]
            if count.sum() != len(stored):
                raise IncompleteError
            of = np.repeat(np.arange(len(used)), count)
            out[start[used][of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)] = stored
        rows = len(setting.target.bias)
        weights = self.weights[k]
        return Multipliers(float(self.mu[k]), weights[:rows], weights[rows:], float(self.unit[k]), out)


class _Check:
    """Follows the steps of a proof from the first box to the last."""

    def __init__(self, proof: ForestProof, setting: Setting) -> None:
        self.proof, self.s = proof, setting
        order = np.argsort(proof.node, kind="stable")
        self._steps = order
        self._starts = np.searchsorted(proof.node[order], np.arange(len(proof.parent) + 1))
        self._children: dict[int, list[int]] = {}
        for box in range(1, len(proof.parent)):
            above = int(proof.parent[box])
            if not 0 <= above < box:
                raise IncompleteError
            self._children.setdefault(above, []).append(box)

    def run(self) -> bool:
        s = self.s
        if not len(self.proof.parent) or self.proof.parent[0] != -1:
            raise IncompleteError
        if not np.isfinite(np.minimum.reduceat(s.prices.cost, s.forest.first_cell[:-1])).all():
            return True  # a coordinate has no value at all
        ahead = [(0, s.first)]
        while ahead:
            at, box = ahead.pop()
            below = self._follow(at, box)
            if below is None:
                return False
            ahead += below
        return True

    def _follow(self, at: int, box: Box) -> list[tuple[int, Box]] | None:
        """The boxes into which a box is divided, none if it is closed; None if a step does not hold."""
        box = box.tightened(self.s)
        for step in self._steps[self._starts[at] : self._starts[at + 1]].tolist():
            if box.empty:
                return []
            kind = StepKind(int(self.proof.kind[step]))
            if kind is StepKind.REDUCE:
                removed = self._marked(step, 0, self.s.forest.cells) & box.alive
                if not self._may_remove(step, box, np.flatnonzero(removed)):
                    return None
                box = box.without(removed).tightened(self.s)
            elif kind is StepKind.BRANCH:
                return self._divided(step, at, box)
            else:
                return [] if self._closes(step, kind, box) else None
        return [] if box.empty else None

    def _marked(self, step: int, first: int, last: int) -> Array:
        begin, size = int(self.proof.cells[step]), last - first
        bits = np.unpackbits(self.proof.marks[begin : begin + (size + 7) // 8], bitorder="little")
        if begin < 0 or len(bits) < size:
            raise IncompleteError
        out = np.zeros(self.s.forest.cells, bool)
        out[first:last] = bits[:size] == 1
        return out

    def _bounds(self, step: int, box: Box) -> list[Bound]:
        """The bounds that a step may use: that of its multipliers, or one for each row of the target alone."""
        which = int(self.proof.multipliers[step])
        if which >= 0:
            return [Bound(self.s, box, self.proof.multipliers_of(which, self.s))]
        rows, limits = len(self.s.target.bias), len(self.s.most)
        none = np.zeros(int(self.s.pieces.start[-1]), np.int64)
        return [Bound(self.s, box, Multipliers(0.0, row, np.zeros(limits), 1.0, none)) for row in np.eye(rows)]

    def _may_remove(self, step: int, box: Box, cells: Array) -> bool:
        for bound in self._bounds(step, box):
            if not len(cells):
                break
            cells = cells[~bound.excludes(cells)]
        return not len(cells)

    def _closes(self, step: int, kind: StepKind, box: Box) -> bool:
        if kind is StepKind.REJECT:
            return self._is_rejected(box)
        return any(bound.proves for bound in self._bounds(step, box))

    def _is_rejected(self, box: Box) -> bool:
        """Whether all rows of a box have the same scores, which miss the target."""
        table, value = box.table, self.s.forest.value
        first = np.cumsum(box.counts) - box.counts
        alike = (value[table.node] == value[table.node[first]][table.tree]).all()
        return bool(alike) and self.s.target.surely_rejects(self.s.forest.scores(table.node[first]))

    def _divided(self, step: int, at: int, box: Box) -> list[tuple[int, Box]]:
        j = int(self.proof.coordinate[step])
        children = self._children.get(at, [])
        if not 0 <= j < self.s.forest.size or [int(self.proof.side[k]) for k in children] != [0, 1]:
            raise IncompleteError
        span = self.s.forest.span(j)
        first = self._marked(step, span.start, span.stop)
        other = np.zeros(self.s.forest.cells, bool)
        other[span] = ~first[span]
        return [(children[0], box.without(other)), (children[1], box.without(first))]
