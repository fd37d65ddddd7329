"""Where a pipeline sends rows with a missing number, by sending such rows through its steps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.gaps import Routes, typical_numbers
from counterleaf.model.pipelines.probing import Probe
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_ROWS = 200


def probe_routes(
    probe: Probe, columns: list[Array], weights: list[Array], right: Callable[[Any, list[tuple[Any, Array]]], Array]
) -> Routes:
    """Return the routes of missing numbers through the tree at the end of a pipeline."""
    n, schema = len(columns), probe.schema
    found = _Missing(probe)
    place, owners, seen, refused = found.place, found.owners, found.seen, found.refused
    node_feature, node_right = np.full(n, -1), np.zeros(n, bool)
    for i in range(n):
        used = set().union(*(owners[j] for j in columns[i].tolist()))
        if len(used) == 1 and used <= seen.keys():
            (k,) = used
            terms = [(w, seen[k][j]) for j, w in zip(columns[i].tolist(), weights[i].tolist(), strict=True)]
            node_feature[i], node_right[i] = place[k], bool(right(i, terms))
        for k in used & seen.keys() if len(used) > 1 else ():
            found.refuse(k, "the model computes a sum with it")
    return Routes(node_feature, node_right, typical_numbers(schema, probe.data), refused)


def probe_column_routes(probe: Probe, column: Array, right: Callable[[Array, Array], Array], routed: bool) -> Routes:
    """Return the routes of missing numbers through the splits on single columns at the end of a pipeline."""
    found = _Missing(probe)
    feature, to_right = np.full(2 * len(column) + 1, -1), np.zeros(2 * len(column) + 1, bool)
    for j in np.unique(column[column >= 0]).tolist():
        used = found.owners[j]
        if len(used) == 1 and used <= found.seen.keys():
            (k,) = used
            value, which = found.seen[k][j], np.flatnonzero(column == j)
            feature[which], to_right[which] = found.place[k], right(which, np.full(len(which), value))
            if np.isnan(value) and not routed:
                found.refuse(k, "the model has no route for that")
        for k in used & found.seen.keys() if len(used) > 1 else ():
            found.refuse(k, "the steps of the pipeline compute with it")
    return Routes(feature, to_right, typical_numbers(probe.schema, probe.data), found.refused)


class _Missing:
    """What a pipeline makes of rows with one missing number."""

    def __init__(self, probe: Probe) -> None:
        self._names = probe.found.names
        usual, _ = probe.encode([probe.usual])
        position = {int(start): d for d, start in enumerate(probe.schema.starts)}
        # the position in the schema of each raw column, -1 if it has none
        self.place = [position.get(start, -1) for start in probe.starts]
        self.owners: list[set[int]] = [set(raws) for raws in probe.raws]  # those on which each column of the model depends
        self.seen: dict[int, Array] = {}  # what the model sees where a raw column is missing
        self.refused: dict[int, str] = {}  # why the pipeline fails without a feature, by position in the schema
        numbers = [k for k, feature in enumerate(probe.features) if isinstance(feature, Numeric) and self.place[k] >= 0]
        together = _try_together(probe, numbers)
        for k in numbers:
            try:
                seen = self.seen[k] = together[k] if k in together else probe._try(k, None)
            except CounterleafError as error:
                self.refused[self.place[k]] = str(error)
                continue
            for j in np.flatnonzero((seen != usual[0]) & ~(np.isnan(seen) & np.isnan(usual[0]))).tolist():
                self.owners[j].add(k)

    def refuse(self, k: int, reason: str) -> None:
        """Note that a number cannot be missing."""
        self.refused[self.place[k]] = f"feature {self._names[k]!r} of the row is missing, and {reason}; fill it in first"


def _try_together(probe: Probe, numbers: list[int]) -> dict[int, Array]:
    """Return what the tree sees where each of the numbers is missing, of those that can be sent through the steps at once."""
    out: dict[int, Array] = {}
    for start in range(0, len(numbers), _ROWS):
        some = numbers[start : start + _ROWS]
        with contextlib.suppress(Exception):  # a step may raise anything, for all rows because of one
            out.update(zip(some, probe.encode([probe.row(k, None) for k in some])[0], strict=True))
    return out
