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
    change = rows - sources
    alone = prices.separable.of(change)
    if prices.coupling is not None:
        alone = alone + change * times(prices.coupling.matrix, change)
    out = np.add.reduceat(alone, schema.starts[:-1], axis=1)
    finite = [d for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
    for table, d in zip(prices.moves, finite, strict=True):
        span = schema.span(d)
        out[:, d] += table[sources[:, span].argmax(axis=1), rows[:, span].argmax(axis=1)]
    return np.asarray(out)


def cost_of(prices: Prices, schema: Schema, sources: Array, rows: Array) -> Array:
    """Return the cost of each row, without class costs."""
    return np.asarray(costs_by_feature(prices, schema, sources, rows).sum(axis=1))


def shares_of(costs: Array) -> Array:
    """Return the costs of the features as shares of the cost of the row; 0 where nothing costs anything."""
    total = np.abs(costs).sum(axis=1, keepdims=True)
    return np.asarray(costs / np.where(total > 0, total, 1.0))
