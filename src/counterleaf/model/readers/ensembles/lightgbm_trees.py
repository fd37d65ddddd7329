"""Ensembles of LightGBM: classifiers, regressors and Boosters; boosting, dart and random forests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.boosting import effective
from counterleaf.model.readers.ensembles.assembly import Nodes, assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled, with_noise
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.types import Array

READS: Reads = (("lightgbm.", ("LGBMModel", "Booster")),)
_LINKS = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("binary", "cross_entropy"), "logistic"),
    "multiclass": "softmax",
}
_TIED = 2.0**-51  # two scores that close may have the same softmax, and then the first class wins
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of the type of a decision; the next two are the type of missing values


def is_ensemble(model: Any) -> bool:
    """Whether the model has more than one tree, or categories."""
    if not (_is_booster(model) or model.__sklearn_is_fitted__()):
        return False
    return _booster(model).num_trees() > 1 or bool(categories(model))


def categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories by column; an empty list if the model was fitted on codes."""
    booster = _booster(model)
    header = _lines(booster.model_to_string(num_iteration=1).split("\nTree=", 1)[0])
    infos = header["feature_infos"].split(" ")
    columns = [d for d, info in enumerate(infos) if info != "none" and not info.startswith("[")]
    known = booster.pandas_categorical or []
    if not known:
        return {d: [] for d in columns}
    if len(known) != len(columns):  # a constant column is "none", even if it holds categories
        columns = [d for d, info in enumerate(infos) if not info.startswith("[")]
    if len(known) != len(columns):
        raise CounterleafError(
            f"this {type(model).__name__} does not tell which of its columns are categorical; leave out its constant columns"
        )
    return {d: list(values) for d, values in zip(columns, known, strict=True)}


def inputs(model: Any, rows: Any) -> Any:
    """Return the rows: as an array, codes are taken as they are."""
    return rows


def as_model(model: Any) -> Any:
    """Return a model that predicts labels or values; a Booster of several classes predicts probabilities."""
    return LightgbmClasses(model) if _is_booster(model) and model.num_model_per_iteration() > 1 else model


class LightgbmClasses:
    """A Booster of LightGBM with several classes, which are 0, 1, ...

    Parameters
    ----------
    booster : lightgbm.Booster
        The model.
    """

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.classes_ = np.arange(booster.num_model_per_iteration())
        self.feature_names_in_ = np.array(booster.feature_name(), dtype=object)

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        return np.asarray(self.booster.predict(X))


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind, booster = type(model).__name__, _booster(model)
    sizes = {d: len(values) for d, values in categories(model).items()}
    # as predict does, the text has the trees up to the best round
    header, *parts = booster.model_to_string().split("\nTree=")
    facts = _lines(header)
    groups = int(facts["num_tree_per_iteration"])
    nodes = [_nodes(_lines(part.split("\nend of trees")[0]), kind) for part in parts]
    for d, codes in ((int(one.column[k]), codes) for one in nodes for k, codes in one.subset.items()):
        sizes[d] = max(sizes.get(d, 0), max(codes, default=0) + 1)
    labels = None if _is_booster(model) else getattr(model, "_classes", None)
    scoring = _scoring(facts.get("objective", ""), groups, labels, kind)
    if "average_output" in header.split("\n"):
        scoring = replace(scoring, divisor=float(max(len(nodes) // groups, 1)))
    made = assemble(
        nodes,
        scoring,
        width=int(facts["max_feature_idx"]) + 1,
        start=np.zeros(groups),
        classes=np.asarray(labels) if labels is not None else np.arange(groups) if groups > 1 else (),
        output=np.arange(len(nodes)) % groups,
    )
    if scoring.temperature != 1.0:
        made = with_noise(made, made.rounding)  # LightGBM multiplies by the slope of its sigmoid and does not divide
    real = as_model(model)

    def scores(rows: Array) -> Array:
        return np.asarray(booster.predict(rows, raw_score=True)) / scoring.divisor  # raw scores are sums, also of a forest

    return settled([made], Probe(kind, real.predict, scores, sizes))


def _is_booster(model: Any) -> bool:
    return any(c.__module__.startswith("lightgbm.") and c.__name__ == "Booster" for c in type(model).__mro__)


def _booster(model: Any) -> Any:
    if _is_booster(model):
        return model
    if not model.__sklearn_is_fitted__():
        raise CounterleafError(f"this {type(model).__name__} is not fitted; call fit first")
    return model.booster_


def _lines(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _scoring(objective: str, groups: int, labels: Any, kind: str) -> Scoring:
    name, *options = objective.split(" ")
    link = _LINKS.get(name)
    if link is None or "sqrt" in options:
        raise CounterleafError(
            f"this {kind} has the objective {objective!r}, which is not supported; use binary, multiclass or regression"
        )
    if groups > 1:
        return Scoring("largest", link, noise=_TIED)
    slope = next((float(option[8:]) for option in options if option.startswith("sigmoid:")), 1.0)
    scoring = Scoring("value" if labels is None else "threshold", link, temperature=1.0 / slope)
    return scoring if labels is None else replace(scoring, cut=_cut(scoring))


def _cut(scoring: Scoring) -> float:
    """Return the least score at which the second class has the larger probability."""

    def holds(x: Array) -> Array:
        second = scoring.linked(x)
        return np.asarray(second > 1.0 - second)

    return float(first_number(holds, 1, 1e300)[0])


def _numbers(facts: dict[str, str], name: str, kind: type) -> Array:
    return np.array(facts.get(name, "").split(), dtype=kind)


def _nodes(facts: dict[str, str], kind: str) -> Nodes:
    """Return the nodes of a tree: its splits, then its leaves, which have negative numbers in the text."""
    if facts.get("is_linear", "0") == "1":
        raise CounterleafError(f"this {kind} has linear leaves; expected constants: use linear_tree=False")
    leaves = int(facts["num_leaves"])
    held = _numbers(facts, "leaf_value", float)
    inner = leaves - 1
    if inner == 0:
        none = np.zeros(1)
        return Nodes(np.array([-1]), np.array([-1]), none.astype(int), none, none.astype(bool), held[:1, None])
    decision, threshold = _numbers(facts, "decision_type", int), _numbers(facts, "threshold", float)
    column = _numbers(facts, "split_feature", int)
    categorical = (decision & _CATEGORICAL) > 0
    missing = (decision >> 2) & 3
    if (missing[~categorical] == 1).any():
        raise CounterleafError(f"this {kind} takes 0 for missing; use zero_as_missing=False")
    links = (_numbers(facts, name, int) for name in ("left_child", "right_child"))
    left, right = (np.where(link >= 0, link, inner + ~link) for link in links)
    # without missing numbers in the fit, a missing one counts as 0
    gap_right = np.where(missing == 2, (decision & _DEFAULT_LEFT) == 0, threshold < 0.0) & ~categorical
    subset = {}
    bounds, words = _numbers(facts, "cat_boundaries", int), _numbers(facts, "cat_threshold", int)
    for k in np.flatnonzero(categorical).tolist():
        place = int(threshold[k])
        bits = words[bounds[place] : bounds[place + 1]]
        subset[k] = tuple(32 * w + b for w, word in enumerate(bits.tolist()) for b in range(32) if word >> b & 1)
        left[k], right[k] = right[k], left[k]  # LightGBM sends the codes of the set left, and all others right
    threshold = effective(threshold)
    full = np.concatenate
    ends = np.full(leaves, -1)
    return Nodes(
        full([left, ends]),
        full([right, ends]),
        full([column, np.zeros(leaves, int)]),
        full([threshold, np.zeros(leaves)]),
        full([gap_right, np.zeros(leaves, bool)]),
        full([np.zeros(inner), held])[:, None],
        subset,
    )
