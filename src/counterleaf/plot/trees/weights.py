"""The weights of a split as an image: how much each pixel pushes a row to the left or to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.tree_text import inequality
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import QUIET, SMALL, width
from counterleaf.plot.image import diverging
from counterleaf.plot.trees.conditions import against

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEY = 34.0  # points: the height of the key
_PIXEL, _SIDES = 2.5, (48.0, 84.0)  # points: the size of a pixel, and the limits of the longer side
_BAR = 70.0  # points: the scale of colours
_LEFT, _RIGHT = "larger values push left", "push right"
_SCALE = "each split has its own scale: full colour is its largest weight"


def picture_size(shape: tuple[int, ...]) -> tuple[float, float]:
    """Return width and height in points; thin images are stretched."""
    ratio = min(max(shape[0] / shape[1], 0.4), 2.5)
    side = min(max(_PIXEL * max(shape), _SIDES[0]), _SIDES[1])
    return side / max(ratio, 1.0), side * min(ratio, 1.0)


def note(tree: Tree, node: int) -> str:
    """Return the text below the picture of a split: the threshold of a single pixel, or the side that every row goes to.

    At the root, the labels of the branches have the threshold.
    """
    split = inequality(tree, node)
    if split.constant:
        return f"all go {'left' if split.constant < 0 else 'right'}"
    return f"left if {against(split)}" if len(split.columns) == 1 and node else ""


def sides(tree: Tree) -> tuple[str, str]:
    """Return the labels of the two branches of the root; positive weights push a row to the right."""
    split = inequality(tree, 0)
    if len(split.columns) == 1:
        return f"pixel {against(split)}", f"pixel {against(split, right=True)}"
    less, more = ("<", "≥") if tree.closed == "right" else ("≤", ">")
    return f"w·x + b {less} 0", f"w·x + b {more} 0"


def draw_weights(page: Axes, at: tuple[float, float], tree: Tree, node: int, shape: tuple[int, ...]) -> None:
    """Draw the weights centred at a position, on their own scale, with the note below them."""
    (x, y), (wide, tall) = at, picture_size(shape)
    weights = tree.weights[[node]].toarray().reshape(shape)
    _shade(page, (x - wide / 2, y - tall / 2, wide, tall), weights / (np.abs(weights).max() or 1.0))
    if text := note(tree, node):
        page.text(x, y - tall / 2 - 3, text, size=SMALL, ha="center", va="top")


def key_width() -> float:
    """Return the width of the key, in points."""
    return max(width(_LEFT, SMALL) + 6 + _BAR + 6 + width(_RIGHT, SMALL), width(_SCALE, SMALL))


def draw_key(page: Axes, left: float, top: float) -> None:
    """Draw the key: which colour pushes to which side, and that each picture has its own scale."""
    y, x = top - 10, left + width(_LEFT, SMALL) + 6
    page.text(left, y, _LEFT, size=SMALL, va="center")
    _shade(page, (x, y - 4, _BAR, 8), np.linspace(-1, 1, 257)[None])
    page.text(x + _BAR + 6, y, _RIGHT, size=SMALL, va="center")
    page.text(left, y - 13, _SCALE, size=SMALL, color=QUIET, va="center")


def _shade(page: Axes, box: tuple[float, float, float, float], shares: Any) -> None:
    """Draw numbers from -1 to 1 as colours in a box (left, bottom, width, height)."""
    from matplotlib.patches import Rectangle

    x, y, wide, tall = box
    look: dict[str, Any] = {"cmap": diverging(), "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    page.imshow(shares, extent=(x, x + wide, y, y + tall), origin="upper", aspect="auto", zorder=4, **look)
    page.add_patch(Rectangle((x, y), wide, tall, facecolor="none", edgecolor="#777777", linewidth=0.7, zorder=5))
