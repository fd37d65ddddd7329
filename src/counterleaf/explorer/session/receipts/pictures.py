"""The pictures of a step, as self-contained drawings without scripts: tree, plane, tracks of changed features, and images.

The drawings have fixed colours, refer to nothing outside, and escape every text.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import escape
from itertools import groupby, pairwise
from typing import Any

import counterleaf as cl
from counterleaf.explorer.session.answers.describe import describe_scene
from counterleaf.explorer.session.drawings.plane import draw_plane
from counterleaf.explorer.session.drawings.tree import draw_tree
from counterleaf.explorer.session.question import Step
from counterleaf.plot.trees.placement import arrange
from counterleaf.table.words import date_of

COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#999999")  # of the classes, as on the page
_SCALE = ("#00224e", "#3b496c", "#707173", "#a59c74", "#e1cc55", "#fee838")  # of numbers
_WAY, _INK, _QUIET, _BAR = "#8e1b7a", "#1b1d20", "#575c63", "#c9ccd1"
_CHARACTER, _LINE, _GAP, _LEVEL = 6.6, 15.0, 14.0, 52.0  # pixels
_SIZE = (560.0, 360.0)  # of a plane
_TRACK, _TALL = 260.0, 26.0  # of a track
_IMAGE = 120.0  # of the longer side of an image
_MAX_TICKS = 6
_MONTH, _MONTHS = 30.44, (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)  # days of a month; months between ticks of dates

Point = tuple[float, float]


def draw_step(step: Step) -> list[tuple[str, str]]:
    """The pictures of a step, each with its caption."""
    if step.scene.shape is not None:
        return [("The image now, and the image of each option.", _images(step, step.scene.shape))]
    out, classes = [], describe_scene(step.scene)["classes"]
    pair = _two_numbers(step)
    if pair is not None:
        drawn = draw_plane(step.answer, pair[0], pair[1])
        others = " Hollow circles change other features as well." if any(drawn["changes_others"]) else ""
        caption = (
            "What the model says for other values of these two features, all other values as now. The square is the row now"
        )
        out.append((f"{caption}, the circles are the options.{others}", plane_svg(drawn, classes)))
    if step.answer.decision.model.is_one_tree:
        drawn = draw_tree(step.scene, step.answer, step.answer)
        caption = "The decision tree. The dashed line is the path of the row now, the solid lines are those of the options."
        out.append((caption, tree_svg(drawn, classes)))
    return out


def _two_numbers(step: Step) -> list[str] | None:
    schema = step.answer.schema
    for way in step.reply["ways"]:
        moved = [change["feature"] for change in way["changes"] if None not in (change["from_value"], change["to_value"])]
        numbers = [name for name in moved if isinstance(schema.features[schema.index(name)], cl.Numeric)]
        if len(numbers) > 1:
            return numbers[:2]
    return None


def draw_track(feature: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    """The histogram of a number with the value now and the new one; empty without rows."""
    found, old, new = feature.get("histogram"), change["from_value"], change["to_value"]
    if not found or old is None or new is None:
        return ""
    edges, counts = found["edges"], found["counts"]
    low, high = float(min(edges[0], old, new)), float(max(edges[-1], old, new))
    if not low < high:
        return ""

    def at(value: float) -> float:
        return 6 + (_TRACK - 12) * (value - low) / (high - low)

    most = max(counts) or 1
    parts = []
    for a, b, count in zip(edges, edges[1:], counts, strict=False):
        tall = _TALL * count / most
        box = f'x="{at(a):.1f}" y="{_TALL - tall + 2:.1f}" width="{max(at(b) - at(a) - 0.5, 0.5):.1f}" height="{tall:.1f}"'
        parts.append(f'<rect {box} fill="{_BAR}"/>')
    line = _TALL + 8
    parts.append(f'<line x1="{at(old):.1f}" y1="{line}" x2="{at(new):.1f}" y2="{line}" stroke="{_WAY}" stroke-width="2"/>')
    parts.append(f'<rect x="{at(old) - 4:.1f}" y="{line - 4}" width="8" height="8" fill="{_INK}"/>')
    parts.append(f'<circle cx="{at(new):.1f}" cy="{line}" r="4.5" fill="{_WAY}"/>')
    label = f"{change['label']}: from {change['from']} to {change['to']} among the values of the data"
    return _svg(_TRACK, _TALL + 14, label, parts)


def _images(step: Step, shape: tuple[int, int]) -> str:
    image = step.reply["image"]
    figures = [("now", image["source"])] + [(f"option {k}", one) for k, one in enumerate(image["answers"], 1)]
    drawn = [f"<div>{_image(levels, shape, image, name)}<br>{escape(name)}</div>" for name, levels in figures]
    return f'<div class="images">{"".join(drawn)}</div>'


def _image(levels: Sequence[float], shape: tuple[int, int], image: Mapping[str, Any], name: str) -> str:
    """Grey levels as rectangles, one for each run of equal pixels in a line; the highest level is black."""
    height, width = shape
    low, size = image["low"], image["high"] - image["low"]
    greys = [round(255 * (1 - min(max((level - low) / size, 0.0), 1.0))) for level in levels]
    size = _IMAGE / max(shape)
    parts = list(_runs([f"#{3 * f'{grey:02x}'}" for grey in greys], width, (0.0, 0.0), (size, size)))
    return _svg(width * size, height * size, f"the image of {name}" if name != "now" else "the image now", parts)


def tree_svg(drawn: dict[str, Any], classes: list[str]) -> str:
    """The paths of the row and of the options in a tree from ``draw_tree``; the other subtrees are folded."""
    nodes = {one["id"]: one for one in drawn["nodes"]}
    on_paths = {node for path in drawn["paths"] for node in path}
    children: dict[int, tuple[int, ...]] = {}
    order = [0]
    for node in order:
        open_here = node in on_paths or drawn["n_leaves"] <= 8
        children[node] = tuple(nodes[node].get("children", ())) if open_here else ()
        order += children[node]
    captions = {
        child: text for node in order for child, text in zip(children[node], nodes[node].get("branches", ()), strict=False)
    }
    lines = {node: _node_lines(nodes[node], bool(children[node])) for node in order}
    below = {node: _below(drawn, nodes[node]) for node in order}
    widths = {
        node: _CHARACTER * max([len(captions.get(node, "")), len(below[node]), *map(len, lines[node])]) + 18 for node in order
    }
    places = arrange(children, widths, _GAP)
    left = min(x - widths[node] / 2 for node, (x, _) in places.items()) - 4
    right = max(x + widths[node] / 2 for node, (x, _) in places.items()) + 4
    at = {node: (x - left, 20 + depth * (_LEVEL + 2 * _LINE)) for node, (x, depth) in places.items()}
    ends = {node: (x, y + _height(lines[node])) for node, (x, y) in at.items()}
    parts = [_link(ends[node], at[child], "#bbbbbb", 1, "") for node in order for child in children[node]]
    for k, path in reversed(list(enumerate(drawn["paths"]))):
        look = (_INK, 2, ' stroke-dasharray="6 4"') if k == 0 else (_WAY, 3.5 if k == 1 else 1.5, "")
        shift = 3.0 * k
        parts += [_link(ends[a], at[b], *look, shift=shift) for a, b in pairwise(path) if a in at and b in at]
    for node in order:
        parts.append(_node(at[node], nodes[node], lines[node], captions.get(node, ""), below[node], bool(children[node])))
    height = max(y for _, y in ends.values()) + 2 * _LINE
    label = f"A tree with {drawn['n_leaves']} leaves and the paths of the row and of {len(drawn['paths']) - 1} options"
    return _svg(right - left, height, label, parts) + _legend(
        classes, sorted({nodes[node]["class_index"] for node in order if nodes[node]["kind"] == "leaf"} - {-1})
    )


def plane_svg(drawn: dict[str, Any], classes: list[str]) -> str:
    """A plane from ``draw_plane`` with the row and the options."""
    (x_low, y_low), (x_high, y_high), (wide, tall) = drawn["low"], drawn["high"], _SIZE
    left, top = 90.0, 10.0

    def place(point: Any) -> tuple[float, float]:
        a, b = ((value - low) / (high - low) for value, low, high in zip(point, (x_low, y_low), (x_high, y_high), strict=True))
        return left + a * wide, top + (1 - b) * tall

    parts = list(_cells(drawn, left, top)) if drawn["regions"] is None else []
    for region in drawn["regions"] or ():
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, region["corners"]))
        parts.append(f'<polygon points="{corners}" fill="{_region_colour(drawn, region)}" stroke="#00000055"/>')
    parts.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="none" stroke="{_INK}"/>')
    for value, text in _ticks(drawn, 0):
        x = place((value, y_low))[0]
        parts.append(_text(x, top + tall + 16, text, "middle"))
    for value, text in _ticks(drawn, 1):
        y = place((x_low, value))[1]
        parts.append(_text(left - 6, y + 4, text, "end"))
    names = [axis["label"] + (f" ({axis['unit']})" if axis["unit"] else "") for axis in drawn["axes"]]
    parts.append(_text(left + wide / 2, top + tall + 36, names[0], "middle", bold=True))
    parts.append(f'<g transform="translate(14 {top + tall / 2}) rotate(-90)">{_text(0, 0, names[1], "middle", bold=True)}</g>')
    (sx, sy), ways = place(drawn["source"]), [place(point) for point in drawn["answers"]]
    parts += [_link((sx, sy), way, _WAY, 3 if k == 0 else 1.5, "", straight=True) for k, way in enumerate(ways)]
    parts.append(f'<rect x="{sx - 6:.1f}" y="{sy - 6:.1f}" width="12" height="12" fill="#000" stroke="#fff" stroke-width="2"/>')
    for k, ((x, y), hollow) in enumerate(zip(ways, drawn["changes_others"], strict=True)):
        fill = "#fff" if hollow else _WAY
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{_WAY}" stroke-width="2"/>')
        parts.append(_text(x + 9 + 10 * (k % 3), y - 8, str(k + 1), "start", bold=True, colour=_WAY))
    label = f"What the model says over {names[0]} and {names[1]}, with the row and {len(ways)} options"
    used = sorted({region["class_index"] for region in drawn["regions"] or ()} | set(_bytes(drawn)) - {-1})
    key = _scale_legend(drawn, classes) if drawn["scale"] else _legend(classes, [k for k in used if k >= 0])
    return _svg(left + wide + 14, top + tall + 46, label, parts) + key


def _svg(width: float, height: float, label: str, parts: list[str]) -> str:
    style = "max-width:100%;height:auto;font-family:system-ui,sans-serif;print-color-adjust:exact"
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}" style="{style}">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False, colour: str = _INK) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" fill="{colour}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _link(start: Point, end: Point, colour: str, width: float, dash: str, *, shift: float = 0.0, straight: bool = False) -> str:
    line = f'stroke="{colour}" stroke-width="{width}"{dash}'
    low = end[1] - (0 if straight else 18)
    return f'<line x1="{start[0] + shift:.1f}" y1="{start[1]:.1f}" x2="{end[0] + shift:.1f}" y2="{low:.1f}" {line}/>'


def _height(lines: list[str]) -> float:
    return len(lines) * _LINE + 8


def _node_lines(one: dict[str, Any], is_open: bool) -> list[str]:
    if one["kind"] == "image" and is_open:
        return ["weights of pixels"]
    return list(one["text"]) if is_open or one["kind"] == "leaf" else [f"{one['leaves']:,} leaves"]


def _below(drawn: dict[str, Any], one: dict[str, Any]) -> str:
    ends = ["row" if k == 0 else f"option {k}" for k, path in enumerate(drawn["paths"]) if path[-1] == one["id"]]
    effort = (one.get("effort") or {}).get("short", "")
    return ", ".join([*ends, *([effort] if effort and effort != "here" else [])])


def _node(at: tuple[float, float], one: dict[str, Any], lines: list[str], caption: str, below: str, is_open: bool) -> str:
    (x, y), wide, tall = at, _CHARACTER * max(map(len, lines)) + 16, _height(lines)
    is_leaf = one["kind"] == "leaf"
    fill = tint(one["class_index"]) if is_leaf and one["class_index"] >= 0 else "#fff" if is_open or is_leaf else "#eee"
    box = f'x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" rx="{12 if is_leaf else 3}"'
    parts = [f'<rect {box} fill="{fill}" stroke="{_QUIET}"/>']
    if caption:
        room = _CHARACTER * len(caption) + 6
        parts.append(f'<rect x="{x - room / 2:.1f}" y="{y - 18:.1f}" width="{room:.1f}" height="15" fill="#fff"/>')
        parts.append(_text(x, y - 6, caption, "middle"))
    parts += [_text(x, y + 15 + k * _LINE, line, "middle", bold=is_leaf and k == 0) for k, line in enumerate(lines)]
    if below:
        parts.append(_text(x, y + tall + 14, below, "middle", colour=_QUIET))
    return "".join(parts)


def _legend(classes: list[str], indices: list[int]) -> str:
    keys = [_key(tint(k), classes[k]) for k in indices]
    return f"<p>{' &#160; '.join(keys)}</p>" if keys else ""


def _key(colour: str, text: str) -> str:
    style = (
        f"display:inline-block;width:16px;height:12px;border:1px solid {_QUIET};background:{colour};print-color-adjust:exact"
    )
    return f'<span style="{style}"></span> {escape(text)}'


def tint(k: int) -> str:
    """The colour of a class, mixed with white as on the page."""
    parts = bytes.fromhex(COLOURS[k % len(COLOURS)][1:])
    return "#" + "".join(f"{round(255 + (part - 255) * 0.75):02x}" for part in parts)


def _region_colour(drawn: dict[str, Any], region: dict[str, Any]) -> str:
    return tint(region["class_index"]) if region["number"] is None else _shade_of(drawn, region["number"])


def _shade_of(drawn: dict[str, Any], number: float) -> str:
    low, high = _ends(drawn)
    share = (number - low) / ((high - low) or 1.0)
    return _SCALE[min(len(_SCALE) - 1, max(0, int(share * len(_SCALE))))]


def _ends(drawn: dict[str, Any]) -> Point:
    """The ends of the scale: 0 and 1 for a probability, else the lowest and the highest number that is shown."""
    if drawn["scale"]["output"] >= 0:
        return 0.0, 1.0
    if drawn["raster"]:
        return drawn["raster"]["low"], drawn["raster"]["high"]
    numbers = [one["number"] for one in drawn["regions"]]
    return min(numbers), max(numbers)


def _scale_legend(drawn: dict[str, Any], classes: list[str]) -> str:
    (low, high), output = _ends(drawn), drawn["scale"]["output"]
    starts = [low + k * (high - low) / len(_SCALE) for k in range(len(_SCALE))]
    texts = [f"{100 * one:.0f} %" if output >= 0 else f"{one:,.4g}" for one in starts]
    name = f"probability of {classes[output]}, from: " if output >= 0 else "from: "
    return f"<p>{escape(name)}{' &#160; '.join(_key(*pair) for pair in zip(_SCALE, texts, strict=True))}</p>"


def _bytes(drawn: dict[str, Any]) -> bytes:
    raster = drawn["raster"]
    return base64.b64decode(raster["cells"]) if raster and not drawn["scale"] else b""


def _cells(drawn: dict[str, Any], left: float, top: float) -> Iterator[str]:
    raster = drawn["raster"]
    low, high = raster["low"], raster["high"]
    is_class = drawn["scale"] is None
    colours = [tint(k) if is_class else _shade_of(drawn, low + k / 254 * (high - low)) for k in range(256)]
    cells = [colours[byte] for byte in base64.b64decode(raster["cells"])]
    return _runs(cells, raster["width"], (left, top), (_SIZE[0] / raster["width"], _SIZE[1] / raster["height"]))


def _runs(colours: list[str], width: int, corner: Point, size: Point) -> Iterator[str]:
    """Cells as rectangles, one for each run of equal colours in a line of this width."""
    (left, top), (wide, tall) = corner, size
    for line in range(len(colours) // width):
        start = 0
        for colour, run in groupby(colours[line * width : (line + 1) * width]):
            n = len(list(run))
            box = f'x="{left + start * wide:.2f}" y="{top + line * tall:.2f}" width="{n * wide + 0.3:.2f}"'
            yield f'<rect {box} height="{tall + 0.3:.2f}" fill="{colour}" shape-rendering="crispEdges"/>'
            start += n


def _ticks(drawn: dict[str, Any], k: int) -> list[tuple[float, str]]:
    axis, low, high = drawn["axes"][k], drawn["low"][k], drawn["high"][k]
    if axis["values"] is not None:
        return [(float(at), text if len(text) <= 14 else f"{text[:13]}…") for at, text in enumerate(axis["values"])]
    if axis["kind"] == "date":
        return _date_ticks(low, high)
    least = (high - low) / _MAX_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))
    first = int(-(-low // step))
    numbers = [float(f"{(first + i) * step:.12g}") for i in range(_MAX_TICKS + 2)]
    return [(one, f"{one:,.10g}") for one in numbers if low <= one <= high]


def _date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """The first days of years or of months, as days since 1970; of a short time, single days."""
    first, last = date_of(math.ceil(low)), date_of(math.floor(high))
    if first is None or last is None or high - low < 2 * _MONTH:
        step = max(1, math.ceil((high - low) / _MAX_TICKS))
        days = range(math.ceil(low), math.floor(high) + 1, step)
        return [(float(day), date_of(day) or str(day)) for day in days]
    months = (high - low) / _MONTH
    gap = next((gap for gap in _MONTHS if months / gap <= _MAX_TICKS), _MONTHS[-1])
    start, end = (12 * int(text[:4]) + int(text[5:7]) - 1 for text in (first, last))
    starts = [date(k // 12, k % 12 + 1, 1) for k in range(-(-start // gap) * gap, end + 1, gap)]
    days_of = [(float((one - date(1970, 1, 1)).days), one.isoformat()[: 7 if gap % 12 else 4]) for one in starts]
    return [(day, text) for day, text in days_of if low <= day <= high]
