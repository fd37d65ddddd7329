"""Random questions get an answer that satisfies every setting, or an error message of one line."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.explorer_cases import (
    SCENES,
    ask,
    bundled_session,
    check_predictions,
    describe_scene,
    every_kind,
    small_session,
    values_of,
)
from support.seeds import share

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.requests import PageQuestion
from counterleaf.explorer.session.session import Session

pytestmark = pytest.mark.slow  # the whole file takes many seconds

USUAL = settings(suppress_health_check=list(HealthCheck))


def values(feature):
    """Numbers in and around the range of a feature, and a few far beyond it."""
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
    common = {"lock": st.booleans(), "multiplier": st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 10.0, 1e6])}
    if feature["kind"] == "number":
        ends = {"low": values(feature), "high": values(feature), "step": st.sampled_from([1.0, 2.0, 7.0, 0.5, 0.1, 1e-9, 1e15])}
        common |= {"direction": st.sampled_from(["any", "only_increase", "only_decrease"])} | ends
    else:
        common |= {"allowed": st.lists(st.integers(0, len(feature["values"])), max_size=4)}
        common |= {"direction": st.sampled_from(["any", "any", "any", "only_increase", "only_decrease"])}
    return st.fixed_dictionaries({}, optional=common).map(_relax)


def _relax(control):
    """Make locks rare, so that an answer often exists, and mostly put low below high."""
    if control.get("lock") and control.get("multiplier", 0) < 2:
        control = {**control, "lock": False}
    if {"low", "high"} <= set(control) and control["low"] > control["high"] and control["high"] < 1e9:
        control = {**control, "low": control["high"], "high": control["low"]}
    return control


@st.composite
def questions(draw, scene):
    features = scene["features"]
    some = draw(st.lists(st.sampled_from(features), max_size=5, unique_by=lambda feature: feature["name"]))
    edited = draw(st.lists(st.sampled_from(features), max_size=2, unique_by=lambda feature: feature["name"]))
    is_image = scene["shape"] is not None
    return {
        "scene": scene["key"],
        "row": draw(st.integers(0, scene["n_rows"] - 1)),
        "edits": {feature["name"]: draw(st.one_of(values(feature), values(feature), st.none())) for feature in edited},
        "controls": {feature["name"]: draw(controls(feature)) for feature in some},
        "target": draw(st.lists(st.sampled_from(scene["classes"]), max_size=3)),
        "cost": draw(st.sampled_from(scene["costs"] + ["Q"] * is_image)),
        "spread": draw(st.sampled_from(scene["spreads"])),
        "margin": draw(st.sampled_from([0.0, 0.0, 0.0, 1e-6, 0.1, 1.0, 30.0, 1e9])),
        "count": draw(st.integers(1, 12)),
        "max_changes": draw(st.sampled_from([None, None, None, 0, 1, 3, 10**6])),
        "ink": draw(st.sampled_from(["any", "add", "erase"])) if is_image else "any",
        "locked_pixels": draw(st.lists(st.integers(0, len(features) - 1), max_size=20)) if is_image else [],
    }


def settings_hold(question, answer):
    """Check every setting on the values of the answers."""
    source = answer.source_values
    for row, c in zip(values_of(answer), answer, strict=True):
        for name, control in question["controls"].items():
            feature = answer.schema.features[answer.schema.index(name)]
            old, new = source[name], row[name]
            if control.get("lock"):
                assert name not in c.changes
            if control.get("direction", "any") != "any":
                levels = [value if isinstance(feature, cl.Numeric) else feature.values.index(value) for value in (old, new)]
                assert levels[1] >= levels[0] if control["direction"] == "only_increase" else levels[1] <= levels[0]
            if control.get("low") is not None or control.get("high") is not None:
                assert (control.get("low", -math.inf)) <= new <= (control.get("high", math.inf))
            if control.get("allowed") is not None:
                assert new in [feature.values[k] for k in control["allowed"]]
            if control.get("step") is not None and name in c.changes:
                grid = float(feature.grid)
                assert abs(new / grid - round(new / grid)) <= 1e-9 * max(1.0, abs(new / grid))
        assert len(c.changes) <= (math.inf if question["max_changes"] is None else question["max_changes"])
        for k in question["locked_pixels"]:
            assert answer.schema.names[k] not in c.changes
        if question["ink"] != "any":
            assert all((new > old) == (question["ink"] == "add") for old, new in c.changes.values())


def is_answered(question, session=None):
    """Check the answer and return True, or check the error message and return False."""
    PageQuestion.model_validate(question)
    try:
        reply, answer = ask(question, session or BRIEF)
    except CounterleafError as error:
        message = str(error)
    else:
        message = None
    if message is not None:
        assert message.strip()
        assert "\n" not in message
        return False
    assert reply["status"] in ("optimal", "infeasible", "limit")
    assert all(way["confirmed"] for way in reply["ways"])
    assert bool(reply["ways"]) == (reply["status"] == "optimal") or reply["status"] == "limit"
    check_predictions(answer, question, session)
    settings_hold(question, answer)
    return True


def views(question, session=None):
    """Check the other requests about the same question."""
    session = session or BRIEF
    json.dumps(session.handle("tree", question), allow_nan=False)
    assert session.handle("check", question)["holds"] or session.handle("answer", question)["status"] == "limit"
    for format in ("csv", "html"):
        assert session.handle("export", {"format": format, "questions": [question]})["text"]


@settings(USUAL, max_examples=share(150))  # about fifty per scene, and forty more below
@given(st.data())
def test_any_question_of_the_scenes(data):
    key = data.draw(st.sampled_from(SCENES))
    is_answered(data.draw(questions(describe_scene(key))))


@settings(USUAL, max_examples=share(120))
@given(st.data())
def test_any_question_of_every_kind_of_feature(data):
    question = data.draw(questions(EVERY_KIND.handle("scene", {"scene": "test"})))
    if is_answered(question, EVERY_KIND):
        views(question, EVERY_KIND)


@settings(USUAL, max_examples=share(40))
@given(st.data())
def test_any_question_in_all_views_and_exports(data):
    question = data.draw(questions(describe_scene(data.draw(st.sampled_from(SCENES)))))
    if is_answered(question):
        views(question)


EVERY_KIND = small_session(*every_kind())
BRIEF = Session(list(bundled_session().scenes.values()), 0.2)  # seconds, since some of these questions would take minutes
