"""Missing numbers that a model routes by itself: where they go, and a model in which being missing is a variable of its own.

A number x that may be missing gets a second variable m, which is 1 where x is missing. A path through the new tree splits on m
before it first tests x. Where x is missing, its tests are resolved; all other splits stay as they are. In an ensemble, a node
that tests m precedes each one that tests x, and shares a child with it, so that the number of nodes at most doubles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, MissingNumbersError
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.shared.leaf_probes import leaf_boxes
from counterleaf.model.readers.shared.probing import agrees, codes_at_cuts
from counterleaf.model.readers.table import gap_routes
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table.features import Categorical, Numeric
from counterleaf.table.frames import columns, is_frame, numbers_of
from counterleaf.table.schema import Schema
from counterleaf.types import Array

Adapter = Any  # a ModelAdapter

_MOST_NODES = 1_000_000  # of a tree
_MOST_OF_TREES = 50_000_000  # nodes of an ensemble
_MOST_CHECKED = 20_000  # leaves of a tree
_POINTS = 200  # rows sent through an ensemble
_NUMBERS = 1 << 22  # variables of the rows that are routed at once
_WEIGHT = 2.0**100  # of a split that splits whether a number is missing: no margin reaches it


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """Where the splits of a tree send rows with a missing number."""

    feature: Array  # (N,) array of int: the feature that a split tests; -1 for a leaf and for a split without a route
    right: Array  # (N,) array of bool: whether a row without that number goes right
    typical: Array  # (F,) array: the number from which a missing one is filled in, such as the median; NaN if it is not known
    refused: Mapping[int, str] = field(default_factory=dict)  # the features without a route, by position, and the reason


def typical_numbers(schema: Schema, data: Any) -> Array:
    """Return the median of each column of the data, NaN where there is none."""
    out = np.full(len(schema), np.nan)
    found = [] if data is None else columns(data)
    by_name = dict(found if is_frame(data) else zip(schema.names, (column for _, column in found), strict=False))
    for d, feature in enumerate(schema):  # the data may hold categories that the schema leaves out
        if isinstance(feature, Numeric) and feature.name in by_name:
            column = numbers_of(by_name[feature.name], feature.name)
            present = np.sort(column[~np.isnan(column)])
            if len(present):
                out[d] = present[(len(present) - 1) // 2]  # a number of the data, not one between two of them
    return out


def with_gaps(schema: Schema, missing: Iterable[str], routes: Routes) -> Schema:
    """Return the schema of a row with missing numbers; features with missing="allowed" may become missing too."""
    gaps: dict[str, float | None] = {
        feature.name: None for feature in schema if isinstance(feature, Numeric) and feature.missing == "allowed"
    }
    for name in missing:
        d = schema.index(name)
        if d in routes.refused:
            raise CounterleafError(routes.refused[d])
        feature = schema.features[d]
        assert isinstance(feature, Numeric)
        low, high = (float(ends[schema.starts[d]]) for ends in schema.bounds())
        typical = float(np.nan_to_num(routes.typical[d]))  # 0 if it is not known
        gaps[name] = feature.nearest(min(max(typical, low), high), low, high)
    return replace(schema, gaps=gaps)


def adapter_with_gaps(adapter: Adapter, missing: Iterable[str]) -> Adapter:
    """Return the adapter of a model for rows with missing numbers; answers may keep these missing or fill them in."""
    if adapter.routes is None:
        raise CounterleafError("the model has no route for missing numbers; fill them in first")
    schema = with_gaps(adapter.schema, missing, adapter.routes)
    tree, origin = expand_model(adapter.tree, adapter.schema, schema, adapter.routes)
    model = tree if adapter.model is adapter.tree else adapter.model
    made = replace(adapter, model=model, schema=schema, tree=tree, routes=None, origin=origin)
    points = _points(tree, schema)
    if model is not tree and len(points):
        rows = made_up_rows(schema, points) if adapter.takes_rows else []
        labels = made.predictions(points, rows)
        if isinstance(tree, Ensemble):
            same = agrees(tree, points, labels, None if adapter.rescale is None else adapter.rescale.outward)
        else:
            expected = tree.predict(points)
            same = bool(np.all(np.isclose(labels, expected, rtol=1e-6) if tree.is_regression else labels == expected))
        if not same:
            raise CounterleafError("the model does not route missing numbers as its tree says; fill them in first")
    return made


def expand_model(
    tree: Tree | Ensemble, schema: Schema, wider: Schema, routes: Routes
) -> tuple[Tree, Array] | tuple[Ensemble, Array]:
    """Return a tree or an ensemble over the variables of a schema with gaps, and the node of the old one behind each node."""
    gaps = sorted(wider.index(name) for name in wider.gaps)
    _check_routes(tree, schema, gaps, routes)
    moved = np.delete(np.arange(wider.width), wider.starts[gaps] + 1)  # the variables without the new ones
    if isinstance(tree, Ensemble):
        return _expanded_ensemble(tree, wider, gaps, moved, routes)
    return _expanded_tree(tree, wider, set(gaps), moved, routes)


def _check_routes(model: Tree | Ensemble, schema: Schema, gaps: list[int], routes: Routes) -> None:
    """Check that no split and no leaf computes with a number that may be missing, except where there is a route for it."""
    of_variable = np.repeat(np.arange(len(schema)), np.diff(schema.starts))
    weights, outputs = model.splits.weights, model.outputs
    used = of_variable[weights.indices]
    lost = np.isin(used, gaps) & (routes.feature[weights.rows] != used)
    computed = of_variable[[] if outputs is None or outputs.slope is None else outputs.slope.indices]
    for d in [*used[lost].tolist(), *computed[np.isin(computed, gaps)].tolist()]:
        why = "the model computes a sum with it" if model.is_one_tree else "the model has no route for that"
        raise CounterleafError(f"feature {schema.names[d]!r} of the row is missing, and {why}; fill it in first")


def count_rows(adapter: Adapter, codes: Array) -> Array:
    """Return the number of rows that reach each leaf of a model's tree; rows that the model cannot read do not count."""
    schema, tree, routes = adapter.schema, adapter.tree, adapter.routes
    by_missing = [len(f.values) if not isinstance(f, Numeric) and f.missing else np.nan for f in schema]
    fills = [schema.fills.get(name, code) for name, code in zip(schema.names, by_missing, strict=True)]
    counts = np.zeros(len(tree.left), np.int64)
    largest = np.finfo(tree.dtype).max
    for start in range(0, len(codes), size := max(1, _NUMBERS // max(schema.width, tree.n_trees))):
        part = codes[start : start + size]
        part = np.where(np.isnan(part), fills, part)
        part = part[(np.isnan(part) | (np.abs(part) <= largest)).all(axis=1)]
        gappy = np.isnan(part).any(axis=1)
        whole = part[~gappy]
        found = [tree.apply(whole if schema.numeric else schema.spread(whole)).ravel()]
        if routes is not None and gappy.any():
            found.append((_routed if tree.is_one_tree else _routed_trees)(tree, schema, routes, part[gappy]))
        counts += np.bincount(np.concatenate(found), minlength=len(counts))
    return counts


def _routed_trees(ensemble: Ensemble, schema: Schema, routes: Routes, codes: Array) -> Array:
    """Return the leaves that some rows with missing numbers reach, without the rows that have no route."""
    refused = np.isin(np.arange(len(schema)), list(routes.refused)) | schema._finite
    codes = codes[~np.isnan(codes[:, refused]).any(axis=1)]
    gaps: dict[str, float | None] = {schema.names[d]: 0.0 for d in np.flatnonzero(np.isnan(codes).any(axis=0)).tolist()}
    wider = replace(schema, gaps=gaps)
    expanded, origin = expand_model(ensemble, schema, wider, routes)
    return np.asarray(origin[expanded.apply(wider.spread(codes))].ravel())


def _routed(tree: Tree, schema: Schema, routes: Routes, codes: Array) -> Array:
    """Return the leaves that some rows with missing numbers reach, without the rows that miss one that a split sums."""
    missing = np.isnan(codes)
    filled = np.where(missing, 0.0, codes)
    rows = filled if schema.numeric else schema.spread(filled)
    feature_of = np.repeat(np.arange(len(schema)), np.diff(schema.starts))
    out, ahead = np.full(len(codes), -1), [(0, np.arange(len(codes)))]
    while ahead:
        node, here = ahead.pop()
        if tree.left[node] < 0:
            out[here] = node
        elif len(here):
            columns, weights = tree.weights.row(node)
            x = rows[np.ix_(here, columns)]
            x = x.astype(np.float32).astype(float) if tree.dtype == "float32" else x
            sums = np.cumsum(np.column_stack([weights * x, np.zeros(len(here))]), axis=1)[:, -1] + tree.bias[node]
            right = (sums > 0) | ((sums == 0) & (tree.closed == "right"))
            lacks = missing[np.ix_(here, feature_of[columns])].any(axis=1)
            right[lacks] = routes.right[node]
            known = ~lacks | (routes.feature[node] >= 0)
            ahead += [(int(tree.right[node]), here[known & right]), (int(tree.left[node]), here[known & ~right])]
    return out[out >= 0]


def _expanded_tree(tree: Tree, wider: Schema, gaps: set[int], moved: Array, routes: Routes) -> tuple[Tree, Array]:
    nodes = list(_walk(tree, gaps, routes))
    origin, gap, left, right = (np.array(part) for part in zip(*nodes, strict=True))
    splits = np.flatnonzero(gap >= 0)
    copied = tree.weights[origin]
    kept = gap[copied.rows] < 0
    rows = np.concatenate([copied.rows[kept], splits])
    columns = np.concatenate([moved[copied.indices[kept]], wider.starts[gap[splits]] + 1])
    data = np.concatenate([copied.data[kept], np.full(len(splits), _WEIGHT)])
    out = replace(
        tree,
        left=left,
        right=right,
        weights=CSR.from_entries(rows, columns, data, (len(origin), wider.width)),
        bias=np.where(gap >= 0, -0.5 * _WEIGHT, tree.bias[origin]),
        value=tree.value[origin],
        outputs=None if tree.outputs is None else _outputs(tree.outputs, origin, moved, wider.width),
    )
    return out, origin


def tree_with_gaps(adapter: Adapter, gaps: Mapping[str, float | None]) -> Tree | Ensemble | None:
    """Return the tree of a model for rows with these gaps, as in ``Schema.gaps``; None if it has no route for them."""
    if not gaps:
        tree: Tree | Ensemble = adapter.tree
        return tree
    if adapter.routes is None or not set(gaps) <= set(adapter.schema.names):
        return None
    return expand_model(adapter.tree, adapter.schema, replace(adapter.schema, gaps=gaps), adapter.routes)[0]


def predict_rows(adapter: Adapter, rows: Iterable[Any]) -> list[Any]:
    """Return what the tree of a model predicts for rows of the table, which may have missing numbers."""
    made: dict[tuple[str, ...], Adapter] = {(): adapter}
    out: list[Any] = []
    for row in rows:
        names: tuple[str, ...] = ()
        try:
            point = adapter.schema.encode(row)
        except MissingNumbersError as error:
            names = error.names
            if adapter.routes is None:
                raise
            if names not in made:
                made[names] = adapter_with_gaps(adapter, names)
            point = made[names].schema.encode(row)
        out.append(made[names].tree.predict(point[None])[0])
    return out


def _outputs(outputs: Outputs, origin: Array, moved: Array, width: int) -> Outputs:
    slope = outputs.slope
    if slope is not None:
        copied = slope[(origin[:, None] * outputs.count + np.arange(outputs.count)).ravel().tolist()]
        slope = CSR(copied.indptr, moved[copied.indices], copied.data, (copied.shape[0], width))
    return Outputs(outputs.kind, outputs.intercept[origin], slope)


def _walk(tree: Tree, gaps: set[int], routes: Routes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the nodes of the new tree in order: the old one, the feature whose gaps it separates (-1 if none), its children."""
    missing: dict[int, bool]
    level: list[tuple[int, dict[int, bool]]] = [(0, {})]  # nodes, and which numbers are known to be missing or not
    made = 1
    while level:
        below: list[tuple[int, dict[int, bool]]] = []
        for start, missing in level:
            node, d = start, int(routes.feature[start])
            while tree.left[node] >= 0 and missing.get(d, False):
                node = int((tree.right if routes.right[node] else tree.left)[node])
                d = int(routes.feature[node])
            if tree.left[node] < 0:
                yield node, -1, -1, -1
                continue
            open_gap = d in gaps and d not in missing
            if open_gap:
                below += [(node, {**missing, d: False}), (node, {**missing, d: True})]
            else:
                below += [(int(tree.left[node]), missing), (int(tree.right[node]), missing)]
            yield node, d if open_gap else -1, made, made + 1
            made += 2
            if made > _MOST_NODES:
                raise CounterleafError(
                    f"the tree would need more than {_MOST_NODES:,} nodes for the missing numbers; fill some of them in first"
                )
        level = below


def _expanded_ensemble(
    ensemble: Ensemble, wider: Schema, gaps: list[int], moved: Array, routes: Routes
) -> tuple[Ensemble, Array]:
    size = ensemble.splits.n_nodes // 2
    place = np.full(len(wider) + 1, -1)
    place[gaps] = size + np.arange(len(gaps))  # the new splits
    inner = ensemble.left >= 0
    split = np.where(inner, ensemble.split, 0)
    marker = np.where(inner, place[routes.feature[split]], -1)  # the split that precedes a node
    tested = marker >= 0
    begin = np.arange(len(inner)) + np.append(0, np.cumsum(tested))[:-1]
    total = len(inner) + int(tested.sum())
    if total > _MOST_OF_TREES:
        raise CounterleafError(
            f"the ensemble would need more than {_MOST_OF_TREES:,} nodes for the missing numbers; fill them in first"
        )
    left, right, new_split = (np.full(total, -1) for _ in range(3))
    value = np.zeros((total, ensemble.value.shape[1]))
    at = begin + tested  # the place of each old node
    left[at[inner]], right[at[inner]] = begin[ensemble.left[inner]], begin[ensemble.right[inner]]
    new_split[at[inner]], value[at] = split[inner], ensemble.value
    side = np.where(routes.right[split], ensemble.right, ensemble.left)
    left[begin[tested]], right[begin[tested]] = at[tested], begin[side[tested]]
    new_split[begin[tested]] = marker[tested]
    old = ensemble.splits
    rows = np.append(old.weights.rows, size + np.arange(len(gaps)))
    columns = np.append(moved[old.weights.indices], wider.starts[gaps] + 1)
    data = np.append(old.weights.data, np.full(len(gaps), _WEIGHT))
    bias = np.append(old.bias[:size], np.full(len(gaps), -0.5 * _WEIGHT))
    weights = CSR.from_entries(rows, columns, data, (2 * len(bias) + 1, wider.width))
    made = replace(
        ensemble,
        splits=heap(weights, bias, old.closed, old.dtype),
        roots=begin[ensemble.roots],
        left=left,
        right=right,
        split=new_split,
        value=value,
        gap_right=None,
        gap_column=None,
    )
    return made, np.repeat(np.arange(len(inner)), 1 + tested)


def _points(model: Any, schema: Schema) -> Array:
    """Return made-up rows, as variables of a schema with gaps.

    They are next to the cuts of an ensemble, and some have gaps. There is one in each of the leaves of a tree that can be
    reached; none if a split is oblique or a leaf linear.
    """
    domains = [schema.domains.get(name, (-np.inf, np.inf)) for name in schema.names]
    if not model.is_one_tree:
        codes = codes_at_cuts(model, schema.features, schema.starts[:-1].tolist(), _POINTS)
        numeric = [isinstance(feature, Numeric) for feature in schema]
        codes[:, numeric] = np.clip(codes, *np.transpose(domains))[:, numeric]
        may_lack = [feature.name in schema.gaps for feature in schema]
        codes[np.random.default_rng(2).random(codes.shape) < np.where(may_lack, 0.5, 0.0)] = np.nan
        return schema.spread(codes)
    lower, upper = np.full(schema.width, -np.inf), np.full(schema.width, np.inf)
    lower[schema.starts[:-1]], upper[schema.starts[:-1]] = np.transpose(domains)
    found: list[Array] = []
    for _, box in islice(leaf_boxes(model), _MOST_CHECKED) if model.is_axis_aligned() else ():
        low, high = lower.copy(), upper.copy()
        for v, (least, most) in box.items():
            low[v], high[v] = max(low[v], least), min(high[v], most)
        if (low <= high).all():
            found.append(np.clip(np.zeros(schema.width), low, high))
    points = np.array(found).reshape(-1, schema.width)
    for d, _ in schema._gaps:
        points[:, schema.starts[d] + 1] = points[:, schema.starts[d] + 1] > 0.5
    return points


def made_up_rows(schema: Schema, points: Array) -> list[dict[str, Any]]:
    """Return rows of the table with these variables."""
    return [
        {
            feature.name: (None if np.isnan(code) else float(code))
            if isinstance(feature, Numeric)
            else (*feature.values, None)[int(code)]
            for feature, code in zip(schema, codes, strict=True)
        }
        for codes in schema.gather(points)
    ]


def read_routes(model: Any, tree: Tree | Ensemble) -> tuple[Array, Array] | None:
    """Return the column that each split of a model tests, and whether a missing number goes right; None without routes.

    The splits of an ensemble are those of its catalogue.
    """
    if isinstance(tree, Ensemble):
        if tree.gap_right is None or tree.gap_column is None:
            return None
        leaves = tree.splits.n_nodes - len(tree.gap_right)
        return np.append(tree.gap_column, np.full(leaves, -1)), np.append(tree.gap_right, np.zeros(leaves, bool))
    found = gap_routes(model)
    return None if found is None or len(found.feature) != tree.n_nodes else (found.feature, found.right)


def by_feature(column: Array, right: Array, schema: Schema, data: Any) -> Routes:
    """Return the routes of missing numbers by feature, given those by column of the model."""
    owner = [
        d if isinstance(feature, Numeric) else -1
        for d, feature in enumerate(schema)
        for _ in range(feature.size if isinstance(feature, Categorical) else 1)
    ]
    return Routes(np.append(owner, -1)[column], right, typical_numbers(schema, data))


def check_allowed(schema: Schema, routes: Routes | None) -> None:
    """Refuse numbers that may be left out if the model has no route for that, or fills them in."""
    for feature in schema:
        if not isinstance(feature, Numeric) or feature.missing != "allowed":
            continue
        routed = routes is not None and schema.index(feature.name) not in routes.refused
        if not routed or feature.name in schema.fills:
            why = "fills it in" if routed else "has no route for a missing number"
            raise CounterleafError(f'feature {feature.name!r} has missing="allowed", but the model {why}; use missing=True')
