"""The parts of an audit as tasks of Ray."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from counterleaf.audit.engines.work import AHEAD, RETRIES, ship, work
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import Unit
from counterleaf.errors import CounterleafError, flat, not_installed


def ray(task: Task, units: Iterable[Unit], jobs: int, address: str | None) -> Iterator[PartRecord]:
    """Do units of an audit as tasks of Ray, and yield the record of each part that is finished.

    Parameters
    ----------
    task : Task
        The audit.
    units : iterable of Unit
        The parts that are missing.
    jobs : int
        The number of workers if Ray runs on this machine.
    address : str or None
        The cluster, such as "auto" or "ray://host:10001"; by default this machine.

    Yields
    ------
    PartRecord
        The parts, in the order in which they are finished.
    """
    with _cluster(jobs, address) as cluster:
        from ray.exceptions import RayError

        call = cluster.remote(max_retries=RETRIES - 1)(work)
        payload, left = cluster.put(ship(task)), iter(units)
        ahead = AHEAD * max(1, int(cluster.cluster_resources().get("CPU", 1)))
        waiting = [call.remote(payload, unit) for unit in islice(left, ahead)]
        try:
            while waiting:
                done, waiting = cluster.wait(waiting)
                waiting += [call.remote(payload, unit) for unit in islice(left, len(done))]
                for report in cluster.get(done):
                    yield from report.checked()
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
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise CounterleafError(f"no Ray answers at {address or 'this machine'} ({flat(error)[:200]})") from None
    try:
        yield cluster
    finally:
        cluster.shutdown()
