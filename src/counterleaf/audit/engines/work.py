"""The part of an engine that runs in a worker: units of an audit, with errors as values."""

from __future__ import annotations

import pickle
import platform
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from counterleaf.audit.files import absolute, place
from counterleaf.audit.finished import finished
from counterleaf.audit.folder import Folder
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import Unit
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
