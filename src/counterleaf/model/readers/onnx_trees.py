"""ONNX models whose graph is a tree ensemble with one tree, or few enough to be one."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat, not_installed
from counterleaf.model.cuts import cuts
from counterleaf.model.readers.shared.leaf_probes import Box, at_leaves, quiet, rows_at_splits, with_classes, with_values
from counterleaf.model.readers.shared.reader import Reader
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

_NODES = 50_000  # of the tree that several trees are merged into
_CLOSED = {"BRANCH_LEQ": "left", "BRANCH_GT": "left", "BRANCH_LT": "right", "BRANCH_GTE": "right"}


def as_model(model: Any) -> Any:
    """Return a model that predicts with onnxruntime."""
    return model if isinstance(model, OnnxModel) else OnnxModel(model)


class OnnxModel:
    """An ONNX model with the methods of a scikit-learn model, run by onnxruntime."""

    def __init__(self, proto: Any) -> None:
        self.proto = proto
        others = self._session.get_inputs()[1:]
        if others or self._input.type not in ("tensor(float)", "tensor(double)"):
            found = [one.type for one in self._session.get_inputs()]
            raise CounterleafError(f"this ONNX model takes {found}; expected one input with a table of float or double numbers")
        self.dtype = "float32" if self._input.type == "tensor(float)" else "float64"
        node = _ensemble(proto)
        if node.op_type == "TreeEnsembleClassifier":
            held = _attributes(node)
            texts = [label.decode() for label in held.get("classlabels_strings", [])]
            self.classes_ = np.array(texts or held["classlabels_int64s"])

    @functools.cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError:
            raise not_installed("the prediction of an ONNX model", "onnxruntime") from None
        try:
            return onnxruntime.InferenceSession(self.proto.SerializeToString(), providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has an error class for each code
            raise CounterleafError(f"onnxruntime cannot run this model ({flat(error)})") from None

    @property
    def _input(self) -> Any:
        return self._session.get_inputs()[0]

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_session"}  # made again when it is needed
        return {**state, "proto": self.proto.SerializeToString()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import onnx

        vars(self).update({**state, "proto": onnx.load_from_string(state["proto"])})

    def predict(self, X: Any) -> Array:
        found = np.asarray(self._run(X)[0])
        return found.reshape(len(found), -1)[:, 0] if found.size == len(found) else found

    def predict_proba(self, X: Any) -> Array:
        found = self._run(X)[1]
        if isinstance(found, list):  # a dictionary per row
            found = [[row[label] for label in self.classes_.tolist()] for row in found]
        return np.asarray(found, dtype=float)

    def _run(self, X: Any) -> Any:
        return self._session.run(None, {self._input.name: np.asarray(X, dtype=self.dtype)})


def _ensemble(proto: Any) -> Any:
    """Return the node of the graph that holds the trees, which must read the input itself."""
    (ensemble, *others) = [node for node in proto.graph.node if node.op_type.startswith("TreeEnsemble")] or [None]
    if ensemble is None or others:
        kinds = sorted({node.op_type for node in proto.graph.node})
        raise CounterleafError(f"cannot read this ONNX model: it has {', '.join(kinds)}; expected one TreeEnsemble")
    if ensemble.op_type not in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"):
        raise CounterleafError(
            f"cannot read this ONNX model: its {ensemble.op_type} is of a newer version; convert it with opset 3"
        )
    if ensemble.input[0] not in {one.name for one in proto.graph.input}:
        before = next((node.op_type for node in proto.graph.node if ensemble.input[0] in node.output), "step")
        raise CounterleafError(
            f"cannot read this ONNX model: a {before} comes before its trees; explain the pipeline that it was converted from"
        )
    return ensemble


def _attributes(node: Any) -> dict[str, Any]:
    import onnx

    out = {}
    for one in node.attribute:
        value = onnx.helper.get_attribute_value(one)
        name = one.name.removesuffix("_as_tensor")
        out[name] = onnx.numpy_helper.to_array(value) if one.name.endswith("_as_tensor") else value
    return out


def read(model: Any) -> Tree:
    """Return the trees of a model as one."""
    real = as_model(model)
    trees = _trees(real)
    splits = trees[0] if len(trees) == 1 else _merged(trees, "ONNX model")
    leaves, labels = at_leaves(splits, real.predict)
    if labels.ndim != 1:
        raise CounterleafError(f"this ONNX model has {labels.shape[1]} outputs; expected one")
    rows, _ = rows_at_splits(splits)
    if not hasattr(real, "classes_"):
        tree = with_values(splits, leaves, labels)
    else:
        shares = at_leaves(splits, real.predict_proba)[1]
        tree = with_classes(splits, leaves, labels, shares, real.classes_)
        if not ((shares >= 0) & (shares <= 1)).all():  # they are scores
            tree = replace(tree, outputs=None)
    with quiet():
        if len(rows) and not np.array_equal(tree.predict(rows), real.predict(rows)):
            raise CounterleafError("this ONNX model does not route rows as its thresholds say; report your onnxruntime version")
    return tree


def _trees(real: OnnxModel) -> list[Tree]:
    """Return the splits of each tree."""
    held = _attributes(_ensemble(real.proto))
    modes = [mode.decode() for mode in held["nodes_modes"]]
    kinds = {mode for mode in modes if mode != "LEAF"}
    if len({_CLOSED.get(mode) for mode in kinds}) > 1 or not kinds <= _CLOSED.keys():
        raise CounterleafError(
            f"this ONNX model has splits of the kinds {', '.join(sorted(kinds))}; expected one kind of < or <="
        )
    closed = _CLOSED[kinds.pop()] if len(kinds) == 1 else "left" if not kinds else _CLOSED[sorted(kinds)[0]]
    trees, ids = np.asarray(held["nodes_treeids"]), np.asarray(held["nodes_nodeids"])
    shape = real._input.shape
    features = np.asarray(held["nodes_featureids"])
    width = shape[1] if len(shape) == 2 and isinstance(shape[1], int) else int(features.max()) + 1
    values = np.asarray(held["nodes_values"], real.dtype).astype(float)
    true, false = np.asarray(held["nodes_truenodeids"]), np.asarray(held["nodes_falsenodeids"])
    out = []
    for k in np.unique(trees):
        at = np.flatnonzero(trees == k)
        place = {int(ids[i]): p for p, i in enumerate(at.tolist())}
        left, right = np.full(len(at), -1), np.full(len(at), -1)
        inner = [p for p, i in enumerate(at.tolist()) if modes[i] != "LEAF"]
        for p in inner:
            yes, no = place[int(true[at[p]])], place[int(false[at[p]])]
            left[p], right[p] = (yes, no) if modes[at[p]] in ("BRANCH_LEQ", "BRANCH_LT") else (no, yes)
        weights = CSR.from_entries(inner, features[at[inner]] if inner else [], np.ones(len(inner)), (len(at), width))
        bias = np.where(left >= 0, -values[at], 0.0)
        out.append(Tree(left, right, weights, bias, np.zeros(len(at), int), closed=closed, dtype=real.dtype))
    return out


def _open(trees: list[Tree], sides: list[Any], k: int, node: int, box: Box) -> tuple[int, int]:
    """Return the next tree and split, from a node on, that a box does not decide; the number of trees if there is none."""
    while True:
        if trees[k].left[node] < 0:
            k, node = k + 1, 0
            if k == len(trees):
                return k, 0
            continue
        feature, _, low_side, high_side = (one[node] for one in sides[k])
        low, high = box.get(int(feature), (-np.inf, np.inf))
        if low >= high_side:
            node = int(trees[k].right[node])
        elif high <= low_side:
            node = int(trees[k].left[node])
        else:
            return k, node


def _merged(trees: list[Tree], kind: str) -> Tree:
    """Return one tree whose leaves are the regions in which every tree has one leaf."""
    sides = [cuts(tree) for tree in trees]
    left, right, entries, bias = [-1], [-1], [], [0.0]
    stack: list[tuple[int, int, int, Box]] = [(0, 0, 0, {})]  # a new node, and the tree, the node and the box it is for
    while stack:
        place, k, node, box = stack.pop()
        k, node = _open(trees, sides, k, node, box)
        if k == len(trees):
            continue
        if len(left) > _NODES:
            raise CounterleafError(
                f"cannot read this {kind}: its {len(trees)} trees together have more than {_NODES // 2} regions; pass "
                f"the original model"
            )
        feature, _, low_side, high_side = (one[node] for one in sides[k])
        low, high = box.get(int(feature), (-np.inf, np.inf))
        entries.append((place, int(feature)))
        bias[place] = float(trees[k].bias[node])
        for links, child, side in (
            (left, trees[k].left[node], (low, min(high, low_side))),
            (right, trees[k].right[node], (max(low, high_side), high)),
        ):
            links[place] = len(left)
            stack.append((len(left), k, int(child), {**box, int(feature): side}))
            left.append(-1)
            right.append(-1)
            bias.append(0.0)
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    weights = CSR.from_entries(rows, columns, np.ones(len(rows)), (len(left), trees[0].n_features))
    n, first = len(left), trees[0]
    return Tree(
        np.array(left), np.array(right), weights, np.array(bias), np.zeros(n, int), closed=first.closed, dtype=first.dtype
    )


READER = Reader(
    classes=(("onnx.", ("ModelProto",)), ("counterleaf.model.readers.onnx_trees", ("OnnxModel",))), tree=read, as_model=as_model
)
