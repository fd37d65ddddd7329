"""Ensembles of scikit-learn with exact splits: forests, bagging, gradient boosting, votes of trees and AdaBoost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.scikit.trees import check_nodes
from counterleaf.model.readers.shared.assembly import Nodes, assemble, scattered
from counterleaf.model.readers.shared.probing import settled, takes_gaps, with_noise
from counterleaf.model.readers.shared.reader import Reader
from counterleaf.types import Array

_UNROLLED = 8  # NumPy adds that many numbers or more in another order if they are next to each other


def is_tree(model: Any) -> bool:
    """Whether a model is a decision tree of scikit-learn with splits on single columns."""
    known = ("DecisionTreeClassifier", "DecisionTreeRegressor")
    named = any(c.__name__ in known and c.__module__.startswith("sklearn.") for c in type(model).__mro__)
    return named and not hasattr(getattr(model, "tree_", None), "get_projection_matrix")


def trees_in(model: Any) -> list[Any]:
    """Return the fitted trees of an ensemble, a flat list."""
    kind = type(model).__name__
    if getattr(model, "estimators_", None) is None:
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    held = model.estimators_
    found = list(held.ravel()) if isinstance(held, np.ndarray) else list(held)
    for one in found:
        if not is_tree(one):
            raise CounterleafError(
                f"cannot read this {kind}: it combines models such as {type(one).__name__}; expected decision trees inside"
            )
        if one.n_outputs_ != 1:
            raise CounterleafError(f"this {kind} has {one.n_outputs_} outputs; expected one: fit one model per output")
        if np.any(getattr(one.tree_, "is_categorical", False)):
            raise CounterleafError(f"this {kind} has trees with categorical splits; encode the categories first")
    return found


def nodes_of(tree: Any, value: Array, columns: Sequence[int] | Array | None = None) -> Nodes:
    """Return the nodes of one tree."""
    arrays = tree.tree_
    check_nodes(tree, arrays, type(tree).__name__, len(getattr(tree, "classes_", (0,))))
    inner = arrays.children_left >= 0
    column = np.where(inner, arrays.feature, 0)
    column = column if columns is None else np.asarray(columns)[column]
    gap_right = inner & ~np.asarray(arrays.missing_go_to_left, bool)
    return Nodes(arrays.children_left, arrays.children_right, column, arrays.threshold, gap_right, value)


def shares_of(tree: Any) -> Array:
    """Return the (N, K) probabilities, or the (N, 1) values, that a tree predicts at each node."""
    return np.asarray(tree.tree_.value[:, 0, :])


def votes_of(tree: Any) -> Array:
    """Return the (N,) places of the class that a tree predicts at each node."""
    return np.asarray(shares_of(tree).argmax(axis=1))


def read(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model."""
    return _READ[next(c.__name__ for c in type(model).__mro__ if c.__name__ in _READ)](model)


def _settled(
    model: Any, nodes: list[Nodes], scoring: Scoring, start: Any, scores: Any, output: Any = None, noisy: bool = False
) -> Ensemble:
    """Return the ensemble of some trees, compared with the model; it is noisy if it adds in another order than these."""
    width, labels = model.n_features_in_, getattr(model, "classes_", ())
    gaps = takes_gaps(model.predict, width)
    compares = ("left", "float32")
    made = assemble(nodes, scoring, width=width, start=start, classes=labels, output=output, gaps=gaps, compares=compares)
    made = with_noise(made, made.rounding) if noisy else made
    return settled([made], type(model).__name__, model.predict, scores)


def _mean(model: Any) -> Ensemble:
    """Return a forest or bagging: the mean of what the trees predict."""
    trees, labels = trees_in(model), getattr(model, "classes_", None)
    columns = model.estimators_features_ if hasattr(model, "estimators_features_") else [None] * len(trees)
    nodes, whole = [], True
    for tree, some in zip(trees, columns, strict=True):
        value = shares_of(tree)
        if labels is not None and len(tree.classes_) != len(labels):  # a sample without some class
            value = scattered(value, np.asarray(tree.classes_, int).tolist(), len(labels))
        nodes.append(nodes_of(tree, value, some))
        held = value[tree.tree_.children_left < 0]
        whole = whole and np.array_equal(held, np.rint(held))
    scoring = Scoring(*(("value", "identity") if labels is None else ("largest", "share")), divisor=float(len(trees)))
    scores = model.predict if labels is None else model.predict_proba
    # threads add in any order; sums of integers are exact in all of them
    noisy = model.n_jobs not in (None, 1) and not whole
    return _settled(model, nodes, scoring, np.zeros(1 if labels is None else len(labels)), scores, noisy=noisy)


def _boosted(model: Any) -> Ensemble:
    """Return gradient boosting with exact splits."""
    trees, (rounds, groups) = trees_in(model), model.estimators_.shape
    labels = getattr(model, "classes_", None)
    start = _start(model, type(model).__name__, model.n_features_in_)
    if labels is None:
        scoring = Scoring("value", "identity")
    elif groups == 1:  # the exponential loss has half the log odds
        scoring = Scoring("threshold", "logistic", temperature=0.5 if model.loss == "exponential" else 1.0)
    else:
        scoring = Scoring("largest", "softmax")
    nodes = [nodes_of(tree, model.learning_rate * shares_of(tree)) for tree in trees]
    scores = model.predict if labels is None else model.decision_function
    return _settled(model, nodes, scoring, start, scores, np.tile(np.arange(groups), rounds))


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


def _vote(model: Any) -> Ensemble:
    """Return a vote of trees."""
    classifies = hasattr(model, "voting")
    trees, weights = trees_in(model), model._weights_not_none
    factors = np.ones(len(trees)) if weights is None else np.asarray(weights, float)
    hard = classifies and model.voting == "hard"

    def held(tree: Any) -> Array:
        return np.eye(len(model.classes_))[votes_of(tree)] if hard else shares_of(tree)

    if hard:
        scoring = Scoring("largest", "none")
    else:
        divisor = float(len(trees) if weights is None else factors.sum())
        scoring = Scoring(*(("largest", "share") if classifies else ("value", "identity")), divisor=divisor)
    nodes = [nodes_of(tree, held(tree) * factor) for tree, factor in zip(trees, factors, strict=True)]
    scores = None if hard else model.predict_proba if classifies else model.predict
    noisy = not classifies and len(trees) >= _UNROLLED  # the mean of one row is added in another order than that of many
    return _settled(model, nodes, scoring, np.zeros(len(model.classes_) if classifies else 1), scores, noisy=noisy)


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
    nodes = [nodes_of(tree, held(tree, weight)) for tree, weight in zip(trees, model.estimator_weights_, strict=False)]
    scoring = Scoring("largest", "softmax", divisor=total, temperature=float(count - 1))
    return _settled(model, nodes, scoring, np.zeros(count), scores)


def _median(model: Any) -> Ensemble:
    raise CounterleafError(
        f"cannot read a {type(model).__name__}: it predicts the weighted median of its trees, not a sum; "
        f"fit a GradientBoostingRegressor"
    )


_READ: dict[str, Callable[[Any], Ensemble]] = {
    **dict.fromkeys(("ForestClassifier", "ForestRegressor", "BaggingClassifier", "BaggingRegressor"), _mean),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _boosted),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), _vote),
    "AdaBoostClassifier": _weighted,
    "AdaBoostRegressor": _median,
}

READER = Reader(classes=(("sklearn.ensemble.", tuple(_READ)),), is_ensemble=lambda model: True, ensemble=read)
