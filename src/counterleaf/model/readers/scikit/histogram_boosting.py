"""HistGradientBoostingClassifier and HistGradientBoostingRegressor, with categories and missing values."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.shared.assembly import Nodes, assemble
from counterleaf.model.readers.shared.leaf_probes import categorical, gaps_of, quiet, tree_of
from counterleaf.model.readers.shared.probing import settled
from counterleaf.model.readers.shared.reader import Reader, refuse_no_trees
from counterleaf.model.tree import Tree
from counterleaf.table.frames import frame_of_codes
from counterleaf.types import Array, is_missing

_FAR = 1e300  # beyond any score


def _is_ensemble(model: Any) -> bool:
    return sum(len(stage) for stage in getattr(model, "_predictors", ())) > 1 or bool(categories(model))


def categories(model: Any, data: Any = None) -> dict[int, list[Any]]:
    """Return the categories by column; a code is the place of a category among the values of the fit, in sorted order."""
    if getattr(model, "_preprocessor", None) is None or not np.any(model.is_categorical_):
        return {}
    known = model._preprocessor.named_transformers_["encoder"].categories_
    columns = np.flatnonzero(model.is_categorical_).tolist()
    return {d: [one for one in values.tolist() if not is_missing(one)] for d, values in zip(columns, known, strict=True)}


def inputs(model: Any, rows: Any, data: Any = None) -> Any:
    """Return what the model takes for rows of numbers and category codes: the same rows, or a table with the categories."""
    known = categories(model)
    if not known:
        return rows
    names = getattr(model, "feature_names_in_", None)
    columns: dict[Any, Any] = {}
    for d in range(np.shape(rows)[1]):
        cells: Any = np.asarray(rows)[:, d]
        if d in known:
            outside = np.isnan(cells) | (cells < 0) | (cells >= len(known[d]))
            cells = np.where(outside, -1, np.nan_to_num(cells)).astype(int), known[d]
        columns[d if names is None else names[d]] = cells
    table = frame_of_codes(columns)
    if names is not None:
        return table
    numbers = all(isinstance(one, int | float) for values in known.values() for one in values)
    return table.astype(float).to_numpy() if numbers else table.astype(object).to_numpy()


def trees_of(model: Any) -> Ensemble:
    """Return the trees of a fitted model, each of which adds to one score."""
    kind = type(model).__name__
    if not hasattr(model, "_predictors"):
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    width, known = model.n_features_in_, categories(model)
    place = np.arange(width)
    if getattr(model, "_preprocessor", None) is not None:  # it puts the categorical columns first
        place = np.append(np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_))
    sizes = {d: len(values) for d, values in known.items()}
    start = np.asarray(model._baseline_prediction, float).ravel()
    nodes = [_nodes(predictor, place, sizes) for stage in model._predictors for predictor in stage]
    refuse_no_trees(kind, nodes)
    output = np.tile(np.arange(len(start)), len(model._predictors))
    return assemble(nodes, Scoring("value"), width=width, start=start, output=output)


def read(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind, trees, labels = type(model).__name__, trees_of(model), getattr(model, "classes_", None)
    start, sizes = trees.start, {d: len(values) for d, values in categories(model).items()}
    if labels is None:
        scoring = Scoring("value", _link(model, kind))
    elif len(start) == 1:
        scoring = Scoring("threshold", "logistic", cut=_cut(model))
    else:
        scoring = Scoring("largest", "softmax", noise=0.0 if _compares_scores(model) else 2.0**-51)
    made = replace(trees, scoring=scoring, classes=np.asarray(() if labels is None else labels))

    def scores(rows: Array) -> Array:
        return np.asarray(model._raw_predict(inputs(model, rows)))

    return settled([made], kind, lambda rows: model.predict(inputs(model, rows)), scores, sizes)


def _nodes(predictor: Any, place: Array, sizes: dict[int, int]) -> Nodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, -1, nodes[name].astype(np.int64)) for name in ("left", "right"))
    gap_right = ~leaf & ~nodes["missing_go_to_left"].astype(bool)
    column = place[np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64)]
    subset: dict[int, tuple[int, ...]] = {}
    for k in np.flatnonzero(~leaf & nodes["is_categorical"].astype(bool)).tolist():
        words = np.asarray(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]])
        codes = range(sizes[int(column[k])])
        to_left = [bool((int(words[code >> 5]) >> (code & 31)) & 1) for code in codes]
        if gap_right[k]:  # unknown categories go where missing values go, and all codes outside a subset go left
            left[k], right[k], gap_right[k] = right[k], left[k], False
            subset[k] = tuple(code for code in codes if to_left[code])
        else:
            subset[k] = tuple(code for code in codes if not to_left[code])
    return Nodes(left, right, column, nodes["num_threshold"], gap_right, nodes["value"][:, None], subset)


def _link(model: Any, kind: str) -> str:
    name = type(model._loss.link).__name__
    if name not in ("IdentityLink", "LogLink"):
        raise CounterleafError(
            f"this {kind} has the loss {model.loss!r}; expected one with the identity or the log as its link"
        )
    return "identity" if name == "IdentityLink" else "exp"


def _bare(model: Any, start: Array) -> Any:
    """Return the model without trees, whose scores are the start."""
    out = copy.copy(model)
    out._predictors, out._baseline_prediction = [], np.asarray(start, float).reshape(1, -1)
    return out


def _label(model: Any, start: Array) -> Any:
    with quiet():
        return _bare(model, start).predict(inputs(model, np.zeros((1, model.n_features_in_))))[0]


def _cut(model: Any) -> float:
    """Return the least score of the second class, found in the model: its versions compare scores or probabilities."""
    return float(first_number(lambda x: np.array([_label(model, x) == model.classes_[1]]), 1, _FAR)[0])


def _compares_scores(model: Any) -> bool:
    """Whether the class of the larger of two scores wins if their probabilities are the same number."""
    start = np.zeros(len(np.ravel(model._baseline_prediction)))
    start[-1] = 2.0**-80
    return bool(_label(model, start) == model.classes_[-1])


def _one_tree(model: Any) -> Tree:
    trees = trees_of(model)
    if categories(model):
        raise categorical(type(model).__name__)
    return tree_of(model, trees, model, getattr(model, "classes_", None))


READER = Reader(
    classes=(("sklearn.ensemble.", ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")),),
    is_ensemble=_is_ensemble,
    tree=_one_tree,
    ensemble=read,
    gaps=lambda model: gaps_of(trees_of(model)),
    categories=categories,
    inputs=inputs,
)
