"""The cost of answers as a curve: against the number of features that they change, or against their margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.plot.canvas import ANSWER, PALETTE, QUIET, SMALL, add_axes, new_figure, short, style, width
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMED = 4  # changed features in a label


def _new_chart(wide: float, label: str) -> tuple[Figure, Axes]:
    """Return a figure and its axes, ``wide`` points wide, of the cost against what the label says."""
    figure = new_figure(wide + 72, 252)
    axes = add_axes(figure, 54, 42, wide, 190)
    axes.set_xlabel(label)
    axes.set_ylabel("cost")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw_fronts(fronts: Sequence[tuple[list[int], list[float], list[list[str]]]], names: Sequence[str]) -> Figure:
    """Draw fronts, each given as numbers of changes, costs and names of the changed features; empty ones are left out."""
    drawn = [(front, name) for front, name in zip(fronts, names, strict=True) if front[0]]
    if not drawn:
        raise CounterleafError("the front has no row, so there is nothing to draw; print it to see why")
    with style():
        labels = [[_label(changed) for changed in front[2]] for front, _ in drawn]
        room = max(width(label, SMALL) for label in labels[0]) + 16
        figure, axes = _new_chart(294 + room, "number of changes")
        first, last = (end(count for front, _ in drawn for count in front[0]) for end in (min, max))
        for k, ((counts, costs, _), name) in enumerate(drawn):
            colour = ANSWER if len(drawn) == 1 else PALETTE[(k + 5) % len(PALETTE)]
            axes.plot(counts, costs, "o-", color=colour, markersize=4, linewidth=1.4, label=name)
        if len(drawn) == 1:
            counts, costs, _ = drawn[0][0]
            for count, cost, label in zip(counts, costs, labels[0], strict=True):
                axes.annotate(label, (count, cost), xytext=(6, 4), textcoords="offset points", fontsize=SMALL)
        else:
            axes.legend(frameon=False, loc="upper right")
        span = max(last - first, 1)
        axes.set_xlim(first - 0.08 * span, last + 0.08 * span + span * room / 294)
        axes.set_xticks(range(first, last + 1, max(1, span // 10)))
        axes.margins(y=0.12)
        return figure


def _label(changed: list[str]) -> str:
    shown = [short(" ".join(name.splitlines()), 18) for name in changed[:_NAMED]]
    return ", ".join(shown + [f"{len(changed) - _NAMED} more"] * (len(changed) > _NAMED)) or "no change"


def draw_margins(
    margins: Sequence[float], costs: Sequence[float | None], bounds: Sequence[float | None] | None = None
) -> Figure:
    """Draw the cost of the answer against the margin; if no row exists, the cost is None or NaN.

    ``bounds``, one per margin, are proved lower bounds of the cost; they are drawn if one is below its cost.
    """
    x, y = np.array(margins, float), np.array(costs, float)
    proved = y if bounds is None else np.array(bounds, float)
    if x.ndim != 1 or not len(x) or x.shape != y.shape or x.shape != proved.shape:
        raise CounterleafError(
            f"margins, costs and bounds have shapes {x.shape}, {y.shape} and {proved.shape}; expected one of each per margin"
        )
    order = np.argsort(x, kind="stable")
    x, y, proved = x[order], y[order], proved[order]
    with style():
        figure, axes = _new_chart(288, "margin")
        axes.plot(x, y, "o-", color=ANSWER, markersize=4, linewidth=1.4, label="cost")
        if (proved < y - 1e-6 * np.abs(y)).any():  # by more than rounding
            axes.plot(x, proved, "--", color=QUIET, linewidth=1.2, label="proved bound")
            axes.legend(frameon=False, loc="upper left")
        wide = float(x[-1] - x[0]) or 1.0
        for first, last in _runs(np.isnan(y)):
            right = x[last] if last + 1 < len(x) else x[-1] + 0.15 * wide
            axes.axvspan(x[first], right, color="#DDDDDD", linewidth=0)
            axes.text((x[first] + right) / 2, 0.5, "no row", rotation=90, ha="center", va="center",
                      transform=axes.get_xaxis_transform(), color="#444444")  # fmt: skip
        axes.set_xlim(x[0] - 0.03 * wide, x[-1] + (0.15 if math.isnan(y[-1]) else 0.03) * wide)
        return figure


def _runs(marks: Array) -> list[tuple[int, int]]:
    """Return the first and the last index of each run of marks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
