"""A fitted scikit-learn pipeline that ends with a tree, folded into one tree over the variables of a schema.

Every column that the tree sees comes from one column of the table, so a split on a scaled column is a split on a number of
the table, and a split on an encoded column separates its categories. To find out which side a value takes, it is sent through
the fitted steps themselves instead of repeating their arithmetic: the folded tree routes every row as the pipeline does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.pipelines import probing
from counterleaf.model.pipelines.probing import Probe, frame_of
from counterleaf.model.pipelines.steps import Survey, survey
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_CHOICE = 2.0**100  # the weight of a category: it decides its split alone, and exactly
_FAR = 2.0**200  # a number so large that adding the offset of a scaler does not change it
_NARROW = float(np.finfo(np.float32).max)  # scikit-learn's trees refuse larger numbers
_CELLS = 2_000_000  # of an encoded table of probes


@dataclass(frozen=True, eq=False)
class Folded:
    """A pipeline as one tree over the variables of a schema.

    Parameters
    ----------
    tree : Tree
        The tree, with the node numbers of the pipeline's tree.
    fills : dict
        The number by which the pipeline replaces a missing one, by feature.
    exact : bool
        Whether every split tests one raw column, so that the tree routes every row as the pipeline does. Otherwise the two
        agree up to rounding.
    """

    tree: Tree
    fills: dict[str, float]
    exact: bool


def fold(pipeline: Any, schema: Schema, data: Any = None) -> Folded:
    """Return the tree of a fitted pipeline over the variables of a schema.

    Parameters
    ----------
    pipeline : Pipeline or Survey
        The pipeline, or its survey.
    schema : Schema
        The features of the raw table.
    data : DataFrame or array-like, optional
        A table with the columns and types that the pipeline was fitted on.

    Returns
    -------
    Folded
        The tree.

    Raises
    ------
    CounterleafError
        If the schema does not fit the pipeline, or if the pipeline fails on one of its values.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit([[1.0], [2.0], [4.0]], [0, 0, 1])
    >>> folded = fold(model, Schema([Numeric("x")]))
    >>> folded.tree.predict([[2.999], [3.001]]).tolist()
    [0, 1]
    """
    found = pipeline if isinstance(pipeline, Survey) else survey(pipeline)
    probe = Probe(found, schema, data)
    tree, exact = _fold(probe, probe.choices())
    if exact:
        _check(probe, tree)
    return Folded(tree, probe.fills(), exact)


@dataclass(frozen=True, eq=False)
class _Splits:
    """The splits of a pipeline's tree in the arithmetic of the model."""

    columns: list[Array]
    weights: list[Array]
    bias: Array
    gap_right: Array  # where a missing value goes
    closed_right: bool
    narrow: bool

    @classmethod
    def of(cls, model: Any, tree: Tree) -> _Splits:
        w, inner = tree.weights, tree.left >= 0
        closed_right, narrow = tree.closed == "right", tree.dtype == "float32"
        arrays = getattr(model, "tree_", tree)
        if isinstance(arrays, Tree):
            columns, weights = (np.split(part, w.indptr[1:-1]) for part in (w.indices, w.data))
            return cls(columns, weights, tree.bias, np.zeros(len(inner), bool), closed_right, narrow)
        # the thresholds themselves: a Tree cannot hold an infinite one, which separates the missing values
        columns = [arrays.feature[[i]] if inner[i] else arrays.feature[:0] for i in range(len(inner))]
        weights = [np.ones(len(part)) for part in columns]
        gap_right = ~arrays.missing_go_to_left.astype(bool)
        return cls(columns, weights, np.where(inner, -arrays.threshold, 0.0), gap_right, closed_right, narrow)

    def right(self, nodes: Any, terms: list[tuple[Any, Array]]) -> Array:
        """Return whether the model sends rows to the right; ``terms`` are (weight, what the tree sees) in order."""
        score: Any = 0.0
        with np.errstate(over="ignore"):
            for weight, x in terms:
                score = score + weight * (np.clip(x, -_NARROW, _NARROW).astype(np.float32).astype(float) if self.narrow else x)
            score = np.asarray(score + self.bias[nodes])
        return np.asarray(np.where(np.isnan(score), self.gap_right[nodes], (score > 0) | (self.closed_right & (score == 0))))


def _fold(probe: Probe, seen: dict[int, Array]) -> tuple[Tree, bool]:
    """Return the tree over the variables, and whether every split tests one raw column."""
    tree = probe.found.read
    splits = _Splits.of(probe.found.tree, tree)
    lines: dict[int, dict[int, float]] = {}  # inner node -> the weight of each variable
    bias = np.zeros(tree.n_nodes)
    numeric, oblique = [], []
    for i in np.flatnonzero(tree.left >= 0).tolist():
        columns, raws = splits.columns[i], set(probe.raw[splits.columns[i]].tolist())
        lines[i] = {}
        if not raws:
            bias[i] = 1.0 if splits.right(i, []) else -1.0
        elif len(raws) == 1 and raws <= seen.keys():
            k = raws.pop()
            right = splits.right(i, [(w, seen[k][:, j]) for j, w in zip(columns, splits.weights[i], strict=True)])
            lines[i] = {probe.starts[k] + v: _CHOICE if there else -_CHOICE for v, there in enumerate(right)}
        elif len(columns) == 1:
            numeric.append(i)
        else:
            oblique.append(i)
    closed = tree.closed if oblique else "left"
    if numeric:
        _cut(probe, splits, np.array(numeric), closed == "right", lines, bias)
    if oblique:
        _slant(probe, splits, oblique, seen, lines, bias)
    entries = [(i, variable, weight) for i, line in lines.items() for variable, weight in line.items()]
    rows, cols, data = zip(*entries, strict=True) if entries else ((), (), ())
    weights = CSR.from_entries(rows, cols, data, (tree.n_nodes, probe.schema.width))
    return Tree(tree.left, tree.right, weights, bias, tree.value, tree.classes, closed=closed), not oblique


def _cut(probe: Probe, splits: _Splits, nodes: Array, owned: bool, lines: dict[int, dict[int, float]], bias: Array) -> None:
    """Fold the splits on a column that comes from a number: the steps are monotone, so one number is the first on its side."""
    column = np.array([splits.columns[i][0] for i in nodes])
    weight = np.array([splits.weights[i][0] for i in nodes])[:, None]
    raw = probe.raw[column]
    slot = np.zeros(len(nodes), np.int64)  # one made-up row serves one node of each raw column
    for k in set(raw.tolist()):
        slot[raw == k] = np.arange((raw == k).sum())
    slots = int(slot.max()) + 1

    def right(x: Array) -> Array:
        points = x.shape[1]
        values = {k: np.full((slots, points), probe.usual[k]) for k in set(raw.tolist())}
        for k, numbers in values.items():
            numbers[slot[raw == k]] = x[raw == k]
        seen = probe.numbers({k: numbers.ravel() for k, numbers in values.items()})
        return splits.right(nodes[:, None], [(weight, seen.reshape(slots, points, -1)[slot, :, column])])

    ends = right(np.repeat([[-probing.TOP, probing.TOP]], len(nodes), axis=0))
    falling = ends[:, 0] & ~ends[:, 1]
    points = int(np.clip(_CELLS // (len(probe.raw) * slots), 1, 31))
    high = probing.first(lambda x: right(x) ^ falling[:, None], len(nodes), points)
    for i, k, first, falls, (bottom, top) in zip(nodes.tolist(), raw, high, falling, ends, strict=True):
        if bottom == top:
            bias[i] = 1.0 if top else -1.0
            continue
        lines[i][probe.starts[k]] = -1.0 if falls else 1.0
        # the numbers from `first` on go right, or those before it; the edge must lie on the side that includes 0
        edge = first if owned != falls else np.nextafter(first, -np.inf)
        bias[i] = edge if falls else -edge


def _slant(
    probe: Probe, splits: _Splits, nodes: list[int], seen: dict[int, Array], lines: dict[int, dict[int, float]], bias: Array
) -> None:
    """Fold the splits on several raw columns: sums of the weights times what the steps make of a value or of a unit."""
    numeric = [k for k in set(probe.raw.tolist()) if k not in seen]
    offset, far = probe.numbers({k: np.array([0.0, _FAR]) for k in numeric}) if numeric else np.zeros((2, 0))
    for i in nodes:
        constants = [splits.bias[i]]
        for j, weight in zip(splits.columns[i].tolist(), splits.weights[i].tolist(), strict=True):
            k = int(probe.raw[j])
            start, line = probe.starts[k], lines[i]
            if probe.found.columns[j].clipped:
                name = probe.found.names[k]
                raise CounterleafError(
                    f"column {name!r} is clipped by MinMaxScaler, and the tree has oblique splits on it; use clip=False"
                )
            if k in seen:
                for v, made in enumerate(seen[k][:, j].tolist()):
                    line[start + v] = line.get(start + v, 0.0) + weight * made
            else:
                line[start] = line.get(start, 0.0) + weight * (far[j] / _FAR)
                constants.append(weight * offset[j])
        bias[i] = math.fsum(constants)


def _check(probe: Probe, tree: Tree) -> None:
    """Send the last row left and the first row right of every split through the pipeline itself."""
    features = probe.features
    codes = _rows_at_splits(probe, tree)
    if not codes:
        return
    rows = [
        [c if isinstance(f, Numeric) else (*f.values, None)[int(c)] for f, c in zip(features, line, strict=True)]
        for line in codes
    ]
    seen = probing.dense(probing.transform(probe.found.steps, frame_of(rows, probe.found, probe.data)))
    fit = np.flatnonzero(~(np.abs(seen) > _NARROW).any(axis=1))
    _, reached = probe.encode([rows[r] for r in fit])
    fitting = np.array(codes)[fit]
    x = np.zeros((len(fit), probe.schema.width))
    for k, (start, feature) in enumerate(zip(probe.starts, features, strict=True)):
        if isinstance(feature, Numeric):
            x[:, start] = fitting[:, k]
        elif start >= 0:  # otherwise the pipeline drops it
            x[np.arange(len(fit)), start + fitting[:, k].astype(int)] = 1.0
    if not np.array_equal(tree.apply(x), reached):
        raise CounterleafError("the pipeline does not route rows as its steps say; report your scikit-learn version")


def _rows_at_splits(probe: Probe, tree: Tree) -> list[list[float]]:
    """Return the codes of a row on either side of every split; a number that is split on is the closest one to the split."""
    _, swapped, low_side, high_side = cuts(tree)
    features = probe.features
    feature_of = {start + v: k for k, start in enumerate(probe.starts) for v in range(features[k].size)}
    codes: list[list[float]] = []
    stack: list[tuple[int, dict[int, Any]]] = [(0, {})]  # a node and its region: intervals of numbers, sets of values
    while stack and len(codes) * len(probe.raw) < _CELLS:
        node, box = stack.pop()
        columns, data = tree.weights.row(node)
        for right, child in ((False, int(tree.left[node])), (True, int(tree.right[node]))):
            if child < 0 or (not len(columns) and right != (tree.bias[node] > 0)):
                continue
            within = dict(box)
            if len(columns):
                k = feature_of[int(columns[0])]
                if not isinstance(features[k], Numeric):
                    within[k] = box.get(k, True) & ((data > 0) == right)
                    possible = within[k].any()
                else:
                    low, high = box.get(k, (-np.inf, np.inf))
                    upper = right != swapped[node]
                    low, high = (max(low, high_side[node]), high) if upper else (low, min(high, low_side[node]))
                    within[k], possible = (low, high), low <= high
                if not possible:
                    continue
                codes.append([_code(probe, j, within.get(j)) for j in range(len(features))])
                if isinstance(features[k], Numeric):
                    codes[-1][k] = within[k][0 if upper else 1]
            stack.append((child, within))
    return codes


def _code(probe: Probe, k: int, box: Any) -> float:
    """Return a value of a feature within an interval or a set."""
    feature = probe.features[k]
    if isinstance(feature, Numeric):
        low, high = box or (-np.inf, np.inf)
        return float(min(max(probe.usual[k], low), high))
    return float(feature.place(probe.usual[k]) if box is None else box.argmax())
