"""Figures measured in points, their style, and the text on them.

If pyplot is in use, a new figure is its current one, so that ``plt.savefig`` and ``plt.show`` find it. Of several, a script
that draws without a window keeps the last one only, and a notebook shows each once.
"""

from __future__ import annotations

import functools
import io
import sys
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.answer.text import outcome
from counterleaf.errors import not_installed
from counterleaf.proof.certificate import Status

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of Okabe and Ito, which colour-blind readers can distinguish; in grey print, hatches and labels differ.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#999999")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "----", "ooo", "||||")
SOURCE, ANSWER, QUIET = "#000000", "#8E1B7A", "#767676"  # different from the tint of every class
SMALL, NORMAL = 8.0, 9.0  # points; nothing is written smaller
MINUS = "\N{MINUS SIGN}"
_WINDOWLESS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")  # backends of pyplot


def style() -> AbstractContextManager[None]:
    """Return a context with one style for all figures, except the fonts, which are the user's; a $ in a name is a $."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise not_installed("pictures", "matplotlib") from None
    look: dict[Any, Any] = {"hatch.linewidth": 0.5, "axes.linewidth": 0.8}
    for value, keys in (
        ("black", "text.color axes.labelcolor axes.edgecolor xtick.color ytick.color xtick.labelcolor ytick.labelcolor"),
        ("white", "figure.facecolor axes.facecolor"),
        (SMALL, "xtick.labelsize ytick.labelsize legend.fontsize"),
        (NORMAL, "font.size axes.labelsize axes.titlesize"),
        (False, "text.parse_math text.usetex axes.grid figure.autolayout figure.constrained_layout.use"),
    ):
        look |= dict.fromkeys(keys.split(), value)
    return rc_context(look)


_last: weakref.WeakValueDictionary[str, Figure] = weakref.WeakValueDictionary()  # the figure that pyplot has from here


def new_figure(width: float, height: float) -> Figure:
    """Return a white figure, sized in points, that a notebook shows; if pyplot is in use, its current one."""
    from matplotlib.figure import Figure

    size, pyplot = (width / 72, height / 72), sys.modules.get("matplotlib.pyplot")
    if pyplot is None or threading.current_thread() is not threading.main_thread():  # windows belong to the main thread
        figure = Figure(figsize=size, dpi=120)
    else:
        if "figure" in _last and pyplot.get_backend().lower() in _WINDOWLESS:
            pyplot.close(_last["figure"])  # pyplot would keep it; the user can still save it
        figure = _last["figure"] = pyplot.figure(figsize=size, dpi=120)
    figure._repr_png_ = functools.partial(_png, figure)  # type: ignore[attr-defined]  # called by IPython
    figure._ipython_display_ = functools.partial(_display, figure)  # type: ignore[attr-defined]  # the same, before that
    return figure


def _display(figure: Figure) -> None:
    """Show a figure in a notebook; pyplot then forgets it, or the notebook would show it again at the end of the cell."""
    from IPython.display import Image, display

    display(Image(_png(figure)))
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes at a position in points."""
    w, h = figure.get_size_inches() * 72
    axes = figure.add_axes((left / w, bottom / h, width / w, height / h))
    axes.tick_params(labelsize=SMALL, labelcolor="black", color="black")
    return axes


def new_page(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure and axes that cover all of it, in points from the lower left."""
    figure = new_figure(width, height)
    axes = add_axes(figure, 0, 0, width, height)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return figure, axes


def width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of the longest line, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=size, weight=weight)
    return max(TextPath((0, 0), line + ".", prop=font).get_extents().width for line in text.split("\n"))


def short(text: str, longest: int = 36) -> str:
    """Return a name, or the start and the end of a long one, since names often differ in the end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half].rstrip()}…{text[-half + 1 :].lstrip()}"


def short_names(names: Sequence[str]) -> list[str]:
    """Return names shortened to one length, the least at which they still differ."""
    for longest in (36, 48, 64):
        cut = [short(name, longest) for name in names]
        if len(set(cut)) == len(cut):
            return cut
    return list(names)


def number(value: float) -> str:
    """Return a number with four digits, six if that avoids an exponent, and a typographic minus sign."""
    value = value + 0.0  # turns -0.0 into 0.0
    text = f"{value:.6g}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}"
    return text.replace("-", MINUS)


def headline(answer: Explanation, c: Counterfactual | None) -> str:
    """Return the title: the class that the model would say, and the cost."""
    if c is None:
        wanted = answer.target_text() or "anything else"
        return short(f"no row reaches {wanted}" if answer.status is Status.INFEASIBLE else f"no row found yet for {wanted}", 60)
    new, old = short(outcome(answer, c), 18), short(outcome(answer), 18)
    caveats = ["not proved cheapest"] * (answer.status is Status.LIMIT) + ["not confirmed by the model"] * (not c.confirmed)
    change = f"{new} instead of {old}" if c.changes else f"already {new}"
    change = f"probability {change}" if c.number is not None and c.number != c.label else change
    return f"{change}, cost {c.cost:.3g}" + (f" ({', '.join(caveats)})" if caveats else "")


def hatch(index: int) -> str:
    """Return the hatch of a class; hatch and colour together differ for the first 64 classes."""
    return HATCHES[(index + index // len(PALETTE)) % len(HATCHES)]


def tint(index: int, share: float = 0.4) -> tuple[float, ...]:
    """Return the colour of a class, mixed with white."""
    code = PALETTE[index % len(PALETTE)]
    return tuple(1 - share + share * int(code[k : k + 2], 16) / 255 for k in (1, 3, 5))


def reach(values: Iterable[float], lower: float, upper: float) -> tuple[float, float]:
    """Return the scale of a feature: its finite bounds, widened to contain the values; never of width 0."""
    finite = [float(v) for v in (*values, lower, upper) if np.isfinite(v)]
    low, high = min(finite), max(finite)
    return (low, high) if low < high else (low - 0.5, high + 0.5)
