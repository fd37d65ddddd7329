"""The changed features, each on its own scale, and their shares of the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.answer.text import shares, written
from counterleaf.plot.canvas import (
    ANSWER,
    MINUS,
    NORMAL,
    QUIET,
    SMALL,
    SOURCE,
    headline,
    new_page,
    number,
    reach,
    short,
    short_names,
    width,
)
from counterleaf.table.features import Feature, Numeric, Ordinal
from counterleaf.table.words import date_of, label_of, word
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST = 15  # lines


@dataclass(frozen=True, slots=True)
class _Line:
    """One feature of the picture; ``moves`` has (old, new, share of the cost) per answer, or None if it does not change.

    ``old`` and ``new`` are numbers or places of levels on the scale; a feature without an order has no scale.
    """

    place: int
    name: str
    scale: tuple[float, float] | None
    ends: tuple[str, str]
    moves: tuple[tuple[float, float, float] | None, ...]


def _lines(answer: Explanation, shown: Sequence[Counterfactual]) -> list[_Line]:
    """Return the features that change in some answer, sorted by their share of the cost, then by the size of the change."""
    points, schema = answer.certificate.findings.points[: len(shown)], answer.schema
    source, codes, costs = schema.gather(answer.certificate.problem.source), schema.gather(points), shares(answer, points)
    total = np.abs(costs).sum(axis=1, keepdims=True)
    part = costs / np.where(total > 0, total, 1.0)
    found = []
    for d, feature in enumerate(schema):
        changed = [feature.name in c.changes for c in shown]
        if any(changed):
            scale, ends = _scale(feature, np.append(codes[changed, d], source[d]))
            low, high = scale or (0.0, 1.0)
            change = np.abs(codes[changed, d] - source[d]).max() / (high - low) if scale else 1.0
            moves = [
                (float(source[d]), float(codes[k, d]), float(part[k, d])) if yes else None for k, yes in enumerate(changed)
            ]
            share = np.abs(part[changed, d]).round(6).max()
            found.append((-share, -change, d, _Line(d, feature.name, scale, ends, tuple(moves))))
    return [line for *_, line in sorted(found, key=lambda item: item[:3])]


def _scale(feature: Feature, values: Array) -> tuple[tuple[float, float] | None, tuple[str, str]]:
    """Return the ends of a feature's scale, as numbers and as text."""
    if np.isnan(values).any():  # a missing number has no place on the scale
        return None, ("", "")
    if isinstance(feature, Numeric):
        low, high = reach(values, feature.lower, feature.upper)
        days = [date_of(round(end)) if feature.unit == "date" else None for end in (low, high)]
        return (low, high), (days[0] or number(low), days[1] or number(high))
    last = len(feature.values) - 1
    if isinstance(feature, Ordinal) and values.max() <= last:  # a missing level has no place on the scale
        return (0.0, float(last)), (short(word(feature.values[0]), 18), short(word(feature.values[last]), 18))
    return None, ("", "")


def draw_changes(answer: Explanation, count: int) -> Figure:
    """Draw one panel per answer, side by side, with a line for each feature that changes in some of them."""
    shown = answer[:count]
    lines = _lines(answer, shown)
    left_out, lines = len(lines) - _MOST, lines[:_MOST]
    names = short_names([label_of(answer.schema.features[line.place]) for line in lines])
    numbers = [written(answer, k) for k in range(len(shown))]
    moved = [[_from_to(answer, k, values, line) for k, values in enumerate(numbers)] for line in lines]
    heads = [headline(answer, c) for c in shown]
    if len(shown) > 1:
        heads = [f"{k + 1}: {head}" for k, head in enumerate(heads)]
    pad, step, top = 10.0, 19.0, 52.0
    more = [f"and {left_out} more"] * (left_out > 0)
    name = max([width(text, NORMAL) for text in [*names, *more]], default=0.0)
    scaled = any(line.scale for line in lines) or not lines
    low, high = (max([width(line.ends[side], SMALL) for line in lines], default=0.0) + pad for side in (0, 1))
    value = max(width(text, SMALL) for row in [["from → to"], *moved] for text in row)
    track, bar = (120.0, 56.0) if len(shown) == 1 else (84.0, 40.0)
    track, low, high = (track, low, high) if scaled else (0.0, 0.0, 0.0)
    # one panel from left to right: low end, track, high end, values, bar, per cent
    at_track = low
    at_value = at_track + track + high + pad / 2
    at_bar = at_value + value + pad
    panel = max([at_bar + bar + 30, *(width(head, NORMAL, "bold") for head in heads)]) + pad
    height = top + step * max(len(lines) + (left_out > 0), 1)
    figure, page = new_page(pad + name + pad + panel * len(shown), height)
    rows = [height - top - step * i for i in range(len(lines) + 1)]
    for y, text in zip(rows, names, strict=False):
        page.text(pad + name, y, text, ha="right", va="center")
    for text in more:
        page.text(pad + name, rows[-1], text, ha="right", va="center", color=QUIET)
    for k, head in enumerate(heads):
        start = pad + name + pad + panel * k
        page.text(start, height - 12, head, weight="bold", va="center")
        if not lines:
            page.text(start, rows[0], "nothing has to change", va="center")
            continue
        page.text(start + at_value, height - 32, "from → to", size=SMALL, color=QUIET, va="center")
        page.text(start + at_bar, height - 32, "share of cost", size=SMALL, color=QUIET, va="center")
        for y, line, texts in zip(rows, lines, moved, strict=False):
            x, move, scale = start + at_track, line.moves[k], line.scale
            if scale is not None:
                page.plot([x, x + track], [y, y], color="#CCCCCC", linewidth=1, zorder=1)
                page.text(x - 5, y, line.ends[0], size=SMALL, color=QUIET, ha="right", va="center")
                page.text(x + track + 5, y, line.ends[1], size=SMALL, color=QUIET, va="center")
            page.text(start + at_value, y, texts[k], size=SMALL, va="center", color="black" if move else QUIET)
            if move is not None:
                if scale is not None:
                    old, new = (x + track * (v - scale[0]) / (scale[1] - scale[0]) for v in move[:2])
                    _draw_arrow(page, old, new, y)
                _draw_share(page, start + at_bar, y, bar, move[2])
    return figure


def _from_to(answer: Explanation, k: int, printed: dict[int, tuple[str, str]], line: _Line) -> str:
    """Return the old and the new value in answer k, as printed; numbers that are not printed have four digits."""
    move = line.moves[k]
    if move is None:
        return "="
    if not isinstance(answer.schema.features[line.place], Numeric):
        return " → ".join(short(word(value), 24) for value in answer[k].changes[line.name])
    values = printed.get(line.place) or [number(value) for value in move[:2]]
    is_date = getattr(answer.schema.features[line.place], "unit", None) == "date"
    return " → ".join(value if is_date else value.replace("-", MINUS) for value in values)


def _draw_arrow(page: Axes, old: float, new: float, y: float) -> None:
    page.plot([old, new], [y, y], color=ANSWER, linewidth=1.6, zorder=2)
    page.plot([old], [y], "o", markersize=5, markerfacecolor="white", markeredgecolor=SOURCE, markeredgewidth=1.4, zorder=3)
    page.plot([new], [y], ">" if new > old else "<", markersize=6, color=ANSWER, markeredgewidth=0, zorder=4)


def _draw_share(page: Axes, x: float, y: float, length: float, share: float) -> None:
    """Draw a bar of the whole cost with the share filled in; a change that lowers the cost has the other colour."""
    from matplotlib.patches import Rectangle

    page.add_patch(Rectangle((x, y - 4.5), length, 9, facecolor="#EBEBEB", linewidth=0))
    page.add_patch(Rectangle((x, y - 4.5), length * abs(share), 9, facecolor=ANSWER if share >= 0 else SOURCE, linewidth=0))
    percent = "<1%" if 0 < abs(share) < 0.01 else f"{100 * share:.0f}%".replace("-", MINUS)
    page.text(x + length + 4, y, percent, size=SMALL, va="center")
