"""Models of LightGBM: classifiers, regressors and Boosters; boosting, dart and random forests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import first_number
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.scoring import Scoring
from counterleaf.model.readers.shared.assembly import Nodes, assemble, in_order
from counterleaf.model.readers.shared.leaf_probes import categorical, gaps_of, tree_of
from counterleaf.model.readers.shared.probing import settled, with_noise
from counterleaf.model.readers.shared.reader import Reader, booster_of, is_booster, refuse_no_trees
from counterleaf.model.tree import Tree
from counterleaf.table.frames import levels_by_name
from counterleaf.types import Array

_LINKS = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("binary", "cross_entropy"), "logistic"),
    "multiclass": "softmax",
}
_TIED = 2.0**-51  # two scores that close may have the same softmax, and then the first class wins
_ZERO = float(np.float32(1e-35))  # LightGBM takes numbers up to this size for 0
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of the type of a decision; the next two are the type of missing values


def _is_ensemble(model: Any) -> bool:
    if not (is_booster(model) or model.__sklearn_is_fitted__()):
        return False
    booster = booster_of(model)
    return booster.num_trees() > 1 or bool(booster.pandas_categorical) or bool(_coded(booster))


def categories(model: Any, data: Any = None) -> dict[int, list[Any]]:
    """Return the categories by column; an empty list if the model was fitted on codes.

    LightGBM keeps the categories of all categorical columns, the ordered ones too, but not the columns that they belong to: as
    in its predict, they are the categorical columns of the data, in their order.
    """
    booster = booster_of(model)
    coded, known, levels = _coded(booster), booster.pandas_categorical or [], levels_by_name(data)
    names = [name.replace(" ", "_") for name in levels]
    columns = [d for d, name in enumerate(booster.feature_name()) if name in names]
    if len(columns) != len(levels) and len(data.columns) == booster.num_feature():  # fitted on an array
        columns = [d for d, name in enumerate(data.columns) if str(name) in levels]
    if known and not levels:
        columns = list(coded)
        if len(known) != len(columns):  # ordered categories are numbers to the model, and a column without splits may hold any
            most = max(map(len, known))
            columns = [d for d, info in enumerate(_infos(booster)) if not info.startswith("[") or _like_codes(info, most)]
    if known and len(known) != len(columns):
        came = f"data has {len(columns)} categorical columns" if levels else "the model does not tell which"
        raise CounterleafError(
            f"this {type(model).__name__} was fitted on {len(known)} categorical columns and {came}; pass data= as a pandas "
            f"frame with the columns and types of the fit"
        )
    found = {d: list(values) for d, values in zip(columns, known, strict=True)} if known else {}
    return {**{d: [] for d in coded}, **found}


def _infos(booster: Any) -> list[str]:
    """Return what the text of a model says about the values of each column: an interval, codes, or none."""
    header = _lines(booster.model_to_string(num_iteration=1).split("\nTree=", 1)[0])
    return header["feature_infos"].split(" ")


def _like_codes(info: str, most: int) -> bool:
    """Return whether the values of a column may be codes of up to ``most`` ordered categories."""
    low, high = (float(end) for end in info[1:-1].split(":"))
    return low.is_integer() and high.is_integer() and low >= 0 and high < most


def _coded(booster: Any) -> list[int]:
    """Return the columns that some split may test by their codes."""
    return [d for d, info in enumerate(_infos(booster)) if info != "none" and not info.startswith("[")]


def as_model(model: Any) -> Any:
    """Return a model that predicts labels or values; a Booster of several classes predicts probabilities."""
    if not is_booster(model):
        return model
    return LightgbmClasses(model) if model.num_model_per_iteration() > 1 else LightgbmBooster(model)


class LightgbmBooster:
    """A Booster of LightGBM that knows the names of its columns."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        names = booster.feature_name()
        if names != [f"Column_{d}" for d in range(len(names))]:  # otherwise it was fitted on an array
            self.feature_names_in_ = np.array(names, dtype=object)

    def predict(self, X: Any) -> Array:
        return np.asarray(self.booster.predict(X))


class LightgbmClasses(LightgbmBooster):
    """A Booster of LightGBM with several classes, which are 0, 1, ..."""

    def __init__(self, booster: Any) -> None:
        super().__init__(booster)
        self.classes_ = np.arange(booster.num_model_per_iteration())

    def predict(self, X: Any) -> Array:
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(self.booster.predict(X))


def trees_of(model: Any) -> tuple[Ensemble, dict[str, str]]:
    """Return the trees of a fitted model, each of which adds to one score, and what its text says before them."""
    # as predict does, the text has the trees up to the best round
    header, *parts = booster_of(model).model_to_string().split("\nTree=")
    facts, kind = _lines(header), type(model).__name__
    nodes = [_nodes(_lines(part.split("\nend of trees")[0]), kind) for part in parts]
    refuse_no_trees(kind, nodes)
    groups = int(facts["num_tree_per_iteration"])
    averages = "average_output" in header.split("\n")
    divisor = float(max(len(nodes) // groups, 1)) if averages else 1.0
    made = assemble(
        [in_order(one) for one in nodes] if len(nodes) == 1 else nodes,
        Scoring("value", divisor=divisor),
        width=int(facts["max_feature_idx"]) + 1,
        start=np.zeros(groups),
        output=np.arange(len(nodes)) % groups,
    )
    return made, facts


def read(model: Any, data: Any = None) -> Ensemble:
    """Return the ensemble of a fitted model."""
    kind, booster = type(model).__name__, booster_of(model)
    sizes = {d: len(values) for d, values in categories(model, data).items()}
    made, facts = trees_of(model)
    for d, codes in made.subset_columns:
        sizes[d] = max(sizes.get(d, 0), max(codes.tolist(), default=0) + 1)
    labels, groups = None if is_booster(model) else getattr(model, "_classes", None), len(made.start)
    scoring = replace(_scoring(facts.get("objective", ""), groups, labels, kind), divisor=made.scoring.divisor)
    classes = np.asarray(labels) if labels is not None else np.arange(groups) if groups > 1 else np.asarray(())
    made = replace(made, scoring=scoring, classes=classes)
    if scoring.temperature != 1.0:
        made = with_noise(made, made.rounding)  # LightGBM multiplies by the slope of its sigmoid and does not divide
    real = as_model(model)

    def scores(rows: Array) -> Array:
        return np.asarray(booster.predict(rows, raw_score=True)) / scoring.divisor  # raw scores are sums, also of a forest

    return settled([made], kind, real.predict, scores, sizes)


def _lines(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _scoring(objective: str, groups: int, labels: Any, kind: str) -> Scoring:
    name, *options = objective.split(" ")
    link = _LINKS.get(name)
    if link is None or "sqrt" in options:
        raise CounterleafError(
            f"this {kind} has the objective {objective!r}, which is not supported; use binary, multiclass or regression"
        )
    if groups > 1:
        return Scoring("largest", link, noise=_TIED)
    slope = next((float(option[8:]) for option in options if option.startswith("sigmoid:")), 1.0)
    scoring = Scoring("value" if labels is None else "threshold", link, temperature=1.0 / slope)
    return scoring if labels is None else replace(scoring, cut=_cut(scoring))


def _cut(scoring: Scoring) -> float:
    """Return the least score at which the second class has the larger probability."""

    def holds(x: Array) -> Array:
        second = scoring.linked(x)
        return np.asarray(second > 1.0 - second)

    return float(first_number(holds, 1, 1e300)[0])


def _numbers(facts: dict[str, str], name: str, kind: type) -> Array:
    return np.array(facts.get(name, "").split(), dtype=kind)


def _nodes(facts: dict[str, str], kind: str) -> Nodes:
    """Return the nodes of a tree: its splits, then its leaves, which have negative numbers in the text."""
    if facts.get("is_linear", "0") == "1" and facts["leaf_coeff"].strip():
        raise CounterleafError(f"this {kind} has linear leaves; expected constants: use linear_tree=False")
    leaves = int(facts["num_leaves"])
    held = _numbers(facts, "leaf_value", float)
    inner = leaves - 1
    if inner == 0:
        none = np.zeros(1)
        return Nodes(np.array([-1]), np.array([-1]), none.astype(int), none, none.astype(bool), held[:1, None])
    decision, threshold = _numbers(facts, "decision_type", int), _numbers(facts, "threshold", float)
    column = _numbers(facts, "split_feature", int)
    categorical = (decision & _CATEGORICAL) > 0
    missing = (decision >> 2) & 3
    if (missing[~categorical] == 1).any():
        raise CounterleafError(f"this {kind} takes 0 for missing; use zero_as_missing=False")
    links = (_numbers(facts, name, int) for name in ("left_child", "right_child"))
    left, right = (np.where(link >= 0, link, inner + ~link) for link in links)
    # without missing numbers in the fit, a missing one counts as 0
    gap_right = np.where(missing == 2, (decision & _DEFAULT_LEFT) == 0, threshold < 0.0) & ~categorical
    subset = {}
    bounds, words = _numbers(facts, "cat_boundaries", int), _numbers(facts, "cat_threshold", int)
    for k in np.flatnonzero(categorical).tolist():
        place = int(threshold[k])
        bits = words[bounds[place] : bounds[place + 1]]
        subset[k] = tuple(32 * w + b for w, word in enumerate(bits.tolist()) for b in range(32) if word >> b & 1)
        left[k], right[k] = right[k], left[k]  # LightGBM sends the codes of the set left, and all others right
    threshold = _effective(threshold)
    full = np.concatenate
    ends = np.full(leaves, -1)
    return Nodes(
        full([left, ends]),
        full([right, ends]),
        full([column, np.zeros(leaves, int)]),
        full([threshold, np.zeros(leaves)]),
        full([gap_right, np.zeros(leaves, bool)]),
        full([np.zeros(inner), held])[:, None],
        subset,
    )


def _effective(threshold: Array) -> Array:
    """Return where LightGBM splits: it takes tiny numbers for 0, and huge thresholds for infinity.

    A threshold from 0 up to the largest of the tiny numbers has all of them on its left, one just below 0 has none of them.
    """
    out = np.where((threshold >= 0.0) & (threshold < _ZERO), _ZERO, threshold)
    out = np.where((threshold < 0.0) & (threshold >= -_ZERO), np.nextafter(-_ZERO, -np.inf), out)
    return np.where(threshold >= 1e300, np.inf, out)


def _one_tree(model: Any) -> Tree:
    trees, labels = trees_of(model)[0], None if is_booster(model) else getattr(model, "classes_", None)
    if booster_of(model).pandas_categorical:
        raise categorical(type(model).__name__)
    return tree_of(model, trees, model, labels)


READER = Reader(
    classes=(("lightgbm.", ("LGBMModel", "Booster")),),
    is_ensemble=_is_ensemble,
    tree=_one_tree,
    ensemble=read,
    as_model=as_model,
    gaps=lambda model: gaps_of(trees_of(model)[0]),
    categories=categories,
)
