"""A tree as nodes with texts; the page arranges them, and folds and unfolds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import leaf_counts, leaf_words
from counterleaf.explorer.session.answers.effort import describe_effort, moves_of
from counterleaf.explorer.session.answers.goals import points_of
from counterleaf.explorer.session.drawings.conditions import Splits, terms, value_text, variable_labels
from counterleaf.explorer.session.drawings.plane import rounded
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import percent
from counterleaf.plot.canvas import MINUS
from counterleaf.plot.trees.path import path_to
from counterleaf.table.words import grouped
from counterleaf.types import Array

MAX_NODES = 3000  # that are sent at once: the paths and the nodes nearest to the root
_MAX_TERMS = 2  # of the sum that a leaf computes
_HUGE = 1e300  # every value is above minus this number


def every_prediction(scene: Scene) -> Any:
    """The target that every leaf reaches, for the efforts of all leaves."""
    tree = scene.explainer.tree
    if not tree.is_one_tree:
        raise cl.CounterleafError("the model is an ensemble and has no single tree to draw; open the plane instead")
    return cl.value(at_least=-_HUGE) if tree.is_regression else tree.classes.tolist()


def draw_tree(scene: Scene, answer: cl.Explanation, all_leaves: cl.Explanation) -> dict[str, Any]:
    """The nodes with their texts and efforts, and the paths of the row and of each option.

    ``all_leaves`` has the cheapest row of each leaf.
    """
    tree, schema, points = answer.decision.model, answer.schema, points_of(answer)
    paths = [path_to(tree, tree.leaf_of(point)) for point in points]
    shown, below = _choose(tree, paths), leaf_counts(tree)
    cheapest = _cheapest(all_leaves, answer)
    splits = Splits(tree, schema, points)
    right = _right(tree, points)
    nodes = []
    for node in sorted(shown):
        one: dict[str, Any] = {"id": node, "leaves": int(below[node])}
        if tree.left[node] < 0:
            best = cheapest.get(node)
            one |= {"kind": "leaf"} | _leaf(answer, tree, node) | {"effort": _effort(scene, best)}
            one["cost"] = None if best is None else f"{best.cost:.4g}"
        else:
            one |= _split(scene, splits, node)
            one["sides"] = "".join("LR"[int(goes != one["swapped"])] for goes in right[:, node].tolist())
            children = [int(tree.left[node]), int(tree.right[node])][:: -1 if one.pop("swapped") else 1]
            one["children"] = children if children[0] in shown else []
        nodes.append(one)
    used = sorted({one["feature"] for one in nodes if one.get("feature", -1) >= 0})
    codes = schema.gather(points)
    return {
        "nodes": nodes,
        "paths": paths,
        "n_leaves": len(tree.leaves),
        "complete": all_leaves.status is not cl.Status.LIMIT,
        "values": {str(d): [value_text(schema.features[d], code) for code in codes[:, d].tolist()] for d in used},
        "range": _value_range(tree),
    }


def _choose(tree: cl.Tree, paths: Sequence[Sequence[int]]) -> set[int]:
    """The nodes to send: those of the paths with their siblings, then level by level while there is room."""
    chosen = {0}
    for path in paths:
        for node in path[:-1]:
            chosen |= {int(tree.left[node]), int(tree.right[node])}
    level = [0]
    while level:
        children = [(int(tree.left[node]), int(tree.right[node])) for node in level if tree.left[node] >= 0]
        if len(chosen) + 2 * len(children) > MAX_NODES:
            break
        level = [child for pair in children for child in pair]
        chosen.update(level)
    return chosen


def _split(scene: Scene, splits: Splits, node: int) -> dict[str, Any]:
    if scene.shape is None:
        return {"kind": "split", **asdict(splits.describe(node))}
    weights = splits.tree.weights[[node]].toarray()[0]
    image = {"text": [], "weights": rounded(weights / (np.abs(weights).max() or 1.0)), "branches": ["", ""]}
    return {"kind": "image", **image, "swapped": False, "feature": -1}


def _leaf(answer: cl.Explanation, tree: cl.Tree, node: int) -> dict[str, Any]:
    outputs, value = tree.outputs, int(tree.value[node])
    if outputs is not None and outputs.linear[node]:
        names = variable_labels(answer.schema)
        kind = {"value": "value", "logistic": "log odds"}.get(outputs.kind, "score")
        columns, weights, constant = outputs.row(node, 0)
        lines = terms(columns, weights, names, _MAX_TERMS) if len(columns) else []
        full = " ".join([*terms(columns, weights, names, 8), *([_signed(constant)] if constant else [])])
        whole = f"{kind}{'' if outputs.count == 1 else f' of {tree.classes[0]}'} = {full}"
        return {"class_index": value, "text": ["computes a " + kind, *lines], "holds": whole, "number": None}
    if tree.is_regression:
        assert outputs is not None
        number = float(outputs.intercept[node, 0])
        return {"class_index": -1, "text": [grouped(plain(f"{number:.6g}"))], "number": number}
    label, index = leaf_words(tree, node), value
    if index < 0:
        assert outputs is not None
        index = int(outputs.intercept[node].argmax()) if outputs.count > 1 else int(outputs.intercept[node, 0] > 0)
        label = str(tree.classes[index])
    share = None
    if tree.has_probabilities and outputs is not None:
        found = outputs.probabilities(outputs.intercept[[node]])
        share = None if found is None else float(found[0, index])
    return {"class_index": index, "text": [label, *([] if share is None else [percent(share)])], "number": None}


def _signed(constant: float) -> str:
    return f"{MINUS if constant < 0 else '+'} {grouped(plain(f'{abs(constant):.4g}'))}"


def _value_range(tree: cl.Tree) -> list[float] | None:
    """The lowest and the highest value of a regression tree with constant leaves, for the colours."""
    if not tree.is_regression or tree.outputs is None:
        return None
    values = tree.outputs.intercept[tree.leaves, 0]
    return [float(values.min()), float(values.max())]


def _cheapest(*answers: cl.Explanation) -> dict[int, cl.Counterfactual]:
    found: dict[int, cl.Counterfactual] = {}
    for c in (c for answer in answers for c in answer):
        if c.leaf not in found or c.cost < found[c.leaf].cost:
            found[c.leaf] = c
    return found


def _effort(scene: Scene, c: cl.Counterfactual | None) -> dict[str, str] | None:
    if c is None:
        return None
    effort = describe_effort(moves_of(scene.explainer, c), "")
    if not c.changes:
        return {"short": "here", "words": effort["words"]}
    if scene.shape is not None:
        pixels = f"{len(c.changes)} of {len(scene.explainer.schema)} pixels"
        return {"short": pixels, "words": pixels}
    return {
        "short": effort["short"] if effort["size"] is None else f"effort {percent(effort['total'])}",
        "words": effort["words"],
    }


def _right(tree: cl.Tree, points: Array) -> Array:
    """Whether each point would go right at each node, as a (points, nodes) array."""
    cast = points.astype(tree.dtype).astype(np.float64)
    score = (tree.weights @ cast.T).T + tree.bias
    return np.asarray((score > 0) | ((score == 0) & (tree.closed == "right")))
