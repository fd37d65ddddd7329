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
