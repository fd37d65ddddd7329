"""Gradient boosting of scikit-learn with exact splits: GradientBoostingClassifier and GradientBoostingRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.ensembles.assembly import assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled, takes_gaps
from counterleaf.model.readers.ensembles.scikit.nodes import nodes_of, shares_of, trees_in
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.types import Array

READS: Reads = (("sklearn.ensemble.", ("GradientBoostingClassifier", "GradientBoostingRegressor")),)


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
    kind, trees, width = type(model).__name__, trees_in(model), model.n_features_in_
    rounds, groups = model.estimators_.shape
    labels = getattr(model, "classes_", None)
    start = _start(model, kind, width)
    if labels is None:
        scoring = Scoring("value", "identity")
    elif groups == 1:  # the exponential loss has half the log odds
        scoring = Scoring("threshold", "logistic", temperature=0.5 if model.loss == "exponential" else 1.0)
    else:
        scoring = Scoring("largest", "softmax")
    made = assemble(
        [nodes_of(tree, model.learning_rate * shares_of(tree)) for tree in trees],
        scoring,
        width=width,
        start=start,
        classes=() if labels is None else labels,
        output=np.tile(np.arange(groups), rounds),
        gaps=takes_gaps(model.predict, width),
        compares=("left", "float32"),
    )
    return settled([made], Probe(kind, model.predict, model.predict if labels is None else model.decision_function))


def _start(model: Any, kind: str, width: int) -> Array:
    """Return the scores of the first estimate, which must be a constant."""
    first = model.init_
    name = type(first).__name__
    constant = isinstance(first, str) or (
        type(first).__module__.startswith("sklearn.dummy") and first.strategy not in ("stratified", "uniform")
    )
    if not constant:
        raise CounterleafError(f"this {kind} starts from a {name}; expected a constant: fit it with init=None or init='zero'")
    return np.asarray(model._raw_predict_init(np.zeros((1, width), np.float32))[0], float)
