"""The trees of the experiments: learned here, kept as counterleaf JSON together with the settings that gave them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf.experiments.paper.grounds import Ground
from counterleaf.model.readers import read_tree
from counterleaf.model.tree import Tree
from counterleaf.storage.files import write
from counterleaf.types import Array

OBLIQUE, AXIS = "oblique", "axis"
KINDS = (OBLIQUE, AXIS)
THREADS = 2  # of learners; the trees do not depend on it

# TAO at the paper's depth; where several values stand, five-fold cross-validation on the training rows chooses
_TAO: dict[str, dict[str, list[Any]]] = {
    "adult": {"max_depth": [12], "ccp_alpha": [2e-4]},
    "breast": {"max_depth": [3], "alpha": [1.0, 3.0, 10.0]},
    "spambase": {"max_depth": [5], "alpha": [0.3, 1.0]},
    "letter": {"max_depth": [12]},
    "german": {"max_depth": [8], "alpha": [3.0, 10.0], "ccp_alpha": [0.005, 0.01]},
    "mnist": {"max_depth": [9]},
    "digits": {"max_depth": [6]},
}
_PRUNINGS, _FEW = 12, 5  # strengths of CART's pruning that are compared, and where a fit takes long
_LONG = 10_000_000  # cells of training data
_MANY = 2000  # with more training rows one held-out fifth chooses the pruning, in place of five


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A tree over the columns of a ground, and the estimator it came from."""

    tree: Tree
    model: Any  # scikit-learn's DecisionTreeClassifier or a TAOClassifier
    scale: Array  # the estimator was fitted to X / scale
    settings: dict[str, Any]

    def predict(self, X: Array) -> Array:
        """What the estimator says of rows in the units of the ground."""
        return np.asarray(self.model.predict(X / self.scale))

    def errors(self, ground: Ground) -> tuple[float, float]:
        """Training and test error in %."""
        train, test = (float((self.predict(ground.X[k]) != ground.y[k]).mean()) for k in (ground.train, ground.test))
        return 100.0 * train, 100.0 * test

    @property
    def explained(self) -> Any:
        """The model of the questions: scikit-learn's tree itself; for TAO the Tree, which does the estimator's arithmetic."""
        return self.tree if self.settings["kind"] == OBLIQUE else self.model


def grow(ground: Ground, kind: str, seed: int, folder: Path | None = None) -> Grown:
    """The tree of a ground: from the folder if it was learned with the same settings, else learned and kept there."""
    import sklearn

    import counterleaf

    asked: dict[str, Any] = {
        "set": ground.key,
        "kind": kind,
        "seed": seed,
        "counterleaf": counterleaf.__version__,
        "scikit-learn": sklearn.__version__,
        "choices": _TAO[ground.key] if kind == OBLIQUE else {"ccp_alpha": "some of CART's own path"},
    }
    path = None if folder is None else folder / f"{ground.key}-{kind}.json"
    settings = None if path is None else _kept_settings(path, asked)
    scale = _scale(ground) if kind == OBLIQUE else np.ones(ground.X.shape[1])
    if settings is not None and path is not None and kind == OBLIQUE:
        tree = Tree.from_json(path.read_text())
        return Grown(tree, _restored(_scaled(tree, scale), settings["chosen"]), scale, settings)
    if settings is None:
        settings = {**asked, "chosen": _choose_tao(ground, scale, seed) if kind == OBLIQUE else _choose_cart(ground, seed)}
    rows, labels = ground.X[ground.train] / scale, ground.y[ground.train]
    model = (_tao if kind == OBLIQUE else _cart)(settings["chosen"]).fit(rows, labels)
    tree = _scaled(read_tree(model), 1.0 / scale)
    if path is not None:
        settings["sha256"] = _digest(tree)
        write(path, json.dumps({"settings": settings, **json.loads(tree.to_json())}))
    return Grown(tree, model, scale, settings)


def _kept_settings(path: Path, asked: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of a tree that was learned for the same purpose, with what was chosen; None if there is none."""
    try:
        text = path.read_text()
        kept = dict(json.loads(text)["settings"])
        whole = kept.pop("sha256") == _digest(Tree.from_json(text))
    except (OSError, ValueError, KeyError, TypeError):  # none, or not ours: it is learned again
        return None
    return kept if whole and {**kept, "chosen": None} == {**asked, "chosen": None} else None


def _digest(tree: Tree) -> str:
    return hashlib.sha256(tree.to_json().encode()).hexdigest()


def _scale(ground: Ground) -> Array:
    """The columns' deviations, rounded to powers of two: dividing by them, and undoing it in the tree, rounds nothing.

    Pixels stay as they are: unit deviations would blow up those at the rim.
    """
    spread = ground.X[ground.train].std(axis=0)
    if ground.shape is not None:
        return np.ones(len(spread))
    return np.asarray(2.0 ** np.round(np.log2(np.where(spread > 0, spread, 1.0))))


def _scaled(tree: Tree, factor: Array) -> Tree:
    weights = replace(tree.weights, data=tree.weights.data * factor[tree.weights.indices])
    return Tree(tree.left, tree.right, weights, tree.bias, tree.value, tree.classes, tree.closed, tree.dtype)


def _tao(chosen: dict[str, Any]) -> Any:
    from counterleaf.learn import TAOClassifier

    return TAOClassifier(n_jobs=THREADS, **chosen)


def _restored(tree: Tree, chosen: dict[str, Any]) -> Any:
    """The fitted estimator of a tree that was kept."""
    model = _tao(chosen)
    model.tree_, model.classes_, model.n_features_in_ = tree, tree.classes, tree.n_features
    return model


def _cart(chosen: dict[str, Any]) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**chosen)


def _choose_tao(ground: Ground, scale: Array, seed: int) -> dict[str, Any]:
    grid = {**_TAO[ground.key], "random_state": [seed]}
    return _best(_tao({}), grid, ground.X[ground.train] / scale, ground.y[ground.train], 5, seed)


def _choose_cart(ground: Ground, seed: int) -> dict[str, Any]:
    """Grown in full, then pruned by the strength that errs least on held-out rows, as in the paper."""
    rows, labels = ground.X[ground.train], ground.y[ground.train]
    tried = _FEW if rows.size > _LONG else _PRUNINGS
    path = _cart({"random_state": seed}).cost_complexity_pruning_path(rows, labels).ccp_alphas
    few = np.unique(np.quantile(path[:-1], np.linspace(0, 1, tried), method="nearest"))[::-1]  # the strongest first
    grid = {"ccp_alpha": few.clip(0.0).tolist(), "random_state": [seed]}
    return _best(_cart({}), grid, rows, labels, 1 if len(rows) > _MANY else 5, seed)


def _best(model: Any, grid: dict[str, list[Any]], rows: Array, labels: Array, folds: int, seed: int) -> dict[str, Any]:
    """The settings with the least error on held-out training rows; the first of equals."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

    if all(len(values) == 1 for values in grid.values()):
        return {name: values[0] for name, values in grid.items()}
    if folds == 1:
        cv: Any = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    else:
        cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return dict(GridSearchCV(model, grid, cv=cv, refit=False).fit(rows, labels).best_params_)
