"""Trees and ensembles as JSON and back; what a file holds is checked before NumPy sees it, which would reinterpret much of it.

The large arrays of an ensemble are compressed.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, real_array
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.outputs import Outputs
from counterleaf.packed_arrays import Unpacker, pack
from counterleaf.sparse import CSR
from counterleaf.strict_json import check_whole, loads
from counterleaf.types import Array

_PLAIN, _COMPUTING = 1, 2  # the versions of a tree's format: leaves with classes alone, and leaves with outputs
_VERSION = 1  # of an ensemble's format
WIDEST = 1_000_000  # columns of a model in a file; few bytes can claim many
_FIELDS = ["features", "weights", "indptr", "indices", "data", "left", "right", "bias", "value", "classes", "closed", "dtype"]
_PADDED = 1 << 20  # characters of padding in an array of labels
_NUMBERS = ("divisor", "cut", "temperature", "noise")  # of a scoring
_DEEPEST = 10_000  # splits in a row: every row takes as many steps
_WORK = 256  # nodes that are visited to find the depth, for each node
_CODES = 1 << 28  # subsets times codes


def opened(text: Any, what: str) -> Any:
    """Return the content of a model's JSON; ``what`` is "tree" or "ensemble"."""
    try:
        return loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise CounterleafError(f"not a counterleaf {what}: the text is not valid JSON ({flat(error)})") from None


def _version(content: Any, what: str, known: tuple[int, ...]) -> int:
    """Return the version of a model's JSON, which says what it is."""
    if not isinstance(content, dict) or content.get("format") != f"counterleaf-{what}":
        raise CounterleafError(f'not a counterleaf {what}: expected an object with "format": "counterleaf-{what}"')
    version = content.get("version")
    if type(version) is not int or version not in known:
        reads = f"version{'s' * (len(known) > 1)} {' and '.join(map(str, known))}"
        raise CounterleafError(f"{what} format version {brief(version)}; this counterleaf reads {reads}: upgrade it")
    return version


def _check_width(model: Any, what: str) -> None:
    if model.n_features > WIDEST:
        raise CounterleafError(f"the {what} has {model.n_features:,} columns; its JSON holds up to {WIDEST:,}")


def _width(features: Any) -> int:
    if type(features) is not int or not 0 <= features <= WIDEST:
        raise CounterleafError(f"features is {brief(features)}; expected the number of columns, up to {WIDEST:,}")
    return features


def tree_content(tree: Any) -> dict[str, Any]:
    """Return the parts of a tree's JSON; numbers are read back bit for bit."""
    _check_width(tree, "tree")
    content = {
        "format": "counterleaf-tree",
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
    return content


def tree_arguments(fields: Any) -> dict[str, Any]:
    """Return the arguments of a tree, given the parts that ``tree_content`` wrote."""
    version = _version(fields, "tree", (_PLAIN, _COMPUTING))
    return {**_arguments(fields), "outputs": _outputs_in(fields) if version == _COMPUTING else None}


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
    features = _width(parts["features"])
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


def ensemble_content(ensemble: Any) -> dict[str, Any]:
    """Return the parts of an ensemble's JSON.

    Children are written as distances from their node, 0 at a leaf; splits only at inner nodes and values only at leaves.
    """
    tree, node = ensemble.splits, np.arange(len(ensemble.left))
    _check_width(ensemble, "ensemble")
    inner, size = ensemble.left >= 0, tree.n_nodes // 2
    subsets = {int(split): np.asarray(codes).astype(np.int64) for split, codes in ensemble.subsets.items()}
    return {
        "format": "counterleaf-ensemble",
        "version": _VERSION,
        "features": tree.n_features,
        "classes": ensemble.classes.tolist(),
        "scoring": dataclasses.asdict(ensemble.scoring),
        "start": pack(ensemble.start),
        "output": pack(ensemble.output),
        "roots": pack(ensemble.roots),
        "left": pack(np.where(inner, ensemble.left - node, 0)),
        "right": pack(np.where(inner, ensemble.right - node, 0)),
        "split": pack(ensemble.split[inner]),
        "value": pack(ensemble.value[~inner]),
        "splits": {
            "closed": tree.closed,
            "dtype": tree.dtype,
            "terms": pack(np.diff(tree.weights.indptr[: size + 1])),
            "columns": pack(tree.weights.indices),
            "weights": pack(tree.weights.data),
            "bias": pack(tree.bias[:size]),
        },
        "gaps": None
        if ensemble.gap_right is None
        else {"right": pack(ensemble.gap_right), "column": pack(ensemble.gap_column)},
        "subsets": {
            "split": pack(np.array(list(subsets), np.int64)),
            "sizes": pack(np.array([len(codes) for codes in subsets.values()], np.int64)),
            "codes": pack(np.concatenate([np.empty(0, np.int64), *subsets.values()])),
        },
    }


def ensemble_arguments(content: Any, unpacker: Unpacker) -> dict[str, Any]:
    """Return the arguments of an ensemble, of which ``splits`` are those of ``heap``, all checked to fit together."""
    _version(content, "ensemble", (_VERSION,))
    try:
        return _ensemble_arguments(content, unpacker)
    except KeyError as error:
        raise CounterleafError(f"the ensemble's JSON lacks {error}; write it again with to_json") from None
    except TypeError:
        raise CounterleafError("the ensemble's JSON garbles a part; write it again with to_json") from None


def _ensemble_arguments(content: dict[str, Any], unpacker: Unpacker) -> dict[str, Any]:
    width = _width(content["features"])
    heap_of = _splits_in(content["splits"], width, unpacker)
    size = len(heap_of[1])
    nodes = _nodes_in(content, size, unpacker)
    roots, start = unpacker.whole("roots", content["roots"], None), unpacker.real("start", content["start"], None)
    count, total = nodes["value"].shape[1], len(nodes["left"])
    output = unpacker.whole("output", content["output"], len(roots))
    if not len(roots) or not ((roots >= 0) & (roots < total)).all():
        raise _misfit("its roots are not nodes")
    if not count or not ((output >= 0) & (output + count <= len(start))).all():
        raise _misfit("a tree adds to a score that does not exist")
    _check_paths(nodes["left"], nodes["right"], roots)
    classes = labels_in(content["classes"])
    scoring = _scoring_in(content["scoring"], len(classes), len(start))
    with np.errstate(over="ignore"):
        most = (np.abs(nodes["value"]).max() * len(roots) + np.abs(start).max()) / min(scoring.divisor, 1.0)
    if not most <= np.finfo(scoring.dtype).max:
        raise _misfit(f"its scores go beyond the numbers of {scoring.dtype}")
    gap_right, gap_column = None, None
    if content["gaps"] is not None:
        gap_right = unpacker.whole("right", content["gaps"]["right"], size)
        gap_column = unpacker.whole("column", content["gaps"]["column"], size)
        if not np.isin(gap_right, (0, 1)).all() or not ((gap_column >= 0) & (gap_column < width)).all():
            raise _misfit("its routes of missing values are not those of its columns")
        gap_right = gap_right == 1
    return {
        "splits": heap_of,
        "roots": roots,
        **nodes,
        "output": output,
        "start": start,
        "scoring": scoring,
        "classes": classes,
        "gap_right": gap_right,
        "gap_column": gap_column,
        "subsets": _subsets_in(content["subsets"], heap_of[0], size, unpacker),
    }


def _misfit(why: str) -> CounterleafError:
    return CounterleafError(f"the ensemble's JSON does not fit together: {why}; write it again with to_json")


def _splits_in(content: Any, width: int, unpacker: Unpacker) -> tuple[CSR, Array, str, str]:
    """Read the catalogue: the weights, with a row for each node of its tree, the constants, and how rows are compared."""
    closed, dtype = content["closed"], content["dtype"]
    if closed not in ("left", "right") or dtype not in ("float32", "float64"):
        raise _misfit(f"its splits are closed {brief(closed)} and compare {brief(dtype)}")
    bias = unpacker.real("bias", content["bias"], None)
    terms = unpacker.whole("terms", content["terms"], len(bias))
    columns = unpacker.whole("columns", content["columns"], None)
    weights = unpacker.real("weights", content["weights"], len(columns))
    if not ((terms >= 0) & (terms <= width)).all():
        raise _misfit("a split has more terms than there are columns")
    indptr = np.concatenate([[0], np.cumsum(terms), np.full(len(bias) + 1, terms.sum())])
    try:
        return CSR(indptr, columns, weights, (2 * len(bias) + 1, width)), bias, closed, dtype
    except ValueError:
        raise _misfit("its splits have columns that do not exist") from None


def _nodes_in(content: dict[str, Any], size: int, unpacker: Unpacker) -> dict[str, Array]:
    """Read the children, the splits and the values of all nodes."""
    left = unpacker.whole("left", content["left"], None)
    total = len(left)
    right, node = unpacker.whole("right", content["right"], total), np.arange(total)
    inner = left > 0
    ahead = (left >= 0) & (right >= 0) & (left < total - node) & (right < total - node)
    if not total or not ahead.all() or (inner != (right > 0)).any():
        raise _misfit("its nodes do not have two children, each after its parent, or none")
    count = int(inner.sum())
    split, value = np.full(total, -1), unpacker.real("value", content["value"], total - count, None)
    split[inner] = unpacker.whole("split", content["split"], count)
    if not ((split[inner] >= 0) & (split[inner] < size)).all():
        raise _misfit("a node has a split that is not in the catalogue")
    values = np.zeros((total, value.shape[1]))
    values[~inner] = value
    children = (np.where(inner, node + step, -1) for step in (left, right))
    return {**dict(zip(("left", "right"), children, strict=True)), "split": split, "value": values}


def _check_paths(left: Array, right: Array, roots: Array) -> None:
    """Refuse trees that share nodes, or that are too deep to be followed level by level."""
    tree = np.full(len(left), -1)  # of each node
    tree[roots] = np.arange(len(roots))
    level, visited, depth = roots, 0, 0
    shared = bool((tree[roots] != np.arange(len(roots))).any())
    while len(level := level[left[level] >= 0]) and not shared:
        below, owner = np.concatenate([left[level], right[level]]), np.tile(tree[level], 2)
        shared = bool(((tree[below] >= 0) & (tree[below] != owner)).any())
        tree[below] = owner
        shared = shared or bool((tree[below] != owner).any())
        level = np.unique(below)
        visited, depth = visited + len(level), depth + 1
        if depth > _DEEPEST or visited > _WORK * (len(left) + 1024):
            raise CounterleafError(f"the ensemble has trees that are deeper than {_DEEPEST:,} splits; limit their depth")
    if shared:
        raise _misfit("two of its trees share a node")


def _scoring_in(content: Any, classes: int, scores: int) -> Scoring:
    names = [one.name for one in dataclasses.fields(Scoring)]
    if not isinstance(content, dict) or sorted(content) != sorted(names):
        raise _misfit(f"its scoring does not have the fields {', '.join(names)}")
    numbers = [content[name] for name in _NUMBERS]
    if type(content["late"]) is not bool or not all(type(value) in (int, float) for value in numbers):
        raise _misfit("its scoring has numbers that are none")
    try:
        scoring = Scoring(**{**content, **{name: float(content[name]) for name in _NUMBERS}})
    except OverflowError:
        raise _misfit("its scoring has numbers that are none") from None
    fits = {"value": classes == 0 and scores == 1, "largest": classes == scores > 0, "threshold": classes == 2 and scores == 1}
    links = {"logistic": scores == 1, "softmax": scoring.kind == "largest", "share": classes > 0}
    if not fits[scoring.kind] or not links.get(scoring.link, True):
        raise _misfit(f"{scores} scores with the link {scoring.link!r} do not make {classes} classes")
    return scoring


def _subsets_in(content: Any, weights: CSR, size: int, unpacker: Unpacker) -> dict[int, Array]:
    split = unpacker.whole("split", content["split"], None)
    sizes = unpacker.whole("sizes", content["sizes"], len(split))
    codes = unpacker.whole("codes", content["codes"], None)
    sound = (
        len(np.unique(split)) == len(split)
        and ((split >= 0) & (split < size)).all()
        and ((sizes >= 0) & (sizes <= len(codes))).all()
        and sizes.sum() == len(codes)
        and ((codes >= 0) & (codes < _CODES)).all()
        and len(split) * (int(codes.max(initial=0)) + 2) <= _CODES
        and (np.diff(weights.indptr)[split] == 1).all()
    )
    if not sound:
        raise _misfit("its subsets of categories are not those of its splits")
    return dict(zip(split.tolist(), np.split(codes, np.cumsum(sizes)[:-1]) if len(split) else [], strict=True))
