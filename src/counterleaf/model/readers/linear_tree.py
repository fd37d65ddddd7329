"""Trees of the library linear-tree: axis-aligned splits, with a linear model in each leaf."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.outputs import Outputs
from counterleaf.model.readers import linear
from counterleaf.model.readers.leaf_probes import NARROW_GUARD, Gaps, Reads, quiet, random_rows
from counterleaf.model.tree import Tree
from counterleaf.types import Array

READS: Reads = (("lineartree.", ("LinearTreeClassifier", "LinearTreeRegressor")),)
_NEVER = 1e6  # how far below the others the output of a class is that a leaf does not have


def guard(model: Any) -> float:
    """Return the guard of sums in float32."""
    return NARROW_GUARD


def as_model(model: Any) -> Any:
    """Return the model itself, which predicts from arrays and tables."""
    return model


def gaps(model: Any) -> Gaps | None:
    """Return None: these trees refuse missing numbers."""
    return None


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

    def add(self, value: int = -1, intercept: Any = None, slope: Any = None) -> int:
        """Add a leaf, and return its number."""
        self.left.append(-1)
        self.right.append(-1)
        self.weights.append(np.zeros(self.width))
        self.bias.append(0.0)
        self.value.append(value)
        self.intercept.append(np.zeros(self.outputs) if intercept is None else np.asarray(intercept, float))
        self.slope.append(np.zeros((self.outputs, self.width)) if slope is None else slope)
        return len(self.left) - 1

    def split(self, node: int, weights: Array, bias: float, left: int, right: int) -> None:
        """Turn a leaf into a split."""
        self.weights[node], self.bias[node], self.left[node], self.right[node] = weights, bias, left, right


def read(model: Any) -> Tree:
    """Return a fitted tree; a leaf between two classes becomes a split."""
    kind = type(model).__name__
    if not hasattr(model, "_leaves"):
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    if len(model._categorical_features):
        raise CounterleafError(f"this {kind} has categorical_features; leave them out: they are split as numbers either way")
    labels = getattr(model, "classes_", None)
    if labels is None and model.n_targets_ > 1:
        raise CounterleafError(f"this {kind} has {model.n_targets_} outputs; expected one: fit one tree per output")
    nodes = _Nodes(model.n_features_in_, 1 if labels is None or len(labels) == 2 else len(labels))
    _grow(model, "", nodes, labels)
    name = "value" if labels is None else "logistic" if len(labels) == 2 else "softmax" if nodes.probable else "score"
    outputs = Outputs(name, np.array(nodes.intercept), np.vstack(nodes.slope))
    if name == "logistic" and not nodes.probable:
        outputs = None  # type: ignore[assignment]
    left, right, bias = np.array(nodes.left), np.array(nodes.right), np.array(nodes.bias)
    value = None if labels is None else np.array(nodes.value)
    tree = Tree(left, right, np.array(nodes.weights), bias, value, labels, "left", "float32", outputs)
    _check(model, tree, kind)
    return tree


def _grow(model: Any, key: str, nodes: _Nodes, labels: Any) -> int:
    """Add the part of the tree below a node; the library names a node by its path from the root."""
    if key in model._leaves:
        return _leaf(model, model._leaves[key].model, nodes, labels)
    node = nodes.add()
    left_key, right_key = model._nodes[key].children
    child = model._leaves.get(left_key) or model._nodes[left_key]
    feature, _, threshold = child.threshold[-1]
    weights = np.zeros(nodes.width)
    weights[feature] = 1.0
    left = _grow(model, left_key, nodes, labels)
    nodes.split(node, weights, -float(threshold), left, _grow(model, right_key, nodes, labels))
    return node


def _leaf(model: Any, inside: Any, nodes: _Nodes, labels: Any) -> int:
    """Add the linear model of a leaf."""
    place = {} if labels is None else {label: k for k, label in enumerate(labels.tolist())}
    if type(inside).__name__.startswith("Dummy"):  # the rows of the leaf had one class
        label = place[np.ravel(inside.predict(np.zeros((1, 1)))).tolist()[0]]
        if len(labels) == 2:
            return nodes.add(label, [_NEVER if label else -_NEVER])
        return nodes.add(label, np.where(np.arange(len(labels)) == label, 0.0, -_NEVER))
    found = linear.read(inside)
    if found.is_regression and linear.is_log_link(inside):
        raise CounterleafError(f"cannot read a tree with a {type(inside).__name__} in its leaves; use a LinearRegression")
    coef, intercept = linear.coefficients(inside)
    wide = np.zeros((len(coef), nodes.width))
    wide[:, model._linear_features] = coef
    if labels is None:
        return nodes.add(-1, intercept, wide)
    nodes.probable &= found.outputs is not None and found.outputs.kind != "score"
    if len(labels) == 2:
        split = nodes.add()
        low, high = (nodes.add(k, intercept, wide) for k in (0, 1))
        nodes.split(split, wide[0], float(intercept[0]), low, high)
        return split
    # outputs relative to the first class of the leaf, so that its best class is never below the classes that it lacks
    if len(coef) == 1:
        wide, intercept = np.vstack([0 * wide, wide]), np.append(0.0, intercept)
    outputs, slope = np.full(len(labels), -_NEVER), np.zeros((len(labels), nodes.width))
    here = [place[label] for label in inside.classes_.tolist()]
    outputs[here], slope[here] = intercept - intercept[0], wide - wide[0]
    return nodes.add(-1, outputs, slope)


def _check(model: Any, tree: Tree, kind: str) -> None:
    """Compare predictions where rounding does not decide them."""
    rows = np.clip(random_rows(tree), -1e6, 1e6)
    with quiet():
        found, ours = np.asarray(model.predict(rows)), tree.predict(rows)
        same = np.isclose(found, ours, rtol=1e-3, atol=1e-3) if tree.is_regression else found == ours
    if same.mean() < 0.97:
        raise CounterleafError(f"this {kind} does not predict as its leaves say; report the version of linear-tree")
