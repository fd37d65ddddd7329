"""The model of an answer as JSON and back: its trees, features, spreads, and the accuracy of its sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import content_of, model_in
from counterleaf.packed_arrays import Unpacker, pack
from counterleaf.question.posing import Basis
from counterleaf.storage.explainers import check_splits, guard_in, spreads_in, spreads_out
from counterleaf.storage.problems import Ground
from counterleaf.storage.schemas import schema_in, schema_out

_WHAT = "the answer's JSON"


def ground_of(explainer: Any, row: Any, support: int | None) -> Ground:
    """Return the model of an explainer as it reads a row, with the leaves that ``support=`` leaves out."""
    variant, _ = explainer.located(row)
    basis = Basis(variant.spreads, variant._adapter.guard)
    return Ground(variant.tree, variant.schema, basis, variant._targets.closed(support or 0))


def ground_out(ground: Ground) -> dict[str, Any]:
    """Write a model; the leaves that ``support=`` leaves out are part of it."""
    model, closed = ground.model, sorted(ground.closed)
    shut = {"closed": closed if model.is_one_tree else pack(np.array(closed, np.int64))} if closed else {}
    return {
        **content_of(model),
        "schema": schema_out(ground.schema),
        "spreads": spreads_out(ground.basis.spreads),
        "guard": ground.basis.guard,
        **shut,
    }


def ground_in(content: dict[str, Any], unpacker: Unpacker) -> Ground:
    """Read a model that ``ground_out`` wrote."""
    schema = schema_in(content["schema"])
    model = model_in(content, unpacker)
    if schema.width != model.n_features:
        kind = "a tree" if model.is_one_tree else "an ensemble"
        raise CounterleafError(
            f"{_WHAT} has {schema.width} columns for {kind} of {model.n_features}; write it again with to_json"
        )
    if not model.is_one_tree:
        check_splits(model, schema, _WHAT)
    basis = Basis(spreads_in(content["spreads"], len(schema), "the answer"), guard_in(content["guard"], "the answer"))
    return Ground(model, schema, basis, _closed(content, model, unpacker))


def _closed(content: dict[str, Any], model: Any, unpacker: Unpacker) -> frozenset[int]:
    """The leaves that do not count, checked to be leaves."""
    if "closed" not in content:
        return frozenset()
    shut = content["closed"]
    nodes = list(shut) if model.is_one_tree else unpacker.whole("closed", shut, None).tolist()
    leaves = set(np.flatnonzero(model.left < 0).tolist())
    if not all(type(node) is int and node in leaves for node in nodes):
        raise CounterleafError(f"{_WHAT} leaves out leaves that its model lacks; write it again with to_json")
    return frozenset(nodes)
