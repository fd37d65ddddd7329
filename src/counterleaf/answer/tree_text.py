"""``export_text``: a tree as text, its splits as inequalities in the columns of the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.answer.short_numbers import plain
from counterleaf.errors import CounterleafError, brief, check_whole_number
from counterleaf.model.adapter import adapt
from counterleaf.model.readers.table import read_tree
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import is_pipeline
from counterleaf.table.features import MISSING, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_WEIGHT_DIGITS, _BOUND_DIGITS = 4, 6  # in weighted sums: a weight is off by at most 0.05 %


def export_text(
    model: Any,
    feature_names: Any = None,
    *,
    max_depth: int | None = None,
    max_terms: int | None = 5,
    decimals: int | None = None,
) -> str:
    """Write the splits and leaves of a tree as indented lines; each line says which rows go there.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A model that ``read_tree`` can read, or a pipeline that ends with one, whose tree is written over raw columns.
    feature_names : list of str or Schema, optional
        One name per column, or the schema whose variables the columns are, as for ``explainer.tree``; splits over the values of
        one feature then name these values. By default the names that the model was fitted with, else x0, x1, ...
    max_depth : int, optional
        The number of levels of splits to show; one line counts the leaves below each. By default all levels.
    max_terms : int or None, default=5
        The number of terms to write in a weighted sum, those of the largest weights; the others are counted. None for all.
    decimals : int, optional
        The number of digits after the decimal point (more for a number that would read as 0). By default, a threshold on one
        column has as few digits as identify its float32 value; in weighted sums, weights have four digits and thresholds six.

    Returns
    -------
    str
        The lines.

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
    >>> from counterleaf.datasets import example_tree
    >>> print(export_text(example_tree(), ["income", "savings"]))
    |--- income + savings < 1
    |   |--- class: no
    |--- income + savings >= 1
    |   |--- class: yes
    """
    tree, names, schema = tree_and_names(model, feature_names)
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
            lines += [margin + line for line in _leaf_lines(tree, node, names, (max_terms, decimals))]
        elif level == max_depth:
            lines.append(f"{margin}truncated branch of {below[node]} leaves")
        else:
            values = None if schema is None else by_values(tree, node, schema)
            left, right = values or conditions(inequality(tree, node), names, max_terms, decimals)
            ahead += [(int(tree.right[node]), level + 1, right), (int(tree.left[node]), level + 1, left)]
    return "\n".join(lines)


def leaf_words(tree: Tree, node: int) -> str:
    """Return what a leaf says, in one or two words: its class or value, or that it is computed."""
    outputs, value = tree.outputs, int(tree.value[node])
    if value >= 0 or outputs is None:
        return one_line(tree.classes[value])
    if outputs.linear[node]:
        return "linear"
    if tree.is_regression:
        return plain(f"{outputs.intercept[node, 0]:.6g}")
    return one_line(tree.classes[int(outputs.intercept[node].argmax())])


def _leaf_lines(tree: Tree, node: int, names: list[str], shown: tuple[int | None, int | None]) -> list[str]:
    """Return a leaf as text: its class or value, and the sums that a linear leaf computes."""
    outputs, words = tree.outputs, leaf_words(tree, node)
    if outputs is None or not outputs.linear[node] or (tree.value[node] >= 0 and outputs.kind != "value"):
        return [f"{'value' if tree.is_regression else 'class'}: {words}"]
    if tree.is_regression:
        return [f"value: {_sum_words(outputs.row(node, 0), names, *shown)}"]
    sums = [_sum_words(outputs.row(node, k), names, *shown) for k in range(outputs.count)]
    return [
        "class: the largest of",
        *(f"  {one_line(label)}: {text}" for label, text in zip(tree.classes.tolist(), sums, strict=True)),
    ]


def _sum_words(row: tuple[Array, Array, float], names: list[str], max_terms: int | None, decimals: int | None) -> str:
    """Return a linear function in words, such as "2*savings - hours + 3"."""
    columns, weights, constant = row
    total = _terms(columns, weights, names, max_terms, decimals) if len(columns) else ""
    last = _digits(abs(constant), _BOUND_DIGITS, decimals)
    if not total:
        return f"-{last}" if constant < 0 else last
    return f"{total} {'-' if constant < 0 else '+'} {last}" if constant else total


def looks(tree: Tree, starts: Array) -> Array:
    """Return (split, feature) for each split and each feature that it uses; ``starts`` has the first column of each feature."""
    features = np.searchsorted(starts, tree.weights.indices, side="right") - 1
    return np.unique(np.stack([tree.weights.rows, features], axis=1), axis=0)


def tree_and_names(model: Any, feature_names: Any) -> tuple[Tree, list[str], Schema | None]:
    """Return the tree of a model, the names of its columns, and the schema of these if it is known.

    The tree of a pipeline is the one over the columns of the table.
    """
    schema = feature_names if isinstance(feature_names, Schema) else None
    if is_pipeline(model):
        if feature_names is not schema:
            raise CounterleafError(
                f"feature_names is {brief(feature_names)}; a pipeline knows the names of its columns: "
                f"leave it out, or pass a Schema"
            )
        adapter = adapt(model, None, schema, True)
        if not isinstance(adapter.tree, Tree):
            raise CounterleafError("the pipeline ends with an ensemble; expected a single tree to show")
        return adapter.tree, [one_line(name) for name in adapter.schema.variables], adapter.schema
    tree = read_tree(model)
    columns = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    columns = columns.variables if isinstance(columns, Schema) else columns
    if columns is None:
        return tree, [f"x{k}" for k in range(tree.n_features)], None
    if isinstance(columns, (str, bytes, Set, Mapping)) or not isinstance(columns, Iterable):
        raise CounterleafError(f"feature_names is {columns!r}; expected a list of names, one per column of the model, in order")
    names = [one_line(name) for name in columns]
    if len(names) != tree.n_features:
        raise CounterleafError(
            f"feature_names has {len(names)} names; the model has {tree.n_features} columns: pass one name per column, in order"
        )
    (name, repeats), *_ = Counter(names).most_common(1)
    if repeats > 1:
        raise CounterleafError(f"feature_names has {name!r} {repeats} times; expected different names: rename the columns")
    return tree, names, schema


def one_line(value: Any) -> str:
    """Return a name or a label as one line of text."""
    return " ".join(str(value).splitlines())


def leaf_counts(tree: Tree) -> Array:
    """Return the number of leaves at or below each node."""
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
    """A row goes left if ``weights @ row[columns]`` compares to ``bound`` as ``left`` says, else right.

    ``left`` and ``right`` are relations such as "<" and ">=". A single column has the weight 1.
    """

    columns: Array
    weights: Array
    bound: float
    left: str
    right: str

    @property
    def constant(self) -> int:
        """-1 if every row goes left and 1 if every row goes right, since no column has a weight; else 0."""
        if len(self.columns):
            return 0
        return -1 if self.bound > 0 or (self.bound == 0 and self.left == "<=") else 1


def inequality(tree: Tree, node: int) -> Inequality:
    """Return the split of an inner node with its constant on the other side."""
    (columns, weights), bound = tree.weights.row(node), -float(tree.bias[node]) + 0.0
    sides = ("<", ">=") if tree.closed == "right" else ("<=", ">")
    if len(columns) == 1:
        weight = float(weights[0])
        if math.isfinite(bound / weight):
            if weight < 0:  # the division reverses the relations
                sides = (">", "<=") if tree.closed == "right" else (">=", "<")
            bound, weights = bound / weight, np.ones(1)
    return Inequality(columns, weights, bound, *sides)


def values_right(tree: Tree, node: int, schema: Schema) -> tuple[Finite, Array] | None:
    """Return the feature of a split over the values of one feature, and which of these go right; None for other splits."""
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


def gap_of(tree: Tree, node: int, schema: Schema) -> str | None:
    """Return the name of the feature if a split sends the rows in which it is missing to the right, None for other splits."""
    variables = tree.weights.row(node)[0]
    d = int(np.searchsorted(schema.starts, variables[0], side="right")) - 1 if len(variables) == 1 else -1
    is_gap = d >= 0 and schema.names[d] in schema.gaps and variables[0] > schema.starts[d]
    return schema.names[d] if is_gap else None


def by_values(tree: Tree, node: int, schema: Schema) -> tuple[str, str] | None:
    """Return the values that go left and those that go right, in words; None unless the split uses one such feature alone."""
    name = gap_of(tree, node, schema)
    if name is not None:
        return f"{name} is known", f"{name} is {MISSING}"
    found = values_right(tree, node, schema)
    if found is None:
        return None
    feature, right = found
    names = [one_line(value) for value in feature.values] + [MISSING] * feature.missing
    left_names, right_names = ([name for name, goes in zip(names, right, strict=True) if goes == way] for way in (False, True))
    left, other = (f"{feature.name} is {' or '.join(values) or 'nothing'}" for values in (left_names, right_names))
    return left, other


def conditions(split: Inequality, names: list[str], max_terms: int | None, decimals: int | None) -> tuple[str, str]:
    """Return the conditions under which a row goes left and right, in words."""
    if split.constant:
        always, never = "always (all weights are 0)", "never (all weights are 0)"
        return (always, never) if split.constant < 0 else (never, always)
    terms = _terms(split.columns, split.weights, names, max_terms, decimals)
    bound = _digits(split.bound, 0 if len(split.columns) == 1 else _BOUND_DIGITS, decimals)
    return f"{terms} {split.left} {bound}", f"{terms} {split.right} {bound}"


def _terms(columns: Array, weights: Array, names: list[str], max_terms: int | None, decimals: int | None) -> str:
    """Return a weighted sum of columns, the largest weights first."""
    largest = np.argsort(-np.abs(weights), kind="stable")[:max_terms]
    terms = ""
    for k in largest.tolist():
        weight = float(weights[k])
        size = "" if abs(weight) == 1 else f"{_digits(abs(weight), _WEIGHT_DIGITS, decimals)}*"
        sign = ("-" if weight < 0 else "") if not terms else " - " if weight < 0 else " + "
        terms += f"{sign}{size}{names[int(columns[k])]}"
    more = len(columns) - len(largest)
    return f"{terms} + {more} more term{'s' if more > 1 else ''}" if more else terms


def _digits(value: float, digits: int, decimals: int | None) -> str:
    """Return a number with ``decimals``, else with ``digits``, but no more than its float32 has; 0 for all of these."""
    if decimals is not None:
        text = f"{value + 0.0:.{decimals}f}"
        return text if float(text) or not value else plain(f"{value:.1g}")
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.float32(value)
    full = plain(str(narrow)) if np.isfinite(narrow) and abs(float(narrow) - value) <= 1e-7 * abs(value) else plain(value)
    return full if not digits else min(full, plain(f"{value:.{digits}g}"), key=len)
