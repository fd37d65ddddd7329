"""If no answer exists, the session names a smallest set of conflicting settings, and removing any one of them helps."""

import itertools
import json

import numpy as np
import pytest
from support.explorer_cases import (
    TABLES,
    agrees,
    ask,
    bundled_session,
    changed_names,
    describe_scene,
    every_kind,
    feature_of,
    make_question,
    numbers,
    small_session,
)
from support.seeds import seeds, share

import counterleaf as cl


def without(question, setting):
    """The question without one of its settings, as the page removes it."""
    if setting["feature"] is None:
        blank = {"max_changes": None, "ink": "any", "locked_pixels": [], "margin": 0.0}[setting["kind"]]
        return {**question, setting["kind"]: blank}
    removed = {
        "lock": ["lock"],
        "direction": ["direction"],
        "range": ["low", "high"],
        "allowed": ["allowed"],
        "step": ["step"],
    }[setting["kind"]]
    control = {key: value for key, value in question["controls"][setting["feature"]].items() if key not in removed}
    return {**question, "controls": {**question["controls"], setting["feature"]: control}}


def without_all(question, settings):
    for setting in settings:
        question = without(question, setting)
    return question


def conflict_of(question, session=None):
    reply = (session or bundled_session()).handle("answer", question)
    assert reply["status"] == "infeasible"
    assert reply["ways"] == []
    assert "This is proved" in reply["sentence"]
    assert (session or bundled_session()).handle("check", question)["holds"] is True
    json.dumps(reply, allow_nan=False)
    assert {one["description"] for one in reply["conflict"]} <= set(reply["settings"])
    return reply["conflict"]


def removing_any_helps(question, session=None, depth=30):
    """Removing a setting leads to an answer or to another conflict; removing the first one repeatedly leads to an answer."""
    conflict = conflict_of(question, session)
    assert conflict
    for setting in conflict:
        reply = (session or bundled_session()).handle("answer", without(question, setting))
        assert reply["status"] == "optimal" or reply["conflict"] != conflict
    while depth and conflict:
        question, depth = without(question, conflict[0]), depth - 1
        reply, _ = ask(question, session)
        conflict = reply["conflict"]
    assert reply["status"] == "optimal"


@pytest.mark.parametrize("key", TABLES)
def test_all_features_locked(key):
    question = make_question(key, controls={feature["name"]: {"lock": True} for feature in describe_scene(key)["features"]})
    conflict = conflict_of(question)
    assert {one["kind"] for one in conflict} == {"lock"}
    removing_any_helps(question)
    _, free = ask(make_question(key))
    assert any(set(c.changes) & {one["feature"] for one in conflict} for c in free)


@pytest.mark.parametrize("key", TABLES)
def test_the_conflict_is_smallest(key):
    """No smaller set of settings rules out every answer: checked for all smaller sets."""
    names = [feature["name"] for feature in describe_scene(key)["features"]]
    reply, _ = ask(make_question(key, count=12))
    few = [name for name in names if name in changed_names(reply)][:5]
    others = {name: {"lock": True} for name in names if name not in few}
    base = make_question(key, controls=others | {name: {"lock": True} for name in few})
    size = len(conflict_of(base))
    settings = [{"kind": "lock", "feature": name} for name in names]
    for remaining in itertools.islice(itertools.combinations(settings, size - 1), 400):
        removed = [setting for setting in settings if setting not in remaining]
        assert bundled_session().handle("answer", without_all(base, removed))["status"] == "optimal"


def test_all_pixels_locked():
    question = make_question("digits", locked_pixels=list(range(64)))
    assert conflict_of(question) == [{"description": "64 pixels locked", "kind": "locked_pixels", "feature": None}]
    removing_any_helps(question)
    question = make_question("digits", locked_pixels=list(range(64)), ink="add", max_changes=2)
    assert [one["kind"] for one in conflict_of(question)] == ["locked_pixels"]
    removing_any_helps(question)


def test_no_feature_may_change():
    question = make_question("german", max_changes=0, controls={"age": {"direction": "only_increase"}})
    assert conflict_of(question) == [{"description": "at most 0 features may change", "kind": "max_changes", "feature": None}]
    removing_any_helps(question)


@pytest.mark.parametrize("key", ["adult", "digits", "german"])
def test_a_margin_that_is_too_wide_is_named(key):
    question = make_question(key, margin=1e7)
    assert conflict_of(question) == [{"description": "margin 10,000,000", "kind": "margin", "feature": None}]
    removing_any_helps(question)


def line_session(**bounds):
    """A model that predicts yes for x + y > 9.5, with x and y from 0 to 10."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-9.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    schema = cl.Schema([cl.Numeric("x", 0, 10, **bounds), cl.Numeric("y", 0, 10, **bounds)])
    return small_session(cl.Explainer(tree, schema=schema))


QUESTION = {"scene": "test", "spread": "none", "target": ["yes"], "edits": {"x": 0.0, "y": 0.0}}


def test_steps_are_named():
    session = line_session()
    question = {**QUESTION, "controls": {"x": {"step": 11.0}, "y": {"step": 11.0}}}
    assert {(one["kind"], one["feature"]) for one in conflict_of(question, session)} == {("step", "x"), ("step", "y")}
    removing_any_helps(question, session)


def test_a_step_is_named_with_the_lock_that_it_conflicts_with():
    session = line_session()
    question = {**QUESTION, "controls": {"x": {"lock": True}, "y": {"step": 7.0}}}
    assert {(one["kind"], one["feature"]) for one in conflict_of(question, session)} == {("lock", "x"), ("step", "y")}
    removing_any_helps(question, session)


def test_a_margin_is_named_with_the_range_that_it_conflicts_with():
    session = line_session()
    question = {**QUESTION, "margin": 5.0, "controls": {"x": {"high": 4.0}, "y": {"direction": "only_increase"}}}
    assert [one["kind"] for one in conflict_of(question, session)] == ["range", "margin"]
    removing_any_helps(question, session)


def test_a_margin_and_steps_that_both_rule_out_every_answer():
    """Removing one of them is not enough: first one is named, then the other."""
    session = line_session()
    question = {**QUESTION, "margin": 100.0, "controls": {"x": {"step": 11.0}, "y": {"step": 11.0}}}
    conflict = conflict_of(question, session)
    assert conflict
    removing_any_helps(question, session)


def test_a_step_that_does_not_matter_is_not_named():
    session = line_session()
    question = {**QUESTION, "controls": {"x": {"step": 0.5, "lock": True}, "y": {"lock": True}}, "margin": 0.1}
    assert {(one["kind"], one["feature"]) for one in conflict_of(question, session)} == {("lock", "x"), ("lock", "y")}
    removing_any_helps(question, session)


def test_the_ranges_of_the_data_are_not_a_setting():
    """The target needs x + y > 9.5, but both are at most 4."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-9.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    session = small_session(cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", 0, 4), cl.Numeric("y", 0, 4)])))
    for fields in (
        {},
        {"margin": 0.5},
        {"controls": {"x": {"step": 2.0}}},
        {"controls": {"y": {"direction": "only_increase"}}},
    ):
        assert conflict_of({**QUESTION, **fields}, session) == []
    wider = {**QUESTION, "controls": {"x": {"high": 9.0}}}
    reply, _ = agrees({**wider, "row": 0}, session)
    assert reply["status"] == "optimal"


def test_random_conflicts():
    """Random settings for every kind of feature: removing a named setting helps."""
    session = small_session(*every_kind())
    rng = np.random.default_rng(2)
    n_conflicts = 0
    for _ in seeds(150):
        controls = {}
        for name, choices in {
            "age": [
                {"lock": True},
                {"direction": "only_increase"},
                {"direction": "only_decrease"},
                {"low": 20.0, "high": 30.0},
                {"step": 50.0},
            ],
            "rate": [{"lock": True}, {"high": 0.2}, {"step": 0.4}],
            "school": [{"lock": True}, {"direction": "only_increase"}, {"allowed": [0]}],
            "job": [{"lock": True}, {"allowed": [1]}, {"allowed": [0, 2]}],
            "owner": [{"lock": True}, {"allowed": [1]}],
        }.items():
            for k in rng.permutation(len(choices))[: int(rng.integers(0, 3))]:
                controls.setdefault(name, {}).update(choices[k])
        question = {
            "scene": "test",
            "spread": "none",
            "row": int(rng.integers(40)),
            "controls": controls,
            "margin": float(rng.choice([0, 0, 0.3])),
        }
        question["target"] = [str(rng.choice(["yes", "no", "maybe"]))]
        question["max_changes"] = [None, 1, 0][int(rng.integers(3))]
        reply = session.handle("answer", question)
        if reply["status"] == "infeasible" and reply["conflict"]:
            removing_any_helps(question, session)
            n_conflicts += 1
    assert n_conflicts > share(20)


def test_a_conflict_is_exported():
    question = make_question(
        "german", controls={feature["name"]: {"lock": True} for feature in describe_scene("german")["features"]}
    )
    descriptions = [one["description"] for one in conflict_of(question)]
    page = bundled_session().handle("export", {"format": "html", "questions": [question]})["text"]
    assert "These settings conflict" in page
    assert all(description in page for description in descriptions)
    table = bundled_session().handle("export", {"format": "csv", "questions": [question]})["text"]
    assert len(table.splitlines()) == 2
    answer = cl.Explanation.from_json(bundled_session().handle("export", {"format": "json", "questions": [question]})["text"])
    assert answer.status == "infeasible"
    assert answer.certificate.check()


def test_a_range_wider_than_the_data_can_be_part_of_the_conflict():
    name = numbers("german")[0]
    upper = feature_of("german", name)["upper"]
    question = make_question("german", controls={f["name"]: {"lock": True} for f in describe_scene("german")["features"]})
    question["controls"][name] = {"lock": True, "low": upper + 5}
    conflict = conflict_of(question)
    assert {(one["kind"], one["feature"]) for one in conflict} == {("lock", name), ("range", name)}
    removing_any_helps(question)
