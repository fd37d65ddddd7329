"""Rows of random tables as numbers: one code per cell, the columns of the tree, and the points of a grid."""

import functools
from fractions import Fraction

import numpy as np

import counterleaf as cl


@functools.lru_cache(100_000)
def on(feature, count):
    """That many steps of a grid, as the float64 nearest to the decimal."""
    return float(Fraction(int(count)) * feature.grid)


def codes_of(schema, rows):
    """(n, F) one number per cell of rows given as dicts: a number itself, or the place of a value."""
    return np.array(
        [[row[f.name] if isinstance(f, cl.Numeric) else f.values.index(row[f.name]) for f in schema] for row in rows], float
    )


def row_of(schema, codes):
    """The dict of one vector of codes; whole numbers as int."""
    out = {}
    for feature, code in zip(schema, codes.tolist(), strict=True):
        number = int(code) if isinstance(feature, cl.Numeric) and feature.integer else code
        out[feature.name] = number if isinstance(feature, cl.Numeric) else feature.values[int(code)]
    return out


def columns(schema, codes):
    """(n, C) the tree's columns of (n, F) codes: one per number, ordered or yes-or-no feature, one 0/1 per category."""
    blocks = [
        codes[:, d, None] == np.arange(len(f.values)) if isinstance(f, cl.Categorical) else codes[:, d, None]
        for d, f in enumerate(schema)
    ]
    return np.hstack(blocks).astype(float)


def place(schema, name):
    """(feature, value) of a term of ``linear``: the value is None where the term is the feature's number."""
    if name in schema.names:
        return schema.names.index(name), None
    feature, value = name.split("=")
    d = schema.names.index(feature)
    return d, [str(v) for v in schema.features[d].values].index(value)


def within(feature, count):
    """The nearest number of steps inside the bounds of a grid."""
    while on(feature, count) < feature.lower:
        count += 1
    while on(feature, count) > feature.upper:
        count -= 1
    return count


def values_of(feature, at):
    """Every value that a bounded grid, or any finite feature, can take from ``at``, as codes."""
    if not isinstance(feature, cl.Numeric):
        return np.arange(len(feature.values), dtype=float)
    if feature.values is not None:
        return np.array(sorted({at, *feature.values}))
    low, high = (round(end / float(feature.grid)) for end in (feature.lower, feature.upper))
    out = [on(feature, k) for k in range(low - 1, high + 2)]
    return np.array(sorted({at, *(x for x in out if feature.lower <= x <= feature.upper)}))
