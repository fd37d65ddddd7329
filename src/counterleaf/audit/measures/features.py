"""Which features change, in how many rows, and by how much, group by group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from counterleaf.audit.measures.group import QUARTERS, order_statistic
from counterleaf.audit.measures.searches import by_feature
from counterleaf.audit.report.cases import Cases
from counterleaf.audit.report.groups import Grouping
from counterleaf.question.costs.prices import Prices
from counterleaf.question.query import Query
from counterleaf.table.features import MISSING, Feature, Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import describe, word
from counterleaf.types import Array

_LISTED = 3  # new values of a category


class FeatureChanges:
    """The changes of every feature, for any division of the rows."""

    def __init__(self, cases: Cases, schema: Schema) -> None:
        self.cases, self.schema = cases, schema
        self._reached = cases.reached
        self._patterns = cases.patterns[self._reached]
        self._members = np.zeros((len(cases.sets), len(schema)), bool)
        for k, places in enumerate(cases.sets):
            self._members[k, list(places)] = True
        self._used = np.flatnonzero(self._members.any(axis=0)).tolist()

    def lines(self, grouping: Grouping) -> Iterator[dict[str, Any]]:
        """Yield a line for every group and every feature that changes in it, the most frequent features first."""
        codes = grouping.codes[self._reached].astype(np.int64)
        counts = np.zeros((len(grouping), len(self.schema)), np.int64)
        for d in self._used:
            counts[:, d] = np.bincount(codes[self._members[self._patterns, d]], minlength=len(grouping))
        sizes = np.bincount(codes, minlength=len(grouping))
        details = {d: self._details(grouping, d) for d in self._used}
        for g, label in enumerate(grouping.labels):
            for d in sorted(self._used, key=lambda d: (-counts[g, d], d)):
                if counts[g, d]:
                    count = int(counts[g, d])
                    start = {"by": grouping.name, "group": label, "feature": self.schema.names[d], "rows": count}
                    yield {**start, "share": count / int(sizes[g]), **details[d][g]}

    def _details(self, grouping: Grouping, d: int) -> list[dict[str, Any]]:
        """Return the differences or the new values of one feature, for each group."""
        feature, values = self.schema.features[d], self.cases.values.get(d)
        if values is None:
            return [_nothing() for _ in grouping.labels]
        codes = grouping.codes[values.rows]
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(grouping) + 1))
        old, new = values.old[order], values.new[order]
        parts = [slice(ends[g], ends[g + 1]) for g in range(len(grouping))]
        return [_described(feature, old[at], new[at]) for at in parts]


def _nothing() -> dict[str, Any]:
    counts = {"filled": 0, "removed": 0, "increases": 0, "decreases": 0}
    return {**counts, "q25": math.nan, "median": math.nan, "q75": math.nan, "new_values": ""}


def _described(feature: Feature, old: Array, new: Array) -> dict[str, Any]:
    """Return the differences of a number, rows without an old value left out, or the new values of a category."""
    out = _nothing()
    if not isinstance(feature, Numeric):
        out["filled"] = int((np.isnan(old) | (old >= len(feature.values))).sum())
        out["new_values"] = _frequent(feature.values, new)
        return out
    moves = np.sort((new - old)[~np.isnan(old) & ~np.isnan(new)])
    out["filled"], out["removed"] = int(np.isnan(old).sum()), int(np.isnan(new).sum())
    out["increases"], out["decreases"] = int((moves > 0).sum()), int((moves < 0).sum())
    return out | dict(zip(("q25", "median", "q75"), (order_statistic(moves, share) for share in QUARTERS), strict=True))


def _frequent(values: tuple[Any, ...], codes: Array) -> str:
    """Return the most frequent new values in words."""
    counts = Counter(np.where(np.isnan(codes), len(values), codes).astype(np.int64).tolist())
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    texts = [f"{word(values[k]) if k < len(values) else MISSING} ({count:,})" for k, count in most[:_LISTED]]
    rest = sum(count for _, count in most[_LISTED:])
    return ", ".join(texts + [f"others ({rest:,})"] * (rest > 0))


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
        mine = [one.in_words(schema) for one in rules if feature.name in one.features(schema)]
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
