"""Stop a search from another thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterleaf._core import Stop

_current: ContextVar[Stop | None] = ContextVar("counterleaf_stop", default=None)


class StoppedError(Exception):
    """The work was stopped because its result is no longer needed."""


def new_stop() -> Stop:
    """A flag for ``stoppable``, which any thread may set."""
    from counterleaf._core import Stop

    return Stop()


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let another thread stop the searches in this block: soon after ``stop.set()`` they end with the status "limit"."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Stop | None:
    """The flag that stops the searches of this thread; new threads do not inherit it."""
    return _current.get()


def has_ended(until: float) -> bool:
    """Whether a point in time has passed, or the searches of this thread are stopped."""
    stop = current()
    return time.perf_counter() >= until or (stop is not None and stop.is_set())


def raise_if_stopped() -> None:
    """Interrupt work that consists of several searches if the flag of this thread is set."""
    stop = current()
    if stop is not None and stop.is_set():
        raise StoppedError
