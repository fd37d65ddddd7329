"""Threads that share the work of a sweep; the core releases the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from counterleaf.types import Array

_MIN_ROWS = 500  # fewer rows are not worth a thread
_GROUPS_PER_THREAD = 4  # groups of nodes, so that an idle thread finds work


class Workers:
    """A number of threads. Each piece of work writes to separate memory, so the result does not depend on their number."""

    def __init__(self, count: int, pool: ThreadPoolExecutor | None) -> None:
        self.count, self._pool = count, pool

    def run(self, work: Callable[[Any], None], pieces: Sequence[Any]) -> None:
        """Call ``work`` on every piece, in parallel if there are several threads."""
        if self._pool is None or len(pieces) < 2:
            for piece in pieces:
                work(piece)
        else:
            list(self._pool.map(work, pieces))

    def stretches(self, n: int) -> list[tuple[int, int]]:
        """Cut 0 to n - 1 into one stretch per thread, each given by its first index and the index after its last."""
        ends = np.linspace(0, n, min(self.count, max(n // _MIN_ROWS, 1)) + 1).astype(int).tolist()
        return list(pairwise(ends))

    def groups(self, sizes: Array) -> list[Array]:
        """Put the indices of positive sizes, largest first, into groups of about the same total size."""
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        if self.count == 1 or len(order) < 2:
            return [order]
        before = np.cumsum(sizes[order]) - sizes[order]
        group = before * _GROUPS_PER_THREAD * self.count // sizes.sum()
        return np.split(order, np.flatnonzero(np.diff(group)) + 1)


@contextmanager
def start_workers(count: int) -> Iterator[Workers]:
    """Start ``count`` threads for the length of a ``with`` block; a single worker runs in the calling thread."""
    if count == 1:
        yield Workers(1, None)
    else:
        with ThreadPoolExecutor(count) as pool:
            yield Workers(count, pool)
