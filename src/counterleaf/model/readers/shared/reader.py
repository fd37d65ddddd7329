"""A reader of the models of a library: its functions, with the usual one where the library needs none of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers.refusals import many_trees
from counterleaf.model.tree import Tree
from counterleaf.types import Array


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
    """How the models of a library are read.

    Parameters
    ----------
    classes : tuple
        Pairs of the beginning of a module's name and the names of classes; no names stand for all classes with a predict.
    is_ensemble : callable, optional
        Whether a model has several trees, or is of a class that is always read as an ensemble; by default never.
    tree : callable, optional
        From a fitted model of one tree or of leaves that compute to its tree.
    ensemble : callable, optional
        From a fitted model, and data that show the categories that it does not tell, to its ensemble.
    as_model : callable, optional
        From a model to one with a predict that takes arrays and tables, by default the model itself.
    gaps : callable, optional
        From a model with one tree to where its missing numbers go, None if it refuses them, as by default.
    guard : callable, optional
        From a model to the relative error of an oblique split's sum, by default 0: it adds as a Tree does.
    categories : callable, optional
        From a model and data to the categories by column, in the order of their codes; by default there are none.
    inputs : callable, optional
        From a model, rows of numbers and category codes, and data to what predict takes, by default the rows.
    """

    classes: tuple[tuple[str, tuple[str, ...]], ...]
    is_ensemble: Callable[[Any], bool] = lambda model: False
    tree: Callable[[Any], Tree] = _no_tree
    ensemble: Callable[[Any, Any], Ensemble] = no_ensemble
    as_model: Callable[[Any], Any] = lambda model: model
    gaps: Callable[[Any], Gaps | None] = lambda model: None
    guard: Callable[[Any], float] = lambda model: 0.0
    categories: Callable[[Any, Any], dict[int, list[Any]]] = lambda model, data: {}
    inputs: Callable[[Any, Any, Any], Any] = lambda model, rows, data: rows

    def reads(self, model: Any) -> bool:
        """Return whether a model is of one of the classes."""
        for prefix, names in self.classes:
            for c in type(model).__mro__:
                if c.__module__.startswith(prefix) and (c.__name__ in names or (not names and hasattr(model, "predict"))):
                    return True
        return False
