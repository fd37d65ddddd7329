"""Questions as the page sends them, answered by a session of the explorer and, for comparison, by the library itself."""

import functools
import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session, open_session

SCENES = ["adult", "digits", "german"]
TABLES = ["adult", "german"]


@functools.cache
def bundled_session():
    """One session for all tests, with a time limit that suits a busy machine."""
    return open_session({"time_limit": 30.0})


@functools.cache
def describe_scene(key):
    return bundled_session().handle("scene", {"scene": key})


def make_question(key, **fields):
    """The initial question of a scene, with some fields replaced."""
    scene = describe_scene(key)
    cost = "L2" if scene["shape"] else "L1"
    return {
        "scene": key,
        "row": scene["first_row"],
        "target": scene["target"],
        "cost": cost,
        "spread": scene["spreads"][0],
    } | fields


def ask(question, session=None):
    """The reply to the page, and the explanation in the exported JSON."""
    session = session or bundled_session()
    reply = session.handle("answer", question)
    json.dumps(reply, allow_nan=False)
    exported = session.handle("export", {"format": "json", "questions": [question]})
    return reply, cl.Explanation.from_json(exported["text"])


def control(name, **settings):
    return {"controls": {name: settings}}


def numbers(key):
    return [feature["name"] for feature in describe_scene(key)["features"] if feature["kind"] == "number"]


def categories(key):
    return [feature["name"] for feature in describe_scene(key)["features"] if feature["kind"] == "categorical"]


def feature_of(key, name):
    return next(feature for feature in describe_scene(key)["features"] if feature["name"] == name)


def changed_feature(key, kind="number", **fields):
    """A feature of a kind that some answer to the initial question changes."""
    _, answer = ask(make_question(key, count=12, **fields))
    return next(name for c in answer for name in c.changes if feature_of(key, name)["kind"] == kind)


def values_of(answer):
    """The values of each answer by feature name."""
    return [{**answer.source_values, **{name: new for name, (_, new) in c.changes.items()}} for c in answer]


def by_hand(question, session=None):
    """The explanation that a user of the library gets for the same question in Python."""
    scene = (session or bundled_session()).scene(question["scene"])
    explainer, schema = scene.explainer, scene.explainer.schema
    row = (scene.rows.iloc[question["row"]] if scene.rows is not None else pd.Series(scene.values(0, {}))).to_dict()
    for name, code in question.get("edits", {}).items():
        feature = schema.features[schema.names.index(name)]
        if isinstance(feature, cl.Numeric):
            row[name] = code
        else:
            row[name] = None if code is None or code == len(feature.values) else feature.values[int(code)]
    constraints, multipliers, new = [], {}, []
    for name, settings in question.get("controls", {}).items():
        feature = schema.features[schema.names.index(name)]
        low, high = settings.get("low"), settings.get("high")
        if settings.get("lock"):
            constraints.append(cl.freeze(name))
        if settings.get("direction", "any") != "any":
            constraints.append(cl.only_increase(name) if settings["direction"] == "only_increase" else cl.only_decrease(name))
        if low is not None or high is not None:
            constraints.append(cl.between(name, -math.inf if low is None else low, math.inf if high is None else high))
        if settings.get("allowed") is not None:
            constraints.append(cl.allow(name, [feature.values[k] for k in settings["allowed"]]))
        if isinstance(feature, cl.Numeric):
            ends = [feature.lower, feature.upper, *(end for end in (low, high) if end is not None)]
            new.append(cl.Numeric(name, min(ends), max(ends), feature.integer, settings.get("step") or feature.step))
        multipliers[name] = settings.get("multiplier", 1.0)
    if question.get("locked_pixels"):
        constraints.append(cl.freeze(*(schema.names[k] for k in set(question["locked_pixels"]))))
    if question.get("ink", "any") != "any":
        constraints.append((cl.only_increase if question["ink"] == "add" else cl.only_decrease)(*schema.names))
    if question.get("max_changes") is not None:
        constraints.append(cl.max_changes(question["max_changes"]))
    labels = {str(label): label for label in explainer.tree.classes.tolist()}
    return explainer.with_features(*new).explain(
        row,
        target=[labels[name] for name in question.get("target", [])] or None,
        cost=_cost(question, scene.shape, multipliers),
        constraints=constraints,
        count=question.get("count", 3),
        distinct="features" if scene.shape is None else "leaves",
        margin=question.get("margin", 0.0),
    )


def _cost(question, shape, multipliers):
    spread = question.get("spread", "range")
    spread = None if spread == "none" else spread
    kind = question.get("cost", "L1")
    if kind == "Q":
        height, width = shape
        pixels = [(r, c) for r in range(height) for c in range(width)]
        adjacent = np.array([[abs(a - c) + abs(b - d) == 1 for c, d in pixels] for a, b in pixels], float)
        return cl.Quadratic(np.eye(height * width) + 4.0 * (np.diag(adjacent.sum(axis=0)) - adjacent))
    norms = [cl.L1] * (kind != "L2") + [cl.L2] * (kind != "L1")
    parts = [norm(spread, multiplier=multipliers or None) for norm in norms]
    return sum(parts[1:], parts[0])


def agrees(question, session=None):
    """Check that the session and the library give the same, confirmed answers. Returns the reply and the explanation."""
    reply, answer = ask(question, session)
    expected = by_hand(question, session)
    assert reply["status"] == str(expected.status)
    assert len(answer) == len(expected) == len(reply["ways"])
    np.testing.assert_allclose([c.cost for c in answer], [c.cost for c in expected], rtol=1e-7, atol=1e-12)
    assert all(way["confirmed"] for way in reply["ways"])
    check_predictions(answer, question, session)
    check_ways(reply, answer, question, session)
    return reply, answer


def check_predictions(answer, question, session=None):
    """Check that the tree predicts the label of every answer, and that the answers are sorted by cost."""
    scene = (session or bundled_session()).scene(question["scene"])
    for row, c in zip(values_of(answer), answer, strict=True):
        assert scene.predict(row) == str(c.label)
        assert not question.get("target") or str(c.label) in question["target"]
    costs = [c.cost for c in answer]
    assert all(b >= a * (1 - 1e-14) for a, b in itertools.pairwise(costs))  # alternatives of equal cost differ by rounding
    for k, c in enumerate(answer):
        if scene.shape is not None:
            assert c.leaf not in {earlier.leaf for earlier in answer[:k]}
        else:
            assert not any(set(earlier.changes) <= set(c.changes) for earlier in answer[:k])


def changed_names(reply):
    """The features that some way changes."""
    return {change["feature"] for way in reply["ways"] for change in way["changes"]}


def check_ways(reply, answer, question, session=None):
    """Check that the ways are the answers of the library, and that their short numbers reach the goal as well."""
    scene = (session or bundled_session()).scene(question["scene"])
    schema = scene.explainer.schema
    for way, c in zip(reply["ways"], answer, strict=True):
        is_value = way["class_index"] is None
        assert is_value or way["label"] == str(c.label) == str(scene.explainer.tree.classes.tolist()[way["class_index"]])
        assert (way["leaf"], way["confirmed"], way["n_changes"]) == (c.leaf, c.confirmed, len(c.changes))
        assert way["effort"]["share"] == pytest.approx(min(way["effort"]["total"], 1.0), abs=1e-4)
        assert float(way["effort"]["cost"]) == pytest.approx(c.cost, rel=1e-3, abs=1e-300)
        if scene.shape is not None:
            assert way["changes"] == []
            continue
        assert {change["feature"] for change in way["changes"]} == set(c.changes)
        short = dict(answer.source_values)
        for change in way["changes"]:
            old, new = c.changes[change["feature"]]
            feature = schema.features[schema.index(change["feature"])]
            assert change["from"] != change["to"]
            if isinstance(feature, cl.Numeric) and change["from_value"] is not None and change["to_value"] is not None:
                assert change["direction"] == np.sign(new - old) == np.sign(change["to_value"] - change["from_value"])
                assert abs(change["to_value"] - new) <= 0.002 * max(abs(new - old), 0.05 * abs(old)) + 1e-300
                assert len(repr(change["to_value"])) <= max(len(repr(float(new))), 5)
                short[feature.name] = int(change["to_value"]) if feature.integer else change["to_value"]
            else:
                short[feature.name] = new
        assert is_value or scene.predict(short) == str(c.label)


def small_session(explainer, rows=None, shape=None, limit=30.0, key="test"):
    """A session with one scene."""
    return Session([Scene(key, "Test", "What would change?", explainer, rows, shape=shape)], limit)


def endless(width=301):
    """A model and a question without end: "yes" needs 300.5 < 2 * sum < 301.5, where all features are 0 or 1."""
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
