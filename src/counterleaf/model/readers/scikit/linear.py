"""Linear models of scikit-learn: one split between two classes, or one leaf with linear outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.shared.leaf_probes import quiet, random_rows, rows_at_splits
from counterleaf.model.readers.shared.reader import Reader
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_GUARD = 1e-12  # the model multiplies matrices, which adds the terms in another order
_CLOSE = 1e-9  # the error that rounding may explain, relative to the terms


def read(model: Any) -> Tree:
    """Return a fitted linear model as a tree with one split, or with one leaf."""
    kind = type(model).__name__
    coef, intercept = coefficients(model)
    labels = getattr(model, "classes_", None)
    if labels is None:
        return _regression(model, coef, intercept, kind)
    if len(labels) == 2 and len(coef) == 1:
        return _two_classes(model, coef, intercept, kind)
    if len(labels) != len(coef):
        raise CounterleafError(
            f"this {kind} has {len(coef)} linear functions for {len(labels)} classes; expected one per class: "
            f"use a LogisticRegression"
        )
    return _several_classes(model, coef, intercept, kind)


def coefficients(model: Any) -> tuple[Array, Array]:
    """Return the (K, D) weights and the K constants of a fitted model."""
    kind = type(model).__name__
    coef = getattr(model, "coef_", None)
    if coef is None and hasattr(model, "n_features_in_"):
        how = f" with kernel={model.kernel!r}" if hasattr(model, "kernel") else ""
        nearest = "LinearSVC or LinearSVR" if hasattr(model, "kernel") else "LogisticRegression or LinearRegression"
        raise CounterleafError(f"cannot read a {kind}{how}: it is not linear; use a {nearest}, or a decision tree")
    if coef is None:
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if getattr(coef, "ndim", 1) == 2 and coef.shape[0] > 1 and not hasattr(model, "classes_"):
        raise CounterleafError(f"this {kind} has {coef.shape[0]} outputs; expected one: fit one model per output")
    coef = np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, np.float64))
    intercept = np.broadcast_to(np.ravel(np.asarray(getattr(model, "intercept_", 0.0), np.float64)), (len(coef),))
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise CounterleafError(f"this {kind} has coefficients that are NaN or infinite; fit it again on scaled numbers")
    return coef, np.array(intercept)


def _regression(model: Any, coef: Array, intercept: Array, kind: str) -> Tree:
    outputs = Outputs("value", intercept[None], coef)
    tree = _one_leaf(outputs, coef.shape[1])
    rows = random_rows(tree)
    with quiet():
        predicted = np.ravel(model.predict(rows))
        scale = _terms(rows, coef, intercept)[:, 0]
        if not _near(predicted, tree.predict(rows), scale) and not is_log_link(model):
            raise _unlike(kind, "predict is not coef_ @ x + intercept_")
    return tree


def is_log_link(model: Any) -> bool:
    """Whether a model predicts the exponential of a linear function, as those for counts and amounts do."""
    names = {c.__name__ for c in type(model).__mro__}
    if not names & {"PoissonRegressor", "GammaRegressor", "TweedieRegressor"}:
        return False
    rows = np.zeros((1, len(np.ravel(model.coef_))))
    with quiet():
        return bool(np.isclose(np.log(model.predict(rows)[0]), float(np.ravel(model.intercept_)[0]), rtol=1e-9, atol=1e-12))


def _two_classes(model: Any, coef: Array, intercept: Array, kind: str) -> Tree:
    zero, b = np.zeros_like(coef), float(intercept[0])
    weights, slope = np.vstack([coef, zero, zero]), np.vstack([zero, coef, coef])
    outputs = Outputs("logistic", [0.0, b, b], slope)
    left, right, bias = np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([b, 0.0, 0.0])
    tree = Tree(left, right, weights, bias, [-1, 0, 1], model.classes_, "left", outputs=outputs)
    rows = random_rows(tree)
    with quiet():
        score = np.ravel(model.decision_function(rows))
        ours, scale = rows @ coef[0] + b, _terms(rows, coef, intercept)[:, 0]
        clear = np.abs(ours) > _CLOSE * scale
        if not (_near(score, ours, scale) and _agree(model.predict(rows), tree.predict(rows), clear)):
            raise _unlike(kind, "predict is not the sign of coef_ @ x + intercept_")
        logistic = _same_odds(model, tree, rows)
        if np.count_nonzero(coef) == 1:  # no sum and no rounding, so the edge itself must agree
            edges, _ = rows_at_splits(tree)
            if not np.array_equal(model.predict(edges), tree.predict(edges)):
                raise _unlike(kind, "predict is not the sign of coef_ @ x + intercept_")
    return tree if logistic else replace(tree, outputs=None)


def _one_leaf(outputs: Outputs, width: int, classes: Any = None) -> Tree:
    leaf = np.array([-1])
    return Tree(leaf, leaf, np.zeros((1, width)), np.zeros(1), None if classes is None else leaf, classes, outputs=outputs)


def _several_classes(model: Any, coef: Array, intercept: Array, kind: str) -> Tree:
    def made(name: str) -> Tree:
        outputs = Outputs(name, intercept[None], coef)
        return _one_leaf(outputs, coef.shape[1], model.classes_)

    tree = made("softmax")
    rows = random_rows(tree)
    with quiet():
        score, ours, scale = np.asarray(model.decision_function(rows)), rows @ coef.T + intercept, _terms(rows, coef, intercept)
        two = np.sort(ours, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > _CLOSE * scale.max(axis=1)
        if not (_near(score, ours, scale) and _agree(model.predict(rows), tree.predict(rows), clear)):
            raise _unlike(kind, "predict is not the largest of coef_ @ x + intercept_")
        return tree if _same_odds(model, tree, rows) else made("score")


def _same_odds(model: Any, tree: Tree, rows: Array) -> bool:
    """Whether the model has probabilities, and they are those of the tree."""
    if not hasattr(model, "predict_proba"):
        return False
    return bool(np.allclose(model.predict_proba(rows), tree.predict_proba(rows), rtol=1e-7, atol=1e-11))


def _terms(rows: Array, coef: Array, intercept: Array) -> Array:
    return np.asarray(np.abs(rows) @ np.abs(coef).T + np.abs(intercept))


def _near(found: Array, ours: Array, scale: Array) -> bool:
    return found.shape == ours.shape and bool((np.abs(found - ours) <= _CLOSE * scale).all())


def _agree(found: Any, ours: Array, clear: Array) -> bool:
    return np.array_equal(np.asarray(found)[clear], ours[clear])


def _unlike(kind: str, reason: str) -> CounterleafError:
    return CounterleafError(f"cannot read a {kind}: {reason}; use a LogisticRegression, a LinearRegression or a decision tree")


READER = Reader(
    classes=(("sklearn.linear_model.", ()), ("sklearn.svm.", ()), ("sklearn.discriminant_analysis", ())),
    tree=read,
    guard=lambda model: _GUARD,
)
