"""The cost of an answer against the number of features that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterleaf.errors import CounterleafError
from counterleaf.plot.canvas import ANSWER, PALETTE, SMALL, add_axes, new_figure, short, style, width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 4  # changed features in a label


def draw_fronts(fronts: Sequence[tuple[list[int], list[float], list[list[str]]]], names: Sequence[str]) -> Figure:
    """Draw fronts, each given as numbers of changes, costs and names of the changed features; empty ones are left out."""
    drawn = [(front, name) for front, name in zip(fronts, names, strict=True) if front[0]]
    if not drawn:
        raise CounterleafError("the front has no row, so there is nothing to draw; print it to see why")
    with style():
        labels = [[_label(changed) for changed in front[2]] for front, _ in drawn]
        room = max(width(label, SMALL) for label in labels[0]) + 16
        figure = new_figure(366 + room, 252)
        axes = add_axes(figure, 54, 42, 294 + room, 190)
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
        axes.set_xlabel("number of changes")
        axes.set_ylabel("cost")
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def _label(changed: list[str]) -> str:
    shown = [short(" ".join(name.splitlines()), 18) for name in changed[:_NAMED]]
    return ", ".join(shown + [f"{len(changed) - _NAMED} more"] * (len(changed) > _NAMED)) or "no change"
