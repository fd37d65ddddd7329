"""The positions of the nodes of a drawn tree, and how a node is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import QUIET, SMALL, new_page, tint, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE = 14.0  # free points around the tree
GAP = 10.0  # points between neighbours
TWO_LINES = (13.0, 13.0)  # points above and below the middle of a box
MOST_LEAVES = 16  # leaves and folded subtrees that are readable side by side


def cut(tree: Tree, unfolded: set[int]) -> dict[int, tuple[int, ...]]:
    """Return the nodes to draw, parents first, with their children; only ``unfolded`` splits have children here."""
    drawn: dict[int, tuple[int, ...]] = {}
    order = [0]
    for node in order:
        split = tree.left[node] >= 0 and node in unfolded
        drawn[node] = (int(tree.left[node]), int(tree.right[node])) if split else ()
        order += drawn[node]
    return drawn


def arrange(children: dict[int, tuple[int, ...]], widths: Mapping[int, float], gap: float) -> dict[int, tuple[float, int]]:
    """Return (x, depth) of each node, parents centred above their children, neighbours on a level at least ``gap`` apart.

    ``children`` lists parents first. Subtrees are moved together until their outlines touch on some level.
    """
    outline: dict[int, list[tuple[float, float]]] = {}  # per level below a node: leftmost and rightmost, relative to it
    apart: dict[int, float] = {}
    for node in reversed(children):
        box = (-widths[node] / 2, widths[node] / 2)
        if not children[node]:
            outline[node] = [box]
            continue
        left, right = (outline.pop(child) for child in children[node])
        d = apart[node] = max(a[1] - b[0] for a, b in zip(left, right, strict=False)) + gap
        merged = [box]
        for k in range(max(len(left), len(right))):
            ends = [(a - d / 2, b - d / 2) for a, b in left[k : k + 1]] + [(a + d / 2, b + d / 2) for a, b in right[k : k + 1]]
            merged.append((ends[0][0], ends[-1][1]))
        outline[node] = merged
    places = {0: (0.0, 0)}
    for node, below in children.items():
        x, depth = places[node]
        for child, side in zip(below, (-0.5, 0.5), strict=False):
            places[child] = (x + side * apart[node], depth + 1)
    return places


def lay_out(
    children: dict[int, tuple[int, ...]],
    widths: Mapping[int, float],
    head: float,
    need: float,
    *,
    reach: Mapping[int, tuple[float, float]] | None = None,
    middle: bool = True,
    gap: float = 20.0,
    branch_labels: Sequence[str] = ("yes", "no"),
) -> tuple[Figure, Axes, dict[int, tuple[float, float]]]:
    """Return a page with the branches drawn, labels on those of the root, and the position of each node.

    The tree begins ``head`` points below the top. Levels are ``gap`` points apart, and nodes are aligned at the top of their
    level. The page is at least ``need`` points wide. ``reach`` is the extent of a node above and below its position, by default
    two lines. Branches join the middles of nodes if ``middle``, else their ends.
    """
    places = arrange(children, widths, GAP)
    reach, inset = reach or dict.fromkeys(children, TWO_LINES), 0 if middle else 1
    tops, tallest = [-head], [0.0] * (1 + max(level for _, level in places.values()))
    for node, (_, level) in places.items():
        tallest[level] = max(tallest[level], sum(reach[node]))
    for tall in tallest:
        tops.append(tops[-1] - tall - gap)
    spots = {node: (x, tops[level] - reach[node][0]) for node, (x, level) in places.items()}
    links = [
        (
            (spots[node][0], spots[node][1] - inset * reach[node][1]),
            (spots[child][0], spots[child][1] + inset * reach[child][0]),
        )
        for node, below in children.items()
        for child in below
    ]
    labels = []
    for (start, end), label, side in zip(links, branch_labels, (-1, 1), strict=False):  # the links of the root come first
        y = tops[1] + 0.4 * gap
        x = start[0] + (end[0] - start[0]) * (start[1] - y) / (start[1] - end[1])
        labels.append((x + 5 * side, y + 3, label, side))
    label_ends = [x + side * width(label, SMALL) for x, _, label, side in labels]
    left = min([x - widths[node] / 2 for node, (x, _) in places.items()] + label_ends) - EDGE
    right = max([x + widths[node] / 2 for node, (x, _) in places.items()] + label_ends) + EDGE
    slack = max(0.0, need + 2 * EDGE - (right - left)) / 2
    dx, dy = slack - left, EDGE - gap - tops[-1]
    figure, page = new_page(right - left + 2 * slack, dy)
    for start, end in links:
        page.plot([start[0] + dx, end[0] + dx], [start[1] + dy, end[1] + dy], color="#999999", linewidth=0.8, zorder=1)
    for x, y, label, side in labels:
        align = "right" if side < 0 else "left"
        page.text(x + dx, y + dy, label, size=SMALL, color=QUIET, ha=align, va="bottom")
    return figure, page, {node: (x + dx, y + dy) for node, (x, y) in spots.items()}


def breadth(children: dict[int, tuple[int, ...]], widths: Mapping[int, float]) -> float:
    """Return the width of the drawn tree, in points."""
    places = arrange(children, widths, GAP)
    ends = [x + side * widths[node] / 2 for node, (x, _) in places.items() for side in (-1, 1)]
    return max(ends) - min(ends)


def draw_node(page: Axes, at: tuple[float, float], text: str, tree: Tree, node: int, unfolded: bool) -> None:
    """Draw the condition of an unfolded split or the class of a leaf in a box, and a triangle for a folded subtree."""
    from matplotlib.patches import Polygon

    x, y = at
    edge: dict[str, Any] = {"edgecolor": "#777777", "linewidth": 0.7}
    if not unfolded and tree.left[node] >= 0:
        page.add_patch(Polygon([(x, y + 9), (x - 9, y - 6), (x + 9, y - 6)], facecolor="#E4E4E4", zorder=4, **edge))
        page.text(x, y - 9, text, size=SMALL, color=QUIET, ha="center", va="top", zorder=5)
    else:
        colour, style = ("white", "square,pad=0.3") if unfolded else (tint(int(tree.value[node])), "round,pad=0.3")
        box = {"facecolor": colour, "boxstyle": style, **edge}
        page.text(x, y, text, size=SMALL, ha="center", va="center", zorder=5, bbox=box, linespacing=1.1)
