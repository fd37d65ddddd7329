"""``Outputs``: what the leaves of a tree compute: constants, or linear functions of the row, with one or several outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, real_array
from counterleaf.sparse import CSR
from counterleaf.types import Array

KINDS = ("value", "probability", "logistic", "softmax", "score")


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of the leaves of a tree: ``slope @ x + intercept``, and what they mean.

    Parameters
    ----------
    kind : {"value", "probability", "logistic", "softmax", "score"}
        "value": one output, the number that a regression tree predicts. "probability": one constant per class, its
        probability. "logistic": one output, the log odds of the second of two classes. "softmax": one output per class, whose
        softmax is the probability. "score": one output per class, of which the largest wins; they are not probabilities.
    intercept : (N, K) array-like
        The K outputs of each node at the row 0; those of inner nodes are ignored. (N,) if K is 1.
    slope : (N * K, D) array-like, sparse matrix of SciPy or CSR, optional
        The weights of output k of node i in row ``i * K + k``. Constant leaves by default.

    Raises
    ------
    CounterleafError
        If the arrays do not fit together.

    Examples
    --------
    >>> from counterleaf import Tree
    >>> outputs = Outputs("value", [0.0, 1.0, 5.0], [[0.0], [2.0], [0.0]])
    >>> tree = Tree(
    ...     left=[1, -1, -1], right=[2, -1, -1], weights=[[1.0], [0], [0]], bias=[-3.0, 0, 0], outputs=outputs
    ... )  # x0 - 3 >= 0 goes right
    >>> tree.predict([[2.0], [4.0]]).tolist()
    [5.0, 5.0]
    """

    kind: str
    intercept: Any
    slope: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise CounterleafError(f"outputs are of kind {brief(self.kind)}; expected one of {', '.join(KINDS)}")
        try:
            intercept = np.array(real_array(self.intercept, "intercept", "numbers"))
            intercept = intercept[:, None] if intercept.ndim == 1 else intercept
            slope = None if self.slope is None else CSR.of(self.slope)
        except Exception:  # of any object
            raise CounterleafError("the outputs hold something other than numbers; expected arrays of finite numbers") from None
        if intercept.ndim != 2 or not intercept.shape[1]:
            raise CounterleafError(f"the outputs' intercept has shape {intercept.shape}; expected (nodes, outputs)")
        if slope is not None and slope.shape[0] != intercept.size:
            raise CounterleafError(
                f"the outputs' slope has {slope.shape[0]} rows; expected {intercept.size}: one per node and output"
            )
        if not np.isfinite(intercept).all() or (slope is not None and not np.isfinite(slope.data).all()):
            raise CounterleafError("the outputs hold NaN or infinity; expected finite numbers")
        if self.kind == "probability" and slope is not None and len(slope.data):
            raise CounterleafError('outputs of kind "probability" are constants; for linear leaves use "softmax" or "logistic"')
        intercept.setflags(write=False)
        object.__setattr__(self, "intercept", intercept)
        object.__setattr__(self, "slope", slope if slope is not None and len(slope.data) else None)

    @property
    def count(self) -> int:
        """The number of outputs, K."""
        return int(self.intercept.shape[1])

    @property
    def linear(self) -> Array:
        """Whether each node has an output that depends on the row, as an (N,) array."""
        if self.slope is None:
            return np.zeros(len(self.intercept), bool)
        return np.asarray(np.diff(self.slope.indptr).reshape(-1, self.count).any(axis=1))

    def row(self, node: int, output: int) -> tuple[Array, Array, float]:
        """Return the columns, weights and constant of one output of a node.

        Parameters
        ----------
        node : int
            The node.
        output : int
            The output, from 0.

        Returns
        -------
        tuple
            Columns, weights and constant.
        """
        constant = float(self.intercept[node, output])
        if self.slope is None:
            return np.empty(0, np.int64), np.empty(0), constant
        return *self.slope.row(node * self.count + output), constant

    def at(self, nodes: Array, rows: Array) -> Array:
        """Return the outputs of some rows, given the leaf that each of them reaches.

        Parameters
        ----------
        nodes : (n,) array of int
            The leaves.
        rows : (n, D) array
            The rows.

        Returns
        -------
        (n, K) array
            The outputs.
        """
        out: Array = self.intercept[nodes].copy()
        if self.slope is None:
            return out
        starts, K = self.slope.indptr, self.count
        for node in [int(nodes[0])] if len(nodes) == 1 else np.unique(nodes).tolist():
            ends = starts[node * K : (node + 1) * K + 1]
            filled = np.flatnonzero(ends[1:] > ends[:-1])
            if not len(filled):
                continue
            here, at = np.flatnonzero(nodes == node), slice(ends[0], ends[-1])
            terms = rows[here[:, None], self.slope.indices[at]] * self.slope.data[at]
            out[here[:, None], filled] += np.add.reduceat(terms, ends[filled] - ends[0], axis=1)
        return out

    def reach(self, leaves: Array, lower: Array, upper: Array, sign: float, starts: Array) -> float:
        """Return the most that ``sign`` times the first output of some leaves can be within bounds.

        Parameters
        ----------
        leaves : array of int
            The leaves.
        lower, upper : (D,) array
            The bounds of the variables.
        sign : float
            1, or -1 for the least output.
        starts : (F + 1,) array
            The first variable of each feature; several variables of one feature are 0/1 variables of which one is 1.

        Returns
        -------
        float
            The bound.
        """
        best = -np.inf
        for leaf in leaves.tolist():
            columns, weights, constant = self.row(leaf, 0)
            whole = np.zeros(len(lower))
            whole[columns] = sign * weights
            alone = np.diff(starts) == 1
            numbers = starts[:-1][alone]
            ends = np.where(whole[numbers] > 0, upper[numbers], lower[numbers])
            total = sign * constant + float((whole[numbers] * ends)[whole[numbers] != 0].sum())
            for d in np.flatnonzero(~alone).tolist():
                total += float(whole[starts[d] : starts[d + 1]].max())
            best = max(best, total)
        return best

    def probabilities(self, outputs: Array) -> Array | None:
        """Return the probabilities of the classes.

        Parameters
        ----------
        outputs : (n, K) array
            The outputs of some rows.

        Returns
        -------
        (n, classes) array or None
            The probabilities; None if the outputs are not of such a kind.
        """
        if self.kind == "probability":
            return outputs
        if self.kind == "logistic":
            outputs = np.column_stack([np.zeros(len(outputs)), outputs[:, 0]])
        elif self.kind != "softmax":
            return None
        raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def fitted(self, inner: Array, width: int, classes: int) -> Outputs:
        """Return the outputs of a tree, checked to fit; 0 at inner nodes.

        Parameters
        ----------
        inner : (N,) array of bool
            Whether each node has children.
        width : int
            The number of columns.
        classes : int
            The number of classes.

        Returns
        -------
        Outputs
            The same outputs.
        """
        shape, wanted = self.intercept.shape, {"value": 1, "logistic": 1}.get(self.kind, classes)
        if shape != (len(inner), wanted):
            raise CounterleafError(
                f"the outputs' intercept has shape {shape}; a tree of {len(inner)} nodes needs {(len(inner), wanted)}"
            )
        if self.kind == "logistic" and classes != 2:
            raise CounterleafError(f'outputs of kind "logistic" need two classes; got {classes}: use "softmax"')
        leaf = self.intercept[~inner]
        if self.kind == "probability" and ((leaf < 0) | (leaf > 1)).any():
            raise CounterleafError("a probability of a leaf is not between 0 and 1")
        slope = self.slope
        if slope is not None and slope.shape[1] != width:
            raise CounterleafError(f"the outputs' slope has {slope.shape[1]} columns; the tree has {width}")
        if not inner.any():
            return self
        if slope is not None:
            used = np.repeat(~inner, self.count)[slope.rows]
            slope = CSR(slope.indptr, slope.indices, np.where(used, slope.data, 0.0), slope.shape)
        return Outputs(self.kind, np.where(inner[:, None], 0.0, self.intercept), slope)
