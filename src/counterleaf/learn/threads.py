"""Threads that share the work of a sweep; the core releases the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from counterleaf.types import Array

_LEAST = 500  # rows that are worth a thread
_GROUPS = 4  # groups of nodes per thread, so that an idle one finds work


class Crew:
    """Pieces of work side by side. They write to places of their own, so the result does not depend on how many work."""

    def __init__(self, count: int, pool: ThreadPoolExecutor | None) -> None:
        self.count, self._pool = count, pool

    def each(self, work: Callable[[Any], None], pieces: Sequence[Any]) -> None:
        if self._pool is None or len(pieces) < 2:
            for piece in pieces:
                work(piece)
        else:
            list(self._pool.map(work, pieces))

    def stretches(self, n: int) -> list[tuple[int, int]]:
        """0 to n - 1 in as many stretches as there are threads."""
        ends = np.linspace(0, n, min(self.count, max(n // _LEAST, 1)) + 1).astype(int).tolist()
        return list(pairwise(ends))

    def groups(self, sizes: Array) -> list[Array]:
        """The places of what is not empty, largest first, in groups of about the same size."""
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        if self.count == 1 or len(order) < 2:
            return [order]
        before = np.cumsum(sizes[order]) - sizes[order]
        group = before * _GROUPS * self.count // sizes.sum()
        return np.split(order, np.flatnonzero(np.diff(group)) + 1)


@contextmanager
def crew(count: int) -> Iterator[Crew]:
    """One worker works in place."""
    if count == 1:
        yield Crew(1, None)
    else:
        with ThreadPoolExecutor(count) as pool:
            yield Crew(count, pool)
