"""The models that can be read, and the file that reads each of them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.adaptation.agreement import agrees
from counterleaf.model.ensembles.adaptation.wrappers import adjusted_ensemble
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers import boosting, linear, linear_tree, onnx_trees, scikit_trees, ydf_trees
from counterleaf.model.readers.ensembles.probing import probe_rows
from counterleaf.model.readers.ensembles.table import as_model as as_ensemble_model
from counterleaf.model.readers.ensembles.table import categories_of, inputs_of, is_ensemble, read_ensemble
from counterleaf.model.readers.leaf_probes import Gaps, Reads, quiet
from counterleaf.model.readers.refusals import many_trees, refusal
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import adjusted, core_of, innermost, is_pipeline, rescale_of, unwrap


class Reader(Protocol):
    """A file that reads the models of a library.

    Attributes
    ----------
    READS : tuple
        Pairs of the beginning of a module's name and the names of classes; no names stand for all classes.
    """

    READS: Reads

    def read(self, model: Any) -> Tree:
        """Return the tree of a fitted model over its columns."""

    def guard(self, model: Any) -> float:
        """Return the relative error of an oblique split's sum, 0 if the model adds as a Tree does."""

    def as_model(self, model: Any) -> Any:
        """Return a model with a predict that takes arrays and tables, mostly the model itself."""

    def gaps(self, model: Any) -> Gaps | None:
        """Return where missing numbers go; None if the model refuses them."""


_READERS: tuple[Reader, ...] = (scikit_trees, boosting, linear, linear_tree, ydf_trees, onnx_trees)


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
    return adjusted(core, _read(innermost(core)))


def read_model(core: Any) -> Tree | Ensemble:
    """Return the tree of a model with its wrappers, or the sum of its trees if there are many of them.

    Parameters
    ----------
    core : object
        A fitted model, without the steps of a pipeline.

    Returns
    -------
    Tree or Ensemble
        The tree, or the trees.

    Raises
    ------
    CounterleafError
        As ``read_tree`` does, or if a wrapper around an ensemble cannot be read.
    """
    bare = innermost(core)
    if not isinstance(bare, Ensemble) and not is_ensemble(bare):
        return read_core(core)
    found = bare if isinstance(bare, Ensemble) else read_ensemble(bare)
    made = adjusted_ensemble(core, found)
    if made is not found and bare is not found:
        rows = probe_rows(found, {j: len(values) for j, values in categories_of(bare).items()})
        with quiet():
            labels = np.ravel(core.predict(inputs_of(bare, rows)))
        if not agrees(made, rows, labels):
            kind = type(core).__name__
            raise CounterleafError(
                f"this {kind} does not predict as the model inside it suggests; report your scikit-learn version"
            )
    return made


def category_columns(model: Any, ensemble: Ensemble) -> dict[int, list[Any]]:
    """Return the columns that a model takes for categories, each with the categories in the order of their codes.

    Parameters
    ----------
    model : object
        The model of the ensemble.
    ensemble : Ensemble
        Its trees.

    Returns
    -------
    dict
        The categories by column; an empty list if the numbers in the column are the codes.
    """
    weights = ensemble.splits.weights
    out: dict[int, list[Any]] = {int(weights.indices[weights.indptr[k]]): [] for k in ensemble.subsets}
    return out if isinstance(model, Ensemble) else {**out, **categories_of(model)}


def gap_routes(model: Any) -> Gaps | None:
    """Return the column that each split of a model tests, and whether a missing number goes right there.

    A split that separates missing numbers from all others has no weights in the tree; its column is here.

    Parameters
    ----------
    model : object
        A model that can be read, or a pipeline that ends with one.

    Returns
    -------
    Gaps or None
        The columns, -1 at leaves, and the directions; None if the model refuses missing numbers.
    """
    bare = innermost(model)
    reader = _reader(bare)
    return None if reader is None else reader.gaps(bare)


def as_model(model: Any) -> Any:
    """Return a model with a predict that takes arrays and tables, mostly the model itself."""
    reader = _reader(model)
    return as_ensemble_model(model) if reader is None or is_ensemble(model) else reader.as_model(model)


def guard_of(model: Any) -> float:
    """Return the relative error of the sums of a model, 0 if it adds as a Tree does."""
    bare = innermost(model)
    reader = _reader(bare)
    return 0.0 if reader is None else reader.guard(bare)


def _own(model: Any) -> bool:
    learned = any(c.__module__.startswith("counterleaf.learn.") for c in type(model).__mro__)
    return isinstance(model, Tree) or isinstance(getattr(model, "tree_", None), Tree) or learned


def _reader(model: Any) -> Reader | None:
    """Return the reader of a model, if there is one."""
    if _own(model):
        return None
    for reader in _READERS:
        for prefix, names in reader.READS:
            for c in type(model).__mro__:
                if c.__module__.startswith(prefix) and (c.__name__ in names or (not names and hasattr(model, "predict"))):
                    return reader
    return None


def _read(model: Any) -> Tree:
    if isinstance(model, Tree):
        return model
    if isinstance(tree := getattr(model, "tree_", None), Tree):
        return tree
    if _own(model):
        raise CounterleafError(f"this {type(model).__name__} is not fitted; call fit first")
    reader = _reader(model)
    if reader is None:
        raise many_trees(model) if is_ensemble(model) else refusal(model)
    return reader.read(model)
