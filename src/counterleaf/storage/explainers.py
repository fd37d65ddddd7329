"""An explainer as JSON and back: the tree over the schema's variables, the schema and the spreads, but not the model.

Version 2 has an ensemble in place of the tree, with compressed arrays; an explainer of a tree is still written as version 1.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, some
from counterleaf.model import gaps
from counterleaf.model.adapter import ModelAdapter, adapt
from counterleaf.model.ensembles.ensemble import Ensemble, content_of, model_in
from counterleaf.model.gaps import Routes
from counterleaf.model.readers.xgboost_trees import is_xgboost, read_xgboost
from counterleaf.model.tree import Tree
from counterleaf.packed_arrays import Unpacker, dumps, pack, plain
from counterleaf.storage.ensembles.splits import check_splits
from counterleaf.storage.schemas import schema_in, schema_out, types_in, types_out
from counterleaf.strict_json import loads
from counterleaf.table.features import Categorical, Numeric
from counterleaf.table.infer import SPREAD_ENDS, SPREADS, Spreads
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_FORMAT, _VERSIONS = "counterleaf-explainer", {1: "tree", 2: "ensemble"}  # and the name of the model
_PARTS = ("schema", "spreads", "guard")  # and "counts" with data, "routes" if the model routes missing numbers
_GUARD = 1e-6  # rounding is far below
_LONGEST = 600  # characters of an error message
_OTHERS = {
    "counterleaf-tree": "a tree alone: pass Explainer(Tree.from_json(text))",
    "counterleaf-ensemble": "an ensemble alone: pass Explainer(Ensemble.from_json(text))",
    "counterleaf-explanation": "an answer: read it with Explanation.from_json(text)",
}


def write(adapter: ModelAdapter, spreads: Spreads | None, counts: Array | None) -> str:
    """The explainer as JSON; refused at once if it could not be read back."""
    try:
        text = dumps(_content(adapter, spreads, counts))
    except (TypeError, ValueError) as error:
        raise CounterleafError(
            f"the explainer contains a value that JSON cannot represent ({error}); "
            f"expected classes and categories of text or numbers"
        ) from None
    read(text)
    return text


def read(text: Any) -> tuple[ModelAdapter, Spreads | None, Array | None]:
    """Read the text that ``write`` wrote; any other text is refused with the reason."""
    if not isinstance(text, (str, bytes)):
        raise CounterleafError(f"an explainer is read from text; got a {type(text).__name__}: pass Path(file).read_text()")
    try:
        content = loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(
            f"not a counterleaf explainer: not valid JSON ({flat(error)}); pass the whole text of to_json, not a file name"
        ) from None
    if is_xgboost(content):
        return _of_xgboost(content), None, None
    found = content.get("format") if isinstance(content, dict) else None
    if found != _FORMAT:
        other = _OTHERS.get(found) if isinstance(found, str) else None
        raise CounterleafError(
            f"this is {other}" if other else f'not a counterleaf explainer: expected an object with "format": "{_FORMAT}"'
        )
    version = content.get("version")
    if type(version) is not int or version not in _VERSIONS:
        raise CounterleafError(
            f"explainer format version {some([version])}; this counterleaf reads versions {' and '.join(map(str, _VERSIONS))}: "
            f"write it again with to_json"
        )
    try:
        return _read(content, Unpacker(len(text), "the explainer's JSON"))
    except CounterleafError as error:
        raise CounterleafError(_cut(flat(error))) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise CounterleafError(
            f"the explainer's JSON lacks or garbles a part ({type(error).__name__}: {_cut(flat(error))}); "
            f"write it again with to_json"
        ) from None


def _of_xgboost(content: Any) -> ModelAdapter:
    """The adapter of a model that XGBoost saved as JSON, with the names and the categories in the file."""
    ensemble, names, categories = read_xgboost(content)
    labels = names or [f"x{d}" for d in range(ensemble.n_features - sum(len(values) - 1 for values in categories.values()))]
    schema = Schema([Categorical(name, categories[d]) if d in categories else Numeric(name) for d, name in enumerate(labels)])
    return adapt(ensemble, None, schema, True)


def _cut(line: str) -> str:
    """An error message without its middle if a file made it too long to read."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def _content(adapter: ModelAdapter, spreads: Spreads | None, counts: Array | None) -> dict[str, Any]:
    if adapter.rescale is not None:
        raise CounterleafError("an explainer of a transformed target has no JSON; explain the model without its transform")
    tree: Any = adapter.tree
    packed, routes = not tree.is_one_tree, adapter.routes
    return {
        "format": _FORMAT,
        "version": 2 if packed else 1,
        **content_of(tree),
        "schema": schema_out(adapter.schema),
        **types_out(adapter.types),
        "spreads": spreads_out(spreads),
        "guard": adapter.guard,
        **({} if counts is None else {"counts": pack(counts) if packed else counts.tolist()}),
        **({} if routes is None else {"routes": _routes_out(routes, packed)}),
    }


def _read(content: dict[str, Any], unpacker: Unpacker) -> tuple[ModelAdapter, Spreads | None, Array | None]:
    name = _VERSIONS[content["version"]]
    model, (features, spread, guard) = {name: content[name]}, (content[part] for part in _PARTS)
    schema = schema_in(features)
    tree: Any = model_in(model, unpacker)
    if tree.n_features != schema.width:
        raise CounterleafError(
            f"the explainer's {name} has {tree.n_features} columns and its features make {schema.width} variables; "
            f"write it again with to_json"
        )
    _check_values(tree, schema)
    if not tree.is_one_tree:
        check_splits(tree, schema, "the explainer's JSON")
    spreads = spreads_in(spread, len(schema), "the explainer")
    routes = _routes_in(content["routes"], tree, schema, unpacker) if "routes" in content else None
    gaps.check_allowed(schema, routes)
    exact = guard_in(guard, "the explainer")
    adapter = ModelAdapter(tree, schema, tree, None, None, exact, routes=routes, types=types_in(content))
    counts = _counts(content["counts"], tree, unpacker) if "counts" in content else None
    again, digests = plain(_content(adapter, spreads, counts)), unpacker.digests(content)
    for part in sorted({*content, *again}):
        if part not in again or not _same(digests.get(part), again[part]):
            raise CounterleafError(
                f"the explainer's JSON has {part!r} in a form that to_json does not write; write it again with to_json"
            )
    json.dumps(again, ensure_ascii=False).encode()  # refuses half a surrogate pair
    return adapter, spreads, counts


def _routes_out(routes: Routes, packed: bool) -> dict[str, Any]:
    return {
        "feature": pack(routes.feature) if packed else routes.feature.tolist(),
        "right": pack(routes.right) if packed else routes.right.astype(int).tolist(),
        "typical": [None if np.isnan(value) else value for value in routes.typical.tolist()],
        "refused": [routes.refused.get(d) for d in range(len(routes.typical))],
    }


def _routes_in(content: Any, tree: Tree | Ensemble, schema: Schema, unpacker: Unpacker) -> Routes:
    """The routes of missing numbers, checked to fit the tree, or the catalogue of an ensemble, and the features."""
    parts = {name: content[name] for name in ("feature", "right")}
    if tree.is_one_tree:
        feature, right = (np.array(part, np.int64) for part in parts.values())
    else:
        feature, right = (unpacker.whole(name, part, tree.splits.n_nodes) for name, part in parts.items())
    typical = np.array([np.nan if value is None else float(value) for value in content["typical"]])
    number = [d for d, one in enumerate(schema) if isinstance(one, Numeric)]
    sound = (
        feature.shape == right.shape == tree.splits.left.shape
        and typical.shape == (len(schema),)
        and np.isin(feature, [-1, *number]).all()
        and np.isin(right, (0, 1)).all()
        and not np.isinf(typical).any()
    )
    if not sound:
        raise CounterleafError("the explainer's routes of missing numbers do not fit its tree; write it again with to_json")
    refused = {d: str(reason) for d, reason in enumerate(content["refused"]) if reason is not None}
    return Routes(feature, right == 1, typical, refused)


def _check_values(tree: Tree | Ensemble, schema: Schema) -> None:
    named = [("a class", tree.classes.tolist())]
    named += [(f"a value of feature {f.name!r}", f.values) for f in schema if not isinstance(f, Numeric)]
    for what, values in named:
        for value in values:
            if not isinstance(value, (str, int, float)):
                raise CounterleafError(f"{what} is {brief(value)}; expected text or numbers")
    unknown = [name for name in schema.fills if name not in schema.names]
    if unknown or not np.isfinite(list(schema.fills.values())).all():
        raise CounterleafError(f"the explainer's fills are {brief(dict(schema.fills))}; expected finite numbers by feature")
    if schema.columns and not set(schema.names) <= set(schema.columns):
        raise CounterleafError(f"the explainer's columns are {some(schema.columns)}; expected every feature among them")


def spreads_out(spreads: Spreads | None) -> dict[str, Any] | None:
    """Write the spreads of the data."""
    return None if spreads is None else {name: getattr(spreads, name).tolist() for name in SPREADS}


def guard_in(content: Any, what: str) -> float:
    """Read the accuracy of a model's sums; ``what`` has it, for messages."""
    if isinstance(content, bool) or not isinstance(content, (int, float)) or not 0 <= content <= _GUARD:
        raise CounterleafError(f"{what}'s guard is {brief(content)}; expected a number from 0 to {_GUARD}")
    return float(content)


def spreads_in(content: Any, size: int, what: str) -> Spreads | None:
    """Read the spreads of a number of features; ``what`` has them, for messages."""
    if content is None:
        return None
    low, high = SPREAD_ENDS
    arrays = [np.array([float(value) for value in content[name]]) for name in SPREADS]
    for name, array in zip(SPREADS, arrays, strict=True):
        if array.shape != (size,) or not ((array > low) & (array <= high)).all():
            raise CounterleafError(
                f"{what}'s spreads have a {name} of {some(array.tolist(), 6)}; expected {size} finite numbers above 0"
            )
    return Spreads(*arrays)


def _counts(content: Any, tree: Tree | Ensemble, unpacker: Unpacker) -> Array:
    """The number of rows at each leaf, checked to fit the tree."""
    counts = np.array(content, np.int64) if tree.is_one_tree else unpacker.whole("counts", content, None)
    if counts.shape != tree.left.shape or (counts < 0).any() or counts[tree.left >= 0].any():
        raise CounterleafError("the explainer's numbers of rows per leaf do not fit its tree; write it again with to_json")
    return counts


def _same(read: Any, written: Any) -> bool:
    """Whether two values are equal; 1 equals 1.0 but not true."""
    if isinstance(written, dict):
        return isinstance(read, dict) and read.keys() == written.keys() and all(_same(read[k], written[k]) for k in written)
    if isinstance(written, list):
        return isinstance(read, list) and len(read) == len(written) and all(map(_same, read, written))
    return isinstance(read, bool) == isinstance(written, bool) and bool(read == written)
