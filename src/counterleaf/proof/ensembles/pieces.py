"""The messages of a proof as functions of cells: each is constant on the pieces of a coordinate that its tree tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterleaf.proof.walk import IncompleteError
from counterleaf.question.cells import CellForest
from counterleaf.types import Array


class Links(NamedTuple):
    """The functions that messages are: M links, each a tree and a coordinate whose cells belong to pieces."""

    tree: Array
    coordinate: Array
    pieces: Array
    piece_of: Array  # the piece of each cell of each link's coordinate, link after link; -1 for cells that are out


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of all links, checked: those of a number are intervals in order, and every cell of the first box has one."""

    start: Array  # (M + 1,) the first piece of each link
    begin: Array  # (M + 1,) where the cells of each link begin in ``piece_of``
    after: Array  # the nearest position in ``piece_of`` that has a piece, at or after each one
    before: Array  # the same, at or before each one
    low: Array  # (P,) the first cell of each piece of a number, over all coordinates; for a group, that of an empty interval
    high: Array  # (P,) the last one
    group_piece: Array  # the pieces of groups
    group_cell: Array  # and their cells
    by_coordinate: Array  # the links in the order of their coordinates
    coordinate_start: Array  # where those of each coordinate begin

    @classmethod
    def of(cls, links: Links, forest: CellForest, alive: Array) -> Pieces:
        """The pieces of a proof; ``alive`` are the cells of the first box."""
        within = (
            (links.tree >= 0) & (links.tree < len(forest.roots)) & (links.coordinate >= 0) & (links.coordinate < forest.size)
        )
        pairs = links.tree * forest.size + links.coordinate
        whole = all(np.issubdtype(part.dtype, np.integer) for part in links)
        if not whole or not within.all() or len(np.unique(pairs)) < len(pairs):
            raise IncompleteError
        sizes = np.diff(forest.first_cell)[links.coordinate]
        begin, start = (np.concatenate([[0], np.cumsum(part)]) for part in (sizes, links.pieces))
        if begin[-1] != len(links.piece_of) or (links.pieces < 1).any():
            raise IncompleteError
        of, position = np.repeat(np.arange(len(sizes)), sizes), np.arange(len(links.piece_of))
        cell = forest.first_cell[links.coordinate][of] + position - begin[of]
        valid = links.piece_of >= 0
        if (links.piece_of >= links.pieces[of]).any() or (alive[cell] & ~valid).any():
            raise IncompleteError
        before = np.maximum.accumulate(np.where(valid, position, -1)) if len(of) else position
        after = np.minimum.accumulate(np.where(valid, position, len(of))[::-1])[::-1] if len(of) else position
        low, high = np.full(int(start[-1]), forest.cells), np.full(int(start[-1]), -1)
        grouped = forest.grouped[links.coordinate][of]
        piece = start[of] + links.piece_of
        number = valid & ~grouped
        np.minimum.at(low, piece[number], cell[number])
        np.maximum.at(high, piece[number], cell[number])
        own = np.repeat(~forest.grouped[links.coordinate], links.pieces)
        link_of = np.repeat(np.arange(len(sizes)), links.pieces)
        next_to = own[1:] & (link_of[1:] == link_of[:-1])
        if (low > high)[own].any() or (high[:-1] >= low[1:])[next_to].any():
            raise IncompleteError
        order = np.argsort(links.coordinate, kind="stable")
        starts = np.searchsorted(links.coordinate[order], np.arange(forest.size + 1))
        group = valid & grouped
        return cls(start, begin, after, before, low, high, piece[group], cell[group], order, starts)

    def with_some(self, cells: Array) -> Array:
        """Which pieces contain one of the marked cells."""
        total = np.concatenate([[0], np.cumsum(cells)])
        out = total[self.high + 1] > total[np.minimum(self.low, len(cells))]
        out[self.group_piece[cells[self.group_cell]]] = True
        return np.asarray(out)
