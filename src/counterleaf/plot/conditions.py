"""The splits of a tree in few words: numbers against a cut, categories by name, levels by their order."""

from __future__ import annotations

import numpy as np

from counterleaf.features import MISSING, Boolean, Finite, Numeric, Ordinal
from counterleaf.plot.sheet import MINUS, number, short
from counterleaf.schema import Array, Schema
from counterleaf.tree import Tree
from counterleaf.words import word

_MOST_TERMS, _MOST_VALUES = 3, 3


def condition(tree: Tree, node: int, schema: Schema) -> tuple[str, int]:
    """A condition in two lines, and the child that it sends a row to: 1 for the left one, -1 for the right one."""
    w = tree.weights
    at = slice(int(w.indptr[node]), int(w.indptr[node + 1]))
    variables, data, bias = w.indices[at], w.data[at], float(tree.bias[node])
    features = set((np.searchsorted(schema.starts, variables, side="right") - 1).tolist())
    if len(features) == 1:
        (d,) = features
        feature = schema.features[d]
        if not isinstance(feature, Numeric):
            score = np.full(feature.size, bias)
            score[variables - schema.span(d).start] += data
            said, side = _values(feature, (score > 0) | ((score == 0) & (tree.closed == "right")))
            return f"{short(feature.name, 24)}\n{said}", side
    less = ("<", ">") if tree.closed == "right" else ("≤", "≥")
    if len(variables) == 1:
        name = schema.variables[variables[0]]
        return f"{short(name, 24)}\n{less[int(data[0] < 0)]} {number(-bias / float(data[0]))}", 1
    return f"{_sum(variables, data, schema)}\n{less[0]} {number(-bias)}", 1


def _values(feature: Finite, right: Array) -> tuple[str, int]:
    """The values that go to one side, the one that takes fewer words."""
    names = ["no", "yes"] if isinstance(feature, Boolean) else [short(word(value), 18) for value in feature.values]
    names += [MISSING] * feature.missing
    sides = [(np.flatnonzero(right == (side < 0)).tolist(), side) for side in (1, -1)]  # the values of each
    if isinstance(feature, Ordinal):
        last = len(feature.values) - 1
        for places, side in sides:
            if places and places == list(range(len(places))) and places[-1] < last:
                return f"≤ {names[places[-1]]}", side
            if places and places == list(range(places[0], last + 1)) and places[0] > 0:
                return f"≥ {names[places[0]]}", side
    if isinstance(feature, Boolean):
        sides.sort(key=lambda each: 1 not in each[0])  # "is yes" before "is no"
    places, side = min(sides, key=lambda each: len(each[0]) or len(names) + 1)
    if len(places) == len(names):
        return "is anything", side
    told = [names[k] for k in places]
    if len(told) > _MOST_VALUES:
        told[_MOST_VALUES - 1 :] = [f"{len(told) - _MOST_VALUES + 1} more"]
    return f"{'is' if len(told) == 1 else 'in'} {', '.join(told)}", side


def _sum(variables: Array, data: Array, schema: Schema) -> str:
    """The largest terms of a weighted sum; the levels of an ordered feature that count by their place are one term."""
    names, terms = schema.variables, dict(zip(variables.tolist(), data.tolist(), strict=True))
    told = [(names[v], weight) for v, weight in terms.items()]
    for d, feature in enumerate(schema):
        if isinstance(feature, Ordinal):
            own = range(*schema.span(d).indices(schema.width))
            weights = [terms.get(v, 0.0) for v in own]
            step = weights[min(1, len(own) - 1)]
            if step and weights == [step * k for k in range(len(own))]:
                place = next(k for k, (name, _) in enumerate(told) if name == names[own[1]])
                told[place : place + len(own) - 1] = [(feature.name, step)]
    largest = sorted(sorted(range(len(told)), key=lambda k: -abs(told[k][1]))[:_MOST_TERMS])
    said = ""
    for name, weight in (told[k] for k in largest):
        size = "" if abs(weight) == 1 else f"{abs(weight):.2g} "
        sign = (MINUS if weight < 0 else "") if not said else f" {MINUS if weight < 0 else '+'} "
        said += f"{sign}{size}{short(name, 16)}"
    return (said or "0") + " + …" * (len(told) > _MOST_TERMS)
