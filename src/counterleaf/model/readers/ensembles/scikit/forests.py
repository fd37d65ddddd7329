"""Forests and bagging of scikit-learn: the mean of what the trees predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.ensembles.assembly import assemble, scattered
from counterleaf.model.readers.ensembles.probing import Probe, settled, takes_gaps, with_noise
from counterleaf.model.readers.ensembles.scikit.nodes import nodes_of, shares_of, trees_in
from counterleaf.model.readers.leaf_probes import Reads

READS: Reads = (("sklearn.ensemble.", ("ForestClassifier", "ForestRegressor", "BaggingClassifier", "BaggingRegressor")),)


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
    labels = getattr(model, "classes_", None)
    bagged = hasattr(model, "estimators_features_")
    columns = model.estimators_features_ if bagged else [None] * len(trees)
    nodes = []
    for tree, some in zip(trees, columns, strict=True):
        value = shares_of(tree)
        if labels is not None and len(tree.classes_) != len(labels):  # a sample without some class
            value = scattered(value, np.asarray(tree.classes_, int).tolist(), len(labels))
        nodes.append(nodes_of(tree, value, some))
    scoring = Scoring(*(("value", "identity") if labels is None else ("largest", "share")), divisor=float(len(trees)))
    outputs = 1 if labels is None else len(labels)
    made = assemble(
        nodes,
        scoring,
        width=width,
        start=np.zeros(outputs),
        classes=() if labels is None else labels,
        gaps=takes_gaps(model.predict, width),
        compares=("left", "float32"),
    )
    if model.n_jobs not in (None, 1) and not np.array_equal(made.value, np.rint(made.value)):
        made = with_noise(made, made.rounding)  # threads add in any order; sums of integers are exact in all of them
    return settled([made], Probe(kind, model.predict, model.predict if labels is None else model.predict_proba))
