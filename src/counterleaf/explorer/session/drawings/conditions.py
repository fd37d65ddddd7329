"""The splits of a tree in words that agree with the rows: a row is on the side that the text says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import Inequality, gap_of, inequality, one_line, values_right
from counterleaf.explorer.session.drawings.numbers import TIMES, label_of, number_text, thousands
from counterleaf.model.cuts import cuts
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import MINUS, short
from counterleaf.plot.trees.conditions import condition
from counterleaf.table.features import MISSING, Boolean, Feature, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.table.words import word
from counterleaf.types import Array

_MAX_TERMS = 8  # of a weighted sum
_MAX_NAME = 30  # characters of a name, in the drawing
_FEWEST_DIGITS, _MOST_DIGITS = 4, 17  # of a threshold


@dataclass(frozen=True, slots=True)
class Split:
    """A split in words.

    ``holds`` is the condition of the child that is drawn on the left, and ``otherwise`` that of the other child; ``lines`` name
    what is compared, and ``branches`` are the rest of the two conditions in short. ``swapped`` means that the child on the left
    is the tree's right one. ``feature`` is -1 for a weighted sum, and ``sums`` are its values for the rows.
    """

    lines: list[str]
    branches: tuple[str, str]
    holds: str
    otherwise: str
    swapped: bool
    feature: int
    sums: list[str] | None = None


class Splits:
    """The splits of one tree in words; ``points`` are the rows that the texts have to agree with, as variables."""

    def __init__(self, tree: Tree, schema: Schema, points: Array) -> None:
        self.tree, self.schema, self.points = tree, schema, points
        self.variable, self.reversed, self.low, self.high = cuts(tree)

    def describe(self, node: int) -> Split:
        """One split in words."""
        variables = self.tree.weights.row(node)[0]
        d = int(np.searchsorted(self.schema.starts, variables[0], side="right")) - 1 if len(variables) else -1
        if gap_of(self.tree, node, self.schema) is not None:
            name = label_of(self.schema.features[d])
            texts = (f"is {MISSING}", "is known")
            return Split([short(name, _MAX_NAME)], texts, f"{name} {texts[0]}", f"{name} {texts[1]}", True, d)
        found = values_right(self.tree, node, self.schema)
        if found is not None:
            return self._values(node, d, *found)
        if len(variables) == 1 and isinstance(self.schema.features[d], Numeric):
            return self._number(node, d)
        return self._sum(node)

    def _number(self, node: int, d: int) -> Split:
        """A threshold, with the small numbers on the left."""
        feature, variable = self.schema.features[d], int(self.variable[node])
        assert isinstance(feature, Numeric)
        name = label_of(feature)
        below, above = self._ends(feature, float(self.low[node]), float(self.high[node]), self.points[:, variable])
        lines = [short(name, _MAX_NAME)]
        return Split(lines, (below, above), f"{name} {below}", f"{name} {above}", bool(self.reversed[node]), d)

    def _ends(self, feature: Numeric, low: float, high: float, values: Array) -> tuple[str, str]:
        """The conditions "≤ a" and "≥ b" with allowed numbers a and b, or "≤ a" and "> a" with as few digits as the rows need.

        ``low`` is the last number on the low side and ``high`` the first on the high side.
        """
        allowed = _neighbours(feature, low, high)
        if allowed is not None and not ((values > allowed[0]) & (values < allowed[1])).any():
            return f"≤ {number_text(feature, allowed[0])}", f"≥ {number_text(feature, allowed[1])}"
        threshold = shortest(low, high, values)
        return f"≤ {number_text(feature, threshold)}", f"> {number_text(feature, threshold)}"

    def _values(self, node: int, d: int, feature: Finite, right: Array) -> Split:
        """The values that go to one side."""
        text, side = condition(self.tree, node, self.schema)
        names = ["no", "yes"] if isinstance(feature, Boolean) else [one_line(word(value)) for value in feature.values]
        names += [MISSING] * feature.missing
        label = label_of(feature)
        texts = [
            f"{label} is {' or '.join(name for name, goes in zip(names, right.tolist(), strict=True) if goes == way) or 'none'}"
            for way in (side < 0, side > 0)
        ]
        branches = text.rpartition("\n")[2], "otherwise"
        return Split([short(label, _MAX_NAME)], branches, texts[0], texts[1], side < 0, d)

    def _sum(self, node: int) -> Split:
        """A weighted sum: in the drawing by its main feature, in full with the largest terms."""
        split = inequality(self.tree, node)
        if split.constant:
            texts = ("every row", "no row") if split.constant < 0 else ("no row", "every row")
            return Split(["no feature"], texts, texts[0], texts[1], False, -1)
        sums = self.points[:, split.columns] @ split.weights
        bound = _bound(split, sums)
        left, right = (sign.replace("<=", "≤").replace(">=", "≥") for sign in (split.left, split.right))
        features = np.searchsorted(self.schema.starts, split.columns, side="right") - 1
        main = self.schema.features[int(features[np.abs(split.weights).argmax()])]
        full = " ".join(terms(split.columns, split.weights, variable_labels(self.schema), _MAX_TERMS))
        lines = [f"score of {len(set(features.tolist()))} features", f"mostly {short(label_of(main), _MAX_NAME)}"]
        branches = f"{left} {bound}", f"{right} {bound}"
        holds, otherwise = (f"{full} {branch}" for branch in branches)
        return Split(lines, branches, holds, otherwise, False, -1, [_sum_text(one, split) for one in sums.tolist()])


def _bound(split: Inequality, sums: Array) -> str:
    """The bound of a weighted sum with as few digits as the rows need."""
    for digits in range(3, _MOST_DIGITS):
        text = plain(f"{split.bound:.{digits}g}")
        if _agree(sums, float(text), split):
            return thousands(text)
    return thousands(plain(split.bound))


def _sum_text(value: float, split: Inequality) -> str:
    """The sum of a row with enough digits to show on which side of the bound it is."""
    for digits in range(3, _MOST_DIGITS):
        text = plain(f"{value:.{digits}g}")
        if _agree(np.array([value]), split.bound, split, float(text)):
            return thousands(text)
    return thousands(plain(value))


def terms(columns: Array, weights: Array, names: Sequence[str], most: int) -> list[str]:
    """The terms of a weighted sum, largest first; those beyond ``most`` are counted."""
    largest = np.argsort(-np.abs(weights), kind="stable")[:most]
    lines: list[str] = []
    for k in largest.tolist():
        sign = MINUS if weights[k] < 0 else "+" if lines else ""
        lines.append(f"{sign} {thousands(plain(f'{abs(weights[k]):.3g}'))} {TIMES} {names[int(columns[k])]}".strip())
    more = len(columns) - len(largest)
    return [*lines, *([f"+ {more} more"] if more > 0 else [])]


def variable_labels(schema: Schema) -> list[str]:
    """The variables of a schema by the labels of their features: "age", "job: clerk"."""
    out: list[str] = []
    for d, feature in enumerate(schema):
        names = list(schema.variables[schema.span(d)])
        if isinstance(feature, Numeric):
            out += [label_of(feature), *names[1:]]
        else:
            values = [*map(word, feature.values), *([MISSING] * feature.missing)]
            out += [f"{label_of(feature)}: {value}" for value in values]
    return out


def shortest(low: float, high: float, values: Array) -> float:
    """A threshold with few digits: the values up to ``low`` are at most the threshold, those from ``high`` on are above it."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return low if math.isfinite(low) else high
    middle = low + (high - low) / 2
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        threshold = float(f"{middle:.{digits}g}")
        if ((values <= threshold) == (values <= low)).all():
            return threshold
    return low


def _neighbours(feature: Numeric, low: float, high: float) -> tuple[float, float] | None:
    """The last allowed number on the low side and the first on the high side; None if there are no such two numbers."""
    if feature.values is not None:
        under, over = ([one for one in feature.values if one <= low], [one for one in feature.values if one >= high])
        return (float(max(under)), float(min(over))) if under and over else None
    if feature.grid is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    step = feature.grid
    last = math.floor(Fraction(low) / step) * step
    return float(last), float(last + step)


def _agree(sums: Array, bound: float, split: Inequality, shown: float | None = None) -> bool:
    """Whether sums, or the one that is shown instead, compare to a bound as they do to that of the split."""
    compare: Any = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[split.left]
    return bool((compare(sums if shown is None else shown, bound) == compare(sums, split.bound)).all())


def value_text(feature: Feature, code: float) -> str:
    """A value of a feature as text, from its code."""
    if math.isnan(code):
        return MISSING
    if isinstance(feature, Numeric):
        return number_text(feature, code)
    if isinstance(feature, Boolean):
        return ("no", "yes", MISSING)[int(code)]
    return one_line((*map(word, feature.values), MISSING)[int(code)])
