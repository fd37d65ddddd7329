"""The pictures of a step, as drawings without scripts: the tree, a plane, tracks of the changed features, and images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from counterleaf.explorer.session.drawings.plane import draw_plane
from counterleaf.explorer.session.drawings.svg import plane_svg, tree_svg
from counterleaf.explorer.session.drawings.tree import draw_tree
from counterleaf.explorer.session.receipts.step import Step
from counterleaf.model.tree import Tree
from counterleaf.table.features import Numeric

_WAY, _INK, _BAR = "#8e1b7a", "#1b1d20", "#c9ccd1"
_TRACK, _TALL = 260.0, 26.0  # pixels
_IMAGE = 120.0  # pixels


def draw_step(step: Step) -> list[tuple[str, str]]:
    """The pictures of a step, each with its caption."""
    if step.scene.shape is not None:
        return [("The image now, and the image of each option.", _images(step, step.scene.shape))]
    out, classes = [], list(step.scenery["classes"])
    pair = _two_numbers(step)
    if pair is not None:
        drawn = draw_plane(step.answer, pair[0], pair[1])
        others = " Hollow circles change other features as well." if any(drawn["changes_others"]) else ""
        caption = (
            "What the model says for other values of these two features, all other values as now. The square is the row now"
        )
        out.append((f"{caption}, the circles are the options.{others}", plane_svg(drawn, classes)))
    if isinstance(step.answer.decision.model, Tree) and step.scenery["has_tree"]:
        drawn = draw_tree(step.scene, step.answer, step.answer)
        caption = "The decision tree. The dashed line is the path of the row now, the solid lines are those of the options."
        out.append((caption, tree_svg(drawn, classes)))
    return out


def _two_numbers(step: Step) -> list[str] | None:
    """The numbers that move the most in the first option that changes two, if there is one."""
    schema = step.answer.schema
    for way in step.reply["ways"]:
        moved = [change["feature"] for change in way["changes"] if None not in (change["from_value"], change["to_value"])]
        numbers = [name for name in moved if isinstance(schema.features[schema.index(name)], Numeric)]
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
    cell, parts = _IMAGE / max(shape), []
    for y in range(height):
        row, start = greys[y * width : (y + 1) * width], 0
        for x in range(1, width + 1):
            if x < width and row[x] == row[start]:
                continue
            box = f'x="{start * cell:.2f}" y="{y * cell:.2f}" width="{(x - start) * cell + 0.1:.2f}" height="{cell + 0.1:.2f}"'
            parts.append(f'<rect {box} fill="#{3 * f"{row[start]:02x}"}"/>')
            start = x
    return _svg(width * cell, height * cell, f"the image of {name}" if name != "now" else "the image now", parts)


def _svg(width: float, height: float, label: str, parts: list[str]) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}" style="print-color-adjust:exact">{"".join(parts)}</svg>'
