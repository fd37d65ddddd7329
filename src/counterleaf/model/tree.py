"""A decision tree as flat arrays, checked when it is built so that all other code can rely on it."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from counterleaf._core import Router
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.sparse import CSR
from counterleaf.strict_json import check_whole, loads
from counterleaf.types import Array

_FORMAT, _VERSION = "counterleaf-tree", 1
_WIDEST = 1_000_000  # columns of a tree in a file; few bytes can claim many
_FIELDS = ["features", "weights", "indptr", "indices", "data", "left", "right", "bias", "value", "classes", "closed", "dtype"]
_PADDED = 1 << 20  # characters of padding in an array of labels


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
    value : (N,) array-like of int
        The position of a leaf's class in ``classes``; ignored at inner nodes.
    classes : array-like, optional
        The labels, by default 0, 1, ...
    closed : {"right", "left"}, default="right"
        The side to which ``weights[i] @ x + bias[i] == 0`` belongs.
    dtype : {"float64", "float32"}, default="float64"
        The format to which the model casts x. Sums are in float64.

    Raises
    ------
    CounterleafError
        If the arrays do not describe a tree.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> [str(label) for label in tree.predict([[0.2, 0.3], [0.5, 0.5]])]
    ['no', 'yes']
    """

    left: Array
    right: Array
    weights: Any
    bias: Array
    value: Array
    classes: Any = None
    closed: str = "right"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        left, right = _integers("left", self.left), _integers("right", self.right)
        value, bias = _integers("value", self.value), _numbers("bias", self.bias)
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
        classes = _labels(self.classes, value[~inner])
        bad = ~inner & ((value < 0) | (value >= len(classes)))
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
        for array in (left, right, bias, value, classes):
            array.setflags(write=False)
        for name, checked in (
            ("left", left),
            ("right", right),
            ("weights", weights),
            ("bias", bias),
            ("value", value),
            ("classes", classes),
        ):
            object.__setattr__(self, name, checked)

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
        X = np.ascontiguousarray(rows, dtype=np.float64)
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

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_router"}  # rebuilt when it is needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, weights=CSR.of(state["weights"]))  # a matrix of SciPy in older pickles

    def predict(self, rows: npt.ArrayLike) -> Array:
        """Return the label of each row.

        Parameters
        ----------
        rows : (n, D) array-like
            Rows of finite numbers.

        Returns
        -------
        (n,) array
            Labels.
        """
        return np.asarray(self.classes[self.value[self.apply(rows)]])

    def to_json(self) -> str:
        """Return the tree as JSON, from which ``from_json`` restores every number bit for bit.

        Returns
        -------
        str
            The JSON text.
        """
        if self.n_features > _WIDEST:
            raise CounterleafError(f"the tree has {self.n_features:,} columns; its JSON holds up to {_WIDEST:,}")
        w = self.weights
        return json.dumps(
            {
                "format": _FORMAT,
                "version": _VERSION,
                "features": self.n_features,
                "left": self.left.tolist(),
                "right": self.right.tolist(),
                "weights": {"indptr": w.indptr.tolist(), "indices": w.indices.tolist(), "data": w.data.tolist()},
                "bias": self.bias.tolist(),
                "value": self.value.tolist(),
                "classes": self.classes.tolist(),
                "closed": self.closed,
                "dtype": self.dtype,
            }
        )

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
        try:
            fields = loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise CounterleafError(f"not a counterleaf tree: the text is not valid JSON ({flat(error)})") from None
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise CounterleafError(f'not a counterleaf tree: expected an object with "format": "{_FORMAT}"')
        version = fields.get("version")
        if type(version) is not int or version != _VERSION:
            raise CounterleafError(
                f"tree format version {brief(version)}; this counterleaf reads version {_VERSION}: upgrade it"
            )
        return cls(**_arguments(fields))


def _arguments(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tree, each checked to have a type that NumPy does not reinterpret."""
    weights = fields.get("weights")
    parts = {**fields, **(weights if isinstance(weights, dict) else {})}
    for name in _FIELDS:
        if name not in parts:
            raise CounterleafError(f"the tree's JSON lacks {name!r}; write it again with to_json")
    features = parts["features"]
    if type(features) is not int or not 0 <= features <= _WIDEST:
        raise CounterleafError(f"features is {brief(features)}; expected the number of columns, up to {_WIDEST:,}")
    indptr, indices, left, right, value = (
        _integers(name, _listed(name, parts[name])) for name in ("indptr", "indices", "left", "right", "value")
    )
    data, bias = (_numbers(name, _listed(name, parts[name])) for name in ("data", "bias"))
    try:
        matrix = CSR(indptr, indices, data, (indptr.size - 1, features))
    except ValueError:
        message = "the tree's JSON has weights that do not fit together; write it again with to_json"
        raise CounterleafError(message) from None
    arrays = {"left": left, "right": right, "weights": matrix, "bias": bias, "value": value}
    return {**arrays, "classes": _read_labels(parts["classes"]), "closed": parts["closed"], "dtype": parts["dtype"]}


def _listed(name: str, values: Any) -> list[Any]:
    """Check that ``values`` is a list of numbers: NumPy would accept text too, and pad all of it to the longest."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise _not_numbers(name) if name in ("data", "bias") else _not_integers(name)
    return values


def _not_numbers(name: str) -> CounterleafError:
    return CounterleafError(f"{name} holds something other than numbers; expected finite numbers")


def _not_integers(name: str) -> CounterleafError:
    return CounterleafError(f"{name} holds something other than integers; expected node or class numbers")


def _read_labels(labels: Any) -> Array:
    """Return labels exactly as written: NumPy would turn numbers among text into text, and strip and pad texts."""
    if not isinstance(labels, list) or not all(isinstance(label, (str, int, float)) for label in labels):
        raise CounterleafError("classes are not a list of labels; expected one label per class")
    check_whole(labels, "a class")
    try:
        if not all(map(math.isfinite, (label for label in labels if not isinstance(label, str)))):
            raise CounterleafError("classes holds infinity; expected text or finite numbers")
        text = [label.encode() for label in labels if isinstance(label, str)]
    except UnicodeEncodeError:
        raise CounterleafError("classes holds half a character; expected text or numbers") from None
    longest = max(map(len, text), default=0)
    kinds = {str if isinstance(label, str) else bool if isinstance(label, bool) else float for label in labels}
    odd = len(kinds) > 1 or any(label.endswith(b"\0") for label in text) or longest * len(text) > _PADDED + sum(map(len, text))
    return np.array(labels, dtype=object if odd else None)


def _integers(name: str, values: Any) -> Array:
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):  # a number too large for 64 bits fails the comparison below
            whole = array.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise _not_integers(name) from None
    if array.dtype == bool or (array.size and not np.array_equal(array, whole)):
        raise _not_integers(name)
    return whole.copy()


def _numbers(name: str, values: Any) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _not_numbers(name) from None


def _check_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise CounterleafError(f"{name} holds NaN or infinity; expected finite numbers")


def _csr(matrix: Any, inner: Array) -> CSR:
    """Return the weights of the inner nodes."""
    if not isinstance(matrix, CSR) and not hasattr(matrix, "tocsr"):
        matrix = _numbers("weights", matrix)
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


def _labels(classes: Any, used: Array) -> Array:
    if classes is None:
        return np.arange(max(int(used.max(initial=-1)) + 1, 1))
    try:
        labels = np.array(classes)
    except ValueError:
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
