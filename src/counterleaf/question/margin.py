"""The margin of a question: one number for all splits, or a distance for each feature in its own units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, number
from counterleaf.question.splits import Margin
from counterleaf.table.features import Numeric
from counterleaf.table.frames import by_name
from counterleaf.table.infer import Spreads
from counterleaf.table.schema import Schema


def read_margin(margin: Any, schema: Schema, spreads: Spreads | None) -> Margin:
    """Check a margin: one number, distances by feature, or a percentage of each feature's range in the data, such as "1%".

    The result is one number, or one per feature: 0 for features that have no number.
    """
    margin = by_name(margin)
    if isinstance(margin, str):
        share = _share(margin)
        if spreads is None:
            raise CounterleafError(
                f"margin={brief(margin)} is a share of the range of the data; pass data= to Explainer, or numbers"
            )
        numbers = [isinstance(feature, Numeric) for feature in schema]
        return tuple(np.where(numbers, share * spreads.range, 0.0).tolist())
    if not isinstance(margin, Mapping):
        value = number(margin, "margin")
        if value < 0:
            raise CounterleafError(f"margin is {value}; expected 0 or more")
        return value
    out = [0.0] * len(schema)
    for name, distance in margin.items():
        d = schema.index(name)
        if not isinstance(schema.features[d], Numeric):
            raise CounterleafError(f"margin names feature {schema.names[d]!r}, which is not a number; leave it out")
        out[d] = number(distance, f"the margin of {schema.names[d]!r}")
        if out[d] < 0:
            raise CounterleafError(f"the margin of {schema.names[d]!r} is {brief(distance)}; expected 0 or more")
    return tuple(out)


def _share(text: str) -> float:
    """The share that a percentage stands for."""
    try:
        share = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share < math.inf:
        raise CounterleafError(f'margin is {brief(text)}; expected a number, a dict by feature, or a percentage such as "1%"')
    return share
