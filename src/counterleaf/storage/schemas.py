"""Schemas as JSON and back."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from counterleaf.errors import brief
from counterleaf.strict_json import check_whole, number_out
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal
from counterleaf.table.row_types import describe_type, restore_type
from counterleaf.table.schema import Schema
from counterleaf.table.words import words_of


def schema_out(schema: Schema) -> dict[str, Any]:
    """Write a schema; the parts that it does not have are left out, as in older files."""
    words = {feature.name: found for feature in schema if (found := words_of(feature))}  # label, unit and description
    return {
        "inferred": schema.inferred,
        "features": [_feature_out(feature) for feature in schema],
        "fills": dict(schema.fills),
        "columns": list(schema.columns),
        **({"domains": {name: list(map(number_out, ends)) for name, ends in schema.domains.items()}} if schema.domains else {}),
        **({"gaps": dict(schema.gaps)} if schema.gaps else {}),
        **({"words": words} if words else {}),
    }


def types_out(types: Mapping[str, Any]) -> dict[str, Any]:
    """Write the dtypes of the columns of a pandas table but float64; those without a description are left out."""
    out = {}
    for name, dtype in types.items():
        with contextlib.suppress(TypeError):
            if str(dtype) != "float64":
                out[name] = describe_type(dtype)
    return {"types": out} if out else {}


def types_in(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the dtypes that ``types_out`` wrote."""
    return {name: restore_type(one) for name, one in content.get("types", {}).items()}


def schema_in(content: Mapping[str, Any]) -> Schema:
    """Read the schema that ``schema_out`` wrote; other content raises an error or gives another schema."""
    fills = {str(name): float(value) for name, value in content["fills"].items()}
    words = content.get("words", {})
    features = [_feature_in(one, words.get(one[1], {})) for one in content["features"]]
    domains = {str(name): (float(low), float(high)) for name, (low, high) in content.get("domains", {}).items()}
    gaps = {str(name): None if value is None else float(value) for name, value in content.get("gaps", {}).items()}
    return Schema(features, bool(content["inferred"]), fills, tuple(map(str, content["columns"])), domains, gaps)


def _feature_out(feature: Feature) -> list[Any]:
    if isinstance(feature, Numeric):
        step = None if feature.step is None else float(feature.step)
        ends = number_out(feature.lower), number_out(feature.upper)
        more = [] if feature.values is None else [feature.missing, list(feature.values)]
        more = more or ([feature.missing] if feature.missing else [])  # left out by default, as in older files
        return ["number", feature.name, *ends, bool(feature.integer), step, *more]
    return [type(feature).__name__.lower(), feature.name, list(feature.values), feature.costs, feature.missing]


def _feature_in(entry: list[Any], words: Mapping[str, Any]) -> Feature:
    kind, name, *rest = entry
    if kind == "number":
        lower, upper, integer, step, *more = rest
        step = None if step is None else float(step)
        return Numeric(name, float(lower), float(upper), bool(integer), step, *more, **words)
    values, costs, missing = rest
    if costs is not None and not (len(costs) == len(values) and all(len(line) == len(values) for line in costs)):
        raise ValueError("a table of costs that is not square")  # before memory is allocated for it
    check_whole(values, f"a value of feature {brief(name)}")
    if kind == "boolean":
        return Boolean(name, costs, bool(missing), **words)
    if kind == "ordinal":
        return Ordinal(name, values, costs, bool(missing), **words)
    return Categorical(name, values, costs, bool(missing), **words)
