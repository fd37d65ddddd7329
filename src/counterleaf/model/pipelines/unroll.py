"""A tree whose splits ask for more than one cut of a raw number, as a tree with one cut per split.

A split such as "the number is in the third bin" becomes two cuts, below which the branches are repeated; a sum with a term that
is constant between edges becomes one sum per piece. No cut tests what the cuts above it have decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.pipelines.sums import Form
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_MOST_NODES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A split on one raw number: the side of the lowest numbers, and the numbers at which the side changes."""

    raw: int  # the raw column
    right: bool  # whether the lowest numbers go right
    edges: Array  # the first number of each piece but the lowest


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The nodes of an unrolled tree."""

    left: list[int]  # the children, -1 at leaves
    right: list[int]  # the children, -1 at leaves
    origin: list[int]  # the node of the tree that each node comes from
    cut: list[tuple[int, float] | None]  # the raw column and the first number that goes right, None for other splits
    within: list[dict[int, float]]  # numbers of the raw columns, one of each within the region of the node


def unroll(tree: Tree, pieces: dict[int, Pieces], forms: dict[int, list[Form]], fixed: dict[int, bool]) -> Unrolled:
    """Return the nodes of a tree with one cut per split."""
    out = Unrolled([], [], [], [], [])
    box: dict[int, tuple[float, float]] = {}
    stack: list[tuple[int, dict[int, tuple[float, float]], int, bool]] = [(0, box, -1, False)]
    while stack:
        node, box, parent, side = stack.pop()
        cut: tuple[int, float] | None = None
        while True:  # skip the splits that are decided
            if node in fixed:
                node = int(tree.right[node] if fixed[node] else tree.left[node])
                continue
            if node not in pieces:
                cut = _open_edge(forms.get(node, []), box)
                break
            piece = pieces[node]
            low, high = box.get(piece.raw, (-np.inf, np.inf))
            inside = piece.edges[(piece.edges > low) & (piece.edges < high)]
            if len(inside):
                cut = (piece.raw, float(inside[len(inside) // 2]))
                break
            right = piece.right ^ bool((piece.edges <= low).sum() % 2)
            node = int(tree.right[node] if right else tree.left[node])
        here = len(out.left)
        if here >= _MOST_NODES:
            raise CounterleafError(
                f"the steps cut the numbers of the table into pieces, and the tree needs more than {_MOST_NODES} nodes; "
                f"use fewer bins, or transform the table beforehand"
            )
        if parent >= 0:
            (out.right if side else out.left)[parent] = here
        out.left.append(-1)
        out.right.append(-1)
        out.origin.append(node)
        out.cut.append(cut)
        out.within.append(
            {k: low if np.isfinite(low) else float(np.nextafter(high, -np.inf)) for k, (low, high) in box.items()}
        )
        if cut is not None:
            k, edge = cut
            low, high = box.get(k, (-np.inf, np.inf))
            stack += [(node, {**box, k: (edge, high)}, here, True), (node, {**box, k: (low, edge)}, here, False)]
        elif tree.left[node] >= 0:
            stack += [(int(tree.right[node]), box, here, True), (int(tree.left[node]), box, here, False)]
    return out


def _open_edge(forms: list[Form], box: dict[int, tuple[float, float]]) -> tuple[int, float] | None:
    """Return the middle edge of a term of some sums that the cuts above have not decided, None if there is none."""
    for form in forms:
        for steps in form.steps:
            low, high = box.get(steps.raw, (-np.inf, np.inf))
            inside = steps.edges[(steps.edges > low) & (steps.edges < high)]
            if len(inside):
                return steps.raw, float(inside[len(inside) // 2])
    return None
