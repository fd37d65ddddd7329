"""The local engine: threads on this machine, or processes where most of the work is Python's."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from typing import Any

from counterleaf import _core
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import Part, Unit
from counterleaf.audit.reading.source import Content
from counterleaf.core.stopping import stoppable

_AHEAD = 2  # units, or parts of a compressed file, per worker that are handed out
_worker: Any = threading.local()


def local(task: Task, units: Iterable[Unit], jobs: int) -> Iterator[PartRecord]:
    """Do units of an audit with several workers, and yield the record of each part that is finished.

    Parameters
    ----------
    task : Task
        The audit.
    units : iterable of Unit
        The parts that are missing.
    jobs : int
        The number of workers.

    Yields
    ------
    PartRecord
        The parts, in the order in which they are finished.
    """
    if jobs == 1:
        for unit in units:
            yield from task.do(unit)
        return
    with _workers(task, jobs) as (pool, stop):
        waiting: set[Future[list[PartRecord]]] = set()
        try:
            for call, argument in _calls(task, units):
                waiting.add(pool.submit(call, argument))
                while len(waiting) >= _AHEAD * jobs:
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        except BaseException:
            stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _finished(waiting: set[Future[list[PartRecord]]]) -> Iterator[PartRecord]:
    """Wait until some calls end; yield their records and leave the others."""
    done, left = wait(waiting, return_when=FIRST_COMPLETED)
    waiting.clear()
    waiting.update(left)
    for future in done:
        yield from future.result()


def _calls(task: Task, units: Iterable[Unit]) -> Iterator[tuple[Callable[[Any], list[PartRecord]], Any]]:
    """Yield the calls of workers: a unit each, or, for a compressed file, a part that was read here."""
    for unit in units:
        if unit.sequential:
            for pair in task.contents(unit):
                yield _finish, pair
        else:
            yield _do, unit


def _do(unit: Unit) -> list[PartRecord]:
    task, stop = _mine()
    with stoppable(stop):
        return list(task.do(unit))


def _finish(pair: tuple[Part, Content]) -> list[PartRecord]:
    task, stop = _mine()
    with stoppable(stop):
        return [task.finish(*pair)]


def _mine() -> tuple[Task, _core.Stop]:
    return _worker.task, _worker.stop


def _begin(pickled: bytes, stop: _core.Stop | None = None) -> None:
    """Prepare a worker: it has its own copy of the task, since caches are not shared between threads."""
    _worker.task, _worker.stop = pickle.loads(pickled), stop or _core.Stop()


def _begin_process(pickled: bytes) -> None:
    """Prepare a worker process, which ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    _begin(pickled)


@contextlib.contextmanager
def _workers(task: Task, jobs: int) -> Iterator[tuple[Executor, Callable[[], None]]]:
    """Yield workers, and the function that stops them."""
    pickled = pickle.dumps(task)
    if is_slow(task):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, _begin_process, (pickled,)) as processes:

            def terminate() -> None:
                for process in list((processes._processes or {}).values()):
                    process.terminate()

            yield processes, terminate
        return
    stop = _core.Stop()
    with ThreadPoolExecutor(jobs, "audit", _begin, (pickled, stop)) as threads:
        yield threads, stop.set


def is_slow(task: Task) -> bool:
    """Whether most of the work is done in Python, row by row: threads would wait for each other."""
    return task.proofs or not task.step.is_batched
