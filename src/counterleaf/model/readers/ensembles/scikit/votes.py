"""Votes of decision trees of scikit-learn: VotingClassifier, VotingRegressor and AdaBoostClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.ensembles.assembly import assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled, takes_gaps, with_noise
from counterleaf.model.readers.ensembles.scikit.nodes import nodes_of, shares_of, trees_in, votes_of
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.types import Array

READS: Reads = (("sklearn.ensemble.", ("VotingClassifier", "VotingRegressor", "AdaBoostClassifier", "AdaBoostRegressor")),)
_UNROLLED = 8  # NumPy adds that many numbers or more in another order if they are next to each other


def is_ensemble(model: Any) -> bool:
    """Return True: no other reader knows these models."""
    return True


def categories(model: Any) -> dict[int, list[Any]]:
    """Return no categories: these models take numbers."""
    return {}


def inputs(model: Any, rows: Any) -> Any:
    """Return the rows: these models take numbers."""
    return rows


def as_model(model: Any) -> Any:
    """Return the model itself, which predicts from arrays and tables."""
    return model


def read(model: Any) -> Ensemble:
    """Return the ensemble of a fitted model."""
    names = {c.__name__ for c in type(model).__mro__}
    if "AdaBoostRegressor" in names:
        raise CounterleafError(
            f"cannot read a {type(model).__name__}: it predicts the weighted median of its trees, not a sum; "
            f"fit a GradientBoostingRegressor"
        )
    if "AdaBoostClassifier" in names:
        return _weighted(model)
    return _averaged(model, "VotingClassifier" in names)


def _averaged(model: Any, classifies: bool) -> Ensemble:
    trees = trees_in(model)
    width, weights = trees[0].n_features_in_, model._weights_not_none
    factors = np.ones(len(trees)) if weights is None else np.asarray(weights, float)
    hard = classifies and model.voting == "hard"

    def held(tree: Any) -> Array:
        return np.eye(len(model.classes_))[votes_of(tree)] if hard else shares_of(tree)

    if hard:
        scoring = Scoring("largest", "none")
    else:
        divisor = float(len(trees) if weights is None else factors.sum())
        scoring = Scoring(*(("largest", "share") if classifies else ("value", "identity")), divisor=divisor)
    made = assemble(
        [nodes_of(tree, held(tree) * factor) for tree, factor in zip(trees, factors, strict=True)],
        scoring,
        width=width,
        start=np.zeros(len(model.classes_) if classifies else 1),
        classes=model.classes_ if classifies else (),
        gaps=takes_gaps(model.predict, width),
        compares=("left", "float32"),
    )
    if not classifies and len(trees) >= _UNROLLED:
        made = with_noise(made, made.rounding)  # the mean of one row is added in another order than that of many
    scores = None if hard else model.predict_proba if classifies else model.predict
    return settled([made], Probe(type(model).__name__, model.predict, scores))


def _weighted(model: Any) -> Ensemble:
    """Return AdaBoost: a tree adds its weight to the class that it predicts, and takes its share from all others."""
    trees, count = trees_in(model), len(model.classes_)
    labels = np.asarray(model.classes_)

    def held(tree: Any, weight: float) -> Array:
        chosen = np.asarray(tree.classes_)[votes_of(tree)]
        return np.where(chosen[:, None] == labels[None, :], weight, -1 / (count - 1) * weight)

    def scores(rows: Array) -> Array:
        found = model.decision_function(rows)
        return np.column_stack([-found, found]) / 2 if count == 2 else found

    total = float(model.estimator_weights_.sum())
    made = assemble(
        [nodes_of(tree, held(tree, weight)) for tree, weight in zip(trees, model.estimator_weights_, strict=False)],
        Scoring("largest", "softmax", divisor=total, temperature=float(count - 1)),
        width=model.n_features_in_,
        start=np.zeros(count),
        classes=labels,
        gaps=takes_gaps(model.predict, model.n_features_in_),
        compares=("left", "float32"),
    )
    return settled([made], Probe(type(model).__name__, model.predict, scores))
