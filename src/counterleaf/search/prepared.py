"""Prepared trees and targets, which are remembered for the next question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from counterleaf import _core
from counterleaf.question.constraints.lowering import Limits
from counterleaf.question.query import Query
from counterleaf.question.splits import Splits
from counterleaf.types import Array

Target = dict[int, float]  # class index -> class cost

_T = TypeVar("_T")

_REMEMBERED = 64  # the number of targets, and of margins, that a search remembers


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTree:
    """The tree with one margin, as the proof and as the core read it."""

    splits: Splits
    core: _core.Engine


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTarget:
    """The nodes of a tree with one target, as the proof and as the core read them."""

    nodes: Array
    core: _core.Target


class RecentValues:
    """A small cache for several threads: a value is made when its key is first used, and the oldest one is dropped."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The value of a key, made by ``make`` if it is not in the cache."""
        found = self._made.get(key)
        if found is None:
            found = make()
            with self._lock:
                self._made[key] = found
                while len(self._made) > _REMEMBERED:
                    self._made.pop(next(iter(self._made)))
        made: _T = found
        return made

    def __len__(self) -> int:
        return len(self._made)


class Source(NamedTuple):
    """The row from which a search starts: its vector, the leaf that it reaches, and the index of its class."""

    vector: Array
    leaf: int
    label: int


class Run(NamedTuple):
    """One query about one source, prepared for the proof and for the core."""

    tree: PreparedTree
    target: PreparedTarget
    source: Source
    query: Query
    limits: Limits | None  # None if there are no constraints
    core_limits: _core.Limits

    def find(self, budget: _core.Budget, earlier: _core.Answer | None) -> _core.Answer:
        """Run the core's search."""
        arguments = self.source.vector, self.source.leaf, self.query.prices.core, self.target.core
        return self.tree.core.find(*arguments, self.core_limits, budget, earlier)
