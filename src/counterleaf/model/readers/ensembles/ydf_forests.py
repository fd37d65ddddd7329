"""Random forests and gradient boosted trees of YDF; sums in float32, in an order that depends on its engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.ensembles.assembly import Nodes, assemble
from counterleaf.model.readers.ensembles.probing import Probe, settled, takes_gaps, with_noise
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.model.readers.ydf_trees import YdfModel, nodes_of

READS: Reads = (("ydf.", ("DecisionForestModel",)),)


def is_ensemble(model: Any) -> bool:
    """Whether the model has more than one tree."""
    return bool(model.num_trees() > 1)


def categories(model: Any) -> dict[int, list[Any]]:
    """Return no categories: models with splits on categories are refused."""
    return {}


def inputs(model: Any, rows: Any) -> Any:
    """Return the rows: models with splits on categories are refused."""
    return rows


def as_model(model: Any) -> Any:
    """Return a model that predicts labels from arrays and tables."""
    return YdfModel(model)


def read(model: Any) -> Ensemble:
    """Return the ensemble of a model."""
    kind, real = type(model).__name__, YdfModel(model)
    if model.task().name not in ("CLASSIFICATION", "REGRESSION"):
        raise CounterleafError(f"this {kind} is for {model.task().name.lower()}; expected classification or regression")
    labels: Any = getattr(real, "classes_", None)
    boosted = hasattr(model, "initial_predictions")
    # a forest of two classes has one score, the share of the second class, which wins a tie
    single = labels is None or (len(labels) == 2 and not boosted)
    start = np.asarray(model.initial_predictions(), float) if boosted else np.zeros(1 if single else len(labels))
    trees = [nodes_of(model, t) for t in range(model.num_trees())]
    if any(len(columns) > 1 for one in trees for columns, _ in one.terms):
        raise CounterleafError(f"this {kind} has oblique splits in several trees; expected splits on single columns")
    forest = labels is not None and not boosted
    gaps = takes_gaps(real.predict, len(model.input_feature_names()))

    def made(votes: bool) -> Ensemble:
        out = assemble(
            [_nodes(one, len(labels) if forest else 1, votes, single) for one in trees],
            _scoring(labels, len(trees), len(start), boosted),
            width=len(model.input_feature_names()),
            start=start,
            classes=() if labels is None else labels,
            output=np.arange(len(trees)) % len(start) if boosted else None,
            gaps=gaps,
            compares=("right", "float32"),
        )
        # the engines of YDF add in orders of their own; sums of votes are exact in any order
        return out if votes else with_noise(out, out.rounding)

    # a forest does not tell if its trees vote; boosted trees do not show their scores
    scores = None if boosted else real.predict if labels is None else real.predict_proba
    if forest and single:
        scores = real.predict_second
    return settled([made(True), made(False)] if forest else [made(False)], Probe(kind, real.predict, scores))


def _scoring(labels: Any, trees: int, outputs: int, boosted: bool) -> Scoring:
    """Return the scoring of the default loss of a task; the probes notice another loss."""
    if labels is None:
        return Scoring("value", "identity", "float32", divisor=1.0 if boosted else float(trees))
    if not boosted and outputs == 1:
        return Scoring("threshold", "share", "float32", divisor=float(trees), cut=0.5)
    if not boosted:
        return Scoring("largest", "share", "float32", divisor=float(trees))
    return Scoring("threshold", "logistic", "float32") if outputs == 1 else Scoring("largest", "softmax", "float32")


def _nodes(found: Any, width: int, votes: bool, single: bool) -> Nodes:
    """Return the nodes of a tree; leaves of a forest hold probabilities or the class for which they vote.

    ``single`` keeps the share of the second of two classes only.
    """
    leaf = np.array(found.left) < 0
    value = np.zeros((len(leaf), width))
    for k in np.flatnonzero(leaf).tolist():
        held = found.held[k]
        if width == 1:
            value[k] = np.float32(held.value)
        else:
            shares = np.array(held.probability)
            value[k] = np.eye(width)[shares.argmax()] if votes else shares.astype(np.float32)
    value = value[:, 1:] if single and width == 2 else value
    column = np.array([columns[0] if columns else 0 for columns, _ in found.terms])
    left, right = np.array(found.left), np.array(found.right)
    return Nodes(left, right, column, np.array(found.threshold), np.array(found.missing_right), value)
