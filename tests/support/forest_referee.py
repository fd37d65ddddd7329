"""A slow, independent oracle for ensembles: try every combination of values that may matter, and let the model itself judge.

It never imports the search. The thresholds come from the files and attributes of the user's model. For each of them, the two
numbers next to the place where the model changes sides are found by bisection over floats, through the user's pipeline if
there is one. All combinations are priced, filtered by the constraints, and shown to the model's own ``predict``, the cheapest
ones first.
"""

import functools
import itertools
import json
import math
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import counterleaf as cl

MOST = 400_000  # combinations of values


class TooManyError(Exception):
    """The product of the values is too large to be enumerated."""


def thresholds(model, names):
    """(column -> thresholds, whether the model casts to float32) of a bare ensemble; columns by position."""
    kind, module = type(model).__name__, type(model).__module__.split(".")[0]
    if kind.startswith("HistGradientBoosting"):
        return _of_histograms(model), False
    if module == "sklearn":
        out = {}
        for tree in _trees(model):
            inner = tree.children_left >= 0
            for d, t in zip(tree.feature[inner].tolist(), tree.threshold[inner].tolist(), strict=True):
                out.setdefault(d, set()).add(t)
        return out, True
    return {"xgboost": _of_xgboost, "lightgbm": _of_lightgbm, "catboost": _of_catboost, "ydf": _of_ydf}[module](model, names)


def _trees(model):
    """The tree_ of every tree below a model."""
    if hasattr(model, "tree_"):
        yield model.tree_
        return
    for part in np.ravel(np.array(list(model.estimators_), dtype=object)).tolist():
        yield from _trees(part)


def _of_histograms(model):
    out = {}
    mapped = list(range(model.n_features_in_))
    if model.is_categorical_ is not None and getattr(model, "_preprocessor", None) is not None:
        is_category = np.asarray(model.is_categorical_)  # in the order of the table; inside, categories come first
        mapped = [*np.flatnonzero(is_category).tolist(), *np.flatnonzero(~is_category).tolist()]
    for step in model._predictors:
        for tree in step:
            for node in tree.nodes:
                if not node["is_leaf"] and not node["is_categorical"]:
                    out.setdefault(mapped[int(node["feature_idx"])], set()).add(float(node["num_threshold"]))
    return out


def _of_xgboost(model, names):
    booster = model.get_booster()
    out = {}
    for tree in json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]:
        kinds = tree["split_type"]
        for left, d, t, kind in zip(tree["left_children"], tree["split_indices"], tree["split_conditions"], kinds, strict=True):
            if left >= 0 and not kind:
                out.setdefault(d, set()).add(float(np.float32(t)))
    return out, True


def _of_lightgbm(model, names):
    out = {}

    def walk(node):
        if "split_feature" not in node:
            return
        if node["decision_type"] == "<=":
            out.setdefault(node["split_feature"], set()).add(float(node["threshold"]))
        walk(node["left_child"])
        walk(node["right_child"])

    booster = getattr(model, "booster_", model)
    for tree in booster.dump_model()["tree_info"]:
        walk(tree["tree_structure"])
    return out, False


def _of_catboost(model, names):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        model.save_model(file.name, format="json")
        content = json.loads(Path(file.name).read_text())
    out = {}
    for feature in content["features_info"].get("float_features", []):
        out[feature["flat_feature_index"]] = {float(np.float32(t)) for t in feature["borders"] or []}
    return out, True


def _of_ydf(model, names):
    out = {}

    def walk(node):
        if node.is_leaf:
            return
        condition = node.condition
        if hasattr(condition, "threshold"):
            name = model.data_spec().columns[condition.attribute].name
            out.setdefault(names.index(name), set()).add(float(np.float32(condition.threshold)))
        walk(node.pos_child)
        walk(node.neg_child)

    for tree in model.get_all_trees():
        walk(tree.root)
    return out, True


def _ordered(x):
    """Floats as integers in the same order."""
    bits = np.asarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _unordered(k):
    return np.where(k < 0, np.int64(-(2**63)) - k, k).astype(np.int64).view(np.float64)


def bisect(beyond, low, high, size, parts=32):
    """The (last, first) of two neighbouring floats such that ``beyond`` is False at the first and True at the second one.

    Each round cuts all ``size`` intervals into parts: ``beyond`` gets a row of numbers for each, since its calls are slow.
    """
    a, b = (np.full(size, int(_ordered(end)), object) for end in (low, high))
    while (b - a > 1).any():
        inner = a[:, None] + (b - a)[:, None] * np.arange(1, parts) // parts
        is_beyond = beyond(_unordered(inner.astype(np.int64)))
        at = np.where(is_beyond.any(axis=1), is_beyond.argmax(axis=1), parts - 1)
        ends = np.column_stack([a, inner, b])
        a, b = ends[np.arange(size), at], ends[np.arange(size), at + 1]
    return _unordered(a.astype(np.int64)), _unordered(b.astype(np.int64))


@dataclass
class Rule:
    """A constraint of the library, the test that it means, and the numbers at which it may bind.

    ``holds(columns, source)`` takes the values of all columns, as arrays of equal shape, and those of the source.
    """

    constraint: object
    holds: object
    ends: dict = field(default_factory=dict)


@dataclass
class Price:
    """One term of a cost: kind "L1", "L2", "linear" or "changes"; one pair of weights per column.

    ``by_name`` is the factor of columns with categories if the weights have a name, such as "range".
    """

    kind: str
    up: dict
    down: dict
    by_name: dict = None


@dataclass
class Question:
    """A question to the library and to the oracle.

    Parameters
    ----------
    model : object
        The user's model or pipeline, over a frame.
    frame : DataFrame
        The data, for the types of its columns.
    features : list of Feature
        Bounds, steps, categories.
    row : dict
        The source.
    cost : Cost
        For the library.
    prices : list of Price
        The same for the oracle.
    rules : list of Rule
        The constraints.
    accepts : callable
        From a frame of rows to the cost of the class of each, infinity if it misses the target.
    """

    model: object
    frame: pd.DataFrame
    features: list
    row: dict
    cost: object
    prices: list
    rules: list
    accepts: object
    more: dict = field(default_factory=dict)  # column -> further numbers that may matter

    def limits(self):
        return [rule.constraint for rule in self.rules]


def _is_missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def sides(question):
    """Column -> the last and the first numbers at the places where the model changes sides."""
    model, names = question.model, list(question.frame.columns)
    steps, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)
    found, narrow = thresholds(last, names if steps is None else None)
    out = {}
    for f in question.features:
        if not isinstance(f, cl.Numeric):
            continue
        out[f.name] = (set(), set())
        here = names.index(f.name)
        for k, cuts in found.items() if steps is not None else [(here, found.get(here, set()))]:
            if len(cuts):
                shown = functools.partial(_shown, question.frame, steps, f.name, k, narrow)
                for kept, ends in zip(out[f.name], _between(shown, np.array(sorted(cuts)), f, steps is not None), strict=True):
                    kept.update(ends)
    return out


def _shown(frame, steps, name, k, narrow, x):
    """What the last step of a pipeline gets in its column k if a column of the table has some numbers."""
    seen = x
    if steps is not None:
        base = filled(frame)
        made = steps.transform(base.loc[np.repeat(base.index[:1], len(x))].assign(**{name: x}))
        seen = np.asarray(made.toarray() if hasattr(made, "toarray") else made, float)[:, k]
    with np.errstate(over="ignore"):
        return np.float32(seen).astype(float) if narrow else np.asarray(seen, float)


def _between(shown, cuts, f, piped):
    """The (last, first) numbers at each cut, for both readings of the cut itself."""
    low, high = (-1e37, 1e37) if not piped else (max(f.lower, -1e6), min(f.upper, 1e6))
    reach = shown(np.array([low, high]))
    lasts, firsts = set(), set()
    sign = float(np.sign(reach[1] - reach[0]))
    for compare in (np.greater, np.greater_equal) if sign else ():

        def beyond(x, compare=compare):
            return compare(sign * shown(x.ravel()).reshape(x.shape), sign * cuts[:, None])

        inside = ~beyond(np.full((len(cuts), 1), low))[:, 0] & beyond(np.full((len(cuts), 1), high))[:, 0]
        for kept, part in zip((lasts, firsts), bisect(beyond, low, high, len(cuts)), strict=True):
            kept.update(part[inside].tolist())
    return lasts, firsts


def filled(frame):
    """The first rows of a frame without gaps in numbers."""
    out = frame.iloc[:1].copy()
    for name in out.columns:
        if out[name].isna().any():
            out[name] = frame[name].dropna().iloc[:1].to_numpy()
    return out


def on_grid(f, x):
    """The numbers of a feature next to x, at most and at least x."""
    if f.values is not None:
        values = np.array(f.values, float)
        return [float(v) for v in (*values[values <= x][-1:], *values[values >= x][:1])]
    step = Fraction(1) if f.integer and f.step is None else None if f.step is None else Fraction(str(f.step))
    if step is None:
        return [x]
    k = math.floor(Fraction(x) / step)
    return [float(step * (k + i)) for i in (-1, 0, 1, 2)]


def candidates(question, ends):
    """One list of values per column, NaN for a missing one."""
    out = []
    earns = any(price.kind == "linear" for price in question.prices)
    for f in question.features:
        at = question.row[f.name]
        if not isinstance(f, cl.Numeric):
            values = list(f.values)
            if _is_missing(at):
                values.append(None)
            out.append(values)
            continue
        gap = _is_missing(at)
        lasts, firsts = ends.get(f.name, (set(), set()))
        raw = lasts | firsts
        if not gap and not earns:  # below the source only the last numbers of a side can be cheapest, above it only the first
            raw = {x for x in lasts if x < at} | {x for x in firsts if x > at}
        for rule in question.rules:
            raw.update(rule.ends.get(f.name, ()))
        raw.update(question.more.get(f.name, ()))
        raw.update(x for x in (f.lower, f.upper) if math.isfinite(x))
        found = set()
        for x in raw:
            if math.isfinite(x):
                found.update(y for y in on_grid(f, x) if f.lower <= y <= f.upper)
        if gap:
            middle = sorted(found)
            found.update(y for pair in itertools.pairwise(middle) for y in on_grid(f, sum(pair) / 2) if f.lower <= y <= f.upper)
            out.append([math.nan, *sorted(found)])
            continue
        found.add(float(at))
        values = sorted(found)
        if f.missing == "allowed":
            values.append(math.nan)
        out.append(values)
    return out


def priced(question, columns):
    """The cost of rows, given as arrays by column, and whether each column changed."""
    total, changed = 0.0, {}
    for f in question.features:
        at, now = question.row[f.name], columns[f.name]
        if isinstance(f, cl.Numeric):
            is_gap = np.isnan(now)
            if _is_missing(at):
                changed[f.name] = ~is_gap
                for price in question.prices:
                    total = total + np.where(is_gap, 0.0, _gap(price, f.name))
                continue
            change = np.where(is_gap, 0.0, now - float(at))
            changed[f.name] = is_gap | (now != float(at))
            for price in question.prices:
                total = total + np.where(is_gap, _gap(price, f.name), _number(price, f.name, change))
            continue
        source = len(f.values) if _is_missing(at) else list(f.values).index(at)
        changed[f.name] = now != source
        for price in question.prices:
            total = total + _finite(price, f, source)[now]
    return total, changed


def _number(price, name, change):
    up, down = price.up.get(name, 0.0), price.down.get(name, 0.0)
    if price.kind == "linear":
        return up * change
    if price.kind == "changes":
        return up * (change != 0)
    power = 1 if price.kind == "L1" else 2
    return np.where(change > 0, up, down) * np.abs(change) ** power


def _gap(price, name):
    """What it costs to fill in a number or to leave it out."""
    if price.kind == "changes":
        return price.up[name]
    if price.kind == "linear":
        return 0.0
    return price.by_name[name] if price.by_name else price.up[name] + price.down[name]


def _finite(price, f, source):
    """What each value of a feature with finitely many of them costs."""
    size = len(f.values) + 1
    up, down = price.up.get(f.name, 0.0), price.down.get(f.name, 0.0)
    if price.kind == "changes":
        out = np.full(size, up)
    elif price.kind == "linear":
        coef = np.array([price.up.get(f"{f.name}={v}", 0.0) for v in f.values] + [0.0])
        return coef - coef[source]
    else:
        whole = price.by_name[f.name] if price.by_name else up + down
        out = np.full(size, whole)
        if f.costs is not None and source < len(f.values):
            out[:-1] = (whole if price.by_name else whole / 2) * np.array(f.costs)[source]
        elif isinstance(f, cl.Ordinal | cl.Boolean) and source < len(f.values):
            moved = np.arange(size - 1) - source
            out[:-1] = np.where(moved > 0, up, down) * np.abs(moved) ** (1 if price.kind == "L1" else 2)
    out[source] = 0.0
    return out


class Oracle:
    """All combinations of values of a question, priced; ``best`` asks the model."""

    def __init__(self, question, ends=None):
        self.question = question
        self.values = candidates(question, sides(question) if ends is None else ends)
        size = math.prod(map(len, self.values))
        if size > MOST:
            raise TooManyError(size)
        self.index = np.indices([len(v) for v in self.values]).reshape(len(self.values), -1)
        self.columns = {}
        for f, values, at in zip(question.features, self.values, self.index, strict=True):
            self.columns[f.name] = np.array(values, float)[at] if isinstance(f, cl.Numeric) else at
        self.cost, self.changed = priced(question, self.columns)
        ok = np.ones(size, bool)
        for rule in question.rules:
            ok &= rule.holds(self, question.row)
        self.allowed = ok

    def named(self, name, values):
        """Whether the column has one of some values."""
        f = next(f for f in self.question.features if f.name == name)
        places = [k for k, v in enumerate(f.values) if v in values]
        return np.isin(self.columns[name], places)

    def frame(self, which):
        """Some of the rows as a frame like the user's."""
        out = {}
        for f, values in zip(self.question.features, self.values, strict=True):
            kind = self.question.frame[f.name].dtype
            if isinstance(f, cl.Numeric):
                column = self.columns[f.name][which]
                if np.issubdtype(kind, np.integer):
                    column = column.astype(kind)
                out[f.name] = column
            else:
                cells = [None if k >= len(f.values) else f.values[k] for k in self.columns[f.name][which].tolist()]
                out[f.name] = pd.Series(cells, dtype=kind)
        return pd.DataFrame(out)[list(self.question.frame.columns)]

    def best(self, also=None, extra=None):
        """(least cost, its frame) of the rows that the model accepts; infinity if there is none."""
        ok = self.allowed if also is None else self.allowed & also
        places = np.flatnonzero(ok)
        order = places[np.argsort(self.cost[places], kind="stable")]
        best, row, size = math.inf, None, 512
        begin = 0
        while begin < len(order):
            here = order[begin : begin + size]
            if self.cost[here[0]] + self.least_class_cost >= best:
                break
            rows = self.frame(here)
            total = self.cost[here] + self.question.accepts(rows)
            k = int(np.argmin(total))
            if total[k] < best:
                best, row = float(total[k]), rows.iloc[[k]]
            begin, size = begin + size, min(2 * size, 20_000)
        return best, row

    @property
    def least_class_cost(self):
        return getattr(self.question.accepts, "least", 0.0)
