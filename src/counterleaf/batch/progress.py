"""A progress bar on stderr, shown only on a terminal and only once the work has taken a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from counterleaf.errors import check_flag

_DELAY = 1.0  # seconds before a bar is worth showing


@contextmanager
def shown(total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further rows that are done."""
    if not check_flag(wanted, "progress") or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("rows", total=total)
    start = time.monotonic()

    def advance(rows: int) -> None:
        bar.advance(task, rows)
        if not bar.live.is_started and time.monotonic() - start > _DELAY:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()
