"""``Tree``: a decision tree as flat arrays, checked when it is built so that all other code can rely on it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from counterleaf._core import Router
from counterleaf.errors import CounterleafError, brief, real_array
from counterleaf.model.model_json import integers, numbers, opened, tree_arguments, tree_content
from counterleaf.model.outputs import Outputs
from counterleaf.sparse import CSR
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary decision tree whose splits are hyperplanes; node 0 is the root.

    A row x goes right at node i if ``weights[i] @ x + bias[i] >= 0`` and left otherwise.

    Parameters
    ----------
    left, right : (N,) array-like of int
        The children of each node; -1 marks a leaf.
    weights : (N, D) array-like, sparse matrix of SciPy or CSR
        The weights of each split, stored as a ``CSR``; the rows of leaves are ignored. A row with one nonzero is an
        axis-aligned split.
    bias : (N,) array-like of float
        The constant of each split.
    value : (N,) array-like of int, optional
        The position of a leaf's class in ``classes``; ignored at inner nodes. -1 at a leaf whose class is that of its largest
        output, the first of equal ones. Left out for regression, where the outputs are of kind "value".
    classes : array-like, optional
        The labels, by default 0, 1, ...; none for regression.
    closed : {"right", "left"}, default="right"
        The side to which ``weights[i] @ x + bias[i] == 0`` belongs.
    dtype : {"float64", "float32"}, default="float64"
        The format to which the model casts x. Sums are in float64.
    outputs : Outputs, optional
        The probabilities, scores or values of the leaves, constant or linear.

    Raises
    ------
    CounterleafError
        If the arrays do not describe a tree.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Tree(
    ...     left=[1, -1, -1],  # node 0 splits; nodes 1 and 2 are leaves
    ...     right=[2, -1, -1],
    ...     weights=[[1.0, 1.0], [0, 0], [0, 0]],
    ...     bias=[-1.0, 0, 0],  # a row with x0 + x1 - 1 >= 0 goes right
    ...     value=[-1, 0, 1],
    ...     classes=["no", "yes"],
    ... )
    >>> [str(label) for label in tree.predict([[0.2, 0.3], [0.5, 0.5]])]
    ['no', 'yes']
    """

    left: Array
    right: Array
    weights: Any
    bias: Array
    value: Any = None
    classes: Any = None
    closed: str = "right"
    dtype: str = "float64"
    outputs: Outputs | None = None

    def __post_init__(self) -> None:
        left, right = integers("left", self.left), integers("right", self.right)
        bias = numbers("bias", self.bias)
        if self.outputs is not None and not isinstance(self.outputs, Outputs):
            raise CounterleafError(f"outputs is {brief(self.outputs)}; expected Outputs(kind, intercept, slope)")
        computes = self.outputs is not None and self.outputs.kind in ("value", "softmax", "score")
        if self.value is None and not computes:
            raise CounterleafError("value is None; expected the position of each leaf's class")
        value = np.full(left.shape, -1) if self.value is None else integers("value", self.value)
        if left.ndim != 1 or len(left) == 0:
            raise CounterleafError(f"left has shape {left.shape}; expected one entry per node, at least one node")
        for name, array in (("right", right), ("value", value), ("bias", bias)):
            if array.shape != left.shape:
                raise CounterleafError(f"{name} has shape {array.shape} but left has {left.shape}; expected one entry per node")
        inner = left >= 0
        weights = _csr(self.weights, inner)
        bias = np.where(inner, bias, 0.0)
        _check_finite("weights", weights.data)
        _check_finite("bias", bias)
        _check_links(left, right)
        if self.outputs is not None and self.outputs.kind == "value":
            classes = _no_labels(self.classes, value[~inner])
        else:
            classes = _labels(self.classes, value[~inner], 0 if self.outputs is None else self.outputs.count)
        bad = ~inner & ((value < (-1 if computes else 0)) | (value >= len(classes)))
        if bad.any():
            leaf = int(np.flatnonzero(bad)[0])
            raise CounterleafError(
                f"leaf {leaf} has value {value[leaf]}; expected the position of one of {len(classes)} classes"
            )
        if self.closed not in ("left", "right"):
            raise CounterleafError(f'closed is {brief(self.closed)}; expected "left" or "right"')
        if self.dtype not in ("float32", "float64"):
            raise CounterleafError(f'dtype is {brief(self.dtype)}; expected "float32" or "float64"')
        left, right = np.where(inner, left, -1), np.where(inner, right, -1)  # compiled code stores them in fewer bits
        value = np.where(inner, -1, value)
        outputs = None if self.outputs is None else self.outputs.fitted(inner, weights.shape[1], len(classes))
        arrays = {"left": left, "right": right, "bias": bias, "value": value, "classes": classes}
        for array in arrays.values():
            array.setflags(write=False)
        for name, checked in {**arrays, "weights": weights, "outputs": outputs}.items():
            object.__setattr__(self, name, checked)

    is_one_tree: ClassVar[bool] = True  # answers are leaves of one tree
    n_trees: ClassVar[int] = 1

    @property
    def splits(self) -> Tree:
        """The tree itself: the splits of a model, of one tree or of many, are inner nodes of a Tree."""
        return self

    @property
    def bounds_probabilities(self) -> bool:
        """Whether a target may bound the probability of a class."""
        return self.has_probabilities

    @property
    def is_regression(self) -> bool:
        """Whether the tree predicts numbers instead of classes."""
        return self.outputs is not None and self.outputs.kind == "value"

    @property
    def has_probabilities(self) -> bool:
        """Whether the leaves have probabilities."""
        return self.outputs is not None and self.outputs.kind not in ("score", "value")

    @functools.cached_property
    def computes(self) -> bool:
        """Whether some leaf computes what it predicts, a class or a number, instead of having a class."""
        return bool((self.value[self.left < 0] < 0).any())

    def is_axis_aligned(self, owner: Array | None = None) -> bool:
        """Return whether every split is on one column and every leaf a constant.

        Parameters
        ----------
        owner : (C,) array, optional
            The feature of each column; then a split may be on several columns of one feature.
        """
        if self.outputs is not None and self.outputs.slope is not None:
            return False
        columns = self.weights.indices if owner is None else owner[self.weights.indices]
        same = np.ones(len(columns) + 1, bool)
        same[1:-1] = columns[1:] == columns[:-1]
        same[self.weights.indptr] = True  # the first column of a split has none before it
        return bool(same.all())

    @property
    def n_features(self) -> int:
        """The number of columns that the tree takes."""
        return int(self.weights.shape[1])

    @property
    def n_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return len(self.left)

    @property
    def leaves(self) -> Array:
        """The node numbers of the leaves, in order."""
        return np.flatnonzero(self.left < 0)

    @property
    def depth(self) -> int:
        """The greatest number of splits on a path."""
        depth, level = 0, np.array([0])
        while len(inner := level[self.left[level] >= 0]):
            depth, level = depth + 1, np.concatenate([self.left[inner], self.right[inner]])
        return depth

    def apply(self, rows: npt.ArrayLike) -> Array:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        rows : (n, D) array-like
            Rows of finite numbers.

        Returns
        -------
        (n,) array
            Node numbers.
        """
        X = np.ascontiguousarray(real_array(rows, "rows", "a table of numbers"))
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise CounterleafError(f"rows have shape {X.shape}; the tree needs (rows, {self.n_features})")
        if not np.isfinite(X).all():
            raise CounterleafError("rows hold NaN or infinity; expected finite numbers: fill them in first")
        return np.asarray(self._router.leaves(X))

    @functools.cached_property
    def _router(self) -> Router:
        w = self.weights
        right_closed, narrow = self.closed == "right", self.dtype == "float32"
        return Router(self.left, self.right, w.indptr, w.indices, w.data, self.bias, right_closed, narrow)

    def leaf_of(self, row: Array) -> int:
        """Return the leaf of one row, without checks.

        Parameters
        ----------
        row : (D,) array
            Finite float64 numbers.

        Returns
        -------
        int
            A node number.
        """
        return int(self._router.leaf(row))

    def class_at(self, leaf: int, row: Array) -> int:
        """Return the index of the class of a row whose leaf is known; -1 for regression.

        Parameters
        ----------
        leaf : int
            The leaf that the row reaches.
        row : (D,) array
            Finite float64 numbers.

        Returns
        -------
        int
            The position of its class in ``classes``.
        """
        known = int(self.value[leaf])
        if known >= 0 or self.is_regression or self.outputs is None:
            return known
        return int(self.outputs.at(np.array([leaf]), row[None])[0].argmax())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_router"}  # rebuilt when it is needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "weights": CSR.of(state["weights"])})  # a skops file may hold any indices

    def predict(self, rows: npt.ArrayLike) -> Array:
        """Return the label of each row, or its value for regression.

        Parameters
        ----------
        rows : (n, D) array-like
            Rows of finite numbers.

        Returns
        -------
        (n,) array
            Labels or numbers.
        """
        if not self.computes:
            return np.asarray(self.classes[self.value[self.apply(rows)]])
        leaves, made = self._outputs_of(rows)
        if self.is_regression:
            return np.asarray(made[:, 0])
        value = self.value[leaves]
        return np.asarray(self.classes[np.where(value < 0, made.argmax(axis=1), value)])

    def predict_proba(self, rows: npt.ArrayLike) -> Array:
        """Return the probability of each class for each row.

        Parameters
        ----------
        rows : (n, D) array-like
            Rows of finite numbers.

        Returns
        -------
        (n, classes) array
            Probabilities.

        Raises
        ------
        CounterleafError
            If the leaves of the tree have no probabilities.
        """
        _, made = self._outputs_of(rows)
        found = None if self.outputs is None else self.outputs.probabilities(made)
        if found is None:
            raise CounterleafError("the leaves of this tree have no probabilities; expected outputs of another kind")
        return found

    def _outputs_of(self, rows: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the leaf and the outputs of each row."""
        leaves = self.apply(rows)
        if self.outputs is None:
            return leaves, np.empty((len(leaves), 0))
        return leaves, self.outputs.at(leaves, np.ascontiguousarray(rows, dtype=np.float64))

    def to_json(self) -> str:
        """Return the tree as JSON, from which ``from_json`` restores every number bit for bit.

        Returns
        -------
        str
            The JSON text.
        """
        return json.dumps(tree_content(self))

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Read a tree that ``to_json`` wrote.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        CounterleafError
            If the text is anything else.
        """
        return cls(**tree_arguments(opened(text, "tree")))


def _check_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise CounterleafError(f"{name} holds NaN or infinity; expected finite numbers")


def _csr(matrix: Any, inner: Array) -> CSR:
    """Return the weights of the inner nodes."""
    if not isinstance(matrix, CSR) and not hasattr(matrix, "tocsr"):
        matrix = numbers("weights", matrix)
    if len(matrix.shape) != 2:
        raise CounterleafError(f"weights has shape {matrix.shape}; expected (nodes, features)")
    if matrix.shape[1] == 0:
        raise CounterleafError("weights has no columns; a tree needs at least one feature")
    try:
        weights = CSR.of(matrix)
    except (TypeError, ValueError) as error:
        raise CounterleafError(f"weights is not a valid sparse matrix ({error}); build it again") from None
    if len(inner) != weights.shape[0]:
        raise CounterleafError(f"weights has {weights.shape[0]} rows for {len(inner)} nodes; expected one row per node")
    used = inner[weights.rows]
    return weights if used.all() else replace(weights, data=np.where(used, weights.data, 0.0))


def _check_links(left: Array, right: Array) -> None:
    """Check that every node except the root is the child of one node and that the root reaches it."""
    n = len(left)
    half = (left < 0) != (right < 0)
    if half.any():
        node = int(np.flatnonzero(half)[0])
        raise CounterleafError(f"node {node} has one child ({left[node]}, {right[node]}); expected two, or -1 twice for a leaf")
    children = np.concatenate([left[left >= 0], right[right >= 0]])
    if (children >= n).any():
        raise CounterleafError(f"child {children[children >= n][0]} is out of range; the tree has nodes 0 to {n - 1}")
    parents = np.bincount(children, minlength=n)
    if parents[0]:
        raise CounterleafError("node 0 is the child of another node; the root must be node 0")
    if (parents > 1).any():
        raise CounterleafError(f"node {int(np.flatnonzero(parents > 1)[0])} has several parents; expected one")
    if (parents[1:] == 0).any():
        node = 1 + int(np.flatnonzero(parents[1:] == 0)[0])
        raise CounterleafError(f"node {node} has no parent; every node except the root needs one")
    reached = 0
    level = np.array([0])
    while len(level):
        reached += len(level)
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    if reached < n:
        raise CounterleafError(f"{n - reached} nodes form a cycle that the root never reaches; expected a tree")


def _no_labels(classes: Any, used: Array) -> Array:
    """Check that a regression tree has neither labels nor classes at its leaves."""
    if (classes is not None and len(classes)) or (used >= 0).any():
        raise CounterleafError('outputs of kind "value" are for regression: leave out value and classes')
    return np.empty(0, np.int64)


def _labels(classes: Any, used: Array, least: int) -> Array:
    if classes is None:
        return np.arange(max(int(used.max(initial=-1)) + 1, least, 1))
    try:
        labels = np.array(classes)
    except Exception:  # of any object
        raise CounterleafError("classes are not a list of labels; expected one label per class") from None
    if labels.ndim != 1 or len(labels) == 0:
        raise CounterleafError(f"classes has shape {labels.shape}; expected one label per class")
    try:
        twice = len(set(labels.tolist())) < len(labels)
    except TypeError:
        raise CounterleafError("classes are not a list of labels; expected one label per class") from None
    if twice:
        raise CounterleafError("classes lists a label twice; labels must differ")
    return labels
