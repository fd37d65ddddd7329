"""The cost of an answer against its margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.plot.canvas import ANSWER, QUIET, add_axes, new_figure, style
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        figure = new_figure(360, 252)
        axes = add_axes(figure, 54, 42, 288, 190)
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
        axes.set_xlabel("margin")
        axes.set_ylabel("cost")
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def _runs(marks: Array) -> list[tuple[int, int]]:
    """Return the first and the last index of each run of marks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
