"""The splits of a tree in words that agree with the rows: a row is on the side that the text says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.answer.short_numbers import plain
from counterleaf.answer.tree_text import Inequality, gap_of, inequality, values_right
from counterleaf.explorer.session.drawings.plane import names_of
from counterleaf.explorer.session.words import feature_number, one_line_label
from counterleaf.model.cuts import cuts
from counterleaf.plot.canvas import MINUS, short
from counterleaf.plot.trees.conditions import condition
from counterleaf.table.features import MISSING
from counterleaf.table.words import grouped, word
from counterleaf.types import Array

TIMES = "\N{MULTIPLICATION SIGN}"
_MAX_TERMS = 8  # of a weighted sum
_MAX_NAME = 30  # characters of a name, in the drawing
_FEWEST_DIGITS, _MOST_DIGITS = 4, 17  # of a threshold


@dataclass(frozen=True, slots=True)
class Split:
    """A split in words.

    ``holds`` is the condition of the child that is drawn on the left, and ``otherwise`` that of the other child; ``text`` names
    what is compared, and ``branches`` are the rest of the two conditions in short. ``swapped`` means that the child on the left
    is the tree's right one. ``feature`` is -1 for a weighted sum, and ``sums`` are its values for the rows.
    """

    text: list[str]
    branches: tuple[str, str]
    holds: str
    otherwise: str
    swapped: bool
    feature: int
    sums: list[str] | None = None


class Splits:
    """The splits of one tree in words; ``points`` are the rows that the texts have to agree with, as variables."""

    def __init__(self, tree: cl.Tree, schema: cl.Schema, points: Array) -> None:
        self.tree, self.schema, self.points = tree, schema, points
        self.variable, self.reversed, self.low, self.high = cuts(tree)

    def describe(self, node: int) -> Split:
        """One split in words."""
        variables = self.tree.weights.row(node)[0]
        d = int(np.searchsorted(self.schema.starts, variables[0], side="right")) - 1 if len(variables) else -1
        if gap_of(self.tree, node, self.schema) is not None:
            name = one_line_label(self.schema.features[d])
            texts = (f"is {MISSING}", "is known")
            return Split([short(name, _MAX_NAME)], texts, f"{name} {texts[0]}", f"{name} {texts[1]}", True, d)
        found = values_right(self.tree, node, self.schema)
        if found is not None:
            return self._values(node, d, *found)
        if len(variables) == 1 and isinstance(self.schema.features[d], cl.Numeric):
            return self._number(node, d)
        return self._sum(node)

    def _number(self, node: int, d: int) -> Split:
        """A threshold, with the small numbers on the left."""
        feature, variable = self.schema.features[d], int(self.variable[node])
        assert isinstance(feature, cl.Numeric)
        name = one_line_label(feature)
        below, above = self._ends(feature, float(self.low[node]), float(self.high[node]), self.points[:, variable])
        lines = [short(name, _MAX_NAME)]
        return Split(lines, (below, above), f"{name} {below}", f"{name} {above}", bool(self.reversed[node]), d)

    def _ends(self, feature: cl.Numeric, low: float, high: float, values: Array) -> tuple[str, str]:
        """The conditions "≤ a" and "≥ b" with allowed numbers a and b, or "≤ a" and "> a" with as few digits as the rows need.

        ``low`` is the last number on the low side and ``high`` the first on the high side.
        """
        allowed = _neighbours(feature, low, high)
        if allowed is not None and not ((values > allowed[0]) & (values < allowed[1])).any():
            (a, b), sign = allowed, "≥"
        else:
            a = b = shortest(low, high, values)
            sign = ">"
        return f"≤ {feature_number(feature, plain(a))}", f"{sign} {feature_number(feature, plain(b))}"

    def _values(self, node: int, d: int, feature: cl.Feature, right: Array) -> Split:
        text, side = condition(self.tree, node, self.schema)
        label, names = one_line_label(feature), names_of(feature)
        sides = [
            [name for name, goes in zip(names, right.tolist(), strict=True) if goes == way] for way in (side < 0, side > 0)
        ]
        texts = [f"{label} is {' or '.join(values) or 'none'}" for values in sides]
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
        lines = [f"score of {len(set(features.tolist()))} features", f"mostly {short(one_line_label(main), _MAX_NAME)}"]
        branches = f"{left} {bound}", f"{right} {bound}"
        holds, otherwise = (f"{full} {branch}" for branch in branches)
        return Split(lines, branches, holds, otherwise, False, -1, [_sum_text(one, split) for one in sums.tolist()])


def _bound(split: Inequality, sums: Array) -> str:
    return _fewest_digits(split.bound, lambda bound: _agree(sums, bound, split))


def _sum_text(value: float, split: Inequality) -> str:
    """The sum of a row with enough digits to show on which side of the bound it is."""
    return _fewest_digits(value, lambda shown: _agree(np.array([value]), split.bound, split, shown))


def _fewest_digits(value: float, is_enough: Callable[[float], bool]) -> str:
    texts = (plain(f"{value:.{digits}g}") for digits in range(3, _MOST_DIGITS))
    return grouped(next((text for text in texts if is_enough(float(text))), plain(value)))


def terms(columns: Array, weights: Array, names: Sequence[str], most: int) -> list[str]:
    """The terms of a weighted sum, largest first; those beyond ``most`` are counted."""
    largest = np.argsort(-np.abs(weights), kind="stable")[:most]
    lines: list[str] = []
    for k in largest.tolist():
        sign = MINUS if weights[k] < 0 else "+" if lines else ""
        lines.append(f"{sign} {grouped(plain(f'{abs(weights[k]):.3g}'))} {TIMES} {names[int(columns[k])]}".strip())
    more = len(columns) - len(largest)
    return [*lines, *([f"+ {more} more"] if more > 0 else [])]


def variable_labels(schema: cl.Schema) -> list[str]:
    """The variables of a schema by the labels of their features: "age", "job: clerk"."""
    out: list[str] = []
    for d, feature in enumerate(schema):
        names = list(schema.variables[schema.span(d)])
        if isinstance(feature, cl.Numeric):
            out += [one_line_label(feature), *names[1:]]
        else:
            values = [*map(word, feature.values), *([MISSING] * feature.missing)]
            out += [f"{one_line_label(feature)}: {value}" for value in values]
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


def _neighbours(feature: cl.Numeric, low: float, high: float) -> tuple[float, float] | None:
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


def value_text(feature: cl.Feature, code: float) -> str:
    """A value of a feature as text, from its code."""
    if math.isnan(code):
        return MISSING
    return feature_number(feature, plain(code)) if isinstance(feature, cl.Numeric) else [*names_of(feature), MISSING][int(code)]
