"""The row as an image, next to the answers and their differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.text import outcome
from counterleaf.errors import CounterleafError
from counterleaf.plot.canvas import add_axes, new_figure, number, reach, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


def image_shape(shape: Any, size: int, owner: str, *, colour: bool) -> tuple[int, ...]:
    """Return the shape as whole numbers if it has ``size`` pixels; ``owner`` is the end of the message."""
    kinds = "(height, width) or (height, width, 3)" if colour else "(height, width)"
    try:
        sizes = tuple(int(each) for each in shape)
    except (TypeError, ValueError):
        raise CounterleafError(f"shape is {shape!r}; an image needs {kinds}") from None
    if len(sizes) not in ((2, 3) if colour else (2,)) or (len(sizes) == 3 and sizes[2] != 3) or min(sizes) < 1:
        raise CounterleafError(f"shape is {shape!r}; expected {kinds}")
    if math.prod(sizes) != size:
        raise CounterleafError(f"shape {sizes} has {math.prod(sizes)} pixels; {owner.format(size)}")
    return sizes


def diverging() -> Colormap:
    """Return a colour map that is red below 0, white at 0 and blue above."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = ["#67001F", "#D6604D", "white", "#4393C3", "#053061"]
    return LinearSegmentedColormap.from_list("change", shades, N=257)  # odd, so that 0 is exactly white


def draw_image(answer: Explanation, shape: tuple[int, ...], count: int) -> Figure:
    """Draw source, answers and their differences, all on one scale."""
    shown = answer[:count]
    source, points = answer.certificate.problem.source, answer.certificate.findings.points[: len(shown)]
    lower, upper = answer.schema.bounds()
    low, high = reach([*source, *points.ravel()], lower.min(), upper.max())
    shades = [((x - low) / (high - low)).reshape(shape) for x in [source, *points]]
    change = (points - source).reshape(-1, *shape)
    if len(shape) == 3:
        change = change.mean(axis=-1)
    most = float(np.abs(change).max()) or 1.0
    heads = [f"source\n{short(outcome(answer), 18)}"]
    for k, c in enumerate(shown):
        heads.append(f"answer{f' {k + 1}' if len(shown) > 1 else ''}\n{short(outcome(answer, c), 18)}, cost {c.cost:.3g}")

    # one answer: three panels in a row; several: the differences in a second row, the scale under the source
    one_row = len(shown) == 1
    wide, gap, head, key = 120.0, 14.0, 34.0, 70.0
    tall = wide * min(max(shape[0] / shape[1], 0.4), 2.5)
    upper_row = gap if one_row else gap + tall + 20
    figure = new_figure((gap + wide) * (3 if one_row else 1 + len(shown)) + (key if one_row else gap), upper_row + tall + head)

    exact: dict[str, Any] = {"origin": "upper", "interpolation": "nearest"}

    def panel(column: int, bottom: float, title: str) -> Axes:
        axes = add_axes(figure, gap + column * (wide + gap), bottom, wide, tall)
        axes.set(xticks=[], yticks=[], title=title)
        return axes

    for k, (picture, title) in enumerate(zip(shades, heads, strict=True)):
        panel(k, upper_row, title).imshow(picture, cmap="gray_r", vmin=0, vmax=1, **exact)
    for k, picture in enumerate(change):
        drawn = panel(2 if one_row else k + 1, gap, "difference").imshow(
            picture, cmap=diverging(), vmin=-most, vmax=most, **exact
        )
    at = 3 * (wide + gap) + 6 if one_row else gap + wide - key
    bar = figure.colorbar(drawn, cax=add_axes(figure, at, gap, 9, tall), ticks=[-most, 0, most])
    more, less = ("ink added", "ink erased") if len(shape) == 2 else ("lighter", "darker")
    bar.ax.set_yticklabels([f"{number(-most)}\n{less}", "0", f"{more}\n+{number(most)}"])
    bar.ax.get_yticklabels()[0].set_verticalalignment("bottom")
    bar.ax.get_yticklabels()[2].set_verticalalignment("top")
    return figure
