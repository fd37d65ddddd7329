"""The parts that are missing, handed out as tasks that take about as long as each other, by what the first ones took."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator

from counterleaf.audit.parts import PartRecord
from counterleaf.audit.plan import TOGETHER, Plan, Unit

AHEAD = 3  # units per core that are handed out, so that no worker waits for the next one
SECONDS = 5.0  # of a task: long next to what an engine needs to start it, and short next to an audit


class Queue:
    """The missing parts of an audit, for one engine."""

    def __init__(self, plan: Plan, missing: Collection[int], slow: bool) -> None:
        self._left = deque(plan.units(missing, 1 if slow else TOGETHER))
        self._rows, self._seconds = 0, 0.0

    def take(self, number: int, workers: int) -> Iterator[Unit]:
        """Yield further units, as many as there are up to ``number``.

        A unit takes ``SECONDS`` as far as is known; before any part was measured, and where the workers would otherwise have
        nothing to do at the end, it is as small as it can be.
        """
        for _ in range(number):
            if not self._left:
                return
            yield self._next(max(1, len(self._left) // (AHEAD * max(1, workers))))

    def learn(self, records: Iterable[PartRecord]) -> None:
        """Note how long some parts took."""
        for record in records:
            if record.seconds > 0:
                self._rows += record.counts["rows"]
                self._seconds += record.seconds

    def _next(self, most: int) -> Unit:
        wanted = SECONDS * self._rows / self._seconds if self._seconds else 0.0
        first = self._left.popleft()
        if first.sequential:
            return first
        parts, rows = list(first.parts), first.rows
        for _ in range(most - 1):
            if not self._left or self._left[0].sequential or rows + self._left[0].rows > wanted:
                break
            rows += self._left[0].rows
            parts += self._left.popleft().parts
        return Unit(tuple(parts))
