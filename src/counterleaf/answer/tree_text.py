"""A learned tree shown to people: its splits as inequalities in the user's columns, as text and as a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.errors import CounterleafError, check_whole_number
from counterleaf.model.readers import read_tree
from counterleaf.model.steps import is_pipeline
from counterleaf.model.tree import Tree
from counterleaf.table.features import MISSING, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    pass

_OF_WEIGHTS, _OF_BOUNDS = 4, 6  # digits in weighted sums: a weight is off by at most 0.05 %


def export_text(
    model: Any,
    feature_names: Any = None,
    *,
    max_depth: int | None = None,
    max_terms: int | None = 5,
    decimals: int | None = None,
) -> str:
    """The splits and leaves of a tree as indented lines; each line says which rows go there.

    Parameters
    ----------
    model : whatever ``read_tree`` takes.
    feature_names : one name per column, or the schema whose variables the columns are, as of ``explainer.tree``: splits over
        the values of one feature are then told by these. By default the names that the model was fitted with, else x0, x1, ...
    max_depth : how many levels of splits are shown; what is below is one line that counts its leaves. None: all.
    max_terms : how many terms of a weighted sum are written, those of the largest weights; the rest is counted. None: all.
    decimals : digits after the point of every number (more where a number would read as 0). None: a cut of one column to the
        precision of float32 in as few digits as that takes; in weighted sums four digits of a weight and six of the cut.

    Raises
    ------
    CounterleafError
        If the model cannot be read or an argument does not fit it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(export_text(DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)))
    |--- petal width (cm) <= 0.8
    |   |--- class: 0
    |--- petal width (cm) > 0.8
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: 1
    |   |--- petal width (cm) > 1.75
    |   |   |--- class: 2
    >>> oblique = Tree([1, -1, -1], [2, -1, -1], [[-0.5, 2, 1], [0] * 3, [0] * 3], [-1.5, 0, 0], [0, 0, 1], ["no", "yes"])
    >>> print(export_text(oblique, ["age", "savings", "hours"], max_terms=2))
    |--- 2*savings + hours + 1 more term < 1.5
    |   |--- class: no
    |--- 2*savings + hours + 1 more term >= 1.5
    |   |--- class: yes
    """
    tree, names = named(model, feature_names)
    for name, value, least in (("max_depth", max_depth, 1), ("max_terms", max_terms, 1), ("decimals", decimals, 0)):
        check_whole_number(name, value, least)
    below = leaf_counts(tree)
    lines = []
    ahead = [(0, 0, "")]  # node, its level, the condition that leads to it
    while ahead:
        node, level, condition = ahead.pop()
        margin = "|   " * level + "|--- "
        if condition:
            lines.append(margin[4:] + condition)
        if tree.left[node] < 0:
            lines.append(f"{margin}class: {one_line(tree.classes[tree.value[node]])}")
        elif level == max_depth:
            lines.append(f"{margin}truncated branch of {below[node]} leaves")
        else:
            told = by_values(tree, node, feature_names) if isinstance(feature_names, Schema) else None
            left, right = told or conditions(inequality(tree, node), names, max_terms, decimals)
            ahead += [(int(tree.right[node]), level + 1, right), (int(tree.left[node]), level + 1, left)]
    return "\n".join(lines)


def looks(tree: Tree, starts: Array) -> Array:
    """(split, feature) of each split and each feature that it looks at; ``starts`` are the first columns of the features."""
    features = np.searchsorted(starts, tree.weights.indices, side="right") - 1
    return np.unique(np.stack([tree.weights.rows, features], axis=1), axis=0)


def named(model: Any, feature_names: Any) -> tuple[Tree, list[str]]:
    """The tree of a model and the names of its columns."""
    if is_pipeline(model):
        raise CounterleafError(
            "the model is a Pipeline, whose tree sees the columns that its steps make: "
            "pass model[-1] with feature_names=model[:-1].get_feature_names_out()"
        )
    tree = read_tree(model)
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    given = given.variables if isinstance(given, Schema) else given
    if given is None:
        return tree, [f"x{k}" for k in range(tree.n_features)]
    if isinstance(given, (str, bytes, Set, Mapping)) or not isinstance(given, Iterable):
        raise CounterleafError(f"feature_names is {given!r}; expected a list of names, one per column of the model, in order")
    names = [one_line(name) for name in given]
    if len(names) != tree.n_features:
        raise CounterleafError(
            f"feature_names has {len(names)} names; the model has {tree.n_features} columns: give one name per column, in order"
        )
    (name, times), *_ = Counter(names).most_common(1)
    if times > 1:
        raise CounterleafError(f"feature_names holds {name!r} {times} times; names must differ to tell the columns apart")
    return tree, names


def one_line(value: Any) -> str:
    """A name or a label as one line of text."""
    return " ".join(str(value).splitlines())


def leaf_counts(tree: Tree) -> Array:
    """How many leaves there are at or below each node."""
    order = [0]
    for node in order:
        if tree.left[node] >= 0:
            order += [int(tree.left[node]), int(tree.right[node])]
    counts = np.ones(tree.n_nodes, np.int64)
    for node in reversed(order):
        if tree.left[node] >= 0:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Inequality:
    """A row goes left if ``weights @ row[columns]`` is ``left`` the bound, right if it is ``right`` the bound.

    A single column has the weight 1.
    """

    columns: Array
    weights: Array
    bound: float
    left: str
    right: str

    @property
    def constant(self) -> int:
        """-1 or 1 if no column counts and every row goes left or right, else 0."""
        if len(self.columns):
            return 0
        return -1 if self.bound > 0 or (self.bound == 0 and self.left == "<=") else 1


def inequality(tree: Tree, node: int) -> Inequality:
    """The split of an inner node, its constant brought to the other side."""
    (columns, weights), bound = tree.weights.row(node), -float(tree.bias[node]) + 0.0
    sides = ("<", ">=") if tree.closed == "right" else ("<=", ">")
    if len(columns) == 1:
        weight = float(weights[0])
        if math.isfinite(bound / weight):
            if weight < 0:  # dividing turns the sides over
                sides = (">", "<=") if tree.closed == "right" else (">=", "<")
            bound, weights = bound / weight, np.ones(1)
    return Inequality(columns, weights, bound, *sides)


def values_right(tree: Tree, node: int, schema: Schema) -> tuple[Finite, Array] | None:
    """Of a split over the values of one feature: that feature, and which of its values go right."""
    variables, weights = tree.weights.row(node)
    features = set((np.searchsorted(schema.starts, variables, side="right") - 1).tolist())
    if len(features) != 1:
        return None
    (d,) = features
    feature = schema.features[d]
    if isinstance(feature, Numeric):
        return None
    score = np.full(feature.size, float(tree.bias[node]))
    score[variables - schema.span(d).start] += weights
    return feature, (score > 0) | ((score == 0) & (tree.closed == "right"))


def by_values(tree: Tree, node: int, schema: Schema) -> tuple[str, str] | None:
    """Which values of a feature go left and which go right, where the split looks at no other."""
    found = values_right(tree, node, schema)
    if found is None:
        return None
    feature, right = found
    names = [one_line(value) for value in feature.values] + [MISSING] * feature.missing
    left_names, right_names = ([name for name, goes in zip(names, right, strict=True) if goes == way] for way in (False, True))
    left, other = (f"{feature.name} is {' or '.join(told) or 'nothing'}" for told in (left_names, right_names))
    return left, other


def conditions(split: Inequality, names: list[str], max_terms: int | None, decimals: int | None) -> tuple[str, str]:
    """Which rows go left and which go right."""
    if split.constant:
        always, never = "always (no column counts)", "never (no column counts)"
        return (always, never) if split.constant < 0 else (never, always)
    largest = np.argsort(-np.abs(split.weights), kind="stable")[:max_terms]
    words = ""
    for k in largest.tolist():
        weight = float(split.weights[k])
        size = "" if abs(weight) == 1 else f"{_written(abs(weight), _OF_WEIGHTS, decimals)}*"
        sign = ("-" if weight < 0 else "") if not words else " - " if weight < 0 else " + "
        words += f"{sign}{size}{names[int(split.columns[k])]}"
    more = len(split.columns) - len(largest)
    if more:
        words += f" + {more} more term{'s' if more > 1 else ''}"
    bound = _written(split.bound, 0 if len(split.columns) == 1 else _OF_BOUNDS, decimals)
    return f"{words} {split.left} {bound}", f"{words} {split.right} {bound}"


def _written(value: float, digits: int, decimals: int | None) -> str:
    """A number with so many decimals, else so many digits, at most those of a float32; 0 digits: those of a float32."""
    if decimals is not None:
        said = f"{value + 0.0:.{decimals}f}"
        return said if float(said) or not value else plain(f"{value:.1g}")
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.float32(value)
    own = plain(str(narrow)) if np.isfinite(narrow) and abs(float(narrow) - value) <= 1e-7 * abs(value) else plain(value)
    return own if not digits else min(own, plain(f"{value:.{digits}g}"), key=len)
