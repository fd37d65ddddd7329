"""A line on stderr where the first call of a kind has to wait for its kernels to be compiled."""

from __future__ import annotations

import sys
import threading

import numba

_FAMILIES = {
    "numbers": ("the search", "about a minute"),
    "boxes": ("the search for many rows", "a few seconds"),
    "coupled": ("the search for quadratic costs", "up to half a minute"),
    "tables": ("the search for tables", "a minute or more"),
    "learning": ("what learns trees", "up to half a minute"),
}
only_on_terminals = False  # in a notebook, which is none, the line is welcome; from a command it is not
_used: set[tuple[str, bool]] = set()  # the families that this process has used


def announce(family: str, variant: bool = False) -> threading.Timer | None:
    """Say so if a first call takes that long; the caller cancels the timer when it is through."""
    if (family, variant) in _used or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # made when numba is imported
        return None
    _used.add((family, variant))
    if only_on_terminals and not sys.stderr.isatty():
        return None
    what, long = _FAMILIES[family]
    text = f"counterleaf: compiling {what}, once on this machine; this takes {long}\n"
    timer = threading.Timer(1.5, lambda: sys.stderr.write(text))
    timer.daemon = True
    timer.start()
    return timer
