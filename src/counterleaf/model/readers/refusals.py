"""What is said about models that cannot be read, with the nearest thing that works."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from counterleaf.errors import CounterleafError

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
