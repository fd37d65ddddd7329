"""Trees, planes and images as plain numbers, which the page only has to draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import by_values, conditions, inequality, leaf_counts, one_line
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.receipts.report import describe_failure
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.settings import display_name
from counterleaf.plot.canvas import MINUS, short
from counterleaf.plot.polygons import regions
from counterleaf.plot.regions import window
from counterleaf.plot.trees.conditions import condition
from counterleaf.plot.trees.path import path_to, prune
from counterleaf.plot.trees.placement import arrange
from counterleaf.proof.certificate import Status
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_MAX_LEAVES = 48  # a larger tree shows only the paths of the source and the answers
_CHARACTER, _PADDING, _MIN_WIDTH, _GAP = 6.8, 18.0, 64.0, 14.0  # pixels
_IMAGE_SIDE = 64.0  # pixels, of a split over the pixels of an image
_MAX_TERMS = 3  # of a linear split
_MAX_NAME = 34  # characters
_DIGITS = 6  # enough for a screen


def draw_image(answer: Explanation) -> dict[str, Any]:
    """The source and the answers as grey levels, with the lowest and the highest level."""
    source, points = answer.certificate.problem.source, answer.certificate.findings.points
    lower, upper = answer.schema.bounds()
    low, high = (float(x) for x in (min(lower.min(), source.min()), max(upper.max(), source.max())))
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        low, high = float(min(source.min(), points.min(initial=0))), float(max(source.max(), points.max(initial=1)))
    return {"low": low, "high": high, "source": _rounded(source), "answers": [_rounded(x) for x in points]}


def describe_image(answer: Explanation, stopped_after: float | None) -> str:
    """A sentence with the number of pixels that change."""
    if not len(answer):
        return describe_failure(answer, stopped_after)
    best = answer[0]
    if not best.changes:
        return f"Nothing has to change: the model already says {best.label}."
    start = "With" if answer.status is Status.OPTIMAL else "The best answer before the search stopped: with"
    pixels = f"{len(best.changes)} of {len(answer.schema)} pixels"
    return f"{start} {pixels} changed, the model would say {best.label} instead of {answer.source_label}."


def draw_tree(scene: Scene, answer: Explanation, all_leaves: Explanation) -> dict[str, Any]:
    """The nodes with their positions, texts and costs, and the paths of the source and of each answer."""
    tree, source = answer.certificate.problem.tree, answer.certificate.problem.source
    ends = [tree.leaf_of(source), *(c.leaf for c in answer)]
    paths = [path_to(tree, leaf) for leaf in ends]
    children_of, n_leaves = prune(tree, paths, _MAX_LEAVES), leaf_counts(tree)
    costs = {c.leaf: c.cost for c in all_leaves}
    nodes: dict[int, dict[str, Any]] = {}
    for node, children in children_of.items():
        if children:
            nodes[node], children_of[node] = _split(scene, answer, node, children)
        elif tree.left[node] < 0:
            cost = plain(f"{costs[node]:.4g}") if node in costs else None
            label, class_index = str(tree.classes[tree.value[node]]), int(tree.value[node])
            nodes[node] = {"kind": "leaf", "text": [label], "cost": cost, "class_index": class_index}
        else:
            nodes[node] = {"kind": "folded", "text": [f"{n_leaves[node]} leaves"]}
    widths = {node: _width(one) for node, one in nodes.items()}
    for node, (x, depth) in arrange(children_of, widths, _GAP).items():
        nodes[node] |= {"id": node, "x": round(x, 1), "depth": depth, "width": round(widths[node], 1)}
        nodes[node]["children"] = children_of[node]
    return {
        "nodes": list(nodes.values()),
        "paths": paths,
        "n_leaves": len(tree.leaves),
        "complete": all_leaves.status is not Status.LIMIT,
    }


def _split(scene: Scene, answer: Explanation, node: int, children: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """A split with a short and a full text, or with the image of its weights; and its children from left to right."""
    tree = answer.certificate.problem.tree
    text, side = condition(tree, node, answer.schema)
    if scene.shape is None:
        full = by_values(tree, node, answer.schema) or conditions(inequality(tree, node), answer.schema.variables, None, None)
        split = {"kind": "split", "text": _split_lines(answer, node, text), "full_text": full[side < 0]}
        return split, children[::side]
    weights = tree.weights[[node]].toarray()[0]
    return {"kind": "image", "text": [], "weights": _rounded(weights / (np.abs(weights).max() or 1.0))}, children


def _width(node: dict[str, Any]) -> float:
    if node["kind"] == "image":
        return _IMAGE_SIDE + 8
    return max(_MIN_WIDTH, _CHARACTER * max(map(len, node["text"])) + _PADDING)


def _split_lines(answer: Explanation, node: int, text: str) -> list[str]:
    """The lines of a condition; a linear one has its largest terms on one line each, so that the node stays narrow."""
    split = inequality(answer.certificate.problem.tree, node)
    total, _, bound = text.rpartition("\n")
    if len(split.columns) < 2 or (" + " not in total and f" {MINUS} " not in total):
        return [" ".join(total.splitlines()), bound]
    largest = np.argsort(-np.abs(split.weights), kind="stable")[:_MAX_TERMS]
    lines: list[str] = []
    for k in largest.tolist():
        sign = MINUS if split.weights[k] < 0 else "+" if lines else ""
        name = one_line(display_name(answer.schema.variables[split.columns[k]])).replace("=", ": ", 1)
        lines.append(f"{sign} {plain(f'{abs(split.weights[k]):.2g}')} * {short(name, _MAX_NAME)}".strip())
    more = len(split.columns) - _MAX_TERMS
    return [*lines, *([f"+ {more} more"] if more > 0 else []), bound]


def draw_plane(answer: Explanation, x_feature: str, y_feature: str) -> dict[str, Any]:
    """The regions of the leaves over two features, with all others as in the source, and the positions of the answers."""
    schema, problem = answer.schema, answer.certificate.problem
    indices = [schema.index(name) for name in (x_feature, y_feature)]
    for d in indices:
        if not isinstance(schema.features[d], Numeric):
            raise CounterleafError(f"feature {schema.names[d]!r} is not numeric; a plane needs two numeric features")
    if indices[0] == indices[1]:
        raise CounterleafError(f"x_feature and y_feature are both {x_feature!r}; expected two different features")
    pair = [int(schema.starts[d]) for d in indices]
    points = answer.certificate.findings.points.reshape(-1, schema.width)
    low, high = window(answer, pair, points)
    changes_others = np.delete(points != problem.source, pair, axis=1).any(axis=1)
    return {
        "low": low.tolist(),
        "high": high.tolist(),
        "regions": [
            {"leaf": leaf, "class_index": int(problem.tree.value[leaf]), "corners": polygon.tolist()}
            for leaf, polygon in regions(problem.tree, problem.source, pair, low, high)
        ],
        "source": problem.source[pair].tolist(),
        "answers": points[:, pair].tolist(),
        "changes_others": changes_others.tolist(),
    }


def _rounded(numbers: Array) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(numbers).tolist()]
