"""A line on stderr where the first call of a kind has to wait for its kernels to be compiled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
from numba.core import event

_FAMILIES = {
    "numbers": ("the search", "about a minute"),
    "boxes": ("the search for many rows", "a few seconds"),
    "coupled": ("the search for quadratic costs", "up to half a minute"),
    "tables": ("the search for tables", "a minute or more"),
    "learning": ("what learns trees", "up to half a minute"),
}
_COMPILE = "numba:compile"  # not told of kernels that are only loaded
_SOON = 1.5  # seconds
_used: set[tuple[str, bool]] = set()  # the families that this process has used


class Notice(event.Listener):
    """A line that is written once if compiling takes long; whoever waits cancels it when they are through."""

    def __init__(self, text: str) -> None:
        self._timer = threading.Timer(_SOON, lambda: sys.stderr.write(text))
        self._timer.daemon = True
        self._begun = False
        event.register(_COMPILE, self)  # type: ignore[no-untyped-call]  # numba has no types

    def on_start(self, event: object) -> None:
        if not self._begun:
            self._begun = True
            self._timer.start()

    def on_end(self, event: object) -> None:
        pass

    def cancel(self) -> None:
        event.unregister(_COMPILE, self)  # type: ignore[no-untyped-call]  # the same
        self._timer.cancel()


def quiet() -> None:
    """No such line in this process any more."""
    _used.update((family, variant) for family in _FAMILIES for variant in (False, True))


def announce(family: str, variant: bool = False) -> Notice | None:
    """Listen for kernels being compiled in a first call of its kind; the caller cancels the notice when it is through."""
    if (family, variant) in _used or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # made when numba is imported
        return None
    _used.add((family, variant))
    what, long = _FAMILIES[family]
    return Notice(f"counterleaf: compiling {what}, once on this machine; this takes {long}\n")


@contextmanager
def announced(family: str, variant: bool = False) -> Iterator[None]:
    """The same about a call that is made within."""
    notice = announce(family, variant)
    try:
        yield
    finally:
        if notice is not None:
            notice.cancel()
