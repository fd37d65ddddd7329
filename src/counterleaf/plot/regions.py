"""The regions of the leaves over two numeric features, with the source and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Decision
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import (
    ANSWER,
    NORMAL,
    SMALL,
    SOURCE,
    add_axes,
    hatch,
    headline,
    new_figure,
    reach,
    short,
    short_names,
    tint,
    width,
)
from counterleaf.plot.polygons import Box, along, near, regions, within
from counterleaf.question.arrays import Posed
from counterleaf.table.features import Feature
from counterleaf.table.words import date_of, label_of
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def window(answer: Explanation, pair: list[int], points: Array) -> tuple[Array, Array]:
    """Return the part of the plane to show: the bounds of the features, or else source, answers and nearby splits."""
    assert isinstance(answer.decision, Decision)  # ``draw`` refuses ensembles
    tree, source = answer.decision.picture, answer.certificate.problem.source
    rows = tree.weights.toarray()[:, pair]
    rows, score = rows[rows.any(axis=1)], (tree.weights @ source + tree.bias)[rows.any(axis=1)]
    feet = source[pair] - (score / (rows**2).sum(axis=1))[:, None] * rows  # the point of each split nearest to the source
    bounds = np.array(answer.schema.bounds())[:, pair]
    ends = []
    for k in range(2):
        values = np.array([source[pair[k]], *points[:, pair[k]]])
        about = feet[rows[:, k] != 0, k]
        if np.ptp(values) > 0:
            about = about[np.abs(about - values[0]) <= 4 * np.ptp(values)]
        low, high = reach([*values, *(about if np.isinf(bounds[:, k]).any() else ())], *bounds[:, k])
        room = 0.1 * (high - low) * np.isinf(bounds[:, k])
        ends.append((low - room[0], high + room[1]))
    low, high = np.array(ends).T
    longest = (np.abs(points[:, pair] - source[pair]) / (high - low)).max(initial=0.0)
    if 0 < longest < 0.08:  # too short to see: zoom in
        middle = source[pair]
        return np.maximum(low, middle - 3 * longest * (high - low)), np.minimum(high, middle + 3 * longest * (high - low))
    return low, high


def draw_regions(answer: Explanation, pair: list[int], count: int) -> Figure:
    """Draw the plane of two numeric variables, cut into leaves, with arrows from the source to the answers."""
    from matplotlib.patches import Patch, Polygon

    problem = answer.certificate.problem
    if answer.decision.curved:
        raise CounterleafError("the region of this probability is curved and cannot be drawn; use kind='changes'")
    assert isinstance(answer.decision, Decision)  # ``draw`` refuses ensembles
    tree, source = answer.decision.picture, problem.source
    points = answer.certificate.findings.points[:count].reshape(-1, tree.n_features)
    low, high = window(answer, pair, points)
    cells = regions(tree, source, pair, low, high)
    labels = [short(str(label), 18) for label in tree.classes.tolist()]
    size = np.array([300.0, 250.0])
    texts, named = _place_texts(tree, cells, labels, source[pair], points[:, pair], low, high, size)
    legend = sorted({int(tree.value[leaf]) for leaf, _ in cells})
    legend = [] if named.issuperset(legend) else legend
    features = problem.question.features
    box = np.array([features.lower[pair], features.upper[pair]])
    off = [bool(np.delete(row != source, pair).any()) for row in points]  # whether other features change as well
    framed = bool(((low < box) & (box < high)).any() and (box[0] < box[1]).any())
    ruled = len(problem.question.bias) > tree.n_nodes
    notes = [f"dashed: {' and '.join(['bounds'] * framed + ['constraints'] * ruled)}"] * (framed or ruled)
    notes += ["other features as in the source"] * (len(answer.schema) > 2) + ["hollow: other features change too"] * any(off)

    head = headline(answer, answer[0] if len(answer) else None)
    head = f"1: {head}" if len(points) > 1 else head
    under = 54 if notes else 40
    side = 14 + max([width(head, NORMAL, "bold") - size[0], *(width(labels[value], SMALL) + 34 for value in legend), 0.0])
    spanned = [answer.schema.features[int(np.searchsorted(answer.schema.starts, d, side="right")) - 1] for d in pair]
    dates = [getattr(feature, "unit", None) == "date" for feature in spanned]
    edge = 84 if dates[1] else 60
    figure = new_figure(edge + size[0] + side, under + size[1] + 24)
    axes = add_axes(figure, edge, under, size[0], size[1])
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    across, up = short_names(list(map(_axis_label, spanned)))
    axes.set_xlabel("\n".join([across, *(["; ".join(notes)] if notes else [])]))
    axes.set_ylabel(up)
    axes.set_title(head, weight="bold", loc="left")
    _keep_ticks_plain(axes, low, high, dates)
    looks: list[dict[str, Any]] = [
        {"facecolor": tint(k), "hatch": hatch(k), "edgecolor": tint(k, 0.75)} for k in range(len(labels))
    ]
    for leaf, polygon in cells:
        axes.add_patch(Polygon(polygon, linewidth=0, **looks[tree.value[leaf]]))
        axes.add_patch(Polygon(polygon, fill=False, linewidth=0.7, edgecolor="#555555"))
    _draw_bounds(axes, box, low, high)
    _draw_rows(axes, problem.question, source, pair, low, high)
    for row, hollow in zip(points[:, pair], off, strict=True):
        stays = (row == source[pair]).all()
        if not stays:
            line = {"arrowstyle": "-|>", "color": ANSWER, "linewidth": 1.3, "shrinkA": 4, "shrinkB": 4}
            axes.annotate("", tuple(row), tuple(source[pair]), arrowprops=line, annotation_clip=False)
        look: dict[str, Any] = {"markersize": 13 if stays else 6, "markerfacecolor": "white" if hollow else ANSWER}
        axes.plot(*row, "o", markeredgecolor=ANSWER, clip_on=False, zorder=4, **look)
    axes.plot(*source[pair], "s", markersize=7, color=SOURCE, markeredgecolor="white", clip_on=False, zorder=5)
    halo: dict[str, Any] = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "boxstyle": "round,pad=0.15"}
    for (left, bottom, right, top), text, font in texts:
        at = (left + right) / 2 / size[0], (bottom + top) / 2 / size[1]
        axes.text(*at, text, transform=axes.transAxes, ha="center", va="center_baseline", zorder=6, bbox=halo, **font)
    if legend:
        keys = [Patch(label=labels[value], **looks[value]) for value in legend]
        axes.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, borderaxespad=0.3)
    return figure


def _place_texts(
    tree: Tree,
    cells: list[tuple[int, Array]],
    labels: list[str],
    source: Array,
    points: Array,
    low: Array,
    high: Array,
    size: Array,
) -> tuple[list[tuple[Box, str, dict[str, Any]]], set[int]]:
    """Return boxes, in points, for "source", the numbers of the answers and the classes of large regions; and these classes."""
    scale = size / (high - low)
    start, goals = (source - low) * scale, (points - low) * scale
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in [start, *goals]]
    for goal in goals:
        taken += along(start, goal)
    out: list[tuple[Box, str, dict[str, Any]]] = []
    marks = [("source", start, SOURCE)]
    groups: list[tuple[Array, list[str]]] = []  # answers whose markers cover each other share one label
    for k, goal in enumerate(goals):
        same = next((group for at, group in groups if np.abs(at - goal).max() < 6), None)
        if same is None:
            groups.append((goal, [str(k + 1)]))
        else:
            same.append(str(k + 1))
    marks += [(", ".join(group), at, ANSWER) for at, group in groups]
    for text, at, colour in marks:
        box = near(at, np.array([width(text, NORMAL, "bold"), 11.0]), taken, (0.0, 0.0, float(size[0]), float(size[1])))
        out.append((box, text, {"color": colour, "weight": "bold"}))
        taken.append(box)
    named = set()
    for leaf, polygon in cells:
        value = int(tree.value[leaf])
        inside = within((polygon - low) * scale, np.array([width(labels[value], SMALL) + 6, 13.0]), taken)
        if inside is not None:
            out.append((inside, labels[value], {"size": SMALL}))
            taken.append(inside)
            named.add(value)
    return out, named


def _axis_label(feature: Feature) -> str:
    """Return the label of a feature with its unit in brackets."""
    unit = getattr(feature, "unit", None)
    return label_of(feature) if unit in (None, "date") else f"{label_of(feature)} ({unit})"


def _keep_ticks_plain(axes: Axes, low: Array, high: Array, dates: list[bool]) -> None:
    """Write full numbers at the ticks, since a separate power of ten would overlap the title, and few dates."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, ScalarFormatter

    for axis, most, is_date in zip((axes.xaxis, axes.yaxis), np.maximum(np.abs(low), np.abs(high)), dates, strict=True):
        if is_date:
            axis.set_major_locator(MaxNLocator(4, integer=True))
            axis.set_major_formatter(FuncFormatter(lambda days, _: date_of(round(days)) or f"{days:.6g}"))
            continue
        usual = 1e-3 <= most < 1e6
        axis.set_major_formatter(ScalarFormatter(useOffset=False) if usual else FuncFormatter(lambda v, _: f"{v:.6g}"))


def _draw_rows(axes: Axes, q: Posed, source: Array, pair: list[int], low: Array, high: Array) -> None:
    """Draw the edges of the user's linear constraints, with all other features as in the source."""
    for i in range(len(q.nodes), len(q.bias)):
        w = np.zeros(len(source))
        w[q.indices[q.indptr[i] : q.indptr[i + 1]]] = q.data[q.indptr[i] : q.indptr[i + 1]]
        (a, b), rest = w[pair], float(np.delete(w, pair) @ np.delete(source, pair)) + float(q.bias[i])
        ends = []  # where the edge meets the sides of the window
        for x in (low[0], high[0]) if b else ():
            ends.append((x, -(a * x + rest) / b))
        for y in (low[1], high[1]) if a else ():
            ends.append((-(b * y + rest) / a, y))
        inside = [end for end in ends if (low <= end).all() and (end <= high).all()]
        if len(inside) > 1:
            axes.plot(*np.array([min(inside), max(inside)]).T, color="black", linestyle=(0, (4, 3)), linewidth=1.1, zorder=3)


def _draw_bounds(axes: Axes, box: Array, low: Array, high: Array) -> None:
    """Draw the sides of the allowed box that lie in the window, dashed and as long as the box."""
    (left, bottom), (right, top) = np.clip(box, low, high)
    look: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 3)), "linewidth": 1.1, "zorder": 3}
    for x in {v for v in box[:, 0].tolist() if low[0] < v < high[0]}:
        axes.plot([x, x], [bottom, top], **look)
    for y in {v for v in box[:, 1].tolist() if low[1] < v < high[1]}:
        axes.plot([left, right], [y, y], **look)
