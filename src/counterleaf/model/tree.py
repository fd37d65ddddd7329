"""A decision tree as flat arrays, checked once, so that everything after may trust it."""

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
_WIDEST = 1_000_000  # columns of a tree in a file, which need not name them all
_PADDED = 1 << 20  # characters


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary decision tree whose splits are hyperplanes; node 0 is the root.

    A row x goes right at node i if ``weights[i] @ x + bias[i] >= 0`` and left otherwise.

    Parameters
    ----------
    left, right : (N,) children of each node; -1 marks a leaf.
    weights : (N, D) array, sparse matrix of SciPy or ``CSR``, kept as a ``CSR``; the rows of leaves are ignored. A row with one
        nonzero is an axis-aligned split.
    bias : (N,) numbers.
    value : (N,) index of a leaf's class in ``classes``; ignored at inner nodes.
    classes : labels, by default 0, 1, ...
    closed : the side that owns ``weights[i] @ x + bias[i] == 0``: "right" or "left".
    dtype : the format in which the model sees x: "float64" or "float32". Sums are made in float64.

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
                raise CounterleafError(f"{name} has shape {array.shape} but left has {left.shape}; give one entry per node")
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
            raise CounterleafError(f"leaf {leaf} has value {value[leaf]}; expected the index of one of {len(classes)} classes")
        if self.closed not in ("left", "right"):
            raise CounterleafError(f'closed is {brief(self.closed)}; expected "left" or "right"')
        if self.dtype not in ("float32", "float64"):
            raise CounterleafError(f'dtype is {brief(self.dtype)}; expected "float32" or "float64"')
        left, right = np.where(inner, left, -1), np.where(inner, right, -1)  # compiled code holds them in fewer bits
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
        return int(self.weights.shape[1])

    @property
    def n_nodes(self) -> int:
        return len(self.left)

    @property
    def leaves(self) -> Array:
        """Node numbers of the leaves, in order."""
        return np.flatnonzero(self.left < 0)

    @property
    def depth(self) -> int:
        """The greatest number of splits on a path."""
        depth, level = 0, np.array([0])
        while len(inner := level[self.left[level] >= 0]):
            depth, level = depth + 1, np.concatenate([self.left[inner], self.right[inner]])
        return depth

    def apply(self, rows: npt.ArrayLike) -> Array:
        """The leaf that each row reaches, as a node number."""
        X = np.ascontiguousarray(rows, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise CounterleafError(f"rows have shape {X.shape}; the tree needs (rows, {self.n_features})")
        if not np.isfinite(X).all():
            raise CounterleafError("rows hold NaN or infinity; a split cannot send them anywhere: fill them in first")
        return np.asarray(self._router.leaves(X))

    @functools.cached_property
    def _router(self) -> Router:
        w = self.weights
        right_closed, narrow = self.closed == "right", self.dtype == "float32"
        return Router(self.left, self.right, w.indptr, w.indices, w.data, self.bias, right_closed, narrow)

    def leaf_of(self, row: Array) -> int:
        """The leaf of one finite float64 row, unchecked."""
        return int(self._router.leaf(row))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_router"}  # made again where it is needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, weights=CSR.of(state["weights"]))  # in older pickles a matrix of SciPy

    def predict(self, rows: npt.ArrayLike) -> Array:
        """The label of each row."""
        return np.asarray(self.classes[self.value[self.apply(rows)]])

    def to_json(self) -> str:
        """The tree as JSON; numbers come back bit for bit."""
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
        """Read a tree that ``to_json`` wrote; anything else is refused with the reason."""
        try:
            fields = loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise CounterleafError(f"not a counterleaf tree: no valid JSON ({flat(error)})") from None
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise CounterleafError(f'not a counterleaf tree: expected an object with "format": "{_FORMAT}"')
        version = fields.get("version")
        if type(version) is not int or version != _VERSION:
            raise CounterleafError(
                f"tree format version {brief(version)}; this counterleaf reads version {_VERSION}: upgrade it"
            )
        return cls(**_arguments(fields))


def _arguments(fields: dict[str, Any]) -> dict[str, Any]:
    """What a tree is made of, each part of a type that NumPy makes no surprises of."""
    weights = fields.get("weights")
    given = {**fields, **(weights if isinstance(weights, dict) else {})}
    for name in (
        "features",
        "weights",
        "indptr",
        "indices",
        "data",
        "left",
        "right",
        "bias",
        "value",
        "classes",
        "closed",
        "dtype",
    ):
        if name not in given:
            raise CounterleafError(f"the tree's JSON lacks {name!r}; write it again with to_json")
    features = given["features"]
    if type(features) is not int or not 0 <= features <= _WIDEST:
        raise CounterleafError(f"features is {brief(features)}; expected the number of columns, up to {_WIDEST:,}")
    indptr, indices, left, right, value = (
        _integers(name, _listed(name, given[name])) for name in ("indptr", "indices", "left", "right", "value")
    )
    data, bias = (_numbers(name, _listed(name, given[name])) for name in ("data", "bias"))
    try:
        matrix = CSR(indptr, indices, data, (indptr.size - 1, features))
    except ValueError:
        message = "the tree's JSON has weights that do not fit together; write it again with to_json"
        raise CounterleafError(message) from None
    arrays = {"left": left, "right": right, "weights": matrix, "bias": bias, "value": value}
    return {**arrays, "classes": _read_labels(given["classes"]), "closed": given["closed"], "dtype": given["dtype"]}


def _listed(name: str, given: Any) -> list[Any]:
    """A list of numbers: NumPy would read text as well, and make room for the longest one everywhere."""
    if not isinstance(given, list) or not all(type(value) in (int, float) for value in given):
        kind = "number; expected finite numbers" if name in ("data", "bias") else "integer; expected node or class numbers"
        raise CounterleafError(f"{name} holds something that is no {kind}")
    return given


def _read_labels(given: Any) -> Array:
    """Labels as they were written: NumPy would turn numbers among text into text, cut a NUL off, and pad all to the longest."""
    if not isinstance(given, list) or not all(isinstance(label, (str, int, float)) for label in given):
        raise CounterleafError("classes are not a list of labels; give one label per class")
    check_whole(given, "a class")
    try:
        if not all(map(math.isfinite, (label for label in given if not isinstance(label, str)))):
            raise CounterleafError("classes holds infinity; expected text or finite numbers")
        text = [label.encode() for label in given if isinstance(label, str)]
    except UnicodeEncodeError:
        raise CounterleafError("classes holds half a character; expected text or numbers") from None
    longest = max(map(len, text), default=0)
    kinds = {str if isinstance(label, str) else bool if isinstance(label, bool) else float for label in given}
    odd = len(kinds) > 1 or any(label.endswith(b"\0") for label in text) or longest * len(text) > _PADDED + sum(map(len, text))
    return np.array(given, dtype=object if odd else None)


def _integers(name: str, given: Any) -> Array:
    try:
        array = np.asarray(given)
        with np.errstate(invalid="ignore"):  # a number too large for 64 bits shows below
            whole = array.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"{name} holds something that is no integer; expected node or class numbers") from None
    if array.dtype == bool or (array.size and not np.array_equal(array, whole)):
        raise CounterleafError(f"{name} holds something that is no integer; expected node or class numbers")
    return whole.copy()


def _numbers(name: str, given: Any) -> Array:
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"{name} holds something that is no number; expected finite numbers") from None


def _check_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise CounterleafError(f"{name} holds NaN or infinity; expected finite numbers")


def _csr(given: Any, inner: Array) -> CSR:
    """The weights of the inner nodes."""
    if not isinstance(given, CSR) and not hasattr(given, "tocsr"):
        given = _numbers("weights", given)
    if len(given.shape) != 2:
        raise CounterleafError(f"weights has shape {given.shape}; expected (nodes, features)")
    if given.shape[1] == 0:
        raise CounterleafError("weights has no columns; a tree needs at least one feature")
    try:
        weights = CSR.of(given)
    except (TypeError, ValueError) as error:
        raise CounterleafError(f"weights is not a valid sparse matrix ({error}); build it again") from None
    if len(inner) != weights.shape[0]:
        raise CounterleafError(f"weights has {weights.shape[0]} rows for {len(inner)} nodes; give one row per node")
    used = inner[weights.rows]
    return weights if used.all() else replace(weights, data=np.where(used, weights.data, 0.0))


def _check_links(left: Array, right: Array) -> None:
    """Every node but the root is the child of exactly one node and reachable from the root."""
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
        raise CounterleafError("node 0 is somebody's child; the root must be node 0")
    if (parents > 1).any():
        raise CounterleafError(f"node {int(np.flatnonzero(parents > 1)[0])} has several parents; expected one")
    if (parents[1:] == 0).any():
        node = 1 + int(np.flatnonzero(parents[1:] == 0)[0])
        raise CounterleafError(f"node {node} has no parent; every node but the root needs one")
    reached = 0
    level = np.array([0])
    while len(level):
        reached += len(level)
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    if reached < n:
        raise CounterleafError(f"{n - reached} nodes form a cycle that the root never reaches; give a tree")


def _labels(given: Any, used: Array) -> Array:
    if given is None:
        return np.arange(max(int(used.max(initial=-1)) + 1, 1))
    try:
        labels = np.array(given)
    except ValueError:
        raise CounterleafError("classes are not a list of labels; give one label per class") from None
    if labels.ndim != 1 or len(labels) == 0:
        raise CounterleafError(f"classes has shape {labels.shape}; expected one label per class")
    try:
        twice = len(set(labels.tolist())) < len(labels)
    except TypeError:
        raise CounterleafError("classes are not a list of labels; give one label per class") from None
    if twice:
        raise CounterleafError("classes holds a label twice; labels must differ")
    return labels
