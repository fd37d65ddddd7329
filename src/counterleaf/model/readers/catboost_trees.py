"""CatBoostClassifier and CatBoostRegressor: symmetric and other trees, over numbers and categories."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.shared.assembly import Nodes, assemble
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.model.readers.shared.probing import settled, takes_gaps, with_noise
from counterleaf.model.readers.shared.reader import Reader
from counterleaf.table.frames import cells_of, is_frame
from counterleaf.table.frames import columns as columns_of
from counterleaf.table.row_types import table_like
from counterleaf.types import Array, is_missing

_VALUES = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MAPE", "Lq", "Huber", "Expectile", "LogCosh"), "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "exp"),
}
_KINDS = ("float", "categorical")  # of features
_LEAST = 5e-324  # the least number above 0


Test = tuple[int, float, bool, tuple[int, ...] | None]  # a column, a threshold, the way of a missing value, and codes
Tests = Callable[[dict[str, Any]], Test]
_LEAF: Test = 0, 0.0, False, None


def categories(model: Any, data: Any = None) -> dict[int, list[Any]]:
    """Return the categories of the data by column: the model keeps their hashes only."""
    columns, names = model.get_cat_feature_indices(), model.feature_names_
    if len(columns) and data is None:
        raise CounterleafError(
            f"this {type(model).__name__} does not tell the categories of column {names[columns[0]]!r}; pass data= with them, "
            f"and the model without a pipeline, or encode them as numbers first"
        )
    table = columns_of(data) if len(columns) else []
    if not is_frame(data) or not _named(names):
        table = [(name, column) for name, (_, column) in zip(names, table, strict=False)]
    by_name, out = dict(table), {}
    for d in columns:
        if names[d] not in by_name:
            raise CounterleafError(f"data lacks the column {names[d]!r}; the model was fitted on [{some(names)}]")
        values = {value for value in cells_of(by_name[names[d]]) if not is_missing(value)}
        out[int(d)] = sorted(values, key=lambda value: (type(value).__name__, value))
    return out


def inputs(model: Any, rows: Any, data: Any = None) -> Any:
    """Return what the model takes for rows of numbers and category codes: the same rows, or a table like the data."""
    known = categories(model, data)
    if not known:
        return rows
    cells: list[Any] = np.asarray(rows, float).T.tolist()
    for d, values in known.items():  # the model refuses missing categories: the first one stands for them
        cells[d] = [values[0 if np.isnan(code) else int(code)] for code in cells[d]]
    return table_like(data, cells, model.feature_names_, is_frame(data), {})


def _named(names: list[str]) -> bool:
    """Whether a model was fitted on columns with names."""
    return names != [str(d) for d in range(len(names))]


class CatBoostModel:
    """A model of CatBoost whose ``predict`` returns one label or value per row."""

    def __init__(self, model: Any) -> None:
        self.model = model
        names = model.feature_names_
        if _named(names):
            self.feature_names_in_ = np.array(names, dtype=object)
        if len(model.classes_):
            self.classes_ = np.asarray(model.classes_)

    def predict(self, X: Any) -> Array:
        found = np.ravel(self.model.predict(X))
        if hasattr(self, "classes_") and self.classes_.dtype == bool:  # CatBoost writes these labels as text
            return np.asarray(found.astype(str) == "True")
        return found

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(self.model.predict_proba(X))


def read(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind = type(model).__name__
    if not model.is_fitted():
        raise CounterleafError(f"this {kind} is not fitted; call fit first")
    stored = _stored(model)
    for name in ("text", "embedding"):
        for one in stored["features_info"].get(f"{name}_features") or []:
            raise CounterleafError(
                f"column {one['feature_id']!r} of this {kind} holds {name}s, which are not supported; encode it as numbers"
            )
    scale, bias = stored["scale_and_bias"]
    symmetric, tests = "oblivious_trees" in stored, _tests(model, stored, data)
    trees = [(_symmetric if symmetric else _free)(tree, len(bias), tests) for tree in _trees(stored)]
    trees = [one if scale == 1 else replace(one, value=one.value * float(scale)) for one in trees]
    real = CatBoostModel(model)
    width = len(model.feature_names_)

    def predict(rows: Array) -> Array:
        return np.asarray(real.predict(inputs(model, rows, data)))

    made = assemble(
        trees,
        _scoring(model, stored, kind),
        width=width,
        start=bias,
        classes=getattr(real, "classes_", ()),
        gaps=takes_gaps(predict, width),
        compares=("left", "float32"),
    )
    if scale != 1:
        made = with_noise(made, made.rounding)  # CatBoost multiplies the sum, not its terms

    def scores(rows: Array) -> Array:
        return np.asarray(model.predict(inputs(model, rows, data), prediction_type="RawFormulaVal"))

    sizes = {d: len(values) for d, values in categories(model, data).items()}
    return settled([made], kind, predict, scores, sizes)


def _tests(model: Any, stored: dict[str, Any], data: Any) -> Tests:
    """Return what tells the column of a split, its threshold, whether a missing value goes right, and the codes that do."""
    numbers = stored["features_info"].get("float_features") or []
    place = {one["feature_index"]: one["flat_feature_index"] for one in numbers}
    right = {one["feature_index"]: one["nan_value_treatment"] == "AsTrue" for one in numbers}
    chosen = _chosen(model, stored, data)

    def test(split: dict[str, Any]) -> Test:
        if split["split_type"] != "FloatFeature":
            column, codes = chosen[split["split_index"]]
            return column, 0.0, 0 in codes, codes  # in made-up rows, the first category stands for a missing one
        d = split["float_feature_index"]
        return place[d], float(np.float32(split["border"])), right[d], None

    return test


def _chosen(model: Any, stored: dict[str, Any], data: Any) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Return the column and the codes that go right of each split on categories, by the number of the split.

    CatBoost keeps hashes of categories and statistics of the target. A model with one of the splits in each of its trees, to
    which the categories are sent, tells on which side they are.
    """
    splits = {
        one["split_index"]: one for tree in _trees(stored) for one in _splits(tree) if one["split_type"] != "FloatFeature"
    }
    if not splits:
        return {}
    columns, known = _columns(model, stored, splits), categories(model, data)
    leaves = {"leaf_values": [0.0] * 2 * len(stored["scale_and_bias"][1]), "leaf_weights": [1, 1]}
    stumps = {name: part for name, part in stored.items() if name != "trees"}
    probed = _loaded({**stumps, "oblivious_trees": [{"splits": [one], **leaves} for one in splits.values()]})
    out: dict[int, tuple[int, tuple[int, ...]]] = {}
    for d in sorted(set(columns.values())):
        rows = np.zeros((len(known[d]), len(model.feature_names_)))
        rows[:, d] = np.arange(len(known[d]))
        with quiet():
            sides = np.asarray(probed.calc_leaf_indexes(inputs(model, rows, data))).astype(bool)
        out |= {
            k: (d, tuple(np.flatnonzero(side).tolist())) for k, side in zip(splits, sides.T, strict=True) if columns[k] == d
        }
    return out


def _columns(model: Any, stored: dict[str, Any], splits: dict[int, dict[str, Any]]) -> dict[int, int]:
    """Return the column of each split on categories; statistics of several columns together are refused."""
    features = stored["features_info"]
    numbers, texts = ({one["feature_index"]: one for one in features.get(f"{name}_features") or []} for name in _KINDS)
    first = sum(len(one.get("borders") or ()) for one in numbers.values())
    first += sum(len(one.get("values") or ()) for one in texts.values())
    statistics = [one for one in features.get("ctrs") or [] for _ in one["borders"]]  # numbered after all other splits
    out = {}
    for k, split in splits.items():
        parts = [split] if "cat_feature_index" in split else statistics[k - first]["elements"]
        found = [
            texts[one["cat_feature_index"]] if "cat_feature_index" in one else numbers[one["float_feature_index"]]
            for one in parts
        ]
        if len(found) > 1:
            raise CounterleafError(
                f"this {type(model).__name__} combines the columns {some([one['feature_id'] for one in found])} in one split, "
                f"and an ensemble needs splits on single columns; fit it with max_ctr_complexity=1"
            )
        out[k] = found[0]["flat_feature_index"]
    return out


def _trees(stored: dict[str, Any]) -> list[dict[str, Any]]:
    return list(stored["oblivious_trees" if "oblivious_trees" in stored else "trees"])


def _splits(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the splits of a tree."""
    yield from tree.get("splits") or ()
    ahead = [tree]
    while ahead:
        part = ahead.pop()
        if part.get("split") is not None:
            yield part["split"]
            ahead += [part["left"], part["right"]]


def _loaded(stored: dict[str, Any]) -> Any:
    """Return the model that CatBoost makes of its JSON; it reads from files only."""
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(stored), encoding="utf-8")
        return catboost.CatBoost().load_model(str(path), format="json")


def _stored(model: Any) -> dict[str, Any]:
    """Return what CatBoost writes about a model; it writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _scoring(model: Any, stored: dict[str, Any], kind: str) -> Scoring:
    loss = stored["model_info"]["params"]["loss_function"]["type"]
    if len(model.classes_):
        if loss in ("Logloss", "CrossEntropy") and model.get_probability_threshold() == 0.5:
            return Scoring("threshold", "logistic", late=True, cut=_LEAST)
        if loss in ("MultiClass", "MultiClassOneVsAll"):
            return Scoring("largest", "softmax" if loss == "MultiClass" else "none", late=True)
    elif loss in _VALUES:
        return Scoring("value", _VALUES[loss], late=True)
    if loss in ("Logloss", "CrossEntropy"):
        raise CounterleafError(
            f"this {kind} has a probability threshold of its own; expected 0.5: set_probability_threshold(0.5)"
        )
    raise CounterleafError(f"this {kind} has the loss {loss!r}, which is not supported; use Logloss, MultiClass or RMSE")


def _symmetric(tree: dict[str, Any], width: int, tests: Tests) -> Nodes:
    """Return the nodes of a tree that has the same split at all nodes of a level; the first split is the lowest bit."""
    splits = [tests(split) for split in tree.get("splits") or []]
    depth = len(splits)
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    node = np.arange(size)
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    *parts, codes = zip(*splits, _LEAF, strict=True)
    column, threshold, gap_right = (np.array(part)[level] for part in parts)
    subset = {k: found for k in range(inner) if (found := codes[level[k]]) is not None}
    leaf = np.zeros(2**depth, np.int64)
    for k in range(depth):  # a path from the root reads the bits from the first split on
        leaf |= ((np.arange(2**depth) >> (depth - 1 - k)) & 1) << k
    value = np.zeros((size, width))
    value[inner:] = np.array(tree["leaf_values"], float).reshape(-1, width)[leaf]
    left, after = (np.where(node < inner, 2 * node + side, -1) for side in (1, 2))
    return Nodes(left, after, column, threshold, gap_right, value, subset)


def _free(tree: dict[str, Any], width: int, tests: Tests) -> Nodes:
    """Return the nodes of a tree whose nodes have splits of their own."""
    nodes = [tree]
    links: list[tuple[int, int]] = []
    splits, value = [], []
    for one in nodes:  # the list grows while it is read
        split = one.get("split")
        if split is None:
            links.append((-1, -1))
            splits.append(_LEAF)
            value.append(np.broadcast_to(np.asarray(one["value"], float), (width,)))
            continue
        links.append((len(nodes), len(nodes) + 1))
        nodes += [one["left"], one["right"]]
        splits.append(tests(split))
        value.append(np.zeros(width))
    left, after = np.array(links).T
    *parts, codes = zip(*splits, strict=True)
    column, threshold, gap_right = (np.array(part) for part in parts)
    subset = {k: found for k, found in enumerate(codes) if found is not None}
    return Nodes(left, after, column, threshold, gap_right, np.array(value), subset)


READER = Reader(
    classes=(("catboost.", ("CatBoostClassifier", "CatBoostRegressor")),),
    is_ensemble=lambda model: True,
    ensemble=read,
    as_model=CatBoostModel,
    categories=categories,
    inputs=inputs,
)
