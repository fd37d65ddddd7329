"""A reader of the models of a library: its functions, with the usual one where the library needs none of its own.

And what is said about models that cannot be read, with the nearest thing that works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_ADVICE = (
    (
        r"^(treeple|sktree)\..*(Forest|Trees)",
        "forests with oblique splits are not supported; explain one of its trees, model.estimators_[0]",
    ),
    (r"^sklearn\.ensemble\..*Stacking", "it combines several models; explain one of them, model.estimators_[0]"),
    (r"^imblearn\.ensemble\.", "it combines models with their own samplers; fit a BalancedRandomForestClassifier"),
    (r"^catboost\.", "it does not tell labels from values; use a CatBoostClassifier or a CatBoostRegressor"),
    (r"^sklearn\.ensemble\..*IsolationForest", "it is not a classifier; fit a DecisionTreeClassifier on its labels"),
    (r"^sklearn\.ensemble\..*RandomTreesEmbedding", "it has no predict; pass the whole pipeline"),
    (r"^lineartree\.", "many trees; use a LinearTree{task}"),
    (r"^sklearn\.neighbors\.", "its regions are not those of a tree; fit a DecisionTree{task} or a linear model"),
    (
        r"^sklearn\.neural_network\.|^(keras|tensorflow|tf_keras|torch|skorch)\.",
        "neural networks are not supported; fit a DecisionTree{task}, or a TAO{task} for oblique splits",
    ),
    (
        r"^sklearn\.(naive_bayes|gaussian_process|kernel_ridge|isotonic|mixture|cluster|cross_decomposition)\.",
        "it is neither a tree nor linear; fit a DecisionTree{task}, or a linear model",
    ),
    (r"^sklearn\.(multiclass|multioutput)\.", "several models in one; explain one of them, model.estimators_[0]"),
    (r"^sklearn\.dummy\.", "its prediction does not depend on the row; there is nothing to change"),
    (
        r"^sklearn\.(preprocessing|decomposition|compose|feature_selection|impute)\.",
        "it has no predict; pass the whole pipeline",
    ),
)


class Gaps(NamedTuple):
    """Where the splits of a tree send missing numbers: the (N,) columns that they test, -1 at leaves, and if to the right."""

    feature: Array
    right: Array


def _no_tree(model: Any) -> Tree:
    raise many_trees(model)


def no_ensemble(model: Any, data: Any) -> Ensemble:
    """The function of a reader that reads single trees only."""
    raise AssertionError("no model of this reader is an ensemble")


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How the models of a library are read."""

    # pairs of the beginning of a module's name and the names of classes; no names stand for all classes with a predict
    classes: tuple[tuple[str, tuple[str, ...]], ...]
    # whether a model has several trees, or is of a class that is always read as an ensemble
    is_ensemble: Callable[[Any], bool] = lambda model: False
    # from a fitted model of one tree or of leaves that compute to its tree
    tree: Callable[[Any], Tree] = _no_tree
    # from a fitted model, and data that show the categories that it does not tell, to its ensemble
    ensemble: Callable[[Any, Any], Ensemble] = no_ensemble
    # from a model to one with a predict that takes arrays and tables
    as_model: Callable[[Any], Any] = lambda model: model
    # from a model with one tree to where its missing numbers go, None if it refuses them
    gaps: Callable[[Any], Gaps | None] = lambda model: None
    # from a model to the relative error of an oblique split's sum, 0 if it adds as a Tree does
    guard: Callable[[Any], float] = lambda model: 0.0
    # from a model and data to the categories by column, in the order of their codes
    categories: Callable[[Any, Any], dict[int, list[Any]]] = lambda model, data: {}
    # from a model, rows of numbers and category codes, and data to what predict takes
    inputs: Callable[[Any, Any, Any], Any] = lambda model, rows, data: rows

    def reads(self, model: Any) -> bool:
        """Return whether a model is of one of the classes."""
        for prefix, names in self.classes:
            for c in type(model).__mro__:
                if c.__module__.startswith(prefix) and (c.__name__ in names or (not names and hasattr(model, "predict"))):
                    return True
        return False


def refusal(model: Any) -> CounterleafError:
    """Return the error for a model that no reader knows."""
    kind = type(model).__name__
    task = "Regressor" if "Regress" in kind or kind == "SVR" else "Classifier"
    for c in type(model).__mro__:
        for pattern, advice in _ADVICE:
            if re.search(pattern, f"{c.__module__}.{c.__name__}"):
                return CounterleafError(f"cannot read a {kind}: {advice.format(task=task)}")
    if isinstance(model, type):
        return CounterleafError(f"cannot read the class {model.__name__}; pass a fitted model: {model.__name__}(...).fit(X, y)")
    return CounterleafError(
        f"cannot read a {kind}; expected a counterleaf Tree or TAOClassifier, a decision tree or a linear model of "
        f"scikit-learn, a forest, boosted trees, or a Pipeline that ends with one"
    )


def refuse_one_class(model: Any) -> None:
    """Refuse a classifier that knows a single class."""
    labels = getattr(model, "classes_", None)
    if labels is not None and len(labels) == 1:
        raise CounterleafError(f"this {type(model).__name__} knows one class; expected two or more: nothing can change it")


def refuse_no_trees(kind: str, trees: Sequence[Any]) -> None:
    """Refuse a model without trees."""
    if not len(trees):
        raise CounterleafError(f"this {kind} has no trees; expected one or more: nothing can change what it says")


def many_trees(model: Any) -> CounterleafError:
    """Return the error for a model of several trees that cannot be one Tree."""
    return CounterleafError(f"cannot read a {type(model).__name__}: it is an ensemble, not one Tree; use Explainer(model)")


def is_booster(model: Any) -> bool:
    """Return whether a model is a Booster of XGBoost or LightGBM, not one of their scikit-learn interface."""
    return any(c.__module__.startswith(("xgboost.", "lightgbm.")) and c.__name__ == "Booster" for c in type(model).__mro__)


def booster_of(model: Any) -> Any:
    """Return the Booster of a model of XGBoost or LightGBM."""
    if is_booster(model):
        return model
    if not model.__sklearn_is_fitted__():
        raise CounterleafError(f"this {type(model).__name__} is not fitted; call fit first")
    return model.booster_ if hasattr(model, "booster_") else model.get_booster()
