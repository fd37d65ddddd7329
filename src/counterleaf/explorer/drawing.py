"""Trees, planes and pictures as plain numbers: the page only draws them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import by_values, conditions, inequality, leaf_counts, one_line
from counterleaf.errors import CounterleafError
from counterleaf.explorer.scene import Scene
from counterleaf.explorer.wishes import spoken
from counterleaf.explorer.writing import nothing
from counterleaf.plot.canvas import MINUS, short
from counterleaf.plot.polygons import regions
from counterleaf.plot.regions import window
from counterleaf.plot.trees.conditions import condition
from counterleaf.plot.trees.path import path_to, prune
from counterleaf.plot.trees.placement import arrange
from counterleaf.proof.certificate import Status
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_MOST_LEAVES = 48  # a larger tree shows the paths of source and answers only
_LETTER, _PAD, _LEAST, _GAP = 6.8, 18.0, 64.0, 14.0  # pixels: of a letter, around a node's words, of a node, between nodes
_PICTURE = 64.0  # pixels: a split over pixels
_TERMS = 3  # of a sum that are told
_DIGITS = 6


def picture(scene: Scene, answer: Explanation) -> dict[str, Any]:
    """Source and answers as grey levels, between the darkest and the lightest that a pixel can be."""
    source, points = answer.certificate.problem.source, answer.certificate.findings.points
    lower, upper = answer.schema.bounds()
    low, high = (float(x) for x in (min(lower.min(), source.min()), max(upper.max(), source.max())))
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        low, high = float(min(source.min(), points.min(initial=0))), float(max(source.max(), points.max(initial=1)))
    return {"low": low, "high": high, "source": _short(source), "answers": [_short(x) for x in points]}


def sentence(answer: Explanation, limit: float | None) -> str:
    """How many pixels change, and to what end."""
    if not len(answer):
        return nothing(answer, limit)
    best = answer[0]
    if not best.changes:
        return f"Nothing has to change: the model already says {best.label}."
    start = "With" if answer.status is Status.OPTIMAL else "The best found before the search stopped: with"
    pixels = f"{len(best.changes)} of {len(answer.schema)} pixels"
    return f"{start} {pixels} changed, the model would say {best.label} instead of {answer.source_label}."


def tree(scene: Scene, answer: Explanation, every: Explanation) -> dict[str, Any]:
    """The nodes to draw with their places, words and costs; the paths of the source and of each answer."""
    model, source = answer.certificate.problem.tree, answer.certificate.problem.source
    ends = [model.leaf_of(source), *(c.leaf for c in answer)]
    paths = [path_to(model, leaf) for leaf in ends]
    drawn, below = prune(model, paths, _MOST_LEAVES), leaf_counts(model)
    costs = {c.leaf: c.cost for c in every}
    nodes: dict[int, dict[str, Any]] = {}
    for node, children in drawn.items():
        if children:
            nodes[node], drawn[node] = _split(scene, answer, node, children)
        elif model.left[node] < 0:
            known = plain(f"{costs[node]:.4g}") if node in costs else None
            label, value = str(model.classes[model.value[node]]), int(model.value[node])
            nodes[node] = {"kind": "leaf", "words": [label], "cost": known, "value": value}
        else:
            nodes[node] = {"kind": "folded", "words": [f"{below[node]} leaves"]}
    widths = {node: _width(one) for node, one in nodes.items()}
    for node, (x, depth) in arrange(drawn, widths, _GAP).items():
        nodes[node] |= {"id": node, "x": round(x, 1), "depth": depth, "width": round(widths[node], 1), "children": drawn[node]}
    return {
        "nodes": list(nodes.values()),
        "paths": paths,
        "leaves": len(model.leaves),
        "whole": every.status is not Status.LIMIT,
    }


def _split(scene: Scene, answer: Explanation, node: int, children: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """A split in few words and in all, or as the picture of its weights, and its children as they stand on the page."""
    model = answer.certificate.problem.tree
    told, side = condition(model, node, answer.schema)
    if scene.shape is None:
        whole = by_values(model, node, answer.schema) or conditions(
            inequality(model, node), answer.schema.variables, None, None
        )
        return {"kind": "split", "words": _lines(answer, node, told), "whole": whole[side < 0]}, children[::side]
    weights = model.weights[[node]].toarray()[0]
    return {"kind": "picture", "words": [], "weights": _short(weights / (np.abs(weights).max() or 1.0))}, children


def _width(one: dict[str, Any]) -> float:
    if one["kind"] == "picture":
        return _PICTURE + 8
    return max(_LEAST, _LETTER * max(map(len, one["words"])) + _PAD)


def _lines(answer: Explanation, node: int, told: str) -> list[str]:
    """A condition; a sum with each of its largest terms on a line of its own, so that nodes stay narrow."""
    split = inequality(answer.certificate.problem.tree, node)
    total, _, bound = told.rpartition("\n")
    if len(split.columns) < 2 or (" + " not in total and f" {MINUS} " not in total):
        return [" ".join(total.splitlines()), bound]
    largest = np.argsort(-np.abs(split.weights), kind="stable")[:_TERMS]
    lines: list[str] = []
    for k in largest.tolist():
        sign = MINUS if split.weights[k] < 0 else "+" if lines else ""
        name = one_line(spoken(answer.schema.variables[split.columns[k]])).replace("=", ": ", 1)
        lines.append(f"{sign} {plain(f'{abs(split.weights[k]):.2g}')} * {short(name, 34)}".strip())
    return [*lines, *([f"+ {len(split.columns) - _TERMS} more"] if len(split.columns) > _TERMS else []), bound]


def plane(answer: Explanation, across: str, up: str) -> dict[str, Any]:
    """The regions of the leaves over two numbers, all else as in the source, and where source and answers stand."""
    schema, problem = answer.schema, answer.certificate.problem
    places = [schema.index(name) for name in (across, up)]
    for d in places:
        if not isinstance(schema.features[d], Numeric):
            raise CounterleafError(f"feature {schema.names[d]!r} is no number; a plane needs two numbers")
    if places[0] == places[1]:
        raise CounterleafError(f"the plane was asked for {across!r} twice; expected two numbers that differ")
    pair = [int(schema.starts[d]) for d in places]
    points = answer.certificate.findings.points.reshape(-1, schema.width)
    low, high = window(answer, pair, points)
    elsewhere = np.delete(points != problem.source, pair, axis=1).any(axis=1)
    return {
        "low": low.tolist(),
        "high": high.tolist(),
        "regions": [
            {"leaf": leaf, "value": int(problem.tree.value[leaf]), "corners": polygon.tolist()}
            for leaf, polygon in regions(problem.tree, problem.source, pair, low, high)
        ],
        "source": problem.source[pair].tolist(),
        "answers": points[:, pair].tolist(),
        "elsewhere": elsewhere.tolist(),
    }


def _short(numbers: Array) -> list[float]:
    """To six digits: enough for a screen."""
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(numbers).tolist()]
