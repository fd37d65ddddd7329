"""The split of an image as a picture: how much each pixel pushes a row to the right or to the left."""

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
_PIXEL, _SIDES = 2.5, (48.0, 84.0)  # points: a pixel, as long as the longer side stays between these
_BAR = 70.0  # points: the scale of colours
_LEFT, _RIGHT = "larger values push left", "push right"
_SCALE = "each split on its own scale: full colour is its largest weight"


def picture_size(shape: tuple[int, ...]) -> tuple[float, float]:
    """Width and height in points; thin images are stretched."""
    ratio = min(max(shape[0] / shape[1], 0.4), 2.5)
    side = min(max(_PIXEL * max(shape), _SIDES[0]), _SIDES[1])
    return side / max(ratio, 1.0), side * min(ratio, 1.0)


def note(tree: Tree, node: int) -> str:
    """What the picture of a split cannot say: where a single pixel is cut (the root's branches say it), or that none counts."""
    split = inequality(tree, node)
    if split.constant:
        return f"all go {'left' if split.constant < 0 else 'right'}"
    return f"left if {against(split)}" if len(split.columns) == 1 and node else ""


def sides(tree: Tree) -> tuple[str, str]:
    """The words on the root's branches: positive weights push to the right one."""
    split = inequality(tree, 0)
    if len(split.columns) == 1:
        return f"pixel {against(split)}", f"pixel {against(split, right=True)}"
    less, more = ("<", "≥") if tree.closed == "right" else ("≤", ">")
    return f"w·x + b {less} 0", f"w·x + b {more} 0"


def draw_weights(sheet: Axes, at: tuple[float, float], tree: Tree, node: int, shape: tuple[int, ...]) -> None:
    """The weights around a place, on their own scale, and the note under them."""
    (x, y), (wide, tall) = at, picture_size(shape)
    weights = tree.weights[[node]].toarray().reshape(shape)
    _shade(sheet, (x - wide / 2, y - tall / 2, wide, tall), weights / (np.abs(weights).max() or 1.0))
    if said := note(tree, node):
        sheet.text(x, y - tall / 2 - 3, said, size=SMALL, ha="center", va="top")


def key_width() -> float:
    """Points that the key takes."""
    return max(width(_LEFT, SMALL) + 6 + _BAR + 6 + width(_RIGHT, SMALL), width(_SCALE, SMALL))


def draw_key(sheet: Axes, left: float, top: float) -> None:
    """Which colour pushes where, and that each picture has its own scale."""
    y, x = top - 10, left + width(_LEFT, SMALL) + 6
    sheet.text(left, y, _LEFT, size=SMALL, va="center")
    _shade(sheet, (x, y - 4, _BAR, 8), np.linspace(-1, 1, 257)[None])
    sheet.text(x + _BAR + 6, y, _RIGHT, size=SMALL, va="center")
    sheet.text(left, y - 13, _SCALE, size=SMALL, color=QUIET, va="center")


def _shade(sheet: Axes, box: tuple[float, float, float, float], shares: Any) -> None:
    """Numbers from -1 to 1 as colours in a box: left, bottom, width, height."""
    from matplotlib.patches import Rectangle

    x, y, wide, tall = box
    look: dict[str, Any] = {"cmap": diverging(), "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    sheet.imshow(shares, extent=(x, x + wide, y, y + tall), origin="upper", aspect="auto", zorder=4, **look)
    sheet.add_patch(Rectangle((x, y), wide, tall, facecolor="none", edgecolor="#777777", linewidth=0.7, zorder=5))
