"""Boosted models with one tree: HistGradientBoosting, XGBoost and LightGBM.

The thresholds are read from the model. What the leaves predict is found by sending a row of every leaf through the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.leaf_probes import Box, Gaps, Reads, at_leaves, quiet, row_in, rows_at_splits
from counterleaf.model.readers.refusals import many_trees, refuse_one_class
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

READS: Reads = (
    ("sklearn.ensemble.", ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")),
    ("xgboost.", ("XGBModel", "Booster")),
    ("lightgbm.", ("LGBMModel", "Booster")),
)
_ZERO = float(np.float32(1e-35))  # LightGBM takes numbers up to this size for 0


@dataclass(frozen=True, eq=False)
class _Plain:
    """One tree of a model: a number goes left if it is at most the threshold, or less than it."""

    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_right: Array
    width: int
    closed: str  # the side of the threshold itself
    dtype: str = "float64"

    def tree(self) -> Tree:
        """Return the splits, with leaves of one class."""
        n, inner = len(self.left), np.flatnonzero(self.left >= 0)
        threshold = self.threshold[inner]
        real = np.isfinite(threshold)  # an infinite threshold separates missing values only
        bias = np.zeros(n)
        bias[inner] = np.where(real, -threshold, -np.sign(threshold))
        weights = CSR.from_entries(inner, self.feature[inner], real, (n, self.width))
        return Tree(self.left, self.right, weights, bias, np.zeros(n, int), closed=self.closed, dtype=self.dtype)


def guard(model: Any) -> float:
    """Return 0: every split tests one column."""
    return 0.0


def gaps(model: Any) -> Gaps | None:
    """Return where missing numbers go; None if the model has several trees."""
    trees = _trees(model)
    return Gaps(np.where(trees[0].left >= 0, trees[0].feature, -1), trees[0].missing_right) if len(trees) == 1 else None


def as_model(model: Any) -> Any:
    """Return a model that predicts from arrays; a Booster of XGBoost takes matrices of its own."""
    return XGBoostBooster(model) if _is(model, "xgboost.", "Booster") else model


class XGBoostBooster:
    """A Booster of XGBoost that predicts the numbers of its objective from arrays and tables.

    Parameters
    ----------
    booster : xgboost.Booster
        The model.
    """

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        if booster.feature_names is not None:
            self.feature_names_in_ = np.array(booster.feature_names, dtype=object)

    def predict(self, X: Any) -> Array:
        """Return one number per row."""
        return np.asarray(self.booster.inplace_predict(np.asarray(X, float), validate_features=False))


def read(model: Any) -> Tree:
    """Return the tree of a fitted model."""
    kind = type(model).__name__
    refuse_one_class(model)
    trees = _trees(model)
    if not trees:
        raise CounterleafError(f"this {kind} has no trees; expected one or more: nothing can change what it says")
    if len(trees) != 1:
        raise many_trees(model)
    splits = trees[0].tree()
    predicts = as_model(model)
    labels = None if _is(model, "", "Booster") else getattr(model, "classes_", None)
    if labels is None:
        leaves, values = _leaf_values(model, splits, predicts.predict)
        if values.ndim != 1:
            raise CounterleafError(f"this {kind} has {values.shape[-1]} outputs; expected one: fit one model per output")
        held = np.zeros((splits.n_nodes, 1))
        held[leaves, 0] = values
        tree = replace(splits, value=None, classes=None, outputs=Outputs("value", held))
    else:
        leaves, shares = _leaf_values(model, splits, predicts.predict_proba)
        held, value = np.zeros((splits.n_nodes, len(labels))), np.zeros(splits.n_nodes, int)
        held[leaves] = shares
        place = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
        value[leaves] = [place[label] for label in _leaf_values(model, splits, predicts.predict)[1].tolist()]
        tree = replace(splits, value=value, classes=labels, outputs=Outputs("probability", np.clip(held, 0.0, 1.0)))
    rows, _ = rows_at_splits(splits)
    with quiet():
        found = np.asarray((predicts.predict if labels is None else predicts.predict_proba)(rows)) if len(rows) else rows
        ours = (tree.predict if labels is None else tree.predict_proba)(rows) if len(rows) else rows
    if not np.array_equal(found, ours):
        raise CounterleafError(f"this {kind} does not route rows as its thresholds say; report the version of its library")
    return tree


def _leaf_values(model: Any, splits: Tree, evaluate: Callable[[Array], Any]) -> tuple[Array, Array]:
    """Return leaves and what the model computes there; a leaf without numbers may be reached with missing ones."""
    leaves, values = at_leaves(splits, evaluate)
    routes = gaps(model)
    lacking = set(splits.leaves.tolist()) - set(leaves.tolist())
    if routes is None or not lacking:
        return leaves, values
    _, _, low_side, high_side = cuts(splits)
    found: dict[int, Array] = {}
    stack: list[tuple[int, Box, dict[int, bool]]] = [(0, {}, {})]  # a node, its box, and whether a gap gets there too
    while stack:
        node, box, gap = stack.pop()
        if splits.left[node] < 0:
            row = row_in(box, splits.n_features)
            for d, (low, high) in box.items():
                row[d] = np.nan if low > high or low == np.inf or high == -np.inf else row[d]
            if node in lacking and all(gap[d] for d in np.flatnonzero(np.isnan(row)).tolist()):
                found[node] = row
            continue
        d = int(routes.feature[node])
        low, high = box.get(d, (-np.inf, np.inf))
        for child, side, there in (
            (splits.left[node], (low, min(high, low_side[node])), not routes.right[node]),
            (splits.right[node], (max(low, high_side[node]), high), bool(routes.right[node])),
        ):
            stack.append((int(child), {**box, d: side}, {**gap, d: gap.get(d, True) and there}))
    if not found:
        return leaves, values
    with quiet():
        more = np.asarray(evaluate(np.array(list(found.values()))))
    return np.append(leaves, list(found)), np.concatenate([values, more])


def _is(model: Any, module: str, name: str) -> bool:
    return any(c.__module__.startswith(module) and c.__name__ == name for c in type(model).__mro__)


def _trees(model: Any) -> list[_Plain]:
    kind = type(model).__name__
    if _is(model, "sklearn.", "BaseHistGradientBoosting"):
        return list(_hist(model, kind))
    if _is(model, "xgboost.", "XGBModel") or _is(model, "xgboost.", "Booster"):
        return list(_xgboost(model, kind))
    return list(_lightgbm(model, kind))


def _categorical(kind: str) -> CounterleafError:
    return CounterleafError(f"this {kind} has categorical splits, which a Tree cannot hold; encode the categories first")


def _unfitted(kind: str) -> CounterleafError:
    return CounterleafError(f"this {kind} is not fitted; call fit first")


def _hist(model: Any, kind: str) -> Iterator[_Plain]:
    if not hasattr(model, "_predictors"):
        raise _unfitted(kind)
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise _categorical(kind)
    for predictor in (one for stage in model._predictors for one in stage):
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        left, right = (np.where(leaf, -1, nodes[name].astype(np.int64)) for name in ("left", "right"))
        gap_right = ~leaf & ~nodes["missing_go_to_left"].astype(bool)
        yield _Plain(left, right, nodes["feature_idx"], nodes["num_threshold"], gap_right, model.n_features_in_, "left")


def _xgboost(model: Any, kind: str) -> Iterator[_Plain]:
    booster = model
    if kind != "Booster":
        if not model.__sklearn_is_fitted__():
            raise _unfitted(kind)
        booster = model.get_booster()
        if not np.isnan(model.missing):
            raise CounterleafError(f"this {kind} takes {model.missing!r} for missing; expected NaN: fit it with missing=np.nan")
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    if (outputs := int(learner["learner_model_param"].get("num_target", 1))) > 1:
        raise CounterleafError(f"this {kind} has {outputs} outputs; expected one: fit one model per output")
    state = learner["gradient_booster"]
    if "model" not in state and "gbtree" not in state:
        raise CounterleafError(f"this {kind} has the booster {state.get('name')!r}; expected trees: use booster='gbtree'")
    if "trees" not in (state := state.get("gbtree", state)["model"]):
        raise CounterleafError(f"this {kind} has a linear booster; expected trees: use booster='gbtree'")
    if "c" in (booster.feature_types or ()) or any(np.any(one["split_type"]) for one in state["trees"]):
        raise _categorical(kind)
    for one in state["trees"]:
        left, right = np.array(one["left_children"]), np.array(one["right_children"])
        threshold = np.array(one["split_conditions"], np.float32).astype(np.float64)
        gap_right = (left >= 0) & ~np.array(one["default_left"], bool)
        feature = np.array(one["split_indices"])
        yield _Plain(left, right, feature, threshold, gap_right, booster.num_features(), "right", "float32")


def _lightgbm(model: Any, kind: str) -> Iterator[_Plain]:
    booster = model
    if kind != "Booster":
        if not model.__sklearn_is_fitted__():
            raise _unfitted(kind)
        booster = model.booster_
    dumped = booster.dump_model()
    if dumped.get("pandas_categorical"):
        raise _categorical(kind)
    for one in dumped["tree_info"]:
        nodes: list[tuple[int, int, int, float, bool]] = []

        def add(part: dict[str, Any], nodes: list[tuple[int, int, int, float, bool]] = nodes) -> int:
            place = len(nodes)
            nodes.append((-1, -1, 0, 0.0, False))
            if "split_feature" not in part:
                if part.get("leaf_coeff"):
                    raise CounterleafError(f"this {kind} has linear leaves; expected constants: use linear_tree=False")
                return place
            if part["decision_type"] != "<=":
                raise _categorical(kind)
            if part["missing_type"] == "Zero":
                raise CounterleafError(f"this {kind} takes 0 for missing; use zero_as_missing=False")
            threshold = float(part["threshold"])
            # without missing numbers in the fit, a missing one counts as 0
            gap_right = not part["default_left"] if part["missing_type"] == "NaN" else threshold < 0.0
            threshold = float(effective(np.array(threshold)))
            left, right = add(part["left_child"]), add(part["right_child"])
            nodes[place] = left, right, part["split_feature"], threshold, gap_right
            return place

        add(one["tree_structure"])
        left, right, feature, threshold, gap_right = (np.array(column) for column in zip(*nodes, strict=True))
        yield _Plain(left, right, feature, threshold, gap_right, booster.num_feature(), "left")


def effective(threshold: Array) -> Array:
    """Return where LightGBM splits: it takes tiny numbers for 0, and huge thresholds for infinity.

    A threshold from 0 up to the largest of the tiny numbers has all of them on its left, one just below 0 has none of them.
    """
    out = np.where((threshold >= 0.0) & (threshold < _ZERO), _ZERO, threshold)
    out = np.where((threshold < 0.0) & (threshold >= -_ZERO), np.nextafter(-_ZERO, -np.inf), out)
    return np.where(threshold >= 1e300, np.inf, out)
