"""The ensembles that can be read, and the file that reads each of them."""

from __future__ import annotations

from typing import Any, Protocol

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers.ensembles import catboost_trees, lightgbm_trees, xgboost_trees, ydf_forests
from counterleaf.model.readers.ensembles.scikit import boosting, forests, histogram_boosting, votes
from counterleaf.model.readers.leaf_probes import Reads
from counterleaf.model.readers.refusals import refuse_one_class
from counterleaf.types import Array


class EnsembleReader(Protocol):
    """A file that reads the ensembles of a library.

    Attributes
    ----------
    READS : tuple
        Pairs of the beginning of a module's name and the names of classes.
    """

    READS: Reads

    def is_ensemble(self, model: Any) -> bool:
        """Return whether a model needs this reader: it has several trees, or is of no use to the readers of one tree."""

    def read(self, model: Any) -> Ensemble:
        """Return the ensemble of a fitted model over its columns."""

    def categories(self, model: Any) -> dict[int, list[Any]]:
        """Return the categories of the categorical columns, in the order of their codes."""

    def inputs(self, model: Any, rows: Any) -> Any:
        """Return what predict takes for rows of numbers and category codes."""

    def as_model(self, model: Any) -> Any:
        """Return a model with a predict that takes arrays and tables, mostly the model itself."""


_READERS: tuple[EnsembleReader, ...] = (
    forests,
    votes,
    xgboost_trees,
    ydf_forests,
    catboost_trees,
    boosting,
    histogram_boosting,
    lightgbm_trees,
)


def reader_of(model: Any) -> EnsembleReader | None:
    """Return the reader of a model's class, if there is one."""
    for reader in _READERS:
        for prefix, names in reader.READS:
            if any(c.__module__.startswith(prefix) and c.__name__ in names for c in type(model).__mro__):
                return reader
    return None


def is_ensemble(model: Any) -> bool:
    """Return whether a model is an ensemble that ``read_ensemble`` reads.

    Parameters
    ----------
    model : object
        A model, without wrappers and pipelines around it.

    Returns
    -------
    bool
        True if its trees do not make one ``Tree``: it has more than one, or splits on categories, or its class is always an
        ensemble. False for a boosted model with a single tree, which ``read_tree`` reads.
    """
    reader = reader_of(model)
    return reader is not None and reader.is_ensemble(model)


def read_ensemble(model: Any) -> Ensemble:
    """Return the ensemble of a fitted model over the columns of the model.

    The scores are those of the model bit for bit, or have a proven bound on the difference: see ``Scoring.noise``. Rows between
    the thresholds, exactly on both sides of them and with missing values are sent through the installed model to make sure.

    Parameters
    ----------
    model : object
        A fitted forest, boosted model or vote of trees.

    Returns
    -------
    Ensemble
        The ensemble. Categorical columns hold codes: see ``categories_of``.

    Raises
    ------
    CounterleafError
        If the model is of another kind, is not fitted, or computes something that an Ensemble cannot represent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> ensemble = read_ensemble(model)
    >>> ensemble.n_trees, bool((ensemble.predict_proba(X) == model.predict_proba(X)).all())
    (5, True)
    """
    reader = reader_of(model)
    if reader is None:
        raise CounterleafError(f"cannot read a {type(model).__name__} as an ensemble; expected a forest or boosted trees")
    refuse_one_class(model)
    return reader.read(model)


def categories_of(model: Any) -> dict[int, list[Any]]:
    """Return the categories of the categorical columns of a model, in the order of their codes.

    The code of a category is its place in the list: 0, 1, ... Where codes go is in ``Ensemble.subsets``: the codes of a
    subset go right, all other codes go left. That includes the code of an unknown category, which may be any integer outside
    the list, such as -1 or the length of the list. A missing value is NaN, and goes as ``Ensemble.gap_right`` says:

    - HistGradientBoosting: a missing value goes as the split learned. An unknown category takes the same way, which is left
      in the ensemble: the children of a split are exchanged where the model sends missing values right.
    - XGBoost: an unknown category goes left, a missing value as the split learned. The list is empty if the model does not
      know its categories: it was fitted on codes, or by a version before 3.1.
    - LightGBM: unknown and missing values take the same way, which is left in the ensemble: the children of such a split are
      exchanged. The list is empty if the model was fitted on codes.
    - YDF: an unknown category is the code 0, whose name is "<OOD>"; a missing value goes as the split says.

    Parameters
    ----------
    model : object
        A fitted model that ``read_ensemble`` reads.

    Returns
    -------
    dict
        The list of categories by column; empty without categorical columns.
    """
    reader = reader_of(model)
    return {} if reader is None else reader.categories(model)


def inputs_of(model: Any, rows: Array) -> Any:
    """Return what ``as_model(model).predict`` takes for rows of an ensemble: numbers, category codes and NaN."""
    reader = reader_of(model)
    return rows if reader is None else reader.inputs(model, rows)


def as_model(model: Any) -> Any:
    """Return a model with a predict that takes arrays and tables, mostly the model itself."""
    reader = reader_of(model)
    return model if reader is None else reader.as_model(model)
