"""The trees of the experiments: learned once and saved as counterleaf JSON together with their settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from counterleaf import __version__
from counterleaf.learn.classifier import TAOClassifier
from counterleaf.model.readers.table import read_tree
from counterleaf.model.tree import Tree
from counterleaf.storage.files import write
from counterleaf.types import Array
from counterleaf_experiments.paper.data import PaperData

OBLIQUE, AXIS = "oblique", "axis"
KINDS = (OBLIQUE, AXIS)
THREADS = 2  # used by the learners; the trees do not depend on it

# TAO at the paper's depth; of several values, five-fold cross-validation on the training rows chooses one
_TAO: dict[str, dict[str, list[Any]]] = {
    "adult": {"max_depth": [12], "ccp_alpha": [2e-4]},
    "breast": {"max_depth": [3], "alpha": [1.0, 3.0, 10.0]},
    "spambase": {"max_depth": [5], "alpha": [0.3, 1.0]},
    "letter": {"max_depth": [12]},
    "german": {"max_depth": [8], "alpha": [3.0, 10.0], "ccp_alpha": [0.005, 0.01]},
    "mnist": {"max_depth": [9]},
    "digits": {"max_depth": [6]},
}
_PRUNINGS, _FEW_PRUNINGS = 12, 5  # number of pruning strengths that are compared, and the same for large data
_LARGE = 10_000_000  # cells of training data
_MANY_ROWS = 2000  # with more training rows, one held-out fifth chooses the pruning instead of five-fold cross-validation


@dataclass(frozen=True, slots=True, eq=False)
class LearnedTree:
    """A tree over the columns of a data set, and its estimator."""

    tree: Tree
    model: Any  # scikit-learn's DecisionTreeClassifier or a TAOClassifier
    scale: Array  # the estimator was fitted to X / scale
    settings: dict[str, Any]

    def predict(self, X: Array) -> Array:
        """Predict labels with the estimator, for rows in the units of the data set."""
        return np.asarray(self.model.predict(X / self.scale))

    def errors(self, data: PaperData) -> tuple[float, float]:
        """Training and test error in %."""
        train, test = (float((self.predict(data.X[k]) != data.y[k]).mean()) for k in (data.train, data.test))
        return 100.0 * train, 100.0 * test

    @property
    def explained(self) -> Any:
        """The model to explain: scikit-learn's tree, or for TAO the ``Tree``, with the same arithmetic as the estimator."""
        return self.tree if self.settings["kind"] == OBLIQUE else self.model


def learn_tree(data: PaperData, kind: str, seed: int, folder: Path | None = None) -> LearnedTree:
    """Read the tree from the folder if it was learned with the same settings; otherwise learn it and save it there."""
    request: dict[str, Any] = {
        "set": data.key,
        "kind": kind,
        "seed": seed,
        "counterleaf": __version__,
        "scikit-learn": sklearn.__version__,
        "choices": _TAO[data.key] if kind == OBLIQUE else {"ccp_alpha": "some of CART's path"},
    }
    path = None if folder is None else folder / f"{data.key}-{kind}.json"
    settings = None if path is None else _saved_settings(path, request)
    scale = _scale(data) if kind == OBLIQUE else np.ones(data.X.shape[1])
    if settings is not None and path is not None and kind == OBLIQUE:
        tree = Tree.from_json(path.read_text())
        return LearnedTree(tree, _restored(_scaled(tree, scale), settings["chosen"]), scale, settings)
    if settings is None:
        settings = {**request, "chosen": _choose_tao(data, scale, seed) if kind == OBLIQUE else _choose_cart(data, seed)}
    rows, labels = data.X[data.train] / scale, data.y[data.train]
    model = (_tao if kind == OBLIQUE else _cart)(settings["chosen"]).fit(rows, labels)
    tree = _scaled(read_tree(model), 1.0 / scale)
    if path is not None:
        settings["sha256"] = _digest(tree)
        write(path, json.dumps({"settings": settings, **json.loads(tree.to_json())}))
    return LearnedTree(tree, model, scale, settings)


def _saved_settings(path: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of a saved tree, including the chosen ones; None if there is no intact tree for the same request."""
    try:
        text = path.read_text()
        saved = dict(json.loads(text)["settings"])
        intact = saved.pop("sha256") == _digest(Tree.from_json(text))
    except (OSError, ValueError, KeyError, TypeError):  # no file, or not a tree of ours: it is learned again
        return None
    return saved if intact and {**saved, "chosen": None} == {**request, "chosen": None} else None


def _digest(tree: Tree) -> str:
    """A checksum of the tree."""
    return hashlib.sha256(tree.to_json().encode()).hexdigest()


def _scale(data: PaperData) -> Array:
    """The columns' deviations, rounded to powers of two, so that scaling rows and tree is exact.

    Pixels are not scaled: unit deviations would exaggerate those at the border.
    """
    spread = data.X[data.train].std(axis=0)
    if data.shape is not None:
        return np.ones(len(spread))
    return np.asarray(2.0 ** np.round(np.log2(np.where(spread > 0, spread, 1.0))))


def _scaled(tree: Tree, factor: Array) -> Tree:
    """The same tree over columns divided by ``factor``."""
    weights = replace(tree.weights, data=tree.weights.data * factor[tree.weights.indices])
    return Tree(tree.left, tree.right, weights, tree.bias, tree.value, tree.classes, tree.closed, tree.dtype)


def _tao(chosen: dict[str, Any]) -> TAOClassifier:
    """An unfitted TAO estimator."""
    return TAOClassifier(n_jobs=THREADS, **chosen)


def _restored(tree: Tree, chosen: dict[str, Any]) -> Any:
    """The fitted estimator of a saved tree."""
    model = _tao(chosen)
    model.tree_, model.classes_, model.n_features_in_ = tree, tree.classes, tree.n_features
    return model


def _cart(chosen: dict[str, Any]) -> DecisionTreeClassifier:
    """An unfitted CART estimator."""
    return DecisionTreeClassifier(**chosen)


def _choose_tao(data: PaperData, scale: Array, seed: int) -> dict[str, Any]:
    """The settings of TAO: the paper's depth, the rest by cross-validation."""
    grid = {**_TAO[data.key], "random_state": [seed]}
    return _best(_tao({}), grid, data.X[data.train] / scale, data.y[data.train], 5, seed)


def _choose_cart(data: PaperData, seed: int) -> dict[str, Any]:
    """The settings of CART, as in the paper: a full tree, pruned by the strength with the least error on held-out rows."""
    rows, labels = data.X[data.train], data.y[data.train]
    tried = _FEW_PRUNINGS if rows.size > _LARGE else _PRUNINGS
    path = _cart({"random_state": seed}).cost_complexity_pruning_path(rows, labels).ccp_alphas
    few = np.unique(np.quantile(path[:-1], np.linspace(0, 1, tried), method="nearest"))[::-1]  # the strongest first
    grid = {"ccp_alpha": few.clip(0.0).tolist(), "random_state": [seed]}
    return _best(_cart({}), grid, rows, labels, 1 if len(rows) > _MANY_ROWS else 5, seed)


def _best(model: Any, grid: dict[str, list[Any]], rows: Array, labels: Array, folds: int, seed: int) -> dict[str, Any]:
    """The settings with the least error on held-out training rows; the first of several equally good ones."""
    if all(len(values) == 1 for values in grid.values()):
        return {name: values[0] for name, values in grid.items()}
    if folds == 1:
        cv: Any = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    else:
        cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return dict(GridSearchCV(model, grid, cv=cv, refit=False).fit(rows, labels).best_params_)
