"""Missing numbers in an ensemble: a number x that may be missing has a second variable m, which is 1 where x is missing.

A node that tests x is preceded by one that tests m. Where x is missing, the row goes to the child that the model's route says;
otherwise it goes on to the test of x. The two nodes share that child, so the number of nodes at most doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.model.gaps import Routes

_WEIGHT = 2.0**100  # of a split that separates missing numbers: no margin reaches it
_POINTS = 200
_MOST_NODES = 50_000_000


def expand_ensemble(ensemble: Ensemble, schema: Schema, wider: Schema, routes: Routes) -> tuple[Ensemble, Array]:
    """Return the ensemble with gaps, and the node of the old one behind each node, see ``expand_model``."""
    gaps = sorted(wider.index(name) for name in wider.gaps)
    size = ensemble.splits.n_nodes // 2
    _check_routes(ensemble, schema, gaps, routes)
    place = np.full(len(schema) + 1, -1)
    place[gaps] = size + np.arange(len(gaps))  # the new splits
    inner = ensemble.left >= 0
    split = np.where(inner, ensemble.split, 0)
    marker = np.where(inner, place[routes.feature[split]], -1)  # the split that precedes a node
    tested = marker >= 0
    begin = np.arange(len(inner)) + np.append(0, np.cumsum(tested))[:-1]
    total = len(inner) + int(tested.sum())
    if total > _MOST_NODES:
        raise CounterleafError(
            f"the ensemble would need more than {_MOST_NODES:,} nodes for the missing numbers; fill them in first"
        )
    left, right, new_split = (np.full(total, -1) for _ in range(3))
    value = np.zeros((total, ensemble.value.shape[1]))
    at = begin + tested  # the place of each old node
    left[at[inner]], right[at[inner]] = begin[ensemble.left[inner]], begin[ensemble.right[inner]]
    new_split[at[inner]], value[at] = split[inner], ensemble.value
    side = np.where(routes.right[split], ensemble.right, ensemble.left)
    left[begin[tested]], right[begin[tested]] = at[tested], begin[side[tested]]
    new_split[begin[tested]] = marker[tested]
    made = replace(
        ensemble,
        splits=_wider(ensemble, wider, gaps),
        roots=begin[ensemble.roots],
        left=left,
        right=right,
        split=new_split,
        value=value,
        gap_right=None,
        gap_column=None,
    )
    return made, np.repeat(np.arange(len(inner)), 1 + tested)


def _wider(ensemble: Ensemble, wider: Schema, gaps: list[int]) -> Tree:
    """Return the catalogue over the variables of a schema with gaps, with one more split for each gap."""
    old, size = ensemble.splits, ensemble.splits.n_nodes // 2
    markers = wider.starts[gaps] + 1
    moved = np.delete(np.arange(wider.width), markers)  # the variables without the new ones
    rows = np.append(old.weights.rows, size + np.arange(len(gaps)))
    columns = np.append(moved[old.weights.indices], markers)
    data = np.append(old.weights.data, np.full(len(gaps), _WEIGHT))
    bias = np.append(old.bias[:size], np.full(len(gaps), -0.5 * _WEIGHT))
    weights = CSR.from_entries(rows, columns, data, (2 * len(bias) + 1, wider.width))
    return heap(weights, bias, old.closed, old.dtype)


def _check_routes(ensemble: Ensemble, schema: Schema, gaps: list[int], routes: Routes) -> None:
    """Check that every split on a number that may be missing has a route for it."""
    weights = ensemble.splits.weights
    used = np.repeat(np.arange(len(schema)), np.diff(schema.starts))[weights.indices]
    lost = np.isin(used, gaps) & (routes.feature[weights.rows] != used)
    if lost.any():
        name = schema.names[int(used[lost][0])]
        raise CounterleafError(f"feature {name!r} of the row is missing, and the model has no route for that; fill it in first")


def points_with_gaps(ensemble: Ensemble, schema: Schema) -> Array:
    """Return made-up rows, as variables of a schema with gaps: numbers next to cuts, and some of those that may be missing."""
    rng = np.random.default_rng(2)
    variable, _, low, high = cuts(ensemble.splits)
    single = np.diff(ensemble.splits.weights.indptr) == 1
    codes = np.zeros((_POINTS, len(schema)))
    for d, feature in enumerate(schema):
        if not isinstance(feature, Numeric):
            codes[:, d] = rng.permutation(np.arange(_POINTS) % feature.size)
            continue
        here = single & (variable == schema.starts[d])
        edges = np.concatenate([low[here], high[here]])
        edges = edges[np.isfinite(edges)]
        codes[:, d] = rng.choice(edges if len(edges) else np.zeros(1), _POINTS)
        codes[:, d] = np.clip(codes[:, d], *schema.domains.get(feature.name, (-np.inf, np.inf)))
        if feature.name in schema.gaps:
            codes[rng.random(_POINTS) < 0.5, d] = np.nan
    return schema.spread(codes)


def count_in_leaves(ensemble: Ensemble, schema: Schema, routes: Routes | None, codes: Array) -> Array:
    """Return the number of rows that reach each leaf, given their codes; rows without a route do not count."""
    counts = np.zeros(len(ensemble.left), np.int64)
    gappy = np.isnan(codes).any(axis=1)
    whole = codes[~gappy]
    for part in _chunks(whole, ensemble, schema):
        leaves = ensemble.apply(part if schema.numeric else schema.spread(part))
        counts += np.bincount(leaves.ravel(), minlength=len(counts))
    if routes is None or not gappy.any():
        return counts
    missing = np.isnan(codes[gappy])
    refused = np.isin(np.arange(len(schema)), list(routes.refused)) | schema._finite
    missing, lacking = missing[~missing[:, refused].any(axis=1)], codes[gappy][~missing[:, refused].any(axis=1)]
    gaps: Mapping[str, float | None] = {schema.names[d]: 0.0 for d in np.flatnonzero(missing.any(axis=0)).tolist()}
    wider = replace(schema, gaps=gaps)
    expanded, origin = expand_ensemble(ensemble, schema, wider, routes)
    for part in _chunks(lacking, expanded, wider):
        leaves = origin[expanded.apply(wider.spread(part))]
        counts += np.bincount(leaves.ravel(), minlength=len(counts))
    return counts


def _chunks(codes: Array, ensemble: Ensemble, schema: Schema) -> list[Array]:
    size = max(1, (1 << 22) // max(schema.width, ensemble.n_trees))
    return [codes[begin : begin + size] for begin in range(0, len(codes), size)]
