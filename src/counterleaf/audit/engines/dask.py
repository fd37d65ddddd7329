"""The parts of an audit as tasks of Dask."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from counterleaf.audit.engines.work import AHEAD, ENVIRONMENT, RETRIES, Queue, ship, work
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.errors import CounterleafError, flat, not_installed


def dask(task: Task, queue: Queue, jobs: int, address: str | None) -> Iterator[PartRecord]:
    """Do the parts of an audit as tasks of Dask, and yield the record of each part that is finished."""
    with _client(jobs, address) as client:
        from dask import config
        from dask.distributed import as_completed
        from distributed.scheduler import KilledWorker

        with config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):  # the model is sent to a worker once
            payload = client.submit(bytes, ship(task), pure=False)  # a task, so that it can be made again where a worker dies

        def submit(number: int, cores: int) -> list[Any]:
            return [client.submit(work, payload, unit, pure=False) for unit in queue.take(number, cores)]

        cores = max(1, sum(client.nthreads().values()))
        futures = as_completed(submit(AHEAD * cores, cores))
        try:
            for future in futures:
                try:
                    report = future.result()
                except KilledWorker:
                    raise CounterleafError(f"Dask gave up on a part after {RETRIES} workers died on it") from None
                queue.learn(report.checked())
                futures.update(submit(1, cores))
                yield from report.checked()
        finally:
            client.cancel(list(futures.futures))


@contextlib.contextmanager
def _client(jobs: int, address: str | None) -> Iterator[Any]:
    """Yield the client of this process, or connect to a scheduler, or start workers on this machine."""
    try:
        from dask import config
        from dask.distributed import Client, LocalCluster, default_client
    except ImportError:
        raise not_installed("--engine dask", "dask[dataframe,distributed]") from None
    with contextlib.ExitStack() as stack:
        if address is not None:
            try:
                client = stack.enter_context(Client(address))
            except (OSError, ValueError) as error:
                raise CounterleafError(f"no Dask scheduler answers at {address} ({flat(error)})") from None
            yield client
            return
        try:
            client = default_client()
        except ValueError:  # there is none
            environment = {**config.get("distributed.nanny.pre-spawn-environ"), **ENVIRONMENT}
            settings = {"scheduler.allowed-failures": RETRIES - 1, "nanny.pre-spawn-environ": environment}
            stack.enter_context(config.set({f"distributed.{name}": value for name, value in settings.items()}))
            with _without_interrupts():
                cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        yield client


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl-C, which reaches them as well: this process stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
