"""A whole tree, as many levels as are readable: splits as conditions or as pictures of their weights, leaves as classes.

The picture of a split shows how much each pixel pushes a row to the left or to the right.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.tree_text import inequality, leaf_counts, leaf_words
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import NORMAL, QUIET, SMALL, short, style, width
from counterleaf.plot.image import diverging, image_shape
from counterleaf.plot.trees.conditions import against, condition
from counterleaf.plot.trees.placement import EDGE, MOST_LEAVES, TWO_LINES, breadth, cut, draw_node, lay_out
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDEST = 1000.0  # points; a wider picture, shrunk to a page, is not readable
_NAMED, _LETTERS = 3, 18  # the most classes and letters below a triangle
_KEY = 34.0  # points: the height of the key
_PIXEL, _SIDES = 2.5, (48.0, 84.0)  # points: the size of a pixel, and the limits of the longer side
_BAR = 70.0  # points: the scale of colours
_LEFT, _RIGHT = "larger values push left", "push right"
_SCALE = "each split has its own scale: full colour is its largest weight"

Children = dict[int, tuple[int, ...]]
Shape = tuple[int, ...] | None


def draw_whole(tree: Tree, schema: Schema, max_depth: int | None, shape: Any) -> Figure:
    """Draw the first levels of a tree; a folded subtree is a triangle with the number of its leaves and their classes."""
    pixels = None if shape is None else image_shape(shape, tree.n_features, "the model has {} columns", colour=False)
    levels = _levels(tree)
    with style():
        ends = 1 + np.cumsum([len(level) for level in levels], dtype=int)  # each split adds one end
        depth = max(1, int((ends <= MOST_LEAVES).sum())) if max_depth is None else int(max_depth)
        depth = min(depth, len(levels))
        drawn, texts, widths = _plan(tree, schema, pixels, levels[:depth])
        while max_depth is None and depth > 1 and breadth(drawn, widths) > _WIDEST:
            depth -= 1
            drawn, texts, widths = _plan(tree, schema, pixels, levels[:depth])
        title = _title(len(tree.leaves), len(levels), depth)
        figure, page, at = _page(tree, pixels, drawn, texts, widths, title)
        for node, children in drawn.items():
            if children and pixels is not None:
                _draw_weights(page, at[node], tree, node, pixels)
            else:
                draw_node(page, at[node], texts[node], tree, node, bool(children))
        return figure


def _levels(tree: Tree) -> list[list[int]]:
    """Return the splits of each level, from left to right."""
    levels, level = [], [0]
    while inner := [node for node in level if tree.left[node] >= 0]:
        levels.append(inner)
        level = [int(child) for node in inner for child in (tree.left[node], tree.right[node])]
    return levels


def _plan(
    tree: Tree, schema: Schema, pixels: Shape, levels: list[list[int]]
) -> tuple[Children, dict[int, str], dict[int, float]]:
    """Return the children, the text and the width of each node if only these levels are drawn."""
    drawn, below = cut(tree, {node for level in levels for node in level}), leaf_counts(tree)
    texts, widths = {}, {}
    for node, children in drawn.items():
        if children:
            texts[node] = condition(tree, node, schema, left=True)[0] if pixels is None else _note(tree, node)
        elif tree.left[node] < 0:
            texts[node] = short(leaf_words(tree, node), 18)
        else:
            texts[node] = f"{below[node]} leaves\n{_classes(tree, node)}"
        widths[node] = width(texts[node], SMALL) + 12
        if children and pixels is not None:
            widths[node] = max(widths[node], _picture_size(pixels)[0] + 6)
    return drawn, texts, widths


def _classes(tree: Tree, node: int) -> str:
    """Return the classes below a node, those of most leaves first, as many as fit."""
    leaves = []
    ahead = [node]
    while ahead:
        at = ahead.pop()
        if tree.left[at] < 0:
            leaves.append(at)
        else:
            ahead += [int(tree.left[at]), int(tree.right[at])]
    leaves.sort(key=lambda leaf: int(tree.value[leaf]))
    names = [name for name, _ in Counter(leaf_words(tree, leaf) for leaf in leaves).most_common()]
    if len(names) <= _NAMED + 1 and len(", ".join(names)) <= _LETTERS:
        return ", ".join(names)
    shown = [short(names[0], _LETTERS)]
    for name in names[1:_NAMED]:
        if len(", ".join([*shown, name, "…"])) > _LETTERS:
            break
        shown.append(name)
    return ", ".join([*shown, "…"][: len(names)])


def _title(leaves: int, levels: int, depth: int) -> tuple[str, str]:
    if not levels:
        return "1 leaf, no splits", ""
    size = f"{leaves} leaves, {levels} level{'s' * (levels > 1)} of splits"
    if depth >= levels:
        return size, ""
    first = "first level is" if depth == 1 else f"first {depth} levels are"
    return size, f"only the {first} drawn; triangles are folded subtrees: max_depth={depth + 1} shows more"


def _page(
    tree: Tree, pixels: Shape, drawn: Children, texts: dict[int, str], widths: dict[int, float], title: tuple[str, str]
) -> tuple[Figure, Axes, dict[int, tuple[float, float]]]:
    """Return the page with its title and the branches, and the position of each node."""
    need, head = max(width(title[0], NORMAL, "bold"), width(title[1], SMALL)), 43.0 if title[1] else 29.0
    folded = {node for node in drawn if not drawn[node] and tree.left[node] >= 0}  # a triangle with two lines under it
    if pixels is None or not drawn[0]:
        reach = {node: (TWO_LINES[0], 30.0) if node in folded else TWO_LINES for node in drawn}
        figure, page, at = lay_out(drawn, widths, head, need, reach=reach)
    else:
        half = _picture_size(pixels)[1] / 2
        reach = {node: (9.0, 30.0 if node in folded else 9.0) for node in drawn}
        reach |= {node: (half, half + 14 * bool(texts[node])) for node in drawn if drawn[node]}
        key = max(width(_LEFT, SMALL) + 6 + _BAR + 6 + width(_RIGHT, SMALL), width(_SCALE, SMALL))
        need, top = max(need, key), head + _KEY
        figure, page, at = lay_out(drawn, widths, top, need, reach=reach, middle=False, gap=30.0, branch_labels=_sides(tree))
        _draw_key(page, EDGE, page.get_ylim()[1] - head + 6)
    height = page.get_ylim()[1]
    page.text(EDGE, height - 13, title[0], weight="bold", va="center")
    if title[1]:
        page.text(EDGE, height - 28, title[1], size=SMALL, color=QUIET, va="center")
    return figure, page, at


def _picture_size(shape: tuple[int, ...]) -> tuple[float, float]:
    """Return width and height in points; thin images are stretched."""
    ratio = min(max(shape[0] / shape[1], 0.4), 2.5)
    side = min(max(_PIXEL * max(shape), _SIDES[0]), _SIDES[1])
    return side / max(ratio, 1.0), side * min(ratio, 1.0)


def _note(tree: Tree, node: int) -> str:
    """Return the text below the picture of a split: the threshold of a single pixel, or the side that every row goes to.

    At the root, the labels of the branches have the threshold.
    """
    split = inequality(tree, node)
    if split.constant:
        return f"all go {'left' if split.constant < 0 else 'right'}"
    return f"left if {against(split)}" if len(split.columns) == 1 and node else ""


def _sides(tree: Tree) -> tuple[str, str]:
    """Return the labels of the two branches of the root; positive weights push a row to the right."""
    split = inequality(tree, 0)
    if len(split.columns) == 1:
        return f"pixel {against(split)}", f"pixel {against(split, right=True)}"
    less, more = ("<", "≥") if tree.closed == "right" else ("≤", ">")
    return f"w·x + b {less} 0", f"w·x + b {more} 0"


def _draw_weights(page: Axes, at: tuple[float, float], tree: Tree, node: int, shape: tuple[int, ...]) -> None:
    """Draw the weights centred at a position, on their own scale, with the note below them."""
    (x, y), (wide, tall) = at, _picture_size(shape)
    weights = tree.weights[[node]].toarray().reshape(shape)
    _shade(page, (x - wide / 2, y - tall / 2, wide, tall), weights / (np.abs(weights).max() or 1.0))
    if text := _note(tree, node):
        page.text(x, y - tall / 2 - 3, text, size=SMALL, ha="center", va="top")


def _draw_key(page: Axes, left: float, top: float) -> None:
    """Draw the key: which colour pushes to which side, and that each picture has its own scale."""
    y, x = top - 10, left + width(_LEFT, SMALL) + 6
    page.text(left, y, _LEFT, size=SMALL, va="center")
    _shade(page, (x, y - 4, _BAR, 8), np.linspace(-1, 1, 257)[None])
    page.text(x + _BAR + 6, y, _RIGHT, size=SMALL, va="center")
    page.text(left, y - 13, _SCALE, size=SMALL, color=QUIET, va="center")


def _shade(page: Axes, box: tuple[float, float, float, float], shares: Any) -> None:
    from matplotlib.patches import Rectangle

    x, y, wide, tall = box
    look: dict[str, Any] = {"cmap": diverging(), "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    page.imshow(shares, extent=(x, x + wide, y, y + tall), origin="upper", aspect="auto", zorder=4, **look)
    page.add_patch(Rectangle((x, y), wide, tall, facecolor="none", edgecolor="#777777", linewidth=0.7, zorder=5))
