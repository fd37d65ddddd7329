"""The searches for all targets of a model: what those over a single tree and those over an ensemble have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Goal, Range, Reached
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate
from counterleaf.question.query import Query, read_goal
from counterleaf.search.prepared import RecentValues, Source
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_FLOAT32 = float(np.finfo(np.float32).max)


class Targets(ABC):
    """The searches for all targets of one model.

    Parameters
    ----------
    tree : Tree or Ensemble
        The model over the variables of the schema.
    schema : Schema
        The features.
    rescale : Rescale or None
        The map from the values of the tree or the ensemble to those of the user's model.
    counts : (N,) array or None
        The number of rows of the data that reach each leaf.
    """

    splits_implications: ClassVar[bool]  # whether every implication is a distinction of cases

    def __init__(self, tree: Tree | Ensemble, schema: Schema, rescale: Any = None, counts: Array | None = None) -> None:
        self.schema, self.rescale, self.counts = schema, rescale, counts
        self._model, self._made, self._labels = tree, RecentValues(), tree.classes.tolist()

    def goal(self, query: Query, source_class: int) -> Goal:
        """The target of a question about a row of some class; values become those of the tree or the ensemble."""
        goal = read_goal(query.question.target, self._model, source_class)
        if self.rescale is None or not isinstance(goal, Range) or goal.output >= 0:
            return goal
        wanted = goal.low, goal.high
        low, high = self._made.get(("outputs", *wanted), lambda: self.rescale.inward(*wanted))
        return Range(goal.output, low, high, self.rescale, wanted)

    def closed(self, support: int) -> frozenset[int]:
        """The leaves that fewer than ``support`` rows of the data reach."""
        if not support:
            return frozenset()
        if self.counts is None:
            raise CounterleafError(
                f"support is {support}, and this explainer does not know how many rows reach each leaf: "
                f"make it with data= and, for a file, write it again with to_json"
            )
        leaves = np.flatnonzero(self._model.left < 0)
        return frozenset(leaves[self.counts[leaves] < support].tolist())

    def encoded(self, row: Any) -> Array:
        """Return a row as variables.

        Raises
        ------
        CounterleafError
            If the row does not fit the schema, or holds a number beyond the range of a model that reads float32.
        """
        vector = self.schema.encode(row)
        if self._model.dtype == "float32" and np.abs(vector).max() > _FLOAT32:
            bad = int(np.abs(vector).argmax())
            raise CounterleafError(
                f"feature {self.schema.variables[bad]!r} of the row is {vector[bad]}; "
                f"the model takes float32, up to {_FLOAT32:.4g}"
            )
        return vector

    def label(self, source: Source, decision: Reached) -> Any:
        """The class of a source, or its value for regression."""
        return decision.labels(source.vector[None])[0] if self._model.is_regression else self._labels[source.label]

    @abstractmethod
    def locate(self, row: Any) -> Source:
        """Encode a row and find its class, and its leaf in a tree; raise as ``encoded`` does."""

    @abstractmethod
    def may_round(self, decision: Any) -> bool:
        """Whether the model may add in another way than its tree or ensemble, and therefore refute an answer."""

    @abstractmethod
    def certify(
        self, source: Source, query: Query, budget: _core.Budget, earlier: _core.Answer | None = None, guard: float = 0.0
    ) -> tuple[Certificate, Any]:
        """Find the cheapest answers for one source, with their proof and the decision that it is about."""
