"""The splits of a tree as short conditions on numbers, categories and levels."""

from __future__ import annotations

import math

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import Inequality, gap_of, inequality, values_right
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import MINUS, number, short
from counterleaf.table.features import MISSING, Boolean, Feature, Finite, Ordinal
from counterleaf.table.schema import Schema
from counterleaf.table.words import date_of, label_of, word
from counterleaf.types import Array

_MOST_TERMS, _MOST_VALUES = 3, 3


def condition(tree: Tree, node: int, schema: Schema, left: bool = False) -> tuple[str, int]:
    """Return a condition in two lines, and the child of the rows that satisfy it: 1 is left, -1 right.

    With ``left``, it is always the left child.
    """
    name = gap_of(tree, node, schema)
    if name is not None:
        label = label_of(schema.features[schema.index(name)])
        return f"{short(label, 24)}\n{'is known' if left else f'is {MISSING}'}", 1 if left else -1
    found = values_right(tree, node, schema)
    if found is not None:
        feature, right = found
        values, side = _values(feature, right, left)
        return f"{short(label_of(feature), 24)}\n{values}", side
    split = inequality(tree, node)
    variables = split.columns
    if split.weights.tolist() != [1.0]:
        return f"{_sum(variables, split.weights, schema)}\n{against(split)}", 1
    return f"{short(_labels(schema)[variables[0]], 24)}\n{against(split, feature=_feature(schema, variables[0]))}", 1


def against(split: Inequality, *, right: bool = False, feature: Feature | None = None) -> str:
    """Return the relation and the threshold that send a row left (or right); a threshold between whole numbers is exact.

    The threshold of a ``feature`` that is a date is a date.
    """
    relation = split.right if right else split.left
    sign = relation.replace("<=", "≤").replace(">=", "≥")
    if getattr(feature, "unit", None) == "date":
        day = date_of(math.floor(split.bound) if relation in ("<=", ">") else math.ceil(split.bound))
        return f"{sign} {day or number(split.bound)}"
    half = (2 * split.bound).is_integer() and abs(split.bound) < 1e7
    return f"{sign} {plain(split.bound).replace('-', MINUS) if half else number(split.bound)}"


def _feature(schema: Schema, variable: int) -> Feature:
    return schema.features[int(np.searchsorted(schema.starts, variable, side="right")) - 1]


def _labels(schema: Schema) -> list[str]:
    """Return the names of the variables with the labels of their features."""
    spans = [schema.variables[schema.span(d)] for d in range(len(schema))]
    return [
        label_of(feature) + name.removeprefix(feature.name)
        for feature, names in zip(schema, spans, strict=True)
        for name in names
    ]


def _values(feature: Finite, right: Array, left: bool) -> tuple[str, int]:
    """Return the values that go to one side, and this side: the one with fewer values, or the left one if ``left``."""
    names = ["no", "yes"] if isinstance(feature, Boolean) else [short(word(value), 18) for value in feature.values]
    names += [MISSING] * feature.missing
    sides = [
        (np.flatnonzero(right == (side < 0)).tolist(), side) for side in ((1,) if left else (1, -1))
    ]  # the places of the values
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
    values = [names[k] for k in places]
    if len(values) > _MOST_VALUES:
        values[_MOST_VALUES - 1 :] = [f"{len(values) - _MOST_VALUES + 1} more"]
    return f"{'is' if len(values) == 1 else 'in'} {', '.join(values)}", side


def _sum(variables: Array, data: Array, schema: Schema) -> str:
    """Return the largest terms of a weighted sum; an ordered feature whose levels have weights 0, w, 2 w, ... is one term."""
    names, weight_of = _labels(schema), dict(zip(variables.tolist(), data.tolist(), strict=True))
    terms = [(names[v], weight) for v, weight in weight_of.items()]
    for d, feature in enumerate(schema):
        if isinstance(feature, Ordinal):
            levels = range(*schema.span(d).indices(schema.width))
            weights = [weight_of.get(v, 0.0) for v in levels]
            step = weights[min(1, len(levels) - 1)]
            if step and weights == [step * k for k in range(len(levels))]:
                place = next(k for k, (name, _) in enumerate(terms) if name == names[levels[1]])
                terms[place : place + len(levels) - 1] = [(label_of(feature), step)]
    largest = sorted(sorted(range(len(terms)), key=lambda k: -abs(terms[k][1]))[:_MOST_TERMS])
    text = ""
    for name, weight in (terms[k] for k in largest):
        size = plain(f"{abs(weight):.2g}") + " "
        size = "" if size == "1 " else size
        sign = (MINUS if weight < 0 else "") if not text else f" {MINUS if weight < 0 else '+'} "
        text += f"{sign}{size}{short(name, 16)}"
    return (text or "0") + " + …" * (len(terms) > _MOST_TERMS)
