"""A line on stderr where the first call of a kind has to wait for its kernels to be compiled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba

_FAMILIES = {
    "numbers": ("its kernels", "about a minute"),
    "boxes": ("those for many rows", "a few seconds"),
    "coupled": ("those for quadratic costs", "up to half a minute"),
    "tables": ("those for tables", "a minute or more"),
    "learning": ("those that learn trees", "up to half a minute"),
}
_used: set[tuple[str, bool]] = set()  # the families that this process has used


def announce(family: str, variant: bool = False) -> threading.Timer | None:
    """Say so if a first call takes that long; the caller cancels the timer when it is through."""
    if (family, variant) in _used or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # made when numba is imported
        return None
    _used.add((family, variant))
    what, long = _FAMILIES[family]
    text = f"counterleaf: compiling {what}, once on this machine; this takes {long}\n"
    timer = threading.Timer(1.5, lambda: sys.stderr.write(text))
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def announced(family: str, variant: bool = False) -> Iterator[None]:
    """The same about a call that is made within."""
    timer = announce(family, variant)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
