"""What a long search has found so far, on stderr, shown only on a terminal and only once it has taken a while."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from counterleaf import _core

_DELAY, _PAUSE = 1.0, 0.25  # seconds before the first line, and between two of them
_quiet: ContextVar[bool] = ContextVar("counterleaf_quiet", default=False)


@contextmanager
def unwatched() -> Iterator[None]:
    """Show nothing about the searches in this block."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


@contextmanager
def watched() -> Iterator[_core.ForestProgress | None]:
    """Yield what a search reports to while a thread shows it; None if nothing is to be shown."""
    if _quiet.get() or not sys.stderr.isatty() or threading.current_thread() is not threading.main_thread():
        yield None
        return
    progress, ended = _core.ForestProgress(), threading.Event()

    def show() -> None:
        written = 0
        if ended.wait(_DELAY):
            return
        while not ended.wait(_PAUSE):
            line = described(progress.cost, progress.lower_bound, progress.nodes)
            sys.stderr.write("\r" + line.ljust(written))
            sys.stderr.flush()
            written = len(line)
        sys.stderr.write("\r" + " " * written + "\r")
        sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        ended.set()
        thread.join()


def described(cost: float, lower_bound: float, boxes: int) -> str:
    """Return the state of a search in words."""
    best = f"best cost {cost:.4g}" if cost < math.inf else "no row yet"
    bound = f", none below {lower_bound:.4g}" if -math.inf < lower_bound < math.inf else ""
    return f"searching: {best}{bound}{share_above(cost, lower_bound)}, {boxes:,} boxes"


def share_above(cost: float, lower_bound: float) -> str:
    """Return how far a cost is from the cheapest at most, in words; empty if that is not known."""
    if not 0 < lower_bound <= cost < math.inf:
        return ""
    share = 100.0 * (cost / lower_bound - 1.0)
    digits = f"{math.ceil(share)}" if share >= 10 else f"{math.ceil(10 * share) / 10:g}"
    return f", at most {digits} % from the cheapest"
