"""Where a pipeline sends rows that lack a number, by sending such rows through its steps."""

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
    """Return the routes of missing numbers through the tree at the end of a pipeline.

    Parameters
    ----------
    probe : Probe
        The steps.
    columns, weights : list of array
        The columns that each split tests, and their weights.
    right : callable
        Takes a node and its terms, (weight, what the tree sees), and returns whether the model sends rows to the right.

    Returns
    -------
    Routes
        The routes. A number is refused if the pipeline fails without it, or if a split needs it together with others.
    """
    n, schema = len(columns), probe.schema
    usual, _ = probe.encode([probe.usual])
    position = {int(start): d for d, start in enumerate(schema.starts)}
    place = [position.get(start, -1) for start in probe.starts]  # of each raw column in the schema
    owners: list[set[int]] = [set(raws) for raws in probe.raws]  # the raw columns on which each column depends
    seen: dict[int, Array] = {}
    refused: dict[int, str] = {}
    numbers = [k for k, feature in enumerate(probe.features) if isinstance(feature, Numeric) and place[k] >= 0]
    together = _try_together(probe, numbers)
    for k in numbers:
        try:
            seen[k] = together[k] if k in together else probe._try(k, None)
        except CounterleafError as error:
            refused[place[k]] = str(error)
            continue
        for j in np.flatnonzero((seen[k] != usual[0]) & ~(np.isnan(seen[k]) & np.isnan(usual[0]))).tolist():
            owners[j].add(k)
    node_feature, node_right = np.full(n, -1), np.zeros(n, bool)
    for i in range(n):
        used = set().union(*(owners[j] for j in columns[i].tolist()))
        if len(used) == 1 and used <= seen.keys():
            (k,) = used
            terms = [(w, seen[k][j]) for j, w in zip(columns[i].tolist(), weights[i].tolist(), strict=True)]
            node_feature[i], node_right[i] = place[k], bool(right(i, terms))
        for k in used & seen.keys() if len(used) > 1 else ():
            name = probe.found.names[k]
            refused[place[k]] = (
                f"feature {name!r} of the row is missing, and the model computes a sum with it; fill it in first"
            )
    return Routes(node_feature, node_right, typical_numbers(schema, probe.data), refused)


def _try_together(probe: Probe, numbers: list[int]) -> dict[int, Array]:
    """Return what the tree sees where each of the numbers is missing, of those that can be sent through the steps at once."""
    out: dict[int, Array] = {}
    for start in range(0, len(numbers), _ROWS):
        some = numbers[start : start + _ROWS]
        with contextlib.suppress(Exception):  # a step may raise anything, for all rows because of one
            out.update(zip(some, probe.encode([probe.row(k, None) for k in some])[0], strict=True))
    return out
