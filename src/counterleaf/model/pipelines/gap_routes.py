"""Where a pipeline sends rows with a missing number, by sending such rows through its steps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.gaps import Routes, typical_numbers
from counterleaf.model.pipelines.probing import Probe
from counterleaf.table.features import Numeric
from counterleaf.types import Array

_ROWS = 200


def probe_routes(
    probe: Probe,
    splits: Mapping[tuple[int, ...], Array],
    right: Callable[[Array, Array], Any],
    size: int,
    mixes: str,
    routed: bool = True,
) -> Routes:
    """Return the routes of missing numbers through the splits at the end of a pipeline, which has ``size`` nodes.

    ``splits`` are nodes by the columns that they test. ``right`` takes nodes of the same columns and what the model sees in all
    columns, and returns whether it sends the row to the right. ``mixes`` says why a number cannot be missing that a split needs
    together with others; ``routed`` whether the model takes missing numbers.
    """
    names = probe.found.names
    position = {int(start): d for d, start in enumerate(probe.schema.starts)}
    place = [position.get(start, -1) for start in probe.starts]  # the position in the schema of each raw column, -1 if none
    owners: list[set[int]] = [set(raws) for raws in probe.raws]  # the raw columns on which each column of the model depends
    seen, refused = _seen_without(probe, [k for k, f in enumerate(probe.features) if isinstance(f, Numeric) and place[k] >= 0])
    reasons = {place[k]: reason for k, reason in refused.items()}
    usual = probe.encode([probe.usual])[0][0]
    for k, made in seen.items():
        for j in np.flatnonzero((made != usual) & ~(np.isnan(made) & np.isnan(usual))).tolist():
            owners[j].add(k)
    feature, to_right = np.full(size, -1), np.zeros(size, bool)

    def refuse(k: int, reason: str) -> None:
        reasons[place[k]] = f"feature {names[k]!r} of the row is missing, and {reason}; fill it in first"

    for columns, nodes in splits.items():
        used = set().union(*(owners[j] for j in columns))
        if len(used) == 1 and used <= seen.keys():
            (k,) = used
            feature[nodes], to_right[nodes] = place[k], right(nodes, seen[k])
            if not routed and np.isnan(seen[k][list(columns)]).any():
                refuse(k, "the model has no route for that")
        for k in used & seen.keys() if len(used) > 1 else ():
            refuse(k, mixes)
    return Routes(feature, to_right, typical_numbers(probe.schema, probe.data), reasons)


def _seen_without(probe: Probe, numbers: list[int]) -> tuple[dict[int, Array], dict[int, str]]:
    """Return what the model sees where each of the numbers is missing, and why the pipeline fails without the others."""
    seen: dict[int, Array] = {}
    refused: dict[int, str] = {}
    for start in range(0, len(numbers), _ROWS):
        some = numbers[start : start + _ROWS]
        with contextlib.suppress(Exception):  # a step may raise anything, for all rows because of one
            seen.update(zip(some, probe.encode([probe.row(k, None) for k in some])[0], strict=True))
    for k in numbers:
        try:
            seen[k] = seen[k] if k in seen else probe._try(k, None)
        except CounterleafError as error:
            refused[k] = str(error)
    return seen, refused
