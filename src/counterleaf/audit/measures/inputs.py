"""The features of the model: whether it uses them, which values they may take, what a change costs, and missing values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.audit.measures.conflicts import by_feature
from counterleaf.question.costs.prices import Prices
from counterleaf.question.query import Query
from counterleaf.report.constraint_words import in_words, named
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words.values import describe


def used_features(model: Any, schema: Schema) -> set[str]:
    """Return the names of the features on which the predictions of a tree or an ensemble can depend."""
    parts, outputs = [model.splits.weights.indices], model.outputs
    if outputs is not None and outputs.slope is not None:
        parts.append(outputs.slope.indices)
    places = np.searchsorted(schema.starts, np.concatenate(parts), side="right") - 1
    return {schema.names[d] for d in set(places.tolist())}


def input_lines(explainer: Any, query: Query, missing: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return a line for each feature of a model."""
    schema, used = explainer.schema, used_features(explainer.tree, explainer.schema)
    rules, lines = by_feature(query.constraints), []
    for d, feature in enumerate(schema):
        mine = [in_words(one, schema) for one in rules if feature.name in named(one, schema)]
        lines.append(
            {
                "feature": feature.name,
                "used": feature.name in used,
                "values": describe(feature),
                "constraints": "; ".join(text.removeprefix(f"{feature.name} ") for text in mine),
                "price": price_words(query.prices, schema, d),
                "missing": missing.get(feature.name, 0),
                "imputed": schema.fills.get(feature.name, math.nan),
            }
        )
    return lines


def price_words(prices: Prices, schema: Schema, d: int) -> str:
    """Return what a change of a feature costs: "1 per 5,809", or "1 for any change" of a category."""
    if not isinstance(schema.features[d], Numeric):
        k = sum(not isinstance(feature, Numeric) for feature in schema.features[:d])
        table = prices.moves[k]
        costs = table[~np.eye(len(table), dtype=bool)]
        low, high = (float(costs.min()), float(costs.max())) if len(costs) else (0.0, 0.0)
        return f"{low:,.4g} for any change" if low == high else f"{low:,.4g} to {high:,.4g}, by the old and the new value"
    v = int(schema.starts[d])
    if prices.coupling is not None and prices.coupling.matrix.indptr[v + 1] > prices.coupling.matrix.indptr[v]:
        return "depends on the changes of other features"
    one, charge = prices.separable, float(prices.charges[d]) if len(prices.charges) else 0.0
    up = _per_unit(float(one.slope_up[v]), float(one.curve_up[v]))
    down = _per_unit(-float(one.slope_down[v]), float(one.curve_down[v]))
    each = up if up == down else f"{up} upwards, {down} downwards"
    return f"{charge:,.4g} for any change, and {each}" if charge else each


def _per_unit(slope: float, curve: float) -> str:
    """Return a price of a number in words: for a linear one, the change that costs 1."""
    if slope == curve == 0:
        return "nothing"
    if curve == 0:
        return f"1 per {_plain(1 / slope)}" if slope > 0 else f"a gain of 1 per {_plain(-1 / slope)}"
    if slope == 0:
        return f"1 for {_plain(1 / math.sqrt(curve))}, growing with the square"
    return f"{slope:,.4g} times the change and {curve:,.4g} times its square"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
