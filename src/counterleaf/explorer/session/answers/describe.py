"""Data sets and rows as the page reads them: the model, the features with their histograms, and the values of a row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.explorer.session.question import MEASURES
from counterleaf.explorer.session.requests import MAX_FILE
from counterleaf.explorer.session.scene import Scene, SceneSource, encode_value
from counterleaf.explorer.session.words import filled_text, label_of
from counterleaf.table.features import is_missing
from counterleaf.table.rows import TableRows
from counterleaf.table.words import word
from counterleaf.types import Array

_BINS = 24  # of a histogram
_MOST_ROWS = 20_000  # that a histogram counts


def list_scene(scene: Scene | SceneSource) -> dict[str, Any]:
    """A data set in the list of data sets, which are loaded when they are opened."""
    return {"key": scene.key, "title": scene.title, "about": scene.about, "noun": scene.noun, "kind": scene.kind}


def describe_scene(scene: Scene) -> dict[str, Any]:
    """The properties of a data set that the page needs."""
    description: dict[str, Any] = scene.remembered("description", lambda: _describe_scene(scene))
    return description


def _describe_scene(scene: Scene) -> dict[str, Any]:
    explainer, tree, schema = scene.explainer, scene.explainer.tree, scene.explainer.schema
    rules = [one.in_words(schema) for one in scene.constraints]
    histograms = _histograms(scene)
    output = None
    if scene.kind == "value":
        lower, upper = (float(f"{end:.6g}") for end in scene.output_range)
        output = {"lower": lower, "upper": upper}
    return {
        **list_scene(scene),
        "n_rows": scene.n_rows,
        "has_table": scene.rows is not None,
        "first_row": scene.first_row,
        "target": [] if scene.target is None else [scene.target],
        "at_least": scene.at_least,
        "at_most": scene.at_most,
        "classes": [str(label) for label in tree.classes.tolist()],
        "probabilities": tree.bounds_probabilities,
        "output": output,
        "spreads": ["range", "std", "mad", "none"] if explainer.spreads is not None else ["none"],
        "costs": list(scene.costs),
        "measures": {cost: MEASURES[cost] for cost in scene.costs},
        "locked_features": list(scene.locked_features),
        "shape": scene.shape,
        "n_leaves": int((tree.left < 0).sum()),
        "model": model_name(tree)[1],
        "has_tree": tree.is_one_tree,
        "max_file": MAX_FILE,
        "constraints": rules,
        "margin": margin_words(tree),
        "features": [
            {
                **_describe_feature(feature),
                "rules": [
                    rule for rule, one in zip(rules, scene.constraints, strict=True) if feature.name in one.features(schema)
                ],
                "histogram" if isinstance(feature, cl.Numeric) else "counts": counts,
            }
            for feature, counts in zip(schema, histograms, strict=True)
        ],
    }


def margin_words(tree: Any) -> str:
    """What the safety margin of a question asks for."""
    if not tree.is_one_tree:
        return "By how much the score of the answer must be beyond what the goal needs. 0 is just enough."
    unit = "in the units of the feature" if tree.is_axis_aligned() else "in the units of the sum that the split compares"
    return f"How far the answer must be beyond each threshold on its path through the tree, {unit}. 0 is just enough."


def model_name(tree: Any) -> tuple[str, str]:
    """The indefinite article of a model, which plurals lack, and what it is."""
    if tree.is_one_tree:
        return "a ", "tree with linear leaves" if tree.outputs is not None and tree.outputs.slope is not None else "tree"
    count = f"{tree.n_trees:,} {'tree' if tree.n_trees == 1 else 'trees'}"
    if tree.scoring.divisor != 1.0 or tree.scoring.link == "share":
        return "a ", f"forest of {count}"
    return ("a ", "boosted tree") if tree.n_trees == 1 else ("", f"{tree.n_trees:,} boosted trees")


def _describe_feature(feature: cl.Feature) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": feature.name,
        "label": label_of(feature),
        "unit": getattr(feature, "unit", None),
        "description": feature.description,
        "missing": bool(feature.missing),
    }
    if isinstance(feature, cl.Numeric):
        lower, upper = (end if math.isfinite(end) else None for end in (feature.lower, feature.upper))
        step = None if feature.grid is None else float(feature.grid)
        kind = "date" if feature.unit == "date" else "number"
        return out | {"kind": kind, "lower": lower, "upper": upper, "step": step}
    return out | {"kind": type(feature).__name__.lower(), "values": [word(value) for value in feature.values]}


def _histograms(scene: Scene) -> list[Any]:
    """For each feature the counts of the rows: per bin of a number, per value of another feature; None without rows."""
    schema = scene.explainer.schema
    if scene.rows is None or scene.shape is not None:
        return [None] * len(schema)
    codes = TableRows(scene.rows, schema).codes(slice(0, min(scene.n_rows, _MOST_ROWS)))
    return [_histogram(feature, codes[:, d]) for d, feature in enumerate(schema)]


def _histogram(feature: cl.Feature, codes: Array) -> Any:
    codes = codes[np.isfinite(codes)]
    if not isinstance(feature, cl.Numeric):
        return np.bincount(codes.astype(int), minlength=feature.size)[: feature.size].tolist()
    if not len(codes):
        return None
    low, high = float(codes.min()), float(codes.max())
    whole = feature.grid == 1 and high - low < _BINS
    if whole:
        edges = np.arange(math.floor(low), math.floor(high) + 2) - 0.5
    elif low < high and math.isfinite(high - low):
        edges = np.linspace(low, high, _BINS + 1)
    else:
        edges = np.array([low, high])
    counts = [len(codes)] if len(edges) == 2 else np.histogram(codes, edges)[0].tolist()
    return {"edges": [float(f"{edge:.6g}") for edge in edges.tolist()], "counts": counts}


def describe_row(scene: Scene, row: int) -> dict[str, Any]:
    """The values of a row and what the model says of it; a row that cannot be read has a problem instead."""
    scene.check_row(row)
    try:
        values = scene.values(row, {})
        outcome = scene.outcome(values).describe()
        codes = [encode_value(feature, values[feature.name]) for feature in scene.explainer.schema]
    except cl.CounterleafError as error:
        empty: dict[str, Any] = {"label": None, "class_index": None, "number": None, "values": None, "imputed": {}}
        return {"row": row, **empty, "problem": str(error)}
    return {"row": row, **outcome, "values": codes, "imputed": imputed(scene, values), "problem": None}


def imputed(scene: Scene, values: dict[str, Any]) -> dict[str, str]:
    """The value that each gap of a row counts as, by feature, in words."""
    schema, out = scene.explainer.schema, {}
    for feature in schema:
        if feature.name not in schema.fills or not is_missing(values[feature.name]):
            continue
        code = schema.fills[feature.name]
        if isinstance(feature, cl.Numeric):
            out[feature.name] = filled_text(feature, code)
        elif 0 <= code < len(feature.values):
            out[feature.name] = word(feature.values[int(code)])
    return out
