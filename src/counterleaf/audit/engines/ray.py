"""The parts of an audit as tasks of Ray."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from counterleaf.audit.engines.work import AHEAD, RETRIES, Queue, ship, work
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.errors import CounterleafError, flat, not_installed


def ray(task: Task, queue: Queue, jobs: int, address: str | None) -> Iterator[PartRecord]:
    """Do the parts of an audit as tasks of Ray, and yield the record of each part that is finished."""
    with _cluster(jobs, address) as cluster:
        from ray.exceptions import RayError

        call = cluster.remote(max_retries=RETRIES - 1)(work)
        payload, cores = cluster.put(ship(task)), max(1, int(cluster.cluster_resources().get("CPU", 1)))
        waiting = [call.remote(payload, unit) for unit in queue.take(AHEAD * cores, cores)]
        try:
            while waiting:
                done, waiting = cluster.wait(waiting)
                reports = [report.checked() for report in cluster.get(done)]
                for records in reports:
                    queue.learn(records)
                waiting += [call.remote(payload, unit) for unit in queue.take(len(done), cores)]
                for records in reports:
                    yield from records
        except RayError as error:
            reason = flat(str(error).strip().splitlines()[0])
            raise CounterleafError(f"Ray stopped the audit ({reason}); the same command continues it") from None
        finally:
            for reference in waiting:
                cluster.cancel(reference, force=True)


@contextlib.contextmanager
def _cluster(jobs: int, address: str | None) -> Iterator[Any]:
    """Yield Ray, connected to the cluster of this process, to another one, or to workers on this machine."""
    try:
        import ray as cluster
    except ImportError:
        raise not_installed("--engine ray", "ray[data]") from None
    if cluster.is_initialized():
        yield cluster
        return
    here: dict[str, Any] = {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    where = here if address is None else {"address": address}
    try:
        cluster.init(**where, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:  # Ray raises a bare Exception where its processes do not start in time
        raise CounterleafError(f"no Ray answers at {address or 'this machine'} ({flat(error)[:200]})") from None
    try:
        yield cluster
    finally:
        cluster.shutdown()
