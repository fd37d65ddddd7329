"""The explorer's desk as tests use it: questions as the page would send them, and the same in the words of the library."""

import functools
import json
import math

import numpy as np
import pandas as pd

import counterleaf as cl
from counterleaf.explorer.desk import Desk, open_desk

SCENES = ["adult", "digits", "german"]
TABLES = ["adult", "german"]


@functools.cache
def desk():
    """One desk for all tests, with time enough on a busy machine."""
    return open_desk({"time_limit": 30.0})


@functools.cache
def described(key):
    return next(one for one in desk().handle("scenes", {}) if one["key"] == key)


def question(key, **said):
    """The question with which a scene opens, and what is said beside."""
    scene = described(key)
    cost = "L2" if scene["shape"] else "L1"
    return {"scene": key, "row": scene["row"], "target": scene["target"], "cost": cost, "spread": scene["spreads"][0]} | said


def ask(given, at=None):
    """(what the page is told, the explanation behind it, read from the exported JSON)."""
    at = at or desk()
    told = at.handle("answer", given)
    json.dumps(told, allow_nan=False)
    written = at.handle("export", {"format": "json", "questions": [given]})
    return told, cl.Explanation.from_json(written["text"])


def control(name, **said):
    return {"controls": {name: said}}


def numbers(key):
    return [feature["name"] for feature in described(key)["features"] if feature["kind"] == "number"]


def categories(key):
    return [feature["name"] for feature in described(key)["features"] if feature["kind"] == "categorical"]


def feature_of(key, name):
    return next(feature for feature in described(key)["features"] if feature["name"] == name)


def changed_feature(key, kind="number", **said):
    """A feature of a kind that some answer to the opening question changes."""
    _, answer = ask(question(key, count=12, **said))
    return next(name for c in answer for name in c.changes if feature_of(key, name)["kind"] == kind)


def values_of(answer):
    """Every answer's whole row, by feature name."""
    return [{**answer.source_values, **{name: new for name, (_, new) in c.changes.items()}} for c in answer]


def by_hand(given, at=None):
    """The answer that a user of the library would get who writes the same question in Python."""
    scene = (at or desk()).scene(given["scene"])
    explainer, schema = scene.explainer, scene.explainer.schema
    row = (scene.rows.iloc[given["row"]] if scene.rows is not None else pd.Series(scene.values(0, {}))).to_dict()
    for name, code in given.get("edits", {}).items():
        feature = schema.features[schema.names.index(name)]
        if isinstance(feature, cl.Numeric):
            row[name] = code
        else:
            row[name] = None if code is None or code == len(feature.values) else feature.values[int(code)]
    constraints, times, new = [], {}, []
    for name, said in given.get("controls", {}).items():
        feature = schema.features[schema.names.index(name)]
        low, high = said.get("low"), said.get("high")
        if said.get("lock"):
            constraints.append(cl.freeze(name))
        if said.get("way", "any") != "any":
            constraints.append(cl.only_increase(name) if said["way"] == "up" else cl.only_decrease(name))
        if low is not None or high is not None:
            constraints.append(cl.between(name, -math.inf if low is None else low, math.inf if high is None else high))
        if said.get("allowed") is not None:
            constraints.append(cl.allow(name, [feature.values[k] for k in said["allowed"]]))
        if isinstance(feature, cl.Numeric):
            ends = [feature.lower, feature.upper, *(end for end in (low, high) if end is not None)]
            new.append(cl.Numeric(name, min(ends), max(ends), feature.integer, said.get("step") or feature.step))
        times[name] = said.get("weight", 1.0)
    if given.get("locked"):
        constraints.append(cl.freeze(*(schema.names[k] for k in set(given["locked"]))))
    if given.get("ink", "any") != "any":
        constraints.append((cl.only_increase if given["ink"] == "add" else cl.only_decrease)(*schema.names))
    if given.get("most") is not None:
        constraints.append(cl.max_changes(given["most"]))
    labels = {str(label): label for label in explainer.tree.classes.tolist()}
    return explainer.with_features(*new).explain(
        row,
        target=[labels[name] for name in given.get("target", [])] or None,
        cost=_cost(given, scene.shape, times),
        constraints=constraints,
        count=given.get("count", 3),
        margin=given.get("margin", 0.0),
    )


def _cost(given, shape, times):
    spread = given.get("spread", "range")
    spread = None if spread == "none" else spread
    kind = given.get("cost", "L1")
    if kind == "Q":
        tall, wide = shape
        places = [(r, c) for r in range(tall) for c in range(wide)]
        touch = np.array([[abs(a - c) + abs(b - d) == 1 for c, d in places] for a, b in places], float)
        return cl.Quadratic(np.eye(tall * wide) + 4.0 * (np.diag(touch.sum(axis=0)) - touch))
    parts = [cl.L1(spread, multiplier=times or None)] * (kind != "L2") + [cl.L2(spread, multiplier=times or None)] * (
        kind != "L1"
    )
    return sum(parts[1:], parts[0])


def agrees(given, at=None):
    """Ask the desk and by hand; the same answers, all confirmed. Returns what the page is told and the explanation."""
    told, answer = ask(given, at)
    expected = by_hand(given, at)
    assert told["status"] == str(expected.status)
    assert len(answer) == len(expected) == len(told["answers"])
    np.testing.assert_allclose([c.cost for c in answer], [c.cost for c in expected], rtol=1e-7, atol=1e-12)
    assert all(one["confirmed"] for one in told["answers"])
    assert [one["label"] for one in told["answers"]] == [str(c.label) for c in expected]
    confirmed(answer, given, at)
    return told, answer


def confirmed(answer, given, at=None):
    """The tree itself says of every row what is claimed."""
    scene = (at or desk()).scene(given["scene"])
    for row, c in zip(values_of(answer), answer, strict=True):
        assert scene.label(row) == str(c.label)
        assert not given.get("target") or str(c.label) in given["target"]
    costs = [c.cost for c in answer]
    assert costs == sorted(costs)
    assert len({c.leaf for c in answer}) == len(answer)


def small_desk(explainer, rows=None, shape=None, limit=30.0, key="own"):
    from counterleaf.explorer.scene import Scene

    return Desk([Scene(key, "Own", "What would change?", explainer, rows, shape=shape)], limit)


def endless(width=301):
    """A model with a question that no search finishes: "yes" needs 300.5 < 2 * sum < 301.5, where all numbers are 0 or 1."""
    weights = np.zeros((5, width))
    weights[[0, 2]] = 2.0
    tree = cl.Tree(
        [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [0.5 - width, 0, -0.5 - width, 0, 0], [-1, 0, -1, 1, 0], ["no", "yes"]
    )
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(f"x{k}", 0, 1, integer=True) for k in range(width)]))


SCHEMA = cl.Schema(
    [
        cl.Numeric("age", 18, 80, integer=True),
        cl.Numeric("rate", 0.0, 1.0),
        cl.Ordinal("school", ["none", "HS", "BA", "MA"]),
        cl.Categorical("job", ["clerk", "cook", "nurse"], missing=True),
        cl.Boolean("owner"),
    ]
)
COLUMNS = ["age", "rate", "school", "job=clerk", "job=cook", "job=nurse", "job=(missing)", "owner"]  # the tree's


def every_kind():
    """A model with every kind of feature; the category may be missing."""
    rng = np.random.default_rng(5)
    cuts = {"age": 40, "rate": 0.5, "job=nurse": 0.5, "school": 1.5, "owner": 0.5, "job=clerk": 0.5, "job=(missing)": 0.5}
    weights, bias = np.zeros((15, len(COLUMNS))), np.zeros(15)
    for node, (name, cut) in enumerate(cuts.items()):
        weights[node, COLUMNS.index(name)], bias[node] = 1.0, -cut
    left = [2 * k + 1 if k < 7 else -1 for k in range(15)]
    right = [2 * k + 2 if k < 7 else -1 for k in range(15)]
    value = [-1] * 7 + [0, 1, 1, 0, 2, 0, 1, 2]
    tree = cl.Tree(left, right, weights, bias, value, classes=["no", "yes", "maybe"])
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 81, 40),
            "rate": rng.random(40).round(3),
            "school": rng.choice(["none", "HS", "BA", "MA"], 40),
            "job": ["cook", None, *rng.choice(["clerk", "cook", "nurse"], 38).tolist()],
            "owner": rng.random(40) < 0.5,
        }
    )
    return cl.Explainer(tree, schema=SCHEMA), rows
