"""The searches for all targets of a model: what those over a single tree and those over an ensemble have in common."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from counterleaf import _core
from counterleaf.core.stopping import current, has_ended
from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Decision, Goal, Range, ScoreDecision
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.proof.compound import Compound, Round, avoided_by, round_status
from counterleaf.question.constraints.conditions import cases
from counterleaf.question.query import Query, read_goal
from counterleaf.table.schema import Schema
from counterleaf.types import Array

AnyDecision = Decision | ScoreDecision
Solved = tuple[Certificate | Compound, AnyDecision]  # the answers with their proof, and the model's decision that it is about

_FLOAT32 = float(np.finfo(np.float32).max)
_REMEMBERED = 64  # the number of targets, and of margins, that a search remembers
_T = TypeVar("_T")


class RecentValues:
    """A small cache for several threads: a value is made when its key is first used, and the oldest one is dropped."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The value of a key, made by ``make`` if it is not in the cache."""
        made: _T | None = self._made.get(key)
        if made is None:
            made = make()
            with self._lock:
                self._made[key] = made
                while len(self._made) > _REMEMBERED:
                    self._made.pop(next(iter(self._made)))
        return made

    def __len__(self) -> int:
        return len(self._made)


class Source(NamedTuple):
    """The row from which a search starts: its vector, the leaf that it reaches, and the index of its class."""

    vector: Array
    leaf: int
    label: int


class Targets(ABC):
    """The searches for all targets of one model.

    ``rescale`` maps the values of the tree or the ensemble to those of the user's model. ``counts`` has the number of rows of
    the data that reach each leaf.
    """

    splits_implications: ClassVar[bool]  # whether every implication is a distinction of cases

    def __init__(self, tree: Tree | Ensemble, schema: Schema, rescale: Any = None, counts: Array | None = None) -> None:
        self.schema, self.rescale, self.counts = schema, rescale, counts
        self._model, self._made, self._labels = tree, RecentValues(), tree.classes.tolist()

    def solve(
        self,
        source: Source,
        query: Query,
        until: float,
        *,
        keep: bool = False,
        earlier: _core.Answer | None = None,
        guard: float = 0.0,
    ) -> Solved:
        """Find the answers to a query, with one search per case of its constraints and one round per alternative.

        The search stops at the time ``until``. With ``keep`` it can be continued with a larger margin, from its answer as
        ``earlier``. ``guard`` is the least guard of the search, see ``Search``.
        """
        rules = query.constraints
        split = cases(rules, self.schema, source.vector, self.splits_implications) if rules else [()]
        rounds = query.question.apart > 0 and query.count != 1
        if len(split) == 1 and not rounds:
            one = query if split[0] == rules else replace(query, constraints=split[0])
            return self.certify(source, one, _budget(query, until, keep), earlier, guard)
        parts = [replace(query, constraints=case, count=1 if rounds else query.count) for case in split]
        found: list[Round] = []
        decision: AnyDecision | None = None
        while True:
            solved = [self.certify(source, part, _budget(part, until, False), None, guard) for part in parts]
            found.append(tuple(certificate for certificate, _ in solved))
            decision = decision or solved[0][1]
            last = Compound((found[-1],), query.question.apart, 1)
            if not rounds or not last.answers or len(found) == query.count or round_status(found[-1]) is Status.LIMIT:
                break
            avoided = avoided_by(last.owner(0).problem, last.answers[0].row, query.question.apart)
            if not avoided.features or has_ended(until):
                break
            parts = [replace(part, avoided=(*part.avoided, avoided)) for part in parts]
        if len(found) == 1 and len(found[0]) == 1 and query.count == 1:
            return found[0][0], decision
        return Compound(tuple(found), query.question.apart, query.count), decision

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
        """Return a row as variables; refuse one that does not fit, or is beyond the range of a model that reads float32."""
        vector = self.schema.encode(row)
        if self._model.dtype == "float32" and np.abs(vector).max() > _FLOAT32:
            bad = int(np.abs(vector).argmax())
            raise CounterleafError(
                f"feature {self.schema.variables[bad]!r} of the row is {vector[bad]}; "
                f"the model takes float32, up to {_FLOAT32:.4g}"
            )
        return vector

    def label(self, source: Source, decision: AnyDecision) -> Any:
        """The class of a source, or its value for regression."""
        return self._labels[source.label] if self._labels else decision.labels(source.vector[None])[0]

    def refuse(self, query: Query) -> None:  # noqa: B027  # most searches support every question
        """Refuse a cost, a constraint or a number of answers that the search does not support."""

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
        """Find the cheapest answers for one source with a single search, their proof and the decision that it is about."""


def unbounded(schema: Schema, variable: int) -> CounterleafError:
    """Return the error for a cost that keeps decreasing with a variable."""
    return CounterleafError(
        f"the cost is unbounded: it keeps decreasing as feature {schema.variables[variable]!r} moves away from the source; "
        f"bound it with between()"
    )


def _budget(query: Query, until: float, keep: bool) -> _core.Budget:
    left = None if until == math.inf else max(until - time.perf_counter(), 0.0)
    return _core.Budget(query.count, query.question.max_nodes, left, keep, current())
