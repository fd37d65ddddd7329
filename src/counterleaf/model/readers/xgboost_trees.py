"""Models of XGBoost: classifiers, regressors, their random forests and Boosters; sums in float32."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.shared.assembly import Nodes, assemble
from counterleaf.model.readers.shared.leaf_probes import categorical, gaps_of, tree_of
from counterleaf.model.readers.shared.probing import settled, with_noise
from counterleaf.model.readers.shared.reader import Reader, booster_of, is_booster, refuse_no_trees
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table.frames import column_names, frame_of_codes, levels_by_name, matrix_of
from counterleaf.types import Array

_LINKS = {
    **dict.fromkeys(("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror"), "identity"),
    **dict.fromkeys(("reg:quantileerror", "binary:logitraw"), "identity"),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "logistic"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}
_CHOICE = 2.0**100  # the weight of a category: it decides its split alone, and exactly
_MOST_COLUMNS = 1_000_000
_CLASSES = ("binary:logistic", "multi:softprob", "multi:softmax")
_TIED = 2.0**-22  # two scores that close may have the same softmax in float32, and then the first class wins


def _is_ensemble(model: Any) -> bool:
    if not (is_booster(model) or model.__sklearn_is_fitted__()):
        return False
    booster = booster_of(model)
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        return False
    return "c" in (booster.feature_types or ()) or len(booster.get_dump()) > 1


def categories(model: Any, data: Any = None) -> dict[int, list[Any]]:
    """Return the categories by column; an empty list if the model was fitted on codes."""
    booster = booster_of(model)
    columns = [d for d, kind in enumerate(booster.feature_types or ()) if kind == "c"]
    if not columns:
        return {}
    stored = trees_of(_learner(booster)).get("cats", {}).get("enc", [])
    found = {d: decoded(stored[d]) if d < len(stored) else [] for d in columns}
    levels, names = levels_by_name(data), booster.feature_names or ([] if data is None else column_names(data))
    # before version 3.1, models do not tell their categories, and take the codes of the table
    return {d: values or (levels.get(names[d], []) if names else []) for d, values in found.items()}


def decoded(stored: dict[str, Any]) -> list[Any]:
    """Return the categories of a column as XGBoost stores them: numbers, or texts one after another."""
    if "offsets" not in stored:
        return list(stored["values"])
    ends, text = stored["offsets"], bytes(value % 256 for value in stored["values"])
    return [text[a:b].decode() for a, b in itertools.pairwise(ends)]


def inputs(model: Any, rows: Any, data: Any = None) -> Any:
    """Return what the model takes for rows of numbers and category codes: the same rows, or a table with the categories."""
    known, names = categories(model, data), booster_of(model).feature_names
    if not any(known.values()):
        return rows
    columns: dict[str, Any] = {}
    for d, name in enumerate(names):
        cells: Any = np.asarray(rows)[:, d]
        if known.get(d):
            cells = np.where(np.isnan(cells), -1, np.nan_to_num(cells)).astype(int), known[d]
        columns[name] = cells
    return frame_of_codes(columns)


def as_model(model: Any) -> Any:
    """Return a model that predicts from arrays; a Booster takes matrices of its own, and may predict probabilities."""
    if not is_booster(model):
        return model
    objective = _learner(model)["objective"]["name"]
    return XGBoostClasses(model) if objective.startswith("multi:") else XGBoostBooster(model)


class XGBoostBooster:
    """A Booster of XGBoost that predicts the numbers of its objective from arrays and tables."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        if booster.feature_names is not None:
            self.feature_names_in_ = np.array(booster.feature_names, dtype=object)

    def predict(self, X: Any) -> Array:
        return np.asarray(self.booster.inplace_predict(self.taken(X), validate_features=False))

    def taken(self, X: Any) -> Any:
        """Return a table as the Booster takes it: as an array, unless it has columns of categories."""
        return X if levels_by_name(X) else matrix_of(X)


class XGBoostClasses(XGBoostBooster):
    """A Booster of XGBoost with several classes, which are 0, 1, ..."""

    def __init__(self, booster: Any) -> None:
        super().__init__(booster)
        self.classes_ = np.arange(int(_learner(booster)["learner_model_param"]["num_class"]))

    def predict(self, X: Any) -> Array:
        found = super().predict(X)
        return found.astype(int) if found.ndim == 1 else np.asarray(found.argmax(axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, also if the objective is multi:softmax, which predicts labels."""
        margin = np.asarray(self.booster.inplace_predict(self.taken(X), predict_type="margin", validate_features=False))
        return Scoring("largest", "softmax", "float32").probabilities(margin)


def read(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind, booster, learner = type(model).__name__, booster_of(model), _learner(model)
    sizes = {d: len(values) for d, values in categories(model, data).items()}
    made, starts = assembled(learner, kind, _rounds(model), labels_of(model, learner))
    for d, codes in made.subset_columns:
        sizes[d] = max(sizes.get(d, 0), max(codes.tolist(), default=0) + 1)
    real = as_model(model)

    def scores(rows: Array) -> Array:
        options = {"iteration_range": (0, _rounds(model)), "validate_features": False}
        return np.asarray(booster.inplace_predict(inputs(model, rows, data), predict_type="margin", **options))

    def predict(rows: Array) -> Array:
        return np.asarray(real.predict(inputs(model, rows, data)))

    orders = [replace(made.scoring, late=late) for late in (False, True)]
    candidates = (replace(made, start=start, scoring=scoring) for start in starts for scoring in orders)
    return settled(candidates, kind, predict, scores, sizes)


def assembled(learner: dict[str, Any], kind: str, rounds: int, labels: Array) -> tuple[Ensemble, Iterator[Array]]:
    """Return the ensemble of the first rounds of a model, or of all for 0, and what its start may be."""
    objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
    made = _trees(learner, kind, rounds)
    if objective not in (_CLASSES if len(labels) else _LINKS):
        raise CounterleafError(
            f"this {kind} has the objective {objective!r}, which is not supported; "
            f"use binary:logistic, multi:softprob or reg:squarederror"
        )
    scoring = _scoring(objective, len(made.start), len(labels) > 0)
    base = np.atleast_1d(np.array(json.loads(parameters["base_score"]), np.float32))
    starts = _starts(np.broadcast_to(base, len(made.start)), scoring.link)
    return replace(made, scoring=scoring, classes=np.asarray(labels)), starts


def _trees(learner: dict[str, Any], kind: str, rounds: int = 0) -> Ensemble:
    """Return the trees of the first rounds of a model, or of all for 0, each of which adds to one score or to all."""
    if "model" not in (state := learner["gradient_booster"]) and "gbtree" not in state:
        raise CounterleafError(f"this {kind} has the booster {state.get('name')!r}; expected trees: use booster='gbtree'")
    if "trees" not in trees_of(learner):
        raise CounterleafError(f"this {kind} has a linear booster; expected trees: use booster='gbtree'")
    parameters = learner["learner_model_param"]
    if (outputs := int(parameters.get("num_target", 1))) > 1:
        raise CounterleafError(f"this {kind} has {outputs} outputs; expected one: fit one model per output")
    state = trees_of(learner)
    end = _end(rounds, state)
    refuse_no_trees(kind, state["trees"][:end])
    drops = learner["gradient_booster"].get("weight_drop", [1.0] * len(state["trees"]))
    return assemble(
        [_nodes(tree, drop) for tree, drop in zip(state["trees"][:end], drops[:end], strict=True)],
        Scoring("value", dtype="float32"),
        width=int(parameters["num_feature"]),
        start=np.zeros(max(1, int(parameters["num_class"]))),
        output=state["tree_info"][:end],
        compares=("right", "float32"),
    )


def labels_of(model: Any, learner: dict[str, Any]) -> Array:
    """Return the labels of a classifier, none for a model that predicts numbers."""
    groups = int(learner["learner_model_param"]["num_class"])
    if hasattr(model, "n_classes_"):
        return np.asarray(model.classes_)
    saved = model is None and "classifier" in learner.get("attributes", {}).get("scikit_learn", "")
    return np.arange(max(groups, 2)) if saved or groups > 1 else np.array(())


def _learner(model: Any) -> dict[str, Any]:
    """Return what a model stores about itself."""
    booster = booster_of(model)
    if booster is not model and not np.isnan(model.missing):
        raise CounterleafError(
            f"this {type(model).__name__} takes {model.missing!r} for missing; expected NaN: fit it with missing=np.nan"
        )
    learner: dict[str, Any] = json.loads(bytes(booster.save_raw("json")))["learner"]
    return learner


def trees_of(learner: dict[str, Any]) -> dict[str, Any]:
    """Return what a stored model says about its trees."""
    state = learner["gradient_booster"]
    found: dict[str, Any] = state.get("gbtree", state)["model"]
    return found


def _rounds(model: Any) -> int:
    """Return the number of rounds by which the model predicts, 0 for all of them."""
    return 0 if is_booster(model) else int(model._get_iteration_range(None)[1])


def _end(rounds: int, state: dict[str, Any]) -> int:
    ends = state.get("iteration_indptr")
    if rounds == 0:
        return len(state["trees"])
    if ends is not None:
        return int(ends[rounds])
    parallel = int(state["gbtree_model_param"].get("num_parallel_tree", 1))
    return int(rounds * max(parallel, 1) * (1 + max(state["tree_info"])))


def _nodes(tree: dict[str, Any], drop: float) -> Nodes:
    left = np.array(tree["left_children"])
    leaf, right = left < 0, np.where(left < 0, -1, np.array(tree["right_children"]))
    width = int(tree["tree_param"].get("size_leaf_vector", 1))
    number = np.array(tree["split_conditions"], np.float32)  # the threshold of a split, the value of a leaf
    value = number[:, None]
    if width > 1:  # a leaf holds one number per class, in the row that it names in place of a child
        held = np.array(tree["leaf_weights"], np.float32).reshape(-1, width)
        value = held[np.where(leaf, np.array(tree["right_children"]), 0)]
    value = value if drop == 1.0 else value * np.float32(drop)
    gap_right = ~leaf & ~np.array(tree["default_left"], bool)
    subset = {}
    parts = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for k, begin, size in parts:
        subset[int(k)] = tuple(sorted(int(code) for code in tree["categories"][begin : begin + size]))
    column = np.where(leaf, 0, np.array(tree["split_indices"]))
    return Nodes(left, right, column, number.astype(float), gap_right, value.astype(float), subset)


def _scoring(objective: str, groups: int, classifies: bool) -> Scoring:
    link = _LINKS[objective]
    if groups > 1:
        return Scoring("largest", link, "float32", noise=0.0 if objective == "multi:softmax" else _TIED)
    if classifies:
        scoring = Scoring("threshold", link, "float32")
        return replace(scoring, cut=_cut(scoring))
    return Scoring("value", link, "float32")


def _cut(scoring: Scoring) -> float:
    """Return the least float32 whose probability is above one half."""

    def holds(x: Array) -> Array:
        return np.asarray(scoring.linked(x) > 0.5)

    near = np.float32(first_number(holds, 1, 1e30)[0])
    return float(near if holds(np.array([near]))[0] else np.nextafter(near, np.float32(np.inf)))


def _starts(base: Array, link: str) -> Iterator[Array]:
    """Yield what the base score may be as a score: the logarithms of two libraries may differ in the last digits."""
    wide = base.astype(np.float64)
    if link not in ("logistic", "exp"):
        yield wide
        return
    with np.errstate(divide="ignore"):
        score = (-np.log(1.0 / wide - 1.0) if link == "logistic" else np.log(wide)).astype(np.float32)
        narrow = -np.log(np.float32(1) / base - np.float32(1)) if link == "logistic" else np.log(base)
    for centre in (score, narrow):
        for steps in (0, 1, -1, 2, -2, 3, -3):
            out = centre
            for _ in range(abs(steps)):
                out = np.nextafter(out, np.float32(np.sign(steps) * np.inf))
            yield out.astype(np.float64)


def _one_tree(model: Any) -> Tree:
    kind = type(model).__name__
    trees, labels = _trees(_learner(model), kind), None if is_booster(model) else getattr(model, "classes_", None)
    if "c" in (booster_of(model).feature_types or ()):
        raise categorical(kind)
    return tree_of(model, trees, as_model(model), labels)


def is_xgboost(content: Any) -> bool:
    """Return whether the content of a JSON file is a model that XGBoost saved."""
    return isinstance(content, Mapping) and "learner" in content and "version" in content


def read_xgboost(content: Mapping[str, Any]) -> tuple[Ensemble, list[str], dict[int, list[Any]]]:
    """Return the ensemble of a model that XGBoost saved as JSON.

    XGBoost itself does not predict, so the noise of the scores is a bound on the rounding of its sums in any order. A
    classifier of the scikit-learn interface has the classes 0, 1, ...; another model predicts the numbers of its objective.
    """
    try:
        learner: Any = content["learner"]
        best = learner.get("attributes", {}).get("best_iteration")
        rounds = 0 if best is None else int(best) + 1
        found, starts = assembled(learner, "XGBoost model", rounds, labels_of(None, learner))
        first, *others = starts
        names = [str(name) for name in learner.get("feature_names", ())]
        if len(names) not in (0, found.n_features) or found.n_features > _MOST_COLUMNS:
            raise ValueError(f"{len(names)} names for {found.n_features} columns")
        kinds = learner.get("feature_types", ())
        stored = trees_of(learner).get("cats", {}).get("enc", [])
        known = {d: decoded(stored[d]) if d < len(stored) else [] for d, kind in enumerate(kinds) if kind == "c"}
        for d, values in known.items():
            if not values:
                raise CounterleafError(
                    f"the file does not tell the categories of column {names[d] if names else d!r}; fit it again with XGBoost "
                    f"3.1 or later, on a pandas frame with categories"
                )
    except CounterleafError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, UnicodeDecodeError, ValueError) as error:
        raise CounterleafError(
            f"the XGBoost model is damaged or of an unknown version ({type(error).__name__}: {flat(error)}); save it again "
            f"with save_model('model.json')"
        ) from None
    found = replace(found, start=first)
    sums = 2.0 if "weight_drop" in learner["gradient_booster"] else 1.0  # dart weighs its trees before it adds
    noise = sums * found.rounding + max((float(np.abs(one - first).max()) for one in others), default=0.0)
    found = with_noise(found, noise)
    return (_one_hot(found, {d: len(values) for d, values in known.items()}) if known else found), names, known


def _one_hot(ensemble: Ensemble, sizes: Mapping[int, int]) -> Ensemble:
    """Return an ensemble of category codes with one column per category in their place."""
    tree, width = ensemble.splits, ensemble.n_features
    starts = np.append(0, np.cumsum([sizes.get(d, 1) for d in range(width)]))
    rows, columns, data = [], [], []
    bias = tree.bias[: tree.n_nodes // 2].copy()
    for k in range(len(bias)):
        held, weights = tree.weights.row(k)
        codes: Sequence[int] = range(sizes.get(int(held[0]), 0)) if k in ensemble.subsets else ()
        right = set(ensemble.subsets[k].tolist()) if k in ensemble.subsets else set()
        if k in ensemble.subsets:
            bias[k] = 0.0
            rows += [k] * len(codes)
            columns += [int(starts[held[0]]) + code for code in codes]
            data += [_CHOICE if code in right else -_CHOICE for code in codes]
        else:
            rows += [k] * len(held)
            columns += starts[held].tolist()
            data += weights.tolist()
    weights = CSR.from_entries(rows, columns, data, (tree.n_nodes, int(starts[-1])))
    column = None if ensemble.gap_column is None else starts[ensemble.gap_column]
    return replace(ensemble, splits=heap(weights, bias, tree.closed, tree.dtype), subsets={}, gap_column=column)


READER = Reader(
    classes=(("xgboost.", ("XGBModel", "Booster")),),
    is_ensemble=_is_ensemble,
    tree=_one_tree,
    ensemble=read,
    as_model=as_model,
    gaps=lambda model: gaps_of(_trees(_learner(model), type(model).__name__)),
    categories=categories,
    inputs=inputs,
)
