"""Ensembles of XGBoost: classifiers, regressors, their random forests and Boosters; sums in float32."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.boosting import XGBoostBooster
from counterleaf.model.readers.ensembles.assembly import Nodes, assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.table.frames import frame_of_codes
from counterleaf.types import Array

READS: Reads = (("xgboost.", ("XGBModel", "Booster")),)
_LINKS = {
    **dict.fromkeys(("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror"), "identity"),
    **dict.fromkeys(("reg:quantileerror", "binary:logitraw"), "identity"),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "logistic"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}
_TIED = 2.0**-22  # two scores that close may have the same softmax in float32, and then the first class wins


def is_ensemble(model: Any) -> bool:
    """Whether the model has more than one tree, or categories; not a model without trees, which the other reader refuses."""
    if not (_is_booster(model) or model.__sklearn_is_fitted__()):
        return False
    booster = _booster(model)
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        return False
    return "c" in (booster.feature_types or ()) or len(booster.get_dump()) > 1


def categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories by column; an empty list if the model was fitted on codes."""
    booster = _booster(model)
    columns = [d for d, kind in enumerate(booster.feature_types or ()) if kind == "c"]
    if not columns:
        return {}
    stored = _trees(_learner(booster)).get("cats", {}).get("enc", [])
    return {d: _decoded(stored[d]) if d < len(stored) else [] for d in columns}


def _decoded(stored: dict[str, Any]) -> list[Any]:
    if "offsets" not in stored:
        return list(stored["values"])
    ends, text = stored["offsets"], bytes(value % 256 for value in stored["values"])
    return [text[a:b].decode() for a, b in itertools.pairwise(ends)]


def inputs(model: Any, rows: Any) -> Any:
    """Return what the model takes for rows of numbers and category codes: the same rows, or a table with the categories."""
    known = categories(model)
    if not any(known.values()):
        return rows
    names = _booster(model).feature_names
    columns: dict[str, Any] = {}
    for d, name in enumerate(names):
        cells: Any = np.asarray(rows)[:, d]
        if known.get(d):
            cells = np.where(np.isnan(cells), -1, np.nan_to_num(cells)).astype(int), known[d]
        columns[name] = cells
    return frame_of_codes(columns)


def as_model(model: Any) -> Any:
    """Return a model that predicts from arrays; a Booster takes matrices of its own, and may predict probabilities."""
    if not _is_booster(model):
        return model
    objective = _learner(model)["objective"]["name"]
    return XGBoostClasses(model) if objective.startswith("multi:") else XGBoostBooster(model)


class XGBoostClasses(XGBoostBooster):
    """A Booster of XGBoost with several classes, which are 0, 1, ...

    Parameters
    ----------
    booster : xgboost.Booster
        The model.
    """

    def __init__(self, booster: Any) -> None:
        super().__init__(booster)
        self.classes_ = np.arange(int(_learner(booster)["learner_model_param"]["num_class"]))

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        found = super().predict(X)
        return found.astype(int) if found.ndim == 1 else np.asarray(found.argmax(axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, also if the objective is multi:softmax, which predicts labels."""
        rows = X if hasattr(X, "columns") else np.asarray(X, float)
        margin = np.asarray(self.booster.inplace_predict(rows, predict_type="margin", validate_features=False))
        return Scoring("largest", "softmax", "float32").probabilities(margin)


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind = type(model).__name__
    booster = _booster(model)
    learner = _learner(booster)
    objective, sizes = learner["objective"]["name"], {d: len(values) for d, values in categories(model).items()}
    _check(model, kind, learner, objective)
    state, groups = _trees(learner), max(1, int(learner["learner_model_param"]["num_class"]))
    end = _end(model, state)
    drops = learner["gradient_booster"].get("weight_drop", [1.0] * len(state["trees"]))
    nodes = [_nodes(tree, drop) for tree, drop in zip(state["trees"][:end], drops[:end], strict=True)]
    for d, codes in ((int(one.column[k]), codes) for one in nodes for k, codes in one.subset.items()):
        sizes[d] = max(sizes.get(d, 0), max(codes, default=0) + 1)
    scoring, labels = _scoring(objective, groups, model)
    base = np.atleast_1d(np.array(json.loads(learner["learner_model_param"]["base_score"]), np.float32))
    made = assemble(
        nodes,
        scoring,
        width=booster.num_features(),
        start=np.zeros(groups),
        classes=labels,
        output=state["tree_info"][:end],
        compares=("right", "float32"),
    )
    real = as_model(model)

    def scores(rows: Array) -> Array:
        options = {"iteration_range": (0, _rounds(model)), "validate_features": False}
        return np.asarray(booster.inplace_predict(inputs(model, rows), predict_type="margin", **options))

    def predict(rows: Array) -> Array:
        return np.asarray(real.predict(inputs(model, rows)))

    starts = _starts(np.broadcast_to(base, groups), scoring.link)
    candidates = (replace(made, start=start, scoring=replace(scoring, late=late)) for start in starts for late in (False, True))
    return settled(candidates, Probe(kind, predict, scores, sizes))


def _is_booster(model: Any) -> bool:
    return any(c.__module__.startswith("xgboost.") and c.__name__ == "Booster" for c in type(model).__mro__)


def _booster(model: Any) -> Any:
    if _is_booster(model):
        return model
    if not model.__sklearn_is_fitted__():
        raise CounterleafError(f"this {type(model).__name__} is not fitted; call fit first")
    return model.get_booster()


def _learner(booster: Any) -> dict[str, Any]:
    learner: dict[str, Any] = json.loads(bytes(booster.save_raw("json")))["learner"]
    return learner


def _trees(learner: dict[str, Any]) -> dict[str, Any]:
    state = learner["gradient_booster"]
    found: dict[str, Any] = state.get("gbtree", state)["model"]
    return found


def _check(model: Any, kind: str, learner: dict[str, Any], objective: str) -> None:
    if not _is_booster(model) and not np.isnan(model.missing):
        raise CounterleafError(f"this {kind} takes {model.missing!r} for missing; expected NaN: fit it with missing=np.nan")
    if "model" not in (state := learner["gradient_booster"]) and "gbtree" not in state:
        raise CounterleafError(f"this {kind} has the booster {state.get('name')!r}; expected trees: use booster='gbtree'")
    if "trees" not in _trees(learner):
        raise CounterleafError(f"this {kind} has a linear booster; expected trees: use booster='gbtree'")
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise CounterleafError(f"this {kind} has several outputs; expected one: fit one model per output")
    known = objective in _LINKS and (
        not hasattr(model, "n_classes_") or objective in ("binary:logistic", "multi:softprob", "multi:softmax")
    )
    if not known:
        raise CounterleafError(
            f"this {kind} has the objective {objective!r}, which is not supported; "
            f"use binary:logistic, multi:softprob or reg:squarederror"
        )


def _rounds(model: Any) -> int:
    """Return the number of rounds by which the model predicts, 0 for all of them."""
    return 0 if _is_booster(model) else int(model._get_iteration_range(None)[1])


def _end(model: Any, state: dict[str, Any]) -> int:
    rounds, ends = _rounds(model), state.get("iteration_indptr")
    if rounds == 0:
        return len(state["trees"])
    if ends is not None:
        return int(ends[rounds])
    parallel = int(state["gbtree_model_param"].get("num_parallel_tree", 1))
    return int(rounds * max(parallel, 1) * (1 + max(state["tree_info"])))


def _nodes(tree: dict[str, Any], drop: float) -> Nodes:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    number = np.array(tree["split_conditions"], np.float32)  # the threshold of a split, the value of a leaf
    value = number if drop == 1.0 else number * np.float32(drop)
    gap_right = (left >= 0) & ~np.array(tree["default_left"], bool)
    subset = {}
    parts = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for k, begin, size in parts:
        subset[int(k)] = tuple(sorted(int(code) for code in tree["categories"][begin : begin + size]))
    column = np.where(left >= 0, np.array(tree["split_indices"]), 0)
    return Nodes(left, right, column, number.astype(float), gap_right, value.astype(float)[:, None], subset)


def _scoring(objective: str, groups: int, model: Any) -> tuple[Scoring, Array]:
    link = _LINKS[objective]
    if groups > 1:
        labels = getattr(model, "classes_", None)
        noise = 0.0 if objective == "multi:softmax" else _TIED
        return Scoring("largest", link, "float32", noise=noise), np.arange(groups) if labels is None else np.asarray(labels)
    if hasattr(model, "n_classes_"):
        scoring = Scoring("threshold", link, "float32")
        return replace(scoring, cut=_cut(scoring)), np.asarray(model.classes_)
    return Scoring("value", link, "float32"), np.array(())


def _cut(scoring: Scoring) -> float:
    """Return the least float32 whose probability is above one half."""

    def holds(x: Array) -> Array:
        return np.asarray(scoring.linked(x) > 0.5)

    near = np.float32(first_number(holds, 1, 1e30)[0])
    return float(near if holds(np.array([near]))[0] else np.nextafter(near, np.float32(np.inf)))


def _starts(base: Array, link: str) -> Iterator[Array]:
    """Yield what the base score may be as a score: the logarithms of two libraries may differ in the last digits."""
    wide = base.astype(np.float64)
    if link not in ("logistic", "exp"):
        yield wide
        return
    with np.errstate(divide="ignore"):
        score = (-np.log(1.0 / wide - 1.0) if link == "logistic" else np.log(wide)).astype(np.float32)
        narrow = -np.log(np.float32(1) / base - np.float32(1)) if link == "logistic" else np.log(base)
    for centre in (score, narrow):
        for steps in (0, 1, -1, 2, -2, 3, -3):
            out = centre
            for _ in range(abs(steps)):
                out = np.nextafter(out, np.float32(np.sign(steps) * np.inf))
            yield out.astype(np.float64)
