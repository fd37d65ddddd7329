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

from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import Part, Unit
from counterleaf.audit.reading.source import Content

_AHEAD = 2  # units, or parts of a compressed file, per worker that are handed out
_worker: Any = threading.local()


def local(task: Task, units: Iterable[Unit], jobs: int) -> Iterator[PartRecord]:
    """Do units of an audit with several workers, and yield the record of each part that is finished."""
    yield from _run(task, list(units), jobs, _processes if task.is_slow else _threads, _calls)  # threads of Python would wait


def run_units(worker: Any, units: Iterable[Unit], jobs: int, in_processes: bool = True) -> Iterator[Any]:
    """Yield what ``worker.do`` yields for each unit, with several processes or threads."""
    units = list(units)
    yield from _run(worker, units, min(jobs, len(units)), _processes if in_processes else _threads)


def _run(worker: Any, units: list[Unit], jobs: int, workers: Any, calls: Any = None) -> Iterator[Any]:
    if jobs == 1:
        for unit in units:
            yield from worker.do(unit)
        return
    with workers(worker, jobs) as (pool, stop):
        yield from _spread(pool, stop, ((_do, unit) for unit in units) if calls is None else calls(worker, units, jobs), jobs)


def _spread(pool: Executor, stop: Callable[[], None], calls: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Hand out calls, a few at a time, and yield their results."""
    waiting: set[Future[list[Any]]] = set()
    try:
        for call, argument in calls:
            waiting.add(pool.submit(call, argument))
            while len(waiting) >= _AHEAD * jobs:
                yield from _finished(waiting)
        while waiting:
            yield from _finished(waiting)
    except BaseException:
        stop()
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _finished(waiting: set[Future[list[Any]]]) -> Iterator[Any]:
    """Wait until some calls end; yield their results and leave the others."""
    done, left = wait(waiting, return_when=FIRST_COMPLETED)
    waiting.clear()
    waiting.update(left)
    for future in done:
        yield from future.result()


def _calls(task: Task, units: list[Unit], jobs: int) -> Iterator[tuple[Callable[[Any], list[PartRecord]], Any]]:
    """Yield the calls of workers: a unit each, or, for a compressed file, a part that was read here.

    Where rows take long, all parts are read here, so that a row group is decoded once and no worker waits for another. So they
    are with fewer units than workers, such as one large row group.
    """
    for unit in units:
        if unit.sequential or task.is_slow or len(units) < jobs:
            for pair in task.contents(unit):
                yield _finish, pair
        else:
            yield _do, unit


def _do(unit: Unit) -> list[Any]:
    return list(_worker.task.do(unit, _worker.stopped))


def _finish(pair: tuple[Part, Content]) -> list[PartRecord]:
    return [_worker.task.finish(*pair, _worker.stopped)]


def _begin(pickled: bytes, stopped: Callable[[], bool] = lambda: False) -> None:
    """Prepare a worker: it has its own copy of the task, since caches are not shared between threads."""
    _worker.task, _worker.stopped = pickle.loads(pickled), stopped


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
def _processes(task: Any, jobs: int) -> Iterator[tuple[Executor, Callable[[], None]]]:
    """Yield worker processes, and the function that stops them."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin_process, (pickle.dumps(task),)) as processes:

        def terminate() -> None:
            for process in list((processes._processes or {}).values()):
                process.terminate()

        yield processes, terminate


@contextlib.contextmanager
def _threads(task: Any, jobs: int) -> Iterator[tuple[Executor, Callable[[], None]]]:
    """Yield worker threads, and the function that stops them, after the batch of rows that each of them works on."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "audit", _begin, (pickle.dumps(task), stop.is_set)) as threads:
        yield threads, stop.set
