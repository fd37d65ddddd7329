"""Models around other models: searches, thresholds, calibration and transformed targets.

A wrapper computes with what the model inside it predicts, so it acts on the leaves and leaves the splits where they are. A
wrapper around a pipeline equals the pipeline with the wrapper around its last step, so only that case has to be solved.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.scikit.linear import is_log_link
from counterleaf.model.readers.shared.leaf_probes import at_leaves, quiet, random_rows, with_classes, with_values
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
_INSIDE = {  # where the fitted model is, and whether the wrapper predicts as that model does
    **dict.fromkeys(_SEARCHES, ("best_estimator_", True)),
    "FrozenEstimator": ("estimator", True),
    "RANSACRegressor": ("estimator_", True),
    "FixedThresholdClassifier": ("estimator_", False),
    "TunedThresholdClassifierCV": ("estimator_", False),
    "TransformedTargetRegressor": ("regressor_", False),
    "CalibratedClassifierCV": ("calibrated_classifiers_", False),
}
_LIBRARIES = frozenset(
    ("catboost", "counterleaf", "imblearn", "lightgbm", "lineartree", "sklearn", "sktree", "treeple", "xgboost", "ydf")
)
_FAR = 1e300  # beyond any score

Rows = Callable[[Array], Array]  # a function of rows


def is_pipeline(model: Any) -> bool:
    """Whether a model is a scikit-learn Pipeline."""
    return any(c.__name__ == "Pipeline" and c.__module__.startswith("sklearn.") for c in type(model).__mro__)


def is_sampler(step: Any) -> bool:
    """Whether a step of a pipeline resamples the rows of a fit and does nothing when the pipeline predicts."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def unwrap(model: Any) -> Any:
    """Return the fitted model inside a wrapper; None if the model is not a wrapper."""
    name = _name(model)
    if name is None:
        return None
    kind = type(model).__name__
    inside = getattr(model, _INSIDE[name][0], None)
    if inside is None and name == "FixedThresholdClassifier":
        inside = model.estimator if hasattr(model.estimator, "n_features_in_") else None
    if inside is None:
        if getattr(model, "refit", True) is False:
            raise CounterleafError(f"this {kind} has refit=False and so keeps no model; fit it with refit=True")
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if name == "CalibratedClassifierCV":
        if len(inside) != 1:
            raise CounterleafError(
                f"this {kind} averages {len(inside)} calibrated models; expected one: fit it with ensemble=False"
            )
        return inside[0].estimator
    return inside


def _name(model: Any) -> str | None:
    """Return the known name of a wrapper's class; the searches of other libraries have a best_estimator_."""
    for c in type(model).__mro__:
        if c.__name__ in _INSIDE and c.__module__.startswith("sklearn."):
            return c.__name__
    found = hasattr(model, "best_estimator_") and not isinstance(model, type) and hasattr(model.best_estimator_, "predict")
    return "GridSearchCV" if found else None


def around(wrapper: Any, inside: Any) -> Any:
    """Return a wrapper with another model inside; that model itself if the wrapper predicts as it does."""
    name = _name(wrapper)
    assert name is not None
    place, same = _INSIDE[name]
    if same:
        return inside
    out = copy.copy(wrapper)
    if name == "CalibratedClassifierCV":
        calibrated = copy.copy(wrapper.calibrated_classifiers_[0])
        calibrated.estimator = inside
        out.calibrated_classifiers_ = [calibrated]
    else:
        setattr(out, place, inside)
    return out


def innermost(model: Any) -> Any:
    """Return the model inside all wrappers and at the end of all pipelines."""
    while True:
        if is_pipeline(model):
            if not model.steps:
                return model
            model = model.steps[-1][1]
        elif (inside := unwrap(model)) is not None:
            model = inside
        else:
            return model


def predicts_itself(model: Any) -> bool:
    """Whether a model or the one inside it has a ``predict`` of the user's, which may say something else than its trees."""

    def is_own(one: Any) -> bool:
        home = next((c.__module__.partition(".")[0] for c in type(one).__mro__ if "predict" in vars(c)), None)
        return home is not None and home not in _LIBRARIES

    return is_own(model) or is_own(innermost(model))


def core_of(model: Any) -> Any:
    """Return the innermost model with its wrappers around it, without the steps of pipelines."""
    if is_pipeline(model) and model.steps:
        return core_of(model.steps[-1][1])
    inside = None if is_pipeline(model) else unwrap(model)
    return model if inside is None else around(model, core_of(inside))


def exchanged(core: Any, bare: Any) -> Any:
    """Return the wrappers of a core around another innermost model."""
    inside = unwrap(core)
    return bare if inside is None else around(core, exchanged(inside, bare))


def adjusted(core: Any, tree: Tree) -> Tree:
    """Return the tree of a core, given the tree of the model inside it."""
    bare = innermost(core)
    if core is bare:
        return tree
    kind = type(core).__name__
    if tree.is_regression:
        linear = tree.outputs is not None and tree.outputs.slope is not None
        return tree if linear else _with_values(core, tree, kind)  # a linear value is rescaled: see rescale_of
    if (tree.outputs is None or tree.outputs.slope is None) and (tree.value[tree.leaves] >= 0).all() and not _one_split(bare):
        return _with_classes(core, tree, kind)
    if _one_split(bare):
        return _with_split(core, bare, tree, kind)
    raise CounterleafError(
        f"cannot read a {kind} around a {type(bare).__name__} with {len(tree.classes)} classes and linear leaves; "
        f"explain the {type(bare).__name__} itself"
    )


def _one_split(bare: Any) -> bool:
    """Whether a model is linear and has two classes."""
    return hasattr(bare, "coef_") and len(getattr(bare, "classes_", ())) == 2 and not hasattr(bare, "tree_")


def _evaluate(core: Any, tree: Tree, method: str) -> tuple[Array, Array]:
    """Return leaves, and what a method of the core returns for a row in each of them."""
    if tree.is_axis_aligned():
        return at_leaves(tree, getattr(core, method))
    stub = exchanged(core, _leaf_model(tree))
    leaves = tree.leaves
    with quiet():
        return leaves, np.asarray(getattr(stub, method)(leaves[:, None].astype(float)))


def _leaf_model(tree: Tree) -> Any:
    """Return a classifier or regressor whose rows are numbers of leaves."""
    assert tree.outputs is not None
    held = tree.outputs.intercept

    def leaf(X: Array) -> Array:
        return X[:, 0].astype(int)

    if not tree.is_regression:
        return stand_in(tree.classes, lambda X: tree.classes[tree.value[leaf(X)]], lambda X: held[leaf(X)])
    return ColumnModel(held[:, 0])


def stand_in(
    classes: Array, predict: Rows, predict_proba: Rows, decision_function: Rows | None = None, *, width: int = 1
) -> Any:
    """Return a fitted classifier of scikit-learn that predicts by these functions of arrays of ``width`` columns."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class StandIn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # the same
        classes_, n_features_in_ = classes, width

        def fit(self, X: Any, y: Any) -> Any:  # scikit-learn asks for it
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict(self, X: Any) -> Array:
            return np.asarray(predict(np.asarray(X)))

        def predict_proba(self, X: Any) -> Array:
            return np.asarray(predict_proba(np.asarray(X)))

    if decision_function is not None:
        StandIn.decision_function = lambda self, X: decision_function(np.asarray(X))
    return StandIn()


def _with_values(core: Any, tree: Tree, kind: str) -> Tree:
    """Return a regression tree with the values that the core gives its leaves."""
    leaves, values = _evaluate(core, tree, "predict")
    if not np.isfinite(values).all():
        raise CounterleafError(f"this {kind} predicts NaN or infinity at a leaf; expected finite numbers")
    return _checked(core, with_values(tree, leaves, np.ravel(values)), kind)


def _with_classes(core: Any, tree: Tree, kind: str) -> Tree:
    """Return a classification tree with the classes and probabilities that the core gives its leaves."""
    if tree.outputs is None:
        raise CounterleafError(f"cannot read this {kind}: the leaves of the tree inside have no probabilities")
    leaves, labels = _evaluate(core, tree, "predict")
    shares = _evaluate(core, tree, "predict_proba")[1]
    return _checked(core, with_classes(tree, leaves, labels, shares, _classes(core, tree)), kind)


def _classes(core: Any, tree: Tree) -> Array:
    """Return the labels of a core; a calibration may number the classes of the model inside."""
    return np.asarray(getattr(core, "classes_", tree.classes))


def _checked(core: Any, tree: Tree, kind: str) -> Tree:
    """Compare the predictions of the core and of its tree on random rows."""
    rows = random_rows(tree)
    with quiet():
        same = np.array_equal(np.ravel(core.predict(rows)), tree.predict(rows))
    if not same:
        raise _unlike(kind)
    return tree


def _unlike(kind: str) -> CounterleafError:
    return CounterleafError(f"this {kind} does not predict as the model inside it suggests; report your scikit-learn version")


def _scored(bare: Any, kind: str) -> Any:
    """Return a linear model of one column, whose score is the number in that column."""
    out = copy.copy(bare)
    try:
        out.coef_ = np.ones((1, 1)) if np.ndim(bare.coef_) == 2 else np.ones(1)
        out.intercept_ = np.zeros(1) if np.ndim(bare.intercept_) else 0.0
        out.n_features_in_ = 1
        vars(out).pop("feature_names_in_", None)
    except AttributeError:
        raise CounterleafError(
            f"cannot read a {kind} around a {type(bare).__name__}; use a LinearSVC or a LogisticRegression inside"
        ) from None
    return out


def _with_split(core: Any, bare: Any, tree: Tree, kind: str) -> Tree:
    """Return a linear model of two classes with the split where the core changes its class."""
    curve = exchanged(core, _scored(bare, kind))
    check_one_change(_ask(curve, "predict", _grid()), kind)
    classes = _classes(core, tree)
    labels = classes.tolist()
    low, high = (labels.index(label) for label in _ask(curve, "predict", np.array([-_FAR, _FAR])).tolist())
    columns, weights = tree.weights.row(0)
    line, bias = tree.weights.toarray(), tree.bias.copy()
    if low == high or not len(columns):
        with quiet():
            low = high = labels.index(np.asarray(core.predict(np.zeros((1, tree.n_features)))).tolist()[0])
        line, bias[0] = np.zeros_like(line), 1.0
    elif len(columns) == 1:  # no sum and no rounding: the first number on the other side, found in the model itself
        d, sign = int(columns[0]), np.sign(weights[0])

        def beyond(x: Array) -> Array:
            rows = np.zeros((len(x), tree.n_features))
            rows[:, d] = sign * x
            with quiet():
                return np.asarray(core.predict(rows) == classes[high])

        line[0, d], bias[0] = sign, -float(first_number(beyond, 1, _FAR)[0])
    else:
        bias[0] -= float(first_number(lambda s: _ask(curve, "predict", s) == classes[high], 1, _FAR)[0])
    out = Tree(tree.left, tree.right, line, bias, [-1, low, high], classes, "right", outputs=_log_odds(curve, tree))
    rows = random_rows(out)
    with quiet():
        clear = np.abs(rows @ line[0] + bias[0]) > 1e-9 * (np.abs(rows) @ np.abs(line[0]) + abs(bias[0]))
        if not np.array_equal(np.asarray(core.predict(rows))[clear], out.predict(rows)[clear]):
            raise _unlike(kind)
    return out


def _ask(curve: Any, method: str, scores: Array) -> Array:
    with quiet():
        return np.asarray(getattr(curve, method)(np.asarray(scores, float).reshape(-1, 1)))


def _grid() -> Array:
    side = np.concatenate([np.linspace(0.0, 40.0, 2001)[1:], np.geomspace(40.0, 1e12, 200)])
    return np.concatenate([-side[::-1], [0.0], side])


def check_one_change(labels: Array, kind: str) -> None:
    """Refuse a wrapper that changes its class several times along growing scores, given its labels."""
    if (labels[1:] != labels[:-1]).sum() > 1:
        raise CounterleafError(f"this {kind} changes its class more than once along the score; expected one threshold")


def _log_odds(curve: Any, tree: Tree) -> Outputs | None:
    """Return the outputs of a linear model whose log odds are a linear function of the score; None if they are not."""
    if not hasattr(curve, "predict_proba"):
        return None
    scores = _grid()
    p = _ask(curve, "predict_proba", scores)[:, 1]
    inner = np.flatnonzero((p > 0.02) & (p < 0.98))
    if len(inner) < 3:
        return None
    odds = np.log(p[inner]) - np.log1p(-p[inner])
    ends = scores[inner[[0, -1]]]
    slope = float((odds[-1] - odds[0]) / (ends[1] - ends[0]))
    constant = float(odds[0] - slope * ends[0])
    if tree.outputs is not None and np.array_equal(p, _ask(innermost(curve), "predict_proba", scores)[:, 1]):
        return tree.outputs  # the probabilities of the model inside
    if not np.allclose(odds, slope * scores[inner] + constant, rtol=1e-9, atol=1e-9):
        return None
    w, b = tree.weights.toarray()[0], float(tree.bias[0])
    rows = np.vstack([np.zeros_like(w), slope * w, slope * w])
    return Outputs("logistic", [0.0, slope * b + constant, slope * b + constant], rows)


@dataclass(frozen=True, eq=False)
class Rescale:
    """A monotone map from the linear outputs of a tree to the values that the model predicts."""

    model: Any  # the model over one column, whose output is the number in that column

    def outward(self, values: Array) -> Array:
        """Return the model's values for some outputs of the tree."""
        column = np.append(np.clip(np.asarray(values, float), -_FAR, _FAR), 0.0)[
            :, None
        ]  # never a single row, which some transforms squeeze
        with quiet():
            return np.ravel(np.asarray(self.model.predict(column), float))[:-1]

    def inward(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval of outputs whose values are from ``low`` to ``high``; (inf, -inf) if there is none."""
        bottom, top = self.domain()
        grid = np.clip(_grid(), bottom, top)
        first_value, last_value = self.outward(grid[[0, -1]])
        falling = first_value > last_value
        if falling:
            bottom, top = -top, -bottom

        def first(holds: Callable[[Array], Array]) -> float:
            """Return the first output, or minus output where the map falls, whose value is far enough on."""

            def beyond(x: Array) -> Array:
                at = np.clip(x, bottom, top)
                return np.asarray((x > top) | ((x >= bottom) & holds(self.outward(-at if falling else at))))

            return float(first_number(beyond, 1, _FAR)[0])

        start, after = first(lambda v: v >= low), first(lambda v: v > high)
        if start == after:
            return np.inf, -np.inf
        end = after if np.isinf(after) else float(np.nextafter(after, -np.inf))
        return (-end, -start) if falling else (start, end)

    def domain(self) -> tuple[float, float]:
        """Return the least and the greatest output that has a value, infinite if there is none."""
        grid = _grid()
        inside = np.flatnonzero(~np.isnan(self.outward(grid)))
        if not len(inside) or inside[-1] - inside[0] >= len(inside):
            raise CounterleafError("the inverse of the target's transform is not defined on an interval; expected one")
        bottom, top = -np.inf, np.inf
        if inside[0]:
            known = grid[inside[0]]
            bottom = float(first_number(lambda x: ~np.isnan(self.outward(np.minimum(x, known))), 1, _FAR)[0])
        if inside[-1] < len(grid) - 1:
            last = grid[inside[-1]]
            top = -float(first_number(lambda x: ~np.isnan(self.outward(np.maximum(-x, last))), 1, _FAR)[0])
        return bottom, top

    def check(self, kind: str) -> None:
        """Check that the map is monotone where it is defined."""
        bottom, top = self.domain()
        grid = _grid()
        values = self.outward(grid[(grid >= bottom) & (grid <= top)])
        with np.errstate(invalid="ignore"):
            steps = np.diff(values[np.isfinite(values)])
        if not ((steps >= 0).all() or (steps <= 0).all()):
            raise CounterleafError(f"the transform of this {kind} is not monotone; explain model.regressor_ itself")


class ColumnModel:
    """A regressor whose prediction is the number in its only column, or the value at that place."""

    def __init__(self, values: Array | None = None) -> None:
        self._values = values

    def predict(self, X: Any) -> Array:
        found = np.asarray(X, float)[:, 0]
        return found if self._values is None else np.asarray(self._values[found.astype(int)])


def rescale_of(core: Any, model: Tree | Ensemble) -> Rescale | None:
    """Return the map from the values of an ensemble, or the linear outputs of a tree, to a core's; None if the same."""
    if not model.is_regression:
        return None
    bare = innermost(core)
    log_link = is_log_link(bare)
    computes = not model.is_one_tree or (model.outputs is not None and model.outputs.slope is not None)
    if not (computes or log_link) or (core is bare and not log_link):
        return None
    found = Rescale(exchanged(core, _scored(bare, type(core).__name__) if log_link else ColumnModel()))
    found.check(type(core).__name__)
    return found
