"""Models of YDF (Yggdrasil Decision Forests): CART trees, forests and boosted trees; a single tree may be oblique.

Sums are in float32, in an order that depends on the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.shared.assembly import Nodes, assemble
from counterleaf.model.readers.shared.leaf_probes import (
    NARROW_GUARD,
    clear_rows,
    quiet,
    random_rows,
    tree_of,
    with_classes,
    with_values,
)
from counterleaf.model.readers.shared.probing import settled, takes_gaps, with_noise
from counterleaf.model.readers.shared.reader import Gaps, Reader, many_trees
from counterleaf.model.tree import Tree
from counterleaf.types import Array


def gaps(model: Any) -> Gaps | None:
    """Return where missing numbers go; None if the tree has oblique splits, which fill them in."""
    nodes = _only_tree(model)
    if any(len(node.columns) > 1 for node in nodes):
        return None
    feature = np.array([node.columns[0] if node.columns else -1 for node in nodes])
    return Gaps(feature, np.array([node.missing_right for node in nodes]))


class YdfModel:
    """A model of YDF with the methods of a scikit-learn model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.feature_names_in_ = np.array(model.input_feature_names(), dtype=object)
        if model.task().name == "CLASSIFICATION":
            self.classes_ = np.array(model.label_classes())

    def predict(self, X: Any) -> Array:
        data = self._table(X)
        return np.asarray(self.model.predict_class(data) if hasattr(self, "classes_") else self.model.predict(data))

    def predict_proba(self, X: Any) -> Array:
        found = np.asarray(self.model.predict(self._table(X)))
        return np.column_stack([1.0 - found, found]) if found.ndim == 1 else found

    def predict_second(self, X: Any) -> Array:
        """Return the probability of the second of two classes."""
        return np.asarray(self.model.predict(self._table(X)))

    def _table(self, X: Any) -> dict[str, Array]:
        columns = np.asarray(X, dtype=np.float32).T
        return dict(zip(self.feature_names_in_.tolist(), columns, strict=True))


@dataclass
class _Node:
    """A node of a tree; the positive side of a condition is on the right."""

    held: Any
    left: int = -1
    right: int = -1
    columns: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    threshold: float = 0.0
    missing_right: bool = False


def _nodes_of(model: Any, tree: int) -> list[_Node]:
    """Return the nodes of one of the trees of a model."""
    known = [column.name for column in model.data_spec().columns]
    names = {known.index(name): k for k, name in enumerate(model.input_feature_names())}
    out: list[_Node] = []

    def add(node: Any) -> int:
        place, made = len(out), _Node(node.value)
        out.append(made)
        condition = getattr(node, "condition", None)
        if condition is None:
            return place
        name = type(condition).__name__
        if name == "NumericalHigherThanCondition":
            made.columns, made.weights = [names[condition.attribute]], [1.0]
        elif name == "NumericalSparseObliqueCondition":
            made.columns, made.weights = [names[d] for d in condition.attributes], [float(w) for w in condition.weights]
        else:
            kind = type(model).__name__
            raise CounterleafError(f"this {kind} has a {name}; expected numerical splits: encode the other columns as numbers")
        made.threshold, made.missing_right = float(condition.threshold), bool(condition.missing)
        made.right, made.left = add(node.pos_child), add(node.neg_child)
        return place

    add(model.get_tree(tree).root)
    return out


def _only_tree(model: Any) -> list[_Node]:
    if model.num_trees() != 1:
        raise many_trees(model)
    return _nodes_of(model, 0)


def _kind(model: Any) -> str:
    """Return the name of a model's class; models for other tasks are refused."""
    kind = type(model).__name__
    if model.task().name not in ("CLASSIFICATION", "REGRESSION"):
        raise CounterleafError(f"this {kind} is for {model.task().name.lower()}; expected classification or regression")
    return kind


def read(model: Any) -> Tree:
    """Return the only tree of a model."""
    nodes, kind, real = _only_tree(model), _kind(model), YdfModel(model)
    if all(len(node.columns) <= 1 for node in nodes):
        return tree_of(model, _candidates(model, kind, real)[-1], real, getattr(real, "classes_", None))
    n = len(nodes)
    weights = np.zeros((n, len(model.input_feature_names())))
    for i, node in enumerate(nodes):
        np.add.at(weights[i], node.columns, node.weights)
    left, right = np.array([(node.left, node.right) for node in nodes]).T
    bias = -np.array([node.threshold for node in nodes])
    splits = Tree(left, right, weights, bias, np.zeros(n, int), dtype="float32")
    rows = clear_rows(splits, np.clip(random_rows(splits), -1e15, 1e15))  # float32 sums may differ from those of the tree
    held, labels = _stored(nodes, splits, real, rows, kind)
    leaves = np.arange(n)
    classes = getattr(real, "classes_", None)
    tree = with_values(splits, leaves, held) if classes is None else with_classes(splits, leaves, labels, held, classes)
    with quiet():
        same = not len(rows) or np.array_equal(tree.predict(rows), real.predict(rows))
    if not same:
        raise CounterleafError(f"this {kind} does not route rows as its conditions say; report your version of ydf")
    return tree


def _stored(nodes: list[_Node], splits: Tree, real: YdfModel, rows: Array, kind: str) -> tuple[Array, Array]:
    """Return what the nodes of an oblique tree hold, if the model predicts it for random rows."""
    held_of = [node.held for node in nodes]
    leaf = splits.apply(rows)
    with quiet():
        if not hasattr(real, "classes_"):
            values = np.array([getattr(one, "value", np.nan) for one in held_of], np.float32).astype(float)
            if np.isclose(values[leaf], real.predict(rows), rtol=1e-6).all():
                return values, values
        elif all(hasattr(one, "probability") for one in held_of):
            shares = np.array([one.probability for one in held_of])
            votes = np.eye(shares.shape[1])[shares.argmax(axis=1)]  # a forest whose trees vote
            found = real.predict_proba(rows)
            for held in (shares.astype(np.float32).astype(float), votes):
                if np.isclose(held[leaf], found, atol=1e-6).all():
                    return held, real.classes_[held.argmax(axis=1)]
    raise CounterleafError(f"cannot read an oblique {kind}; use ydf.CartLearner or ydf.RandomForestLearner with num_trees=1")


def ensemble(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a model."""
    kind, real = _kind(model), YdfModel(model)
    found = _candidates(model, kind, real)
    labels: Any = getattr(real, "classes_", None)
    # boosted trees do not show their scores
    scores = None if hasattr(model, "initial_predictions") else real.predict if labels is None else real.predict_proba
    if found[0].scoring.link == "share" and found[0].scoring.kind == "threshold":
        scores = real.predict_second
    return settled(found, kind, real.predict, scores)


def _candidates(model: Any, kind: str, real: YdfModel) -> list[Ensemble]:
    """Return what the trees may make together: a forest does not tell if they vote."""
    labels: Any = getattr(real, "classes_", None)
    boosted = hasattr(model, "initial_predictions")
    # a forest of two classes has one score, the share of the second class, which wins a tie
    single = labels is None or (len(labels) == 2 and not boosted)
    start = np.asarray(model.initial_predictions(), float) if boosted else np.zeros(1 if single else len(labels))
    trees = [_nodes_of(model, t) for t in range(model.num_trees())]
    if any(len(node.columns) > 1 for one in trees for node in one):
        raise CounterleafError(f"this {kind} has oblique splits in several trees; expected splits on single columns")
    forest = labels is not None and not boosted
    gaps = takes_gaps(real.predict, len(model.input_feature_names()))

    def made(votes: bool) -> Ensemble:
        out = assemble(
            [_terms(one, len(labels) if forest else 1, votes, single) for one in trees],
            _scoring(labels, len(trees), len(start), boosted),
            width=len(model.input_feature_names()),
            start=start,
            classes=() if labels is None else labels,
            output=np.arange(len(trees)) % len(start) if boosted else None,
            gaps=gaps,
            compares=("right", "float32"),
        )
        # the engines of YDF add in orders of their own; sums of votes are exact in any order
        return out if votes else with_noise(out, out.rounding)

    return [made(True), made(False)] if forest else [made(False)]


def _scoring(labels: Any, trees: int, outputs: int, boosted: bool) -> Scoring:
    """Return the scoring of the default loss of a task; the probes notice another loss."""
    if labels is None:
        return Scoring("value", "identity", "float32", divisor=1.0 if boosted else float(trees))
    if not boosted and outputs == 1:
        return Scoring("threshold", "share", "float32", divisor=float(trees), cut=0.5)
    if not boosted:
        return Scoring("largest", "share", "float32", divisor=float(trees))
    return Scoring("threshold", "logistic", "float32") if outputs == 1 else Scoring("largest", "softmax", "float32")


def _terms(nodes: list[_Node], width: int, votes: bool, single: bool) -> Nodes:
    """Return the nodes of a tree; leaves of a forest hold probabilities or the class for which they vote.

    ``single`` keeps the share of the second of two classes only.
    """
    value = np.zeros((len(nodes), width))
    for k, node in enumerate(nodes):
        if node.left >= 0:
            continue
        if width == 1:
            value[k] = np.float32(node.held.value)
        else:
            shares = np.array(node.held.probability)
            value[k] = np.eye(width)[shares.argmax()] if votes else shares.astype(np.float32)
    value = value[:, 1:] if single and width == 2 else value
    tests = [(n.left, n.right, n.columns[0] if n.columns else 0, n.threshold, n.missing_right) for n in nodes]
    left, right, column, threshold, gap_right = map(np.array, zip(*tests, strict=True))
    return Nodes(left, right, column, threshold, gap_right, value)


READER = Reader(
    classes=(("ydf.", ("DecisionForestModel",)),),
    is_ensemble=lambda model: bool(model.num_trees() > 1),
    tree=read,
    ensemble=ensemble,
    as_model=YdfModel,
    gaps=gaps,
    guard=lambda model: NARROW_GUARD,  # oblique splits add float32 numbers
)
