"""Wrappers around ensembles: thresholds and calibration of two classes, and transformed targets.

A wrapper computes its class from one score, so it moves the score at which the class changes. Bisection finds that score by the
wrapper's own rule, evaluated around a model whose score is a number in a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.model.wrappers import check_one_change, exchanged, innermost, stand_in, unwrap
from counterleaf.types import Array

_FAR = 1e30  # beyond any score, also as float32
_THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


def adjusted_ensemble(core: Any, ensemble: Ensemble) -> Ensemble:
    """Return the ensemble of a core, given that of the model inside it; refuse a wrapper that decides by several scores.

    It has the same trees with another decision; a regression is rescaled, see ``rescale_of``.
    """
    bare = innermost(core)
    if core is bare or ensemble.is_regression:
        return ensemble
    kind, inside = type(core).__name__, type(bare).__name__
    if unwrap(core) is not bare:
        raise CounterleafError(f"cannot read a {kind} around another wrapper of a {inside}; explain the {inside} itself")
    if len(ensemble.classes) != 2 or not ensemble.has_probabilities or ensemble.scoring.link == "softmax":
        raise CounterleafError(
            f"cannot read a {kind} around this {inside}: expected two classes with probabilities; explain the {inside} itself"
        )
    column, classes = 0, ensemble.classes
    if ensemble.scoring.kind == "largest":
        column = _share_that_decides(core, classes, kind)

    def label(score: Array) -> Array:
        rows = np.full((len(score), 2), 0.5)
        rows[:, column] = score
        model = _score_model(bare, ensemble) if ensemble.scoring.kind == "threshold" else _share_model(classes)
        return _labels(exchanged(core, model), rows)

    rises, first = _change(label, classes, kind)
    calibrated = not any(c.__name__ in _THRESHOLDS for c in type(core).__mro__)
    return _decided(ensemble, column, rises, first, keeps_link=rises and not calibrated)


def _labels(model: Any, rows: Array) -> Array:
    with quiet():
        return np.asarray(model.predict(rows))


def _share_that_decides(core: Any, classes: Array, kind: str) -> int:
    """Return the class whose share of the votes the wrapper looks at."""
    model, steps = exchanged(core, _share_model(classes)), np.linspace(0.0, 1.0, 1001)
    found = []
    for column in (0, 1):
        rows = np.full((len(steps), 2), 0.5)
        rows[:, column] = steps
        if len(set(_labels(model, rows).tolist())) > 1:
            found.append(column)
    if len(found) > 1:
        raise CounterleafError(f"this {kind} compares the probabilities of both classes; explain the model inside it")
    return found[0] if found else 1


def _change(label: Callable[[Array], Array], classes: Array, kind: str) -> tuple[bool, float]:
    """Return whether the second class is that of high scores, and the least score of the class of high scores."""
    side = np.concatenate([np.linspace(0.0, 40.0, 4001)[1:], np.geomspace(40.0, _FAR, 200)])
    found = label(np.concatenate([-side[::-1], [0.0], side]))
    check_one_change(found, kind)
    if found[0] == found[-1]:
        return True, -_FAR if found[0] == classes[1] else _FAR
    return bool(found[-1] == classes[1]), float(first_number(lambda x: label(x) == found[-1], 1, _FAR)[0])


def _decided(ensemble: Ensemble, column: int, rises: bool, first: float, keeps_link: bool) -> Ensemble:
    """Return the ensemble with one score, which is that of the second class: a falling one changes its sign."""
    value, start, output = ensemble.value, ensemble.start, ensemble.output
    if ensemble.scoring.kind == "largest":
        if value.shape[1] == 1:  # each tree adds to one of the scores
            keeps = np.flatnonzero(output == column)
            ensemble, start, output = replace(ensemble, roots=ensemble.roots[keeps]), start[[column]], 0 * output[keeps]
        else:
            value, start = value[:, [column]], start[[column]]
    link = ensemble.scoring.link if keeps_link else "none"
    cut = first if rises else float(np.nextafter(-first, np.inf))
    scoring = replace(ensemble.scoring, kind="threshold", link=link, cut=cut)
    sign = 1.0 if rises else -1.0
    return replace(ensemble, value=sign * value, start=sign * start, output=output, scoring=scoring)


def _share_model(classes: Array) -> Any:
    """Return a classifier whose rows are the probabilities of two classes."""
    return stand_in(classes, lambda X: classes[X.argmax(axis=1)], lambda X: X, width=2)


def _score_model(bare: Any, ensemble: Ensemble) -> Any:
    """Return a classifier whose score is the number in the first column, with the methods of the model."""
    scoring, labels = ensemble.scoring, ensemble.classes
    score = (lambda X: X[:, 0]) if hasattr(bare, "decision_function") else None
    return stand_in(
        labels, lambda X: labels[scoring.decide(X[:, :1])], lambda X: scoring.probabilities(X[:, :1]), score, width=2
    )
