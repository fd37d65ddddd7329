"""Figures measured in points, and the words on them.

Figures are kept out of pyplot: it would hold on to them and show them twice in a notebook.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; hatches and labels tell classes apart in grey.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#999999")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "----", "ooo", "||||")
SOURCE, ANSWER, QUIET = "#000000", "#8E1B7A", "#767676"  # apart from every class's tint
SMALL, NORMAL = 8.0, 9.0  # points; nothing is written smaller
MINUS = "\N{MINUS SIGN}"


def style() -> AbstractContextManager[None]:
    """One look whatever the user's own style, but for their fonts; a $ in a name is a $."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise CounterleafError('pictures need matplotlib, which is not installed: pip install "counterleaf[plots]"') from None
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


def new_figure(width: float, height: float) -> Figure:
    """A white figure, sized in points, that a notebook shows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), dpi=120)
    figure._repr_png_ = functools.partial(_png, figure)  # type: ignore[attr-defined]  # what IPython asks for
    return figure


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place given in points."""
    w, h = figure.get_size_inches() * 72
    axes = figure.add_axes((left / w, bottom / h, width / w, height / h))
    axes.tick_params(labelsize=SMALL, labelcolor="black", color="black")
    return axes


def new_sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure whose only axes are the sheet itself, in points from the lower left."""
    figure = new_figure(width, height)
    axes = add_axes(figure, 0, 0, width, height)
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return figure, axes


def width(text: str, size: float, weight: str = "normal") -> float:
    """Width in points of the longest line."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=size, weight=weight)
    return max(TextPath((0, 0), line + ".", prop=font).get_extents().width for line in text.split("\n"))


def short(text: str, longest: int = 36) -> str:
    """The start and the end of a long name: names often differ in the end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half].rstrip()}…{text[-half + 1 :].lstrip()}"


def short_names(names: Sequence[str]) -> list[str]:
    """Names cut to one length, the least at which they still differ."""
    for longest in (36, 48, 64):
        cut = [short(name, longest) for name in names]
        if len(set(cut)) == len(cut):
            return cut
    return list(names)


def number(value: float) -> str:
    """Four digits, six where that saves a power of ten, with a proper minus."""
    value = value + 0.0  # no minus before a zero
    text = f"{value:.6g}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}"
    return text.replace("-", MINUS)


def headline(answer: Explanation, c: Counterfactual | None) -> str:
    """What the model would say and at which cost."""
    if c is None:
        wanted = " or ".join(map(str, answer.target)) or "anything else"
        return short(f"no row says {wanted}" if answer.status is Status.INFEASIBLE else f"no row found yet for {wanted}", 60)
    new, old = short(str(c.label), 18), short(str(answer.source_label), 18)
    doubts = ["not proved least"] * (answer.status is Status.LIMIT) + ["not confirmed by the model"] * (not c.confirmed)
    said = f"{new} instead of {old}" if c.changes else f"{new} already"
    return f"{said}, cost {c.cost:.3g}" + (f" ({', '.join(doubts)})" if doubts else "")


def hatch(index: int) -> str:
    """The hatch of a class: with its colour, different for the first 64 classes."""
    return HATCHES[(index + index // len(PALETTE)) % len(HATCHES)]


def tint(index: int, share: float = 0.4) -> tuple[float, ...]:
    """The colour of a class, mixed with white."""
    code = PALETTE[index % len(PALETTE)]
    return tuple(1 - share + share * int(code[k : k + 2], 16) / 255 for k in (1, 3, 5))


def reach(values: Iterable[float], lower: float, upper: float) -> tuple[float, float]:
    """The scale of a feature: its finite bounds, stretched to hold the values; never of no width."""
    seen = [float(v) for v in (*values, lower, upper) if np.isfinite(v)]
    low, high = min(seen), max(seen)
    return (low, high) if low < high else (low - 0.5, high + 0.5)
