"""A sum of axis-aligned trees: a forest, boosted trees or a vote of trees, as flat arrays.

Trees of one model repeat the same splits many times, so the different splits are listed once, in a ``Tree`` that serves as a
catalogue, and the nodes of the trees refer to them. A pipeline is folded into the catalogue, not into every node.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterleaf.errors import CounterleafError, real_array
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.model_json import ensemble_arguments, ensemble_content, opened, tree_arguments, tree_content
from counterleaf.model.tree import Tree
from counterleaf.packed_arrays import Unpacker, dumps
from counterleaf.sparse import CSR
from counterleaf.types import Array

_CELLS = 1 << 18  # rows times trees that are routed at once, so that the arrays fit into the processor's caches


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaves add up to scores, from which the model makes a class or a number."""

    splits: Tree  # the catalogue: split k is inner node k of this tree. The tree has the shape of a heap, which means nothing
    roots: Array  # (T,) array of int: the root of each tree
    # (N,) arrays of int: the children of each node, which have larger numbers than it, -1 at a leaf; nodes may share a child
    left: Array
    right: Array
    split: Array  # (N,) array of int: the position of a node's split in the catalogue; -1 at a leaf
    value: Array = field(repr=False)  # (N, W) array of float: what a leaf adds to W scores; 0 at inner nodes
    output: Array  # (T,) array of int: the first of the W scores to which each tree adds
    start: Array  # (K,) array of float: the scores without any tree
    scoring: Scoring  # how the model adds, and what it makes of the scores
    classes: Array  # the labels; empty for regression
    # (S,) array of bool: whether a missing value goes right at each split; None if the model refuses missing values
    gap_right: Array | None = field(default=None, repr=False)
    # (S,) array of int: the column whose missing values take that way; the only place that tells the column of a split that
    # separates missing values from all numbers, which has no weights in the catalogue
    gap_column: Array | None = field(default=None, repr=False)
    # for splits on columns of category codes: the codes that go right, by split. They exist only over the columns of a model;
    # over the variables of a schema, a split on a category is one on its 0/1 variables
    subsets: Mapping[int, Array] = field(default_factory=dict, repr=False)

    is_one_tree: ClassVar[bool] = False
    outputs: ClassVar[None] = None  # no single leaf computes what the ensemble predicts

    @property
    def is_regression(self) -> bool:
        """Whether the ensemble predicts numbers instead of classes."""
        return not len(self.classes)

    @property
    def computes(self) -> bool:
        """Return True: what the ensemble predicts is computed from its leaves."""
        return True

    @property
    def n_features(self) -> int:
        """The number of columns that the ensemble takes."""
        return self.splits.n_features

    @property
    def dtype(self) -> str:
        """The format to which the model casts rows."""
        return self.splits.dtype

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.roots)

    def is_axis_aligned(self, owner: Array | None = None) -> bool:
        """Return True: every split is on one column, or on the 0/1 variables of one feature."""
        return True

    @functools.cached_property
    def has_probabilities(self) -> bool:
        """Whether the scores have probabilities."""
        return not self.is_regression and self.scoring.link in ("share", "logistic", "softmax")

    @property
    def bounds_probabilities(self) -> bool:
        """Whether a target may bound the probability of a class; a softmax of several sums has no such targets."""
        return self.has_probabilities and self.scoring.link != "softmax"

    @functools.cached_property
    def rounding(self) -> float:
        """A bound on the difference between the scores and the same sums in any other order.

        A sum of n numbers in any order differs from the exact sum by at most n u times the sum of their sizes (u is half of the
        distance from 1 to the next number, up to a factor of 1.01 for n u < 0.01), and so two orders by twice that. Two more
        roundings are those of the start and of the division.
        """
        unit = float(np.finfo(self.scoring.dtype).eps) / 2.0
        size = np.abs(self.value).max(axis=1)
        total = float(np.abs(self.start).max(initial=0.0))
        ends = np.append(self.roots, len(size))
        if (np.diff(ends) > 0).all():
            total += float(np.maximum.reduceat(size, self.roots).sum())
        else:
            total += self.n_trees * float(size.max(initial=0.0))
        return 2.02 * (self.n_trees + 3) * unit * total / self.scoring.divisor

    @property
    def subset_columns(self) -> list[tuple[int, Array]]:
        """The column of each split on category codes, and the codes that go right."""
        weights = self.splits.weights
        return [(int(weights.indices[weights.indptr[k]]), codes) for k, codes in self.subsets.items()]

    def as_tree(self) -> Tree:
        """Return the splits of an ensemble of one tree, without splits on category codes, as a Tree with the same nodes.

        Its leaves hold nothing: what they add to the scores is in ``value``.
        """
        inner, n = np.flatnonzero(self.left >= 0), len(self.left)
        split, bias = self.split[inner], np.zeros(n)
        bias[inner] = self.splits.bias[split]
        picked = self.splits.weights[split.tolist()]
        weights = CSR.from_entries(inner[picked.rows], picked.indices, picked.data, (n, self.n_features))
        return Tree(self.left, self.right, weights, bias, np.zeros(n, int), closed=self.splits.closed, dtype=self.dtype)

    def _sums_go_right(self, x: Array, which: Array) -> Array:
        """Return the sides of all rows, as the model casts them, at splits on several columns."""
        w, columns = self.splits.weights, np.ascontiguousarray(x.T)
        score = np.zeros((len(which), len(x)))
        terms = np.diff(w.indptr)[which]
        for k in range(int(terms.max(initial=0))):  # the k-th term of every split
            here = np.flatnonzero(terms > k)
            at = w.indptr[which[here]] + k
            score[here] += w.data[at][:, None] * columns[w.indices[at]]
        score += self.splits.bias[which][:, None]
        return np.asarray((score > 0) | ((score == 0) & (self.splits.closed == "right"))).T

    @functools.cached_property
    def _single(self) -> tuple[Array, Array, Array]:
        """The column of each split, its weight, and its place among the subsets."""
        inner = len(self.splits.left) // 2
        ends = self.splits.weights.indptr[: inner + 1]
        column, weight, place = np.zeros(inner, np.int64), np.zeros(inner), np.full(inner, -1)
        some = np.flatnonzero(np.diff(ends) == 1)
        column[some], weight[some] = self.splits.weights.indices[ends[some]], self.splits.weights.data[ends[some]]
        place[list(self.subsets)] = np.arange(len(self.subsets))
        return column, weight, place

    @functools.cached_property
    def _several(self) -> Array:
        """The splits on several columns."""
        return np.flatnonzero(np.diff(self.splits.weights.indptr[: len(self.splits.left) // 2 + 1]) > 1)

    @functools.cached_property
    def _members(self) -> Array:
        """For each subset and each code whether the code goes right; the last code stands for all greater ones."""
        top = max((int(np.max(codes, initial=0)) for codes in self.subsets.values()), default=0)
        out = np.zeros((len(self.subsets), top + 2), bool)
        for k, codes in enumerate(self.subsets.values()):
            out[k, np.asarray(codes, int)] = True
        return out

    def _sides(self, rows: Array, x: Array, line: Array, split: Array) -> Array:
        """Return whether some rows go right at some splits that test one column each; ``x`` are the rows as the model casts."""
        column, weight, place = self._single
        at = column[split]
        score = weight[split] * x[line, at] + self.splits.bias[split]
        out = np.asarray((score > 0) | ((score == 0) & (self.splits.closed == "right")))
        if self.subsets:
            here = np.flatnonzero(place[split] >= 0)
            code = rows[line[here], at[here]]
            known = np.nan_to_num((code >= 0) & (code == np.floor(code)))
            code = np.where(known, np.minimum(code, self._members.shape[1] - 1), self._members.shape[1] - 1)
            out[here] = self._members[place[split[here]], code.astype(int)]
        if self.gap_right is not None and self.gap_column is not None:
            out = np.where(np.isnan(rows[line, self.gap_column[split]]), self.gap_right[split], out)
        return out

    def apply(self, rows: Array) -> Array:
        """Return the leaf that each row reaches in each tree, as an (n, T) array of nodes."""
        out = np.empty((len(rows), self.n_trees), np.int64)
        several = self._several  # they are evaluated for every row, the others where a row meets them
        place = np.full(len(self.splits.left), -1)
        place[several] = np.arange(len(several))
        size = max(1, _CELLS // max(self.n_trees, len(several), 1))
        for begin in range(0, len(rows), size):
            part = np.asarray(rows[begin : begin + size], float)
            with np.errstate(over="ignore"):
                x = part.astype(np.float32).astype(np.float64) if self.dtype == "float32" else part
            known = self._sums_go_right(x, several)
            node = np.tile(self.roots, len(part))
            line = np.repeat(np.arange(len(part)), self.n_trees)
            ahead = np.flatnonzero(self.left[node] >= 0)
            while len(ahead):
                here, at = node[ahead], line[ahead]
                split = self.split[here]
                side = self._sides(part, x, at, split)
                if len(several):
                    side = np.where(place[split] >= 0, known[at, place[split]], side)
                node[ahead] = here = np.where(side, self.right[here], self.left[here])
                ahead = ahead[self.left[here] >= 0]
            out[begin : begin + size] = node.reshape(len(part), self.n_trees)
        return out

    def scores(self, rows: Any) -> Array:
        """Return the scores of each row, added in the model's order and precision."""
        X = np.ascontiguousarray(real_array(rows, "rows", "a table of numbers"))
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise CounterleafError(f"rows have shape {X.shape}; the ensemble needs (rows, {self.n_features})")
        if not np.isfinite(X).all() and (self.gap_right is None or np.isinf(X).any()):
            raise CounterleafError("rows hold NaN or infinity; expected finite numbers: fill them in first")
        return self.scoring.add(self.start, self.value, self.output, self.apply(X))

    def predict(self, rows: Any) -> Array:
        """Return the label of each row, or its value for regression."""
        return self.predicted(self.scores(rows))

    def predicted(self, scores: Array) -> Array:
        """Return the label, or the value for regression, that the scores of each row mean."""
        return self.scoring.values(scores) if self.is_regression else np.asarray(self.classes[self.scoring.decide(scores)])

    def predict_proba(self, rows: Any) -> Array:
        """Return the probability of each class for each row."""
        if not self.has_probabilities:
            raise CounterleafError("the scores of this ensemble have no probabilities; expected a class as the target")
        return self.scoring.probabilities(self.scores(rows))

    def to_json(self) -> str:
        """Return the ensemble as JSON, from which ``from_json`` restores every number bit for bit."""
        return dumps(ensemble_content(self))

    @classmethod
    def from_json(cls, text: str) -> Ensemble:
        """Read an ensemble that ``to_json`` wrote."""
        return _read(opened(text, "ensemble"), Unpacker(len(text), "the ensemble's JSON"))


def _read(content: Any, unpacker: Unpacker) -> Ensemble:
    parts = ensemble_arguments(content, unpacker)
    return Ensemble(**{**parts, "splits": heap(*parts["splits"])})


def content_of(model: Tree | Ensemble) -> dict[str, Any]:
    """Return a model as a part of a file, by what it is."""
    return {"tree": tree_content(model)} if isinstance(model, Tree) else {"ensemble": ensemble_content(model)}


def model_in(content: dict[str, Any], unpacker: Unpacker) -> Any:
    """Return the model that ``content_of`` made a part of a file."""
    if "ensemble" in content:
        return _read(content["ensemble"], unpacker)
    return Tree(**tree_arguments(content["tree"]))


def catalogue(column: Array, threshold: Array, width: int, closed: str = "left", dtype: str = "float64") -> Tree:
    """Return the tree of some splits on single columns; an infinite threshold separates missing values only."""
    size = len(column)
    real = np.isfinite(threshold)
    bias = np.where(real, -np.where(real, threshold, 0.0), -np.sign(threshold))
    weights = CSR.from_entries(np.arange(size), column, real.astype(float), (2 * size + 1, width))
    return heap(weights, bias, closed, dtype)


def heap(weights: CSR, bias: Array, closed: str = "left", dtype: str = "float64") -> Tree:
    """Return the tree of a catalogue, given the (2 S + 1, D) weights and the (S,) constants of its splits."""
    size = len(bias)
    place = np.arange(2 * size + 1)
    left = np.where(place < size, 2 * place + 1, -1)
    right = np.where(place < size, 2 * place + 2, -1)
    constants = np.append(bias, np.zeros(size + 1))
    return Tree(left, right, weights, constants, np.zeros(2 * size + 1, int), closed=closed, dtype=dtype)
