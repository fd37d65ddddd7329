"""The groups of an audit: what became of their rows, and the share that reaches the target against the cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.plot.canvas import PALETTE, SMALL, add_axes, new_figure, short_names, style, width
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from counterleaf.audit.measures.group import Group

KINDS = (
    ("has", "already has the target", "#009E73", ""),
    ("can", "can reach it", "#56B4E9", "////"),
    ("cannot", "provably cannot", "#D55E00", "xxx"),
    ("open", "open (limit)", "#F0E442", "...."),
    ("invalid", "invalid", "#999999", ""),
)
DASHES = ("-", "--", ":", "-.")
_LINE, _POINTS = 22.0, 400  # points per bar, points of a curve


def draw_audit(groups: Sequence[Group], names: tuple[str, str], whole: Group, least: int) -> Figure:
    """Draw the groups of one column; ``names`` are the column and the target. Curves need ``least`` rows without the target."""
    (by, target), labels = names, short_names([" ".join(group.label.splitlines()) for group in groups])
    with style():
        left = max(width(label, SMALL) for label in labels) + 14
        height = _LINE * len(groups)
        figure = new_figure(left + 620, max(height + 96, 262))
        _draw_shares(figure, groups, labels, (left, max(height + 96, 262) - height - 40))
        drawn = [(k, group) for k, group in enumerate(groups) if group.affected >= (least if by else 1)]
        _draw_curves(figure, drawn, labels, (left + 330, whole))
        figure.suptitle(f"{by}: reaching {target}" if by else f"Reaching {target}", fontsize=10, x=0.5, y=0.985)
        return figure


def _draw_shares(figure: Figure, groups: Sequence[Group], names: Sequence[str], corner: tuple[float, float]) -> None:
    axes = add_axes(figure, *corner, 240, _LINE * len(groups))
    used = [kind for kind in KINDS if any(getattr(group, kind[0]) for group in groups)]
    start = np.zeros(len(groups))
    for key, label, colour, hatch in used:
        share = np.array([getattr(group, key) / group.rows for group in groups])
        axes.barh(range(len(groups)), share, 0.7, start, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=label)
        start += share
    axes.set_yticks(range(len(groups)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -24 / (_LINE * len(groups))), ncols=2, borderaxespad=0)


def _draw_curves(figure: Figure, drawn: Sequence[tuple[int, Group]], names: Sequence[str], place: tuple[float, Group]) -> None:
    """Draw the curves up to the cost that covers 95 % of all rows with a change."""
    left, whole = place
    height = figure.get_size_inches()[1] * 72
    axes = add_axes(figure, left, 42, 270, height - 82)
    last = (whole.quantile(0.95) if whole.can else 1.0) or 1.0
    first = min((float(group.costs[0]) for _, group in drawn if group.can), default=0.0)
    for k, group in drawn:
        x, y = curve(group, last, min(first, 0.0))
        colour = PALETTE[(k + 5) % len(PALETTE)]
        axes.plot(x, y, DASHES[k % len(DASHES)], color=colour, drawstyle="steps-post", linewidth=1.5, label=names[k])
    axes.set_xlim(min(first, 0.0), last * 1.02)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    axes.set_xlabel("cost")
    axes.set_title("of those without the target, reach it within the cost", fontsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    if len(drawn) > 1:
        axes.legend(frameon=False, loc="best")


def curve(group: Group, last: float, first: float = 0.0, points: int = _POINTS) -> tuple[Array, Array]:
    """Return the share of the rows without the target that reach it, as steps over the cost from ``first`` to ``last``."""
    costs, counts = np.unique(group.costs[: np.searchsorted(group.costs, last, side="right")], return_counts=True)
    shares = np.cumsum(counts) / group.affected
    if len(costs) > points:
        keep = np.unique(np.linspace(0, len(costs) - 1, points).astype(np.int64))
        costs, shares = costs[keep], shares[keep]
    end = shares[-1] if len(shares) else 0.0
    return np.r_[first, costs, last], np.r_[0.0, shares, end]
