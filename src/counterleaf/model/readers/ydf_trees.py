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
    at_leaves,
    clear_rows,
    quiet,
    random_rows,
    rows_at_splits,
    with_classes,
    with_values,
)
from counterleaf.model.readers.shared.probing import Probe, settled, takes_gaps, with_noise
from counterleaf.model.readers.shared.reader import Gaps, Reader, many_trees
from counterleaf.model.tree import Tree
from counterleaf.types import Array


def gaps(model: Any) -> Gaps | None:
    """Return where missing numbers go; None if the tree has oblique splits, which fill them in."""
    nodes = _Nodes.of(model)
    if any(len(columns) > 1 for columns, _ in nodes.terms):
        return None
    feature = np.array([columns[0] if columns else -1 for columns, _ in nodes.terms])
    return Gaps(feature, np.array(nodes.missing_right))


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
class _Nodes:
    """The nodes of a tree; the positive side of a condition is on the right."""

    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    terms: list[tuple[list[int], list[float]]] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_right: list[bool] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, model: Any) -> _Nodes:
        """Read the only tree of a model."""
        if model.num_trees() != 1:
            raise many_trees(model)
        return nodes_of(model, 0)

    def add(self, node: Any, names: dict[int, int], kind: str) -> int:
        """Add a node and all below it, and return its number."""
        place = len(self.left)
        for column in (self.left, self.right):
            column.append(-1)
        self.terms.append(([], []))
        self.threshold.append(0.0)
        self.missing_right.append(False)
        self.held.append(node.value)
        condition = getattr(node, "condition", None)
        if condition is None:
            return place
        name = type(condition).__name__
        if name == "NumericalHigherThanCondition":
            self.terms[place] = [names[condition.attribute]], [1.0]
        elif name == "NumericalSparseObliqueCondition":
            self.terms[place] = [names[d] for d in condition.attributes], [float(w) for w in condition.weights]
        else:
            raise CounterleafError(f"this {kind} has a {name}; expected numerical splits: encode the other columns as numbers")
        self.threshold[place], self.missing_right[place] = float(condition.threshold), bool(condition.missing)
        self.right[place] = self.add(node.pos_child, names, kind)
        self.left[place] = self.add(node.neg_child, names, kind)
        return place


def nodes_of(model: Any, tree: int) -> _Nodes:
    """Return the nodes of one of the trees of a model."""
    known = [column.name for column in model.data_spec().columns]
    names = {known.index(name): k for k, name in enumerate(model.input_feature_names())}
    out = _Nodes()
    out.add(model.get_tree(tree).root, names, type(model).__name__)
    return out


def _kind(model: Any) -> str:
    """Return the name of a model's class; models for other tasks are refused."""
    kind = type(model).__name__
    if model.task().name not in ("CLASSIFICATION", "REGRESSION"):
        raise CounterleafError(f"this {kind} is for {model.task().name.lower()}; expected classification or regression")
    return kind


def read(model: Any) -> Tree:
    """Return the only tree of a model."""
    nodes, kind, real = _Nodes.of(model), _kind(model), YdfModel(model)
    n, width = len(nodes.left), len(model.input_feature_names())
    weights = np.zeros((n, width))
    for i, (columns, numbers) in enumerate(nodes.terms):
        np.add.at(weights[i], columns, numbers)
    splits = Tree(
        np.array(nodes.left), np.array(nodes.right), weights, -np.array(nodes.threshold), np.zeros(n, int), dtype="float32"
    )
    plain = all(len(columns) <= 1 for columns, _ in nodes.terms)
    if plain:
        rows, _ = rows_at_splits(splits)
        tree = _with_leaves(splits, *_probed(splits, real), real)
    else:
        rows = clear_rows(splits, np.clip(random_rows(splits), -1e15, 1e15))  # float32 sums may differ from those of the tree
        tree = _with_leaves(splits, np.arange(n), *_stored(nodes, splits, real, rows, kind), real)
    with quiet():
        same = not len(rows) or np.array_equal(tree.predict(rows), real.predict(rows))
    if not same:
        raise CounterleafError(f"this {kind} does not route rows as its conditions say; report your version of ydf")
    return tree


def _probed(splits: Tree, real: YdfModel) -> tuple[Array, Array, Array]:
    """Return leaves, what the model computes for a row in each of them, and its prediction."""
    leaves, labels = at_leaves(splits, real.predict)
    return leaves, at_leaves(splits, real.predict_proba)[1] if hasattr(real, "classes_") else labels, labels


def _stored(nodes: _Nodes, splits: Tree, real: YdfModel, rows: Array, kind: str) -> tuple[Array, Array]:
    """Return what the nodes of an oblique tree hold, if the model predicts it for random rows."""
    leaf = splits.apply(rows)
    with quiet():
        if not hasattr(real, "classes_"):
            values = np.array([getattr(one, "value", np.nan) for one in nodes.held], np.float32).astype(float)
            if np.isclose(values[leaf], real.predict(rows), rtol=1e-6).all():
                return values, values
        elif all(hasattr(one, "probability") for one in nodes.held):
            shares = np.array([one.probability for one in nodes.held])
            votes = np.eye(shares.shape[1])[shares.argmax(axis=1)]  # a forest whose trees vote
            found = real.predict_proba(rows)
            for held in (shares.astype(np.float32).astype(float), votes):
                if np.isclose(held[leaf], found, atol=1e-6).all():
                    return held, real.classes_[held.argmax(axis=1)]
    raise CounterleafError(f"cannot read an oblique {kind}; use ydf.CartLearner or ydf.RandomForestLearner with num_trees=1")


def _with_leaves(splits: Tree, leaves: Array, held: Array, labels: Array, real: YdfModel) -> Tree:
    """Return the tree with what its leaves hold."""
    if hasattr(real, "classes_"):
        return with_classes(splits, leaves, labels, held, real.classes_)
    return with_values(splits, leaves, held)


def ensemble(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a model."""
    kind, real = _kind(model), YdfModel(model)
    labels: Any = getattr(real, "classes_", None)
    boosted = hasattr(model, "initial_predictions")
    # a forest of two classes has one score, the share of the second class, which wins a tie
    single = labels is None or (len(labels) == 2 and not boosted)
    start = np.asarray(model.initial_predictions(), float) if boosted else np.zeros(1 if single else len(labels))
    trees = [nodes_of(model, t) for t in range(model.num_trees())]
    if any(len(columns) > 1 for one in trees for columns, _ in one.terms):
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

    # a forest does not tell if its trees vote; boosted trees do not show their scores
    scores = None if boosted else real.predict if labels is None else real.predict_proba
    if forest and single:
        scores = real.predict_second
    return settled([made(True), made(False)] if forest else [made(False)], Probe(kind, real.predict, scores))


def _scoring(labels: Any, trees: int, outputs: int, boosted: bool) -> Scoring:
    """Return the scoring of the default loss of a task; the probes notice another loss."""
    if labels is None:
        return Scoring("value", "identity", "float32", divisor=1.0 if boosted else float(trees))
    if not boosted and outputs == 1:
        return Scoring("threshold", "share", "float32", divisor=float(trees), cut=0.5)
    if not boosted:
        return Scoring("largest", "share", "float32", divisor=float(trees))
    return Scoring("threshold", "logistic", "float32") if outputs == 1 else Scoring("largest", "softmax", "float32")


def _terms(found: _Nodes, width: int, votes: bool, single: bool) -> Nodes:
    """Return the nodes of a tree; leaves of a forest hold probabilities or the class for which they vote.

    ``single`` keeps the share of the second of two classes only.
    """
    leaf = np.array(found.left) < 0
    value = np.zeros((len(leaf), width))
    for k in np.flatnonzero(leaf).tolist():
        held = found.held[k]
        if width == 1:
            value[k] = np.float32(held.value)
        else:
            shares = np.array(held.probability)
            value[k] = np.eye(width)[shares.argmax()] if votes else shares.astype(np.float32)
    value = value[:, 1:] if single and width == 2 else value
    column = np.array([columns[0] if columns else 0 for columns, _ in found.terms])
    left, right = np.array(found.left), np.array(found.right)
    return Nodes(left, right, column, np.array(found.threshold), np.array(found.missing_right), value)


READER = Reader(
    classes=(("ydf.", ("DecisionForestModel",)),),
    is_ensemble=lambda model: bool(model.num_trees() > 1),
    tree=read,
    ensemble=ensemble,
    as_model=YdfModel,
    gaps=gaps,
    guard=lambda model: NARROW_GUARD,  # oblique splits add float32 numbers
)
