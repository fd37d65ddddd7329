"""Schemas in JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterleaf.errors import brief
from counterleaf.strict_json import check_whole, number_out
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal
from counterleaf.table.schema import Schema


def schema_out(schema: Schema) -> dict[str, Any]:
    """The features in order, and what else a row is read by."""
    return {
        "inferred": schema.inferred,
        "features": [_feature_out(feature) for feature in schema],
        "fills": dict(schema.fills),
        "columns": list(schema.columns),
    }


def schema_in(given: Mapping[str, Any]) -> Schema:
    """The schema that ``schema_out`` wrote; whatever else raises some error, or makes a schema that is written otherwise."""
    fills = {str(name): float(value) for name, value in given["fills"].items()}
    features = [_feature_in(one) for one in given["features"]]
    return Schema(features, bool(given["inferred"]), fills, tuple(map(str, given["columns"])))


def _feature_out(feature: Feature) -> list[Any]:
    if isinstance(feature, Numeric):
        step = None if feature.step is None else float(feature.step)
        return ["number", feature.name, number_out(feature.lower), number_out(feature.upper), bool(feature.integer), step]
    return [type(feature).__name__.lower(), feature.name, list(feature.values), feature.costs, feature.missing]


def _feature_in(given: list[Any]) -> Feature:
    kind, name, *rest = given
    if kind == "number":
        lower, upper, integer, step = rest
        return Numeric(name, float(lower), float(upper), bool(integer), None if step is None else float(step))
    values, costs, missing = rest
    if costs is not None and not (len(costs) == len(values) and all(len(line) == len(values) for line in costs)):
        raise ValueError("a table of costs that is not square")  # before there is one as large as it would have to be
    check_whole(values, f"a value of feature {brief(name)}")
    if kind == "boolean":
        return Boolean(name, costs, bool(missing))
    if kind == "ordinal":
        return Ordinal(name, values, costs, bool(missing))
    return Categorical(name, values, costs, bool(missing))
