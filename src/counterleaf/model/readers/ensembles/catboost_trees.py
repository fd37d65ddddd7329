"""CatBoostClassifier and CatBoostRegressor: symmetric and other trees over numbers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.ensembles.assembly import Nodes, assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled, takes_gaps, with_noise
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.types import Array

READS: Reads = (("catboost.", ("CatBoostClassifier", "CatBoostRegressor")),)
_VALUES = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MAPE", "Lq", "Huber", "Expectile", "LogCosh"), "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "exp"),
}
_LEAST = 5e-324  # the least number above 0


def is_ensemble(model: Any) -> bool:
    """Return True: no other reader knows these models."""
    return True


def categories(model: Any) -> dict[int, list[Any]]:
    """Return no categories: models with categorical features are refused."""
    return {}


def inputs(model: Any, rows: Any) -> Any:
    """Return the rows: models with categorical features are refused."""
    return rows


def as_model(model: Any) -> Any:
    """Return a model whose labels are one per row, not in a column."""
    return CatBoostModel(model)


class CatBoostModel:
    """A model of CatBoost whose ``predict`` returns one label or value per row.

    Parameters
    ----------
    model : catboost.CatBoostClassifier or catboost.CatBoostRegressor
        The model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        names = model.feature_names_
        if names != [str(d) for d in range(len(names))]:
            self.feature_names_in_ = np.array(names, dtype=object)
        if len(model.classes_):
            self.classes_ = np.asarray(model.classes_)

    def predict(self, X: Any) -> Array:
        """Return the label or the value of each row."""
        found = np.ravel(self.model.predict(X))
        if hasattr(self, "classes_") and self.classes_.dtype == bool:  # CatBoost writes these labels as text
            return np.asarray(found.astype(str) == "True")
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        return np.asarray(self.model.predict_proba(X))


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind = type(model).__name__
    if not model.is_fitted():
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    stored = _stored(model)
    features = stored["features_info"]
    others = sorted(name.removesuffix("_features") for name, held in features.items() if name != "float_features" and held)
    if others:
        raise CounterleafError(f"this {kind} has {others[0]} features, which are not supported; encode them as numbers first")
    numbers = features.get("float_features", [])
    place = {one["feature_index"]: one["flat_feature_index"] for one in numbers}
    right = {one["feature_index"]: one["nan_value_treatment"] == "AsTrue" for one in numbers}
    scale, bias = stored["scale_and_bias"]
    symmetric = "oblivious_trees" in stored
    trees = [
        (_symmetric if symmetric else _free)(tree, len(bias), place, right)
        for tree in stored["oblivious_trees" if symmetric else "trees"]
    ]
    trees = [one if scale == 1 else _scaled(one, float(scale)) for one in trees]
    real = as_model(model)
    width = len(model.feature_names_)
    made = assemble(
        trees,
        _scoring(model, stored, kind),
        width=width,
        start=bias,
        classes=getattr(real, "classes_", ()),
        gaps=takes_gaps(real.predict, width),
        compares=("left", "float32"),
    )
    if scale != 1:
        made = with_noise(made, made.rounding)  # CatBoost multiplies the sum, not its terms

    def scores(rows: Array) -> Array:
        return np.asarray(model.predict(rows, prediction_type="RawFormulaVal"))

    return settled([made], Probe(kind, real.predict, scores))


def _stored(model: Any) -> dict[str, Any]:
    """Return what CatBoost writes about a model; it writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _scoring(model: Any, stored: dict[str, Any], kind: str) -> Scoring:
    loss = stored["model_info"]["params"]["loss_function"]["type"]
    if len(model.classes_):
        if loss in ("Logloss", "CrossEntropy") and model.get_probability_threshold() == 0.5:
            return Scoring("threshold", "logistic", late=True, cut=_LEAST)
        if loss in ("MultiClass", "MultiClassOneVsAll"):
            return Scoring("largest", "softmax" if loss == "MultiClass" else "none", late=True)
    elif loss in _VALUES:
        return Scoring("value", _VALUES[loss], late=True)
    if loss in ("Logloss", "CrossEntropy"):
        raise CounterleafError(
            f"this {kind} has a probability threshold of its own; expected 0.5: set_probability_threshold(0.5)"
        )
    raise CounterleafError(f"this {kind} has the loss {loss!r}, which is not supported; use Logloss, MultiClass or RMSE")


def _scaled(tree: Nodes, scale: float) -> Nodes:
    return Nodes(tree.left, tree.right, tree.column, tree.threshold, tree.gap_right, tree.value * scale)


def _symmetric(tree: dict[str, Any], width: int, place: dict[int, int], right: dict[int, bool]) -> Nodes:
    """Return the nodes of a tree that has the same split at all nodes of a level; the first split is the lowest bit."""
    splits = tree.get("splits") or []
    depth = len(splits)
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    node = np.arange(size)
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    features = [one["float_feature_index"] for one in splits]
    padded = np.array([*(place[one] for one in features), 0])
    borders = np.array([*(np.float32(one["border"]) for one in splits), 0.0], np.float64)
    gap_right = np.array([*(right[one] for one in features), False])
    leaf = np.zeros(2**depth, np.int64)
    for k in range(depth):  # a path from the root reads the bits from the first split on
        leaf |= ((np.arange(2**depth) >> (depth - 1 - k)) & 1) << k
    value = np.zeros((size, width))
    value[inner:] = np.array(tree["leaf_values"], float).reshape(-1, width)[leaf]
    left, after = (np.where(node < inner, 2 * node + side, -1) for side in (1, 2))
    return Nodes(left, after, padded[level], borders[level], gap_right[level], value)


def _free(tree: dict[str, Any], width: int, place: dict[int, int], right: dict[int, bool]) -> Nodes:
    """Return the nodes of a tree whose nodes have splits of their own."""
    parts = [tree]
    links: list[tuple[int, int]] = []
    column, threshold, gap_right, value = [], [], [], []
    for part in parts:  # the list grows while it is read
        split = part.get("split")
        if split is None:
            links.append((-1, -1))
            column.append(0)
            threshold.append(0.0)
            gap_right.append(False)
            value.append(np.broadcast_to(np.asarray(part["value"], float), (width,)))
            continue
        links.append((len(parts), len(parts) + 1))
        parts += [part["left"], part["right"]]
        column.append(place[split["float_feature_index"]])
        threshold.append(float(np.float32(split["border"])))
        gap_right.append(right[split["float_feature_index"]])
        value.append(np.zeros(width))
    left, after = np.array(links).T
    return Nodes(left, after, np.array(column), np.array(threshold), np.array(gap_right), np.array(value))
