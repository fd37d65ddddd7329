"""Numbers, values and schemas as JSON writes them, and back; floats come back bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal, brief, is_missing
from counterleaf.table.schema import Array, Schema

_WHOLE = 2**63


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value that JSON knows; a missing value as None; a date, which JSON lacks, as ISO text."""
    if is_missing(value) or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value)):
        return None
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def loads(text: Any) -> Any:
    """JSON that every reader reads alike: without NaN and infinity, no name twice in one object.

    Raises
    ------
    TypeError, ValueError, RecursionError
        If it is none.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("an object names something twice")
    return out


def check_whole(values: Any, what: str) -> None:
    """Refuse whole numbers beyond 64 bits: thousands can share one hash, and looking such a number up then takes forever."""
    for value in values:
        if isinstance(value, int) and abs(value) > _WHOLE:
            raise CounterleafError(f"{what} is {brief(value)}; JSON holds text and numbers of 64 bits")


def number_out(value: float) -> float | str:
    """A number; JSON has no word for infinity."""
    return float(value) if math.isfinite(value) else str(float(value))


def numbers_out(array: Array) -> list[float | str]:
    """Numbers, infinite ones as text."""
    return [number_out(value) for value in array.tolist()]


def numbers_in(given: list[Any]) -> Array:
    """The array that ``numbers_out`` wrote."""
    return np.array([float(value) for value in given])


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
