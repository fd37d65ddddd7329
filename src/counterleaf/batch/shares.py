"""The cost of many answers, feature by feature."""

from __future__ import annotations

import numpy as np

from counterleaf.proof.problem import times
from counterleaf.question.costs.prices import Prices
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array


def costs_by_feature(prices: Prices, schema: Schema, sources: Array, rows: Array) -> Array:
    """Return the cost of the change of each feature: (n, F) for n sources and rows, given as variables.

    A cost that two features have together is divided equally between them, as in ``Problem.shares``.
    """
    at = np.flatnonzero((rows != sources).any(axis=0))
    alone = np.zeros(rows.shape)
    alone[:, at] = prices.separable.at(at).of(rows[:, at] - sources[:, at])
    if prices.coupling is not None:
        change = rows - sources
        alone += change * times(prices.coupling.matrix, change)
    out = alone if schema.numeric else np.add.reduceat(alone, schema.starts[:-1], axis=1)
    finite = [d for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
    for table, d in zip(prices.moves, finite, strict=True):
        span = schema.span(d)
        out[:, d] += table[sources[:, span].argmax(axis=1), rows[:, span].argmax(axis=1)]
    return np.asarray(out + _charges(prices, schema, sources, rows))


def _charges(prices: Prices, schema: Schema, sources: Array, rows: Array) -> Array:
    """Return the charges of the numbers that change, by feature."""
    out = np.zeros((len(rows), len(schema)))
    for d in np.flatnonzero(prices.charges).tolist():
        at = schema.span(d)
        out[:, d] = prices.charges[d] * (rows[:, at] != sources[:, at]).any(axis=1)
    return out


def cost_of(prices: Prices, schema: Schema, sources: Array, rows: Array) -> Array:
    """Return the cost of each row, without class costs."""
    return np.asarray(costs_by_feature(prices, schema, sources, rows).sum(axis=1))


def cost_change(prices: Prices, schema: Schema, sources: Array, rows: Array, others: Array) -> Array:
    """Return how much more the others cost than the rows, which differ from them in numbers only."""
    at = np.flatnonzero((rows != others).any(axis=0))
    separable, from_ = prices.separable.at(at), sources[:, at]
    out = (separable.of(others[:, at] - from_) - separable.of(rows[:, at] - from_)).sum(axis=1)
    if prices.coupling is not None:
        matrix, before, after = prices.coupling.matrix, rows - sources, others - sources
        out += (after * times(matrix, after) - before * times(matrix, before)).sum(axis=1)
    if len(prices.charges):
        out += (_charges(prices, schema, sources, others) - _charges(prices, schema, sources, rows)).sum(axis=1)
    return np.asarray(out)


def shares_of(costs: Array) -> Array:
    """Return the costs of the features as shares of the cost of the row; 0 where nothing costs anything."""
    total = np.abs(costs).sum(axis=1, keepdims=True)
    return np.asarray(costs / np.where(total > 0, total, 1.0))
