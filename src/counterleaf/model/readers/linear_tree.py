"""Trees of the library linear-tree: axis-aligned splits, with a linear model in each leaf."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts, first_number
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers.scikit import linear
from counterleaf.model.readers.shared.leaf_probes import NARROW_CLOSE, NARROW_GUARD, quiet, random_rows, rows_at_splits
from counterleaf.model.readers.shared.reader import Reader
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_NEVER = 1e6  # how far below the others the output of a class is that a leaf does not have


@dataclass
class _Nodes:
    """The nodes of a tree while it is built: one entry each, and one row of outputs and slopes."""

    width: int
    outputs: int
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    intercept: list[Array] = field(default_factory=list)
    slope: list[Array] = field(default_factory=list)
    probable: bool = True  # whether every leaf has the probabilities of its outputs

    def add(self) -> int:
        """Add a leaf without a class or outputs, and return its number."""
        self.left.append(-1)
        self.right.append(-1)
        self.weights.append(np.zeros(self.width))
        self.bias.append(0.0)
        self.value.append(-1)
        self.intercept.append(np.zeros(self.outputs))
        self.slope.append(np.zeros((self.outputs, self.width)))
        return len(self.left) - 1

    def fill(self, leaf: int, value: int, intercept: Any, slope: Any = None) -> None:
        """Give a leaf its class and its outputs."""
        self.value[leaf], self.intercept[leaf] = value, np.asarray(intercept, float)
        if slope is not None:
            self.slope[leaf] = slope

    def split(self, node: int, weights: Array, bias: float, left: int, right: int) -> None:
        """Turn a leaf into a split."""
        self.weights[node], self.bias[node], self.left[node], self.right[node] = weights, bias, left, right


def read(model: Any) -> Tree:
    """Return a fitted tree; a leaf between two classes becomes a split.

    The model casts rows to float32. The tree does not: its splits on one column are at the float64 number at which the model
    changes sides, and the guard covers the sums.
    """
    kind = type(model).__name__
    if not hasattr(model, "_leaves"):
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if len(model._categorical_features):
        raise CounterleafError(f"this {kind} has categorical_features; leave them out: they are split as numbers either way")
    labels = getattr(model, "classes_", None)
    if labels is None and model.n_targets_ > 1:
        raise CounterleafError(f"this {kind} has {model.n_targets_} outputs; expected one: fit one tree per output")
    nodes = _Nodes(model.n_features_in_, 1 if labels is None or len(labels) == 2 else len(labels))
    leaves: dict[int, Any] = {}
    _grow(model, "", nodes, leaves)
    _move_cuts(model, nodes, leaves, kind)
    for node, leaf in leaves.items():
        _fill(model, leaf.model, nodes, node, labels)
    name = "value" if labels is None else "logistic" if len(labels) == 2 else "softmax" if nodes.probable else "score"
    outputs = Outputs(name, np.array(nodes.intercept), np.vstack(nodes.slope))
    left, right, bias = np.array(nodes.left), np.array(nodes.right), np.array(nodes.bias)
    value = None if labels is None else np.array(nodes.value)
    tree = Tree(left, right, np.array(nodes.weights), bias, value, labels, "left", outputs=outputs)
    _check(model, tree, kind)
    return tree if nodes.probable or name != "logistic" else replace(tree, outputs=None)


def _grow(model: Any, key: str, nodes: _Nodes, leaves: dict[int, Any]) -> int:
    """Add the part of the tree below a node; the library names a node by its path from the root."""
    node = nodes.add()
    if key in model._leaves:
        leaves[node] = model._leaves[key]
        return node
    left_key, right_key = model._nodes[key].children
    child = model._leaves.get(left_key) or model._nodes[left_key]
    feature, _, threshold = child.threshold[-1]
    weights = np.zeros(nodes.width)
    weights[feature] = 1.0
    left = _grow(model, left_key, nodes, leaves)
    right = _grow(model, right_key, nodes, leaves)
    compared = np.result_type(np.zeros(1, np.float32), threshold).type(threshold)  # as NumPy compares float32 numbers with it
    nodes.split(node, weights, -float(compared), left, right)
    return node


def _move_cuts(model: Any, nodes: _Nodes, leaves: dict[int, Any], kind: str) -> None:
    """Move the splits of the library to the last float64 number that goes left."""
    if len(nodes.left) == 1:
        return
    left, right, zero = np.array(nodes.left), np.array(nodes.right), np.zeros(len(nodes.left), int)
    tree = Tree(left, right, np.array(nodes.weights), np.array(nodes.bias), zero, None, "left", "float32")
    rows, _ = rows_at_splits(tree)
    names = {node: leaf.id for node, leaf in leaves.items()}
    with quiet():
        if not np.array_equal(model.apply(rows), [names[node] for node in tree.apply(rows).tolist()]):
            raise _unlike(kind)
    last = np.nan_to_num(cuts(tree)[2])
    nodes.bias = np.where(left >= 0, -last, 0.0).tolist()


def _fill(model: Any, inside: Any, nodes: _Nodes, node: int, labels: Any) -> None:
    """Give a leaf its linear model."""
    place = {} if labels is None else {label: k for k, label in enumerate(labels.tolist())}
    if type(inside).__name__.startswith("Dummy"):  # the rows of the leaf had one class
        label = place[np.ravel(inside.predict(np.zeros((1, 1)))).tolist()[0]]
        if len(labels) == 2:
            return nodes.fill(node, label, [_NEVER if label else -_NEVER])
        return nodes.fill(node, label, np.where(np.arange(len(labels)) == label, 0.0, -_NEVER))
    found = linear.read(inside)
    if found.is_regression and linear.is_log_link(inside):
        raise CounterleafError(f"cannot read a tree with a {type(inside).__name__} in its leaves; use a LinearRegression")
    coef, intercept = linear.coefficients(inside)
    wide = np.zeros((len(coef), nodes.width))
    wide[:, model._linear_features] = coef
    if labels is None:
        return nodes.fill(node, -1, intercept, wide)
    nodes.probable &= found.outputs is not None and found.outputs.kind != "score"
    if len(labels) == 2:
        low, high = nodes.add(), nodes.add()
        for k, child in enumerate((low, high)):
            nodes.fill(child, k, intercept, wide)
        return nodes.split(node, *_line(model, inside, wide[0], float(intercept[0])), low, high)
    # outputs relative to the first class of the leaf, so that its best class is never below the classes that it lacks
    if len(coef) == 1:
        wide, intercept = np.vstack([0 * wide, wide]), np.append(0.0, intercept)
    outputs, slope = np.full(len(labels), -_NEVER), np.zeros((len(labels), nodes.width))
    here = [place[label] for label in inside.classes_.tolist()]
    outputs[here], slope[here] = intercept - intercept[0], wide - wide[0]
    return nodes.fill(node, -1, outputs, slope)


def _line(model: Any, inside: Any, weights: Array, bias: float) -> tuple[Array, float]:
    """Return the split between two classes: of one column it is at the number at which the leaf's model changes its class."""
    used = np.flatnonzero(weights)
    if len(used) != 1:
        return weights, bias
    sign = np.sign(weights)
    column = np.flatnonzero(np.asarray(model._linear_features) == used[0])[0]

    def beyond(x: Array) -> Array:
        rows = np.zeros((len(x), len(model._linear_features)), np.float32)
        rows[:, column] = sign[used[0]] * x
        with quiet():
            return np.asarray(inside.predict(rows) == inside.classes_[1])

    first = first_number(beyond, 1, float(np.finfo(np.float32).max))[0]
    return sign, -float(np.nan_to_num(np.nextafter(first, -np.inf)))


def _check(model: Any, tree: Tree, kind: str) -> None:
    """Compare predictions for all rows for which rounding does not decide them."""
    rows = np.clip(random_rows(tree), -1e6, 1e6)
    outputs, leaves = tree.outputs, tree.apply(rows)
    assert outputs is not None
    sizes = Outputs("score", abs(outputs.intercept), None if outputs.slope is None else abs(outputs.slope))
    terms = sizes.at(leaves, abs(rows)).max(axis=1)
    made = np.sort(outputs.at(leaves, rows), axis=1)
    with quiet():
        found, ours = np.asarray(model.predict(rows)), tree.predict(rows)
    if tree.is_regression:
        same = np.abs(found - ours) <= NARROW_CLOSE * terms
    else:
        lead = np.abs(made[:, 0]) if made.shape[1] == 1 else made[:, -1] - made[:, -2]
        same = (found == ours) | (lead <= NARROW_CLOSE * terms)
    if not same.all():
        raise _unlike(kind)


def _unlike(kind: str) -> CounterleafError:
    return CounterleafError(f"this {kind} does not predict as its leaves say; report the version of linear-tree")


READER = Reader(
    classes=(("lineartree.", ("LinearTreeClassifier", "LinearTreeRegressor")),), tree=read, guard=lambda model: NARROW_GUARD
)
