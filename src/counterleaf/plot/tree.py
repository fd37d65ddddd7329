"""The tree with the paths of source and answer; what lies beside them in a big tree is folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.plot.conditions import condition
from counterleaf.plot.sheet import NORMAL, QUIET, SMALL, SOURCE, headline, new_sheet, short, tint, width
from counterleaf.result import Explanation
from counterleaf.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LEAVES = 16


def path_to(tree: Tree, leaf: int) -> list[int]:
    """The nodes from the root to a leaf, both included."""
    inner = np.flatnonzero(tree.left >= 0)
    parent = np.full(tree.n_nodes, -1)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    out = [leaf]
    while out[-1] != 0:
        out.append(int(parent[out[-1]]))
    return out[::-1]


def prune(tree: Tree, paths: Sequence[Sequence[int]], most: int) -> tuple[dict[int, tuple[int, ...]], dict[int, int]]:
    """The nodes to draw, parents first, with their children, and for each the number of leaves below.

    A tree of more than ``most`` leaves keeps the paths only; subtrees beside them have no children here.
    """
    on_path = {node for path in paths for node in path}
    drawn: dict[int, tuple[int, ...]] = {}
    order = [0]
    for node in order:
        if tree.left[node] >= 0:
            order += [int(tree.left[node]), int(tree.right[node])]
    below = dict.fromkeys(order, 1)
    for node in reversed(order):
        if tree.left[node] >= 0:
            below[node] = below[int(tree.left[node])] + below[int(tree.right[node])]
    keep_all = below[0] <= most
    reached = {0}
    for node in order:
        if node in reached:
            split = tree.left[node] >= 0 and (keep_all or node in on_path)
            drawn[node] = (int(tree.left[node]), int(tree.right[node])) if split else ()
            reached.update(drawn[node])
    return drawn, {node: below[node] for node in drawn}


def arrange(children: dict[int, tuple[int, ...]], widths: Mapping[int, float], gap: float) -> dict[int, tuple[float, int]]:
    """(x, depth) of each node: parents amid their children, neighbours on a level at least ``gap`` apart.

    ``children`` lists parents first. Subtrees are pushed together until their outlines touch on some level.
    """
    outline: dict[int, list[tuple[float, float]]] = {}  # per level below a node: leftmost and rightmost, relative to it
    apart: dict[int, float] = {}
    for node in reversed(children):
        own = (-widths[node] / 2, widths[node] / 2)
        if not children[node]:
            outline[node] = [own]
            continue
        left, right = (outline.pop(child) for child in children[node])
        d = apart[node] = max(a[1] - b[0] for a, b in zip(left, right, strict=False)) + gap
        merged = [own]
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


def draw_tree(answer: Explanation) -> Figure:
    """Splits as conditions that send a row left on the page, leaves as classes, one path in dashes and one in full."""
    from matplotlib.lines import Line2D

    tree = answer.certificate.problem.tree
    ends = [tree.leaf_of(answer.certificate.problem.source)] + [c.leaf for c in answer[:1]]
    paths = [path_to(tree, leaf) for leaf in ends]
    drawn, below = prune(tree, paths, _MOST_LEAVES)
    texts, widths = {}, {}
    for node, children in drawn.items():
        if children:
            texts[node], side = condition(tree, node, answer.schema)
            drawn[node] = children[::side]
        elif tree.left[node] < 0:
            texts[node] = short(str(tree.classes[tree.value[node]]), 18)
        else:
            texts[node] = f"{below[node]} leaves"
        widths[node] = width(texts[node], SMALL) + 12
    places = arrange(drawn, widths, 10.0)
    step, edge, head = 46.0, 14.0, 36.0
    left = min(x - widths[n] / 2 for n, (x, _) in places.items()) - edge
    right = max(x + widths[n] / 2 for n, (x, _) in places.items()) + edge
    title = headline(answer, answer[0] if len(answer) else None)
    keys = [Line2D([], [], color=SOURCE, linestyle="--", linewidth=1.8, label=f"source: {short(str(answer.label), 18)}")]
    if len(answer):
        keys.append(Line2D([], [], color="#C68DBC", linewidth=4, label=f"answer: {short(str(answer[0].label), 18)}"))
    need = max(width(title, NORMAL, "bold"), sum(width(str(key.get_label()), SMALL) + 44 for key in keys)) + 2 * edge
    slack = max(0.0, need - (right - left)) / 2
    depth = max(level for _, level in places.values())
    height = head + 24 + step * depth + 24
    figure, sheet = new_sheet(right - left + 2 * slack, height)
    at = {node: (x - left + slack, height - head - 20 - step * level) for node, (x, level) in places.items()}
    for node, children in drawn.items():
        for child in children:
            sheet.plot(*zip(at[node], at[child], strict=True), color="#999999", linewidth=0.8, zorder=1)
    for path, key, order in zip(paths, keys, (3, 2), strict=False):
        look: dict[str, Any] = {"color": key.get_color(), "linestyle": key.get_linestyle(), "linewidth": key.get_linewidth()}
        sheet.plot(*zip(*(at[node] for node in path), strict=True), **look, zorder=order)
    for node, text in texts.items():
        colour = "white" if drawn[node] else tint(int(tree.value[node])) if tree.left[node] < 0 else None
        _draw_node(sheet, at[node], text, colour)
    for child, said, side in zip(drawn[0], ("yes", "no"), (-1, 1), strict=False):
        x, y = (0.45 * a + 0.55 * b for a, b in zip(at[0], at[child], strict=True))
        sheet.text(x + 5 * side, y + 3, said, size=SMALL, color=QUIET, ha="right" if side < 0 else "left", va="bottom")
    sheet.text(edge, height - 13, title, weight="bold", va="center")
    sheet.legend(handles=keys, loc="upper left", bbox_to_anchor=(edge / sheet.get_xlim()[1], (height - 23) / height),
                 ncols=2, frameon=False, borderaxespad=0, borderpad=0, handlelength=2.4, columnspacing=1.2)  # fmt: skip
    return figure


def _draw_node(sheet: Axes, at: tuple[float, float], text: str, colour: Any) -> None:
    """A split's words or a leaf's class in a box; without a colour, a triangle for a subtree folded away."""
    from matplotlib.patches import Polygon

    x, y = at
    edge: dict[str, Any] = {"edgecolor": "#777777", "linewidth": 0.7}
    if colour is None:
        sheet.add_patch(Polygon([(x, y + 9), (x - 9, y - 6), (x + 9, y - 6)], facecolor="#E4E4E4", zorder=4, **edge))
        sheet.text(x, y - 9, text, size=SMALL, color=QUIET, ha="center", va="top", zorder=5)
    else:
        box = {"facecolor": colour, "boxstyle": "square,pad=0.3" if colour == "white" else "round,pad=0.3", **edge}
        sheet.text(x, y, text, size=SMALL, ha="center", va="center", zorder=5, bbox=box, linespacing=1.1)
