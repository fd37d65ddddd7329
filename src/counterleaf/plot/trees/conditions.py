"""The splits of a tree in few words: numbers against a cut, categories by name, levels by their order."""

from __future__ import annotations

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.text import word
from counterleaf.answer.tree_text import Inequality, inequality, values_right
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import MINUS, number, short
from counterleaf.table.features import MISSING, Boolean, Finite, Ordinal
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_MOST_TERMS, _MOST_VALUES = 3, 3


def condition(tree: Tree, node: int, schema: Schema, left: bool = False) -> tuple[str, int]:
    """A condition in two lines, and the child it sends a row to: 1 the left one, always so if ``left``, -1 the right one."""
    found = values_right(tree, node, schema)
    if found is not None:
        feature, right = found
        told, side = _values(feature, right, left)
        return f"{short(feature.name, 24)}\n{told}", side
    split = inequality(tree, node)
    variables = split.columns
    terms = (
        short(schema.variables[variables[0]], 24) if split.weights.tolist() == [1.0] else _sum(variables, split.weights, schema)
    )
    return f"{terms}\n{against(split)}", 1


def against(split: Inequality, *, right: bool = False) -> str:
    """What sends a row left (or right), after the words for its sum; a cut half-way between whole numbers keeps its half."""
    sign = (split.right if right else split.left).replace("<=", "≤").replace(">=", "≥")
    half = (2 * split.bound).is_integer() and abs(split.bound) < 1e7
    return f"{sign} {plain(split.bound).replace('-', MINUS) if half else number(split.bound)}"


def _values(feature: Finite, right: Array, left: bool) -> tuple[str, int]:
    """The values that go to one side, the one that takes fewer words unless it has to be the left one."""
    names = ["no", "yes"] if isinstance(feature, Boolean) else [short(word(value), 18) for value in feature.values]
    names += [MISSING] * feature.missing
    sides = [(np.flatnonzero(right == (side < 0)).tolist(), side) for side in ((1,) if left else (1, -1))]  # the values of each
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
        size = plain(f"{abs(weight):.2g}") + " "
        size = "" if size == "1 " else size
        sign = (MINUS if weight < 0 else "") if not said else f" {MINUS if weight < 0 else '+'} "
        said += f"{sign}{size}{short(name, 16)}"
    return (said or "0") + " + …" * (len(told) > _MOST_TERMS)
