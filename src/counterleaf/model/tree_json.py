"""A tree as JSON and back; what a file holds is checked before NumPy sees it, which would reinterpret much of it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, real_array
from counterleaf.model.outputs import Outputs
from counterleaf.sparse import CSR
from counterleaf.strict_json import check_whole, loads
from counterleaf.types import Array

_FORMAT = "counterleaf-tree"
_PLAIN, _COMPUTING = 1, 2  # the versions of the format: leaves with classes alone, and leaves with outputs
WIDEST = 1_000_000  # columns of a tree in a file; few bytes can claim many
_FIELDS = ["features", "weights", "indptr", "indices", "data", "left", "right", "bias", "value", "classes", "closed", "dtype"]
_PADDED = 1 << 20  # characters of padding in an array of labels


def tree_out(tree: Any) -> str:
    """Return a tree as JSON; numbers are read back bit for bit."""
    if tree.n_features > WIDEST:
        raise CounterleafError(f"the tree has {tree.n_features:,} columns; its JSON holds up to {WIDEST:,}")
    content = {
        "format": _FORMAT,
        "version": _PLAIN if tree.outputs is None else _COMPUTING,
        "features": tree.n_features,
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "weights": _matrix_out(tree.weights),
        "bias": tree.bias.tolist(),
        "value": tree.value.tolist(),
        "classes": tree.classes.tolist(),
        "closed": tree.closed,
        "dtype": tree.dtype,
    }
    if tree.outputs is not None:
        slope = tree.outputs.slope
        content["outputs"] = {
            "kind": tree.outputs.kind,
            "intercept": tree.outputs.intercept.tolist(),
            "slope": None if slope is None else _matrix_out(slope),
        }
    return json.dumps(content)


def tree_in(text: str) -> dict[str, Any]:
    """Return the arguments of the tree that ``tree_out`` wrote."""
    try:
        fields = loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise CounterleafError(f"not a counterleaf tree: the text is not valid JSON ({flat(error)})") from None
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise CounterleafError(f'not a counterleaf tree: expected an object with "format": "{_FORMAT}"')
    version = fields.get("version")
    if type(version) is not int or version not in (_PLAIN, _COMPUTING):
        raise CounterleafError(
            f"tree format version {brief(version)}; this counterleaf reads versions {_PLAIN} and {_COMPUTING}: upgrade it"
        )
    arguments = _arguments(fields)
    return {**arguments, "outputs": _outputs_in(fields) if version == _COMPUTING else None}


def _matrix_out(matrix: CSR) -> dict[str, Any]:
    return {"indptr": matrix.indptr.tolist(), "indices": matrix.indices.tolist(), "data": matrix.data.tolist()}


def _outputs_in(fields: dict[str, Any]) -> Outputs:
    """Return the outputs of a tree's JSON."""
    content = fields.get("outputs")
    if not isinstance(content, dict) or not {"kind", "intercept", "slope"} <= content.keys():
        raise CounterleafError("the tree's JSON lacks or garbles 'outputs'; write it again with to_json")
    intercept, slope = content["intercept"], content["slope"]
    if not isinstance(intercept, list) or not all(isinstance(line, list) for line in intercept):
        raise _not_numbers("intercept")
    table = [numbers("intercept", _listed("intercept", line)) for line in intercept]
    if len({len(line) for line in table}) > 1:
        raise CounterleafError("the tree's JSON has lines of 'intercept' of different lengths; write it again with to_json")
    matrix = None
    if slope is not None:
        if not isinstance(slope, dict) or not {"indptr", "indices", "data"} <= slope.keys():
            raise CounterleafError("the tree's JSON lacks or garbles 'slope'; write it again with to_json")
        matrix = _matrix_in(slope, fields["features"])
    return Outputs(content["kind"], np.array(table), matrix)


def _arguments(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tree, each checked to have a type that NumPy does not reinterpret."""
    weights = fields.get("weights")
    parts = {**fields, **(weights if isinstance(weights, dict) else {})}
    for name in _FIELDS:
        if name not in parts:
            raise CounterleafError(f"the tree's JSON lacks {name!r}; write it again with to_json")
    features = parts["features"]
    if type(features) is not int or not 0 <= features <= WIDEST:
        raise CounterleafError(f"features is {brief(features)}; expected the number of columns, up to {WIDEST:,}")
    left, right, value = (integers(name, _listed(name, parts[name])) for name in ("left", "right", "value"))
    bias = numbers("bias", _listed("bias", parts["bias"]))
    arrays = {"left": left, "right": right, "weights": _matrix_in(parts, features), "bias": bias, "value": value}
    return {**arrays, "classes": labels_in(parts["classes"]), "closed": parts["closed"], "dtype": parts["dtype"]}


def _matrix_in(parts: dict[str, Any], width: int) -> CSR:
    indptr, indices = (integers(name, _listed(name, parts[name])) for name in ("indptr", "indices"))
    data = numbers("data", _listed("data", parts["data"]))
    try:
        return CSR(indptr, indices, data, (indptr.size - 1, width))
    except ValueError:
        message = "the tree's JSON has weights that do not fit together; write it again with to_json"
        raise CounterleafError(message) from None


def _listed(name: str, values: Any) -> list[Any]:
    """Check that ``values`` is a list of numbers: NumPy would accept text too, and pad all of it to the longest."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise _not_numbers(name) if name in ("data", "bias", "intercept") else _not_integers(name)
    return values


def _not_numbers(name: str) -> CounterleafError:
    return CounterleafError(f"{name} holds something other than numbers; expected finite numbers")


def _not_integers(name: str) -> CounterleafError:
    return CounterleafError(f"{name} holds something other than integers; expected node or class numbers")


def labels_in(labels: Any) -> Array:
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


def integers(name: str, values: Any) -> Array:
    """Return whole numbers as an array, or refuse ``values`` by name."""
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):  # a number too large for 64 bits fails the comparison below
            whole = (array if array.dtype.kind in "biufO" else np.array(None)).astype(np.int64)
    except Exception:  # of any object
        raise _not_integers(name) from None
    if array.dtype == bool or (array.size and not np.array_equal(array, whole)):
        raise _not_integers(name)
    return whole.copy()


def numbers(name: str, values: Any) -> Array:
    """Return numbers as an array, or refuse ``values`` by name."""
    return np.array(real_array(values, name, "finite numbers"))
