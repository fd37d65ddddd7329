"""Whatever the page may ask: a proper answer in which every wish holds, or one line that says what is wrong."""

import json
import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.explorer_cases import SCENES, ask, confirmed, described, desk, every_kind, small_desk, values_of

from counterleaf.errors import CounterleafError
from counterleaf.explorer.desk import Desk
from counterleaf.explorer.question import Question

USUAL = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def values(feature):
    """Numbers in and around the range of a feature, and far beyond now and then."""
    if feature["kind"] != "number":
        return st.integers(0, len(feature["values"])).map(float)
    lower, upper = (
        (-10.0 if feature["lower"] is None else feature["lower"]),
        (10.0 if feature["upper"] is None else feature["upper"]),
    )
    near = st.floats(lower - (upper - lower), upper + (upper - lower), allow_nan=False)
    whole = near.map(round).map(float)
    far = st.sampled_from([0.0, -1e9, 1e9, 1e300, -1e300, 5e-324, 0.1])
    return st.one_of(whole, whole, whole, near, far) if feature["step"] else st.one_of(near, near, whole, far)


def controls(feature):
    common = {"lock": st.booleans(), "weight": st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 10.0, 1e6])}
    if feature["kind"] == "number":
        ends = {"low": values(feature), "high": values(feature), "step": st.sampled_from([1.0, 2.0, 7.0, 0.5, 0.1, 1e-9, 1e15])}
        common |= {"way": st.sampled_from(["any", "up", "down"])} | ends
    else:
        common |= {"allowed": st.lists(st.integers(0, len(feature["values"])), max_size=4)}
        common |= {"way": st.sampled_from(["any", "any", "any", "up", "down"])}
    return st.fixed_dictionaries({}, optional=common).map(_fewer)


def _fewer(said):
    """Locks are rare, lest nothing may ever change; low is mostly below high."""
    if said.get("lock") and said.get("weight", 0) < 2:
        said = {**said, "lock": False}
    if {"low", "high"} <= set(said) and said["low"] > said["high"] and said["high"] < 1e9:
        said = {**said, "low": said["high"], "high": said["low"]}
    return said


@st.composite
def questions(draw, scene):
    features = scene["features"]
    some = draw(st.lists(st.sampled_from(features), max_size=5, unique_by=lambda feature: feature["name"]))
    edited = draw(st.lists(st.sampled_from(features), max_size=2, unique_by=lambda feature: feature["name"]))
    picture = scene["shape"] is not None
    return {
        "scene": scene["key"],
        "row": draw(st.integers(0, scene["rows"] - 1)),
        "edits": {feature["name"]: draw(st.one_of(values(feature), values(feature), st.none())) for feature in edited},
        "controls": {feature["name"]: draw(controls(feature)) for feature in some},
        "target": draw(st.lists(st.sampled_from(scene["classes"]), max_size=3)),
        "cost": draw(st.sampled_from(scene["costs"] + ["Q"] * picture)),
        "spread": draw(st.sampled_from(scene["spreads"])),
        "margin": draw(st.sampled_from([0.0, 0.0, 0.0, 1e-6, 0.1, 1.0, 30.0, 1e9])),
        "count": draw(st.integers(1, 12)),
        "most": draw(st.sampled_from([None, None, None, 0, 1, 3, 10**6])),
        "ink": draw(st.sampled_from(["any", "add", "erase"])) if picture else "any",
        "locked": draw(st.lists(st.integers(0, len(features) - 1), max_size=20)) if picture else [],
    }


def wishes_hold(asked, answer):
    """Every control, checked on the rows themselves."""
    source = answer.source_values
    for row, c in zip(values_of(answer), answer, strict=True):
        for name, said in asked["controls"].items():
            feature = answer.schema.features[answer.schema.index(name)]
            old, new = source[name], row[name]
            if said.get("lock"):
                assert name not in c.changes
            if said.get("way", "any") != "any":
                levels = [feature.values.index(value) if hasattr(feature, "values") else value for value in (old, new)]
                assert levels[1] >= levels[0] if said["way"] == "up" else levels[1] <= levels[0]
            if said.get("low") is not None or said.get("high") is not None:
                assert (said.get("low", -math.inf)) <= new <= (said.get("high", math.inf))
            if said.get("allowed") is not None:
                assert new in [feature.values[k] for k in said["allowed"]]
            if said.get("step") is not None and name in c.changes:
                grid = float(feature.grid)
                assert abs(new / grid - round(new / grid)) <= 1e-9 * max(1.0, abs(new / grid))
        assert len(c.changes) <= (math.inf if asked["most"] is None else asked["most"])
        for k in asked["locked"]:
            assert answer.schema.names[k] not in c.changes
        if asked["ink"] != "any":
            assert all((new > old) == (asked["ink"] == "add") for old, new in c.changes.values())


def proper(asked, at=None):
    """Ask; True for an answer, False for one line."""
    Question.model_validate(asked)
    try:
        told, answer = ask(asked, at or HASTY)
    except CounterleafError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert refusal.strip()
        assert "\n" not in refusal
        return False
    assert told["status"] in ("optimal", "infeasible", "limit")
    assert all(one["confirmed"] for one in told["answers"])
    assert bool(told["answers"]) == (told["status"] == "optimal") or told["status"] == "limit"
    confirmed(answer, asked, at)
    wishes_hold(asked, answer)
    return True


def views(asked, at=None):
    """The other verbs take the same question."""
    at = at or HASTY
    json.dumps(at.handle("tree", asked), allow_nan=False)
    assert at.handle("check", asked)["holds"] or at.handle("answer", asked)["status"] == "limit"
    for format in ("csv", "html"):
        assert at.handle("export", {"format": format, "questions": [asked]})["text"]


@settings(USUAL, max_examples=150)  # fifty a scene; forty more are asked below
@given(st.data())
def test_any_question_of_the_scenes(data):
    key = data.draw(st.sampled_from(SCENES))
    proper(data.draw(questions(described(key))))


@settings(USUAL, max_examples=120)
@given(st.data())
def test_any_question_of_every_kind_of_feature(data):
    asked = data.draw(questions(OWN.handle("scenes", {})[0]))
    if proper(asked, OWN):
        views(asked, OWN)


@settings(USUAL, max_examples=40)
@given(st.data())
def test_any_question_drawn_and_written(data):
    asked = data.draw(questions(described(data.draw(st.sampled_from(SCENES)))))
    if proper(asked):
        views(asked)


OWN = small_desk(*every_kind())
HASTY = Desk(list(desk().scenes.values()), 0.2)  # seconds: some of these questions would take many
