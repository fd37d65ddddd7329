"""Trees and targets made ready, and kept for the next question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from counterleaf import _core
from counterleaf.question.cost import Prices
from counterleaf.question.lowering import Limits
from counterleaf.question.splits import Splits
from counterleaf.types import Array

Target = dict[int, float]  # class index -> class cost


_T = TypeVar("_T")


_REMEMBERED = 64  # targets, and margins, that are kept ready


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """The tree with one margin: as the proof reads it, and as the core does."""

    splits: Splits
    margin: float
    core: _core.Engine


@dataclass(frozen=True, slots=True, eq=False)
class Aim:
    """What a target makes of the nodes: as the proof reads it, and as the core does."""

    nodes: Array
    core: _core.Target


class Store:
    """A few values by their keys, made when they are first asked for; several threads may ask."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The value of a key; the oldest one leaves when there are too many."""
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
    """The row that a search starts from: as a vector, with the leaf that it reaches and its class."""

    vector: Array
    leaf: int
    label: int


class Run(NamedTuple):
    """One query about one source, ready for the core; ``limits`` is None where there are no constraints."""

    ready: Ready
    aim: Aim
    prices: Prices
    limits: Limits | None

    def find(
        self, source: Source, limits: _core.Limits, patience: _core.Patience, earlier: _core.Answer | None
    ) -> _core.Answer:
        """Run the core's search."""
        return self.ready.core.find(source.vector, source.leaf, self.prices.core, self.aim.core, limits, patience, earlier)
