"""The models that can be read, and the file that reads each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.wrappers import adjusted_ensemble
from counterleaf.model.readers import catboost_trees, lightgbm_trees, linear_tree, onnx_trees, xgboost_trees, ydf_trees
from counterleaf.model.readers.scikit import ensembles, histogram_boosting, linear, trees
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.model.readers.shared.probing import agrees, probe_rows
from counterleaf.model.readers.shared.reader import Gaps, Reader, no_ensemble, refusal, refuse_one_class
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import adjusted, core_of, innermost, is_pipeline, predicts_itself, rescale_of, unwrap
from counterleaf.types import Array

_READERS: tuple[Reader, ...] = tuple(
    file.READER
    for file in (
        ensembles,
        trees,
        histogram_boosting,
        xgboost_trees,
        lightgbm_trees,
        catboost_trees,
        ydf_trees,
        onnx_trees,
        linear,
        linear_tree,
    )
)


def _read_own(model: Any) -> Tree:
    """Return the tree of a model of this package; refuse a model that no reader knows."""
    if isinstance(model, Tree):
        return model
    if isinstance(tree := getattr(model, "tree_", None), Tree):
        return tree
    if _own(model):
        raise CounterleafError(f"this {type(model).__name__} is not fitted; call fit first")
    raise refusal(model)


_OTHER = Reader(classes=(), tree=_read_own)  # of models that need no reader, or have none


def _own(model: Any) -> bool:
    learned = any(c.__module__.startswith("counterleaf.learn.") for c in type(model).__mro__)
    return isinstance(model, Tree) or isinstance(getattr(model, "tree_", None), Tree) or learned


def reader_of(model: Any) -> Reader:
    """Return the reader of a model's class."""
    return _OTHER if _own(model) else next((reader for reader in _READERS if reader.reads(model)), _OTHER)


def read_tree(model: Any) -> Tree:
    """Return the tree of a model, node for node.

    How the model routes rows and what its leaves hold is checked by sending rows through the installed model.

    Parameters
    ----------
    model : object
        A ``Tree``, or a fitted model with a single tree or a linear function: the page "Which models?" lists them.

    Returns
    -------
    Tree
        The tree. The tree of a scikit-learn model has the node numbers of the model; a linear model has one split between two
        classes, or one leaf.

    Raises
    ------
    CounterleafError
        If the model is of another kind, is not fitted, or has splits that a Tree cannot represent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> read_tree(DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)).n_nodes
    5
    """
    inside = model
    while not is_pipeline(inside) and (within := unwrap(inside)) is not None:
        inside = within
    if is_pipeline(inside):
        raise CounterleafError(
            "cannot read a Pipeline, whose tree uses the columns that its steps make: pass model[-1], or use Explainer(model)"
        )
    core = core_of(model)
    tree = read_core(core)
    if rescale_of(core, tree) is not None:
        raise CounterleafError(
            f"cannot read a {type(model).__name__} as a Tree: its values are a transform of a linear "
            f"function; use Explainer(model)"
        )
    return tree


def read_core(core: Any) -> Tree:
    """Return the tree of a model with its wrappers, before a linear value is rescaled."""
    bare = innermost(core)
    return adjusted(core, reader_of(bare).tree(bare))


def read_model(core: Any, data: Any = None) -> Tree | Ensemble:
    """Return the tree of a model with its wrappers and without the steps of pipelines, or its trees if there are many.

    ``data`` is a table that the model takes, for categories that the model itself does not tell.
    """
    try:
        return _read_model(core, data)
    except Exception as error:  # a predict of the user's may raise anything
        if isinstance(error, CounterleafError) or not predicts_itself(core):
            raise
        raise CounterleafError(
            f"cannot read this {type(core).__name__}: its own predict raised {type(error).__name__}: {flat(error)}; "
            f"expected one that takes arrays of numbers"
        ) from error


def _read_model(core: Any, data: Any) -> Tree | Ensemble:
    bare = innermost(core)
    if not isinstance(bare, Ensemble) and not is_ensemble(bare):
        return read_core(core)
    found = bare if isinstance(bare, Ensemble) else read_ensemble(bare, data)
    made = adjusted_ensemble(core, found)
    if made is not found and bare is not found:
        rows = probe_rows(found, {j: len(values) for j, values in categories_of(bare, data).items()})
        with quiet():
            labels = np.ravel(core.predict(inputs_of(bare, rows, data)))
        if not agrees(made, rows, labels):
            kind = type(core).__name__
            raise CounterleafError(
                f"this {kind} does not predict as the model inside it suggests; report your scikit-learn version"
            )
    return made


def is_ensemble(model: Any) -> bool:
    """Return whether the trees of a model, without wrappers and pipelines around it, do not make one ``Tree``.

    It has more than one, or splits on categories, or its class is always an ensemble.
    """
    return reader_of(model).is_ensemble(model)


def read_ensemble(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model over the columns of the model.

    The scores are those of the model bit for bit, or have a proven bound on the difference: see ``Scoring.noise``. Rows between
    the thresholds, exactly on both sides of them and with missing values are sent through the installed model to make sure.

    ``data`` is a table that the model takes, for categories that the model itself does not tell. Categorical columns of the
    ensemble hold codes: see ``categories_of``.
    """
    reader = reader_of(model)
    if reader.ensemble is no_ensemble:
        raise CounterleafError(f"cannot read a {type(model).__name__} as an ensemble; expected a forest or boosted trees")
    refuse_one_class(model)
    return reader.ensemble(model, data)


def categories_of(model: Any, data: Any = None) -> dict[int, list[Any]]:
    """Return the categories of the categorical columns of a model, in the order of their codes.

    The code of a category is its place in the list. ``Ensemble.subsets`` are the codes that go right; all other codes go left,
    also those of unknown categories, and NaN goes as ``Ensemble.gap_right`` says. Where a library does otherwise, its reader
    exchanges the children of the split. The list is empty if the model was fitted on codes.
    """
    return reader_of(model).categories(model, data)


def inputs_of(model: Any, rows: Array, data: Any = None) -> Any:
    """Return what ``as_model(model).predict`` takes for rows of an ensemble: numbers, category codes and NaN."""
    return reader_of(model).inputs(model, rows, data)


def category_columns(model: Any, ensemble: Ensemble, data: Any = None) -> dict[int, list[Any]]:
    """Return the columns that the model of an ensemble takes for categories, each with these in the order of their codes.

    The list is empty if the numbers in the column are the codes.
    """
    out: dict[int, list[Any]] = {column: [] for column, _ in ensemble.subset_columns}
    return out if isinstance(model, Ensemble) else {**out, **categories_of(model, data)}


def gap_routes(model: Any) -> Gaps | None:
    """Return the column that each split of a model tests, and whether a missing number goes right there.

    A split that separates missing numbers from all others has no weights in the tree; its column is here. None stands for a
    model that refuses missing numbers.
    """
    bare = innermost(model)
    return reader_of(bare).gaps(bare)


def as_model(model: Any) -> Any:
    """Return a model with a predict that takes arrays and tables, mostly the model itself."""
    return reader_of(model).as_model(model)


def guard_of(model: Any) -> float:
    """Return the relative error of the sums of a model, 0 if it adds as a Tree does."""
    bare = innermost(model)
    return reader_of(bare).guard(bare)
