"""The part of an engine that runs in a worker: units of an audit, with errors as values."""

from __future__ import annotations

import pickle
import platform
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from counterleaf.audit.files import absolute, place
from counterleaf.audit.finished import finished
from counterleaf.audit.folder import Folder
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import TOGETHER, Plan, Unit
from counterleaf.errors import CounterleafError, flat

RETRIES = 4  # attempts at a unit whose worker dies
# For glibc in workers on this machine: keep the memory of a part for the next one. With the settings of Dask, which return
# memory at once, half of the time goes into new pages.
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 28)}

_ready: Any = threading.local()


@dataclass(frozen=True, slots=True)
class Report:
    """The parts of a unit that are finished, or the reason why one is not: engines wrap an exception in many lines."""

    records: tuple[PartRecord, ...]
    problem: str = ""

    def checked(self) -> tuple[PartRecord, ...]:
        """Return the records."""
        if self.problem:
            raise CounterleafError(self.problem)
        return self.records


def ship(task: Task) -> bytes:
    """Return the pickle of an audit for workers, which may have another working directory."""
    inputs = tuple(replace(source, path=absolute(place(source.path))) for source in task.inputs)
    return pickle.dumps(replace(task, folder=absolute(place(task.folder)), inputs=inputs))


def work(payload: bytes, unit: Unit) -> Report:
    """Do a unit in a worker; parts that an earlier attempt has finished are not done again."""
    try:
        return Report(tuple(_records(_loaded(payload), unit)))
    except (CounterleafError, OSError) as error:
        return Report((), flat(error))


def _loaded(payload: bytes) -> Task:
    """Return the audit of a pickle, which a thread of a worker reads once."""
    if getattr(_ready, "payload", None) != payload:
        _ready.payload, _ready.task = payload, pickle.loads(payload)
    task: Task = _ready.task
    return task


def _records(task: Task, unit: Unit) -> Iterator[PartRecord]:
    folder = Folder(task.folder)
    if not folder.manifest.is_file():
        raise CounterleafError(
            f"worker {platform.node()} does not see {folder.manifest}; put the files and --out where all workers see them"
        )
    missing = []
    for part in unit.parts:
        counts = finished(task, part)
        if counts is None:
            missing.append(part)
        else:
            yield PartRecord(part.number, counts)
    if missing:
        yield from task.do(replace(unit, parts=tuple(missing)))


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
