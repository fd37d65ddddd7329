"""Where nothing works, the page is told which wishes cannot all hold, and letting any one of them go gets further."""

import itertools
import json

import numpy as np
import pytest
from support.explorer_cases import TABLES, agrees, ask, described, desk, every_kind, feature_of, numbers, question, small_desk

import counterleaf as cl


def relaxed(given, part):
    """The question without one of its wishes, as the page lets it go."""
    if part["feature"] is None:
        blank = {"most": None, "ink": "any", "locked": [], "margin": 0.0}[part["part"]]
        return {**given, part["part"]: blank}
    gone = {"lock": ["lock"], "way": ["way"], "range": ["low", "high"], "allowed": ["allowed"], "step": ["step"]}[part["part"]]
    said = {key: value for key, value in given["controls"][part["feature"]].items() if key not in gone}
    return {**given, "controls": {**given["controls"], part["feature"]: said}}


def without_all(given, parts):
    for part in parts:
        given = relaxed(given, part)
    return given


def conflict_of(given, at=None):
    told = (at or desk()).handle("answer", given)
    assert told["status"] == "infeasible"
    assert told["answers"] == []
    assert "This is proved" in told["sentence"]
    assert (at or desk()).handle("check", given)["holds"] is True
    json.dumps(told, allow_nan=False)
    assert {one["words"] for one in told["conflict"]} <= set(told["wishes"])
    return told["conflict"]


def every_relaxing_helps(given, at=None, depth=30):
    """Let the first of the conflict go until there is an answer; each single one leads to an answer or to another conflict."""
    conflict = conflict_of(given, at)
    assert conflict
    for part in conflict:
        told = (at or desk()).handle("answer", relaxed(given, part))
        assert told["status"] == "optimal" or told["conflict"] != conflict
    while depth and conflict:
        given, depth = relaxed(given, conflict[0]), depth - 1
        told, _ = ask(given, at)
        conflict = told["conflict"]
    assert told["status"] == "optimal"


@pytest.mark.parametrize("key", TABLES)
def test_all_features_locked(key):
    given = question(key, controls={feature["name"]: {"lock": True} for feature in described(key)["features"]})
    conflict = conflict_of(given)
    assert {one["part"] for one in conflict} == {"lock"}
    every_relaxing_helps(given)
    _, free = ask(question(key))
    assert any(set(c.changes) & {one["feature"] for one in conflict} for c in free)


@pytest.mark.parametrize("key", TABLES)
def test_the_conflict_is_smallest(key):
    """No fewer of all the wishes rule every answer out: against all smaller sets."""
    names = [feature["name"] for feature in described(key)["features"]]
    told, _ = ask(question(key, count=12))
    few = [name for name in names if name in told["cells"]][:5]
    held = {name: {"lock": True} for name in names if name not in few}
    base = question(key, controls=held | {name: {"lock": True} for name in few})
    size = len(conflict_of(base))
    wishes = [{"part": "lock", "feature": name} for name in names]
    for kept in itertools.islice(itertools.combinations(wishes, size - 1), 400):
        gone = [wish for wish in wishes if wish not in kept]
        assert desk().handle("answer", without_all(base, gone))["status"] == "optimal"


def test_all_pixels_locked():
    given = question("digits", locked=list(range(64)))
    assert conflict_of(given) == [{"words": "64 pixels locked", "part": "locked", "feature": None}]
    every_relaxing_helps(given)
    given = question("digits", locked=list(range(64)), ink="add", most=2)
    assert [one["part"] for one in conflict_of(given)] == ["locked"]
    every_relaxing_helps(given)


def test_nothing_may_change():
    given = question("german", most=0, controls={"age": {"way": "up"}})
    assert conflict_of(given) == [{"words": "at most 0 features may change", "part": "most", "feature": None}]
    every_relaxing_helps(given)


@pytest.mark.parametrize("key", ["adult", "digits", "german"])
def test_a_margin_that_is_too_wide_is_named(key):
    given = question(key, margin=1e7)
    assert conflict_of(given) == [{"words": "margin 10000000", "part": "margin", "feature": None}]
    every_relaxing_helps(given)


def line_desk(**bounds):
    """yes where x + y > 9.5, with x from 0 to 10 and y from 0 to 10."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-9.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    schema = cl.Schema([cl.Numeric("x", 0, 10, **bounds), cl.Numeric("y", 0, 10, **bounds)])
    return small_desk(cl.Explainer(tree, schema=schema))


ASKED = {"scene": "own", "spread": "none", "target": ["yes"], "edits": {"x": 0.0, "y": 0.0}}


def test_steps_are_named():
    at = line_desk()
    given = {**ASKED, "controls": {"x": {"step": 11.0}, "y": {"step": 11.0}}}
    assert {(one["part"], one["feature"]) for one in conflict_of(given, at)} == {("step", "x"), ("step", "y")}
    every_relaxing_helps(given, at)


def test_a_step_is_named_beside_the_lock_that_it_clashes_with():
    at = line_desk()
    given = {**ASKED, "controls": {"x": {"lock": True}, "y": {"step": 7.0}}}
    assert {(one["part"], one["feature"]) for one in conflict_of(given, at)} == {("lock", "x"), ("step", "y")}
    every_relaxing_helps(given, at)


def test_a_margin_is_named_beside_the_range_that_it_clashes_with():
    at = line_desk()
    given = {**ASKED, "margin": 5.0, "controls": {"x": {"high": 4.0}, "y": {"way": "up"}}}
    assert [one["part"] for one in conflict_of(given, at)] == ["range", "margin"]
    every_relaxing_helps(given, at)


def test_a_margin_and_steps_that_both_rule_everything_out():
    """Letting one of them go is not enough: first the one is named, then the other."""
    at = line_desk()
    given = {**ASKED, "margin": 100.0, "controls": {"x": {"step": 11.0}, "y": {"step": 11.0}}}
    conflict = conflict_of(given, at)
    assert conflict
    every_relaxing_helps(given, at)


def test_a_step_that_is_not_in_the_way_is_not_named():
    at = line_desk()
    given = {**ASKED, "controls": {"x": {"step": 0.5, "lock": True}, "y": {"lock": True}}, "margin": 0.1}
    assert {(one["part"], one["feature"]) for one in conflict_of(given, at)} == {("lock", "x"), ("lock", "y")}
    every_relaxing_helps(given, at)


def test_what_the_table_rules_out_is_nobodys_wish():
    """x + y > 9.5 where both end at 4."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-9.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    at = small_desk(cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", 0, 4), cl.Numeric("y", 0, 4)])))
    for said in ({}, {"margin": 0.5}, {"controls": {"x": {"step": 2.0}}}, {"controls": {"y": {"way": "up"}}}):
        assert conflict_of({**ASKED, **said}, at) == []
    wider = {**ASKED, "controls": {"x": {"high": 9.0}}}
    told, _ = agrees({**wider, "row": 0}, at)
    assert told["status"] == "optimal"


def test_random_conflicts():
    """Wishes at random over every kind of feature; whatever clashes is named so that letting it go helps."""
    at = small_desk(*every_kind())
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(150):
        said = {}
        for name, choices in {
            "age": [{"lock": True}, {"way": "up"}, {"way": "down"}, {"low": 20.0, "high": 30.0}, {"step": 50.0}],
            "rate": [{"lock": True}, {"high": 0.2}, {"step": 0.4}],
            "school": [{"lock": True}, {"way": "up"}, {"allowed": [0]}],
            "job": [{"lock": True}, {"allowed": [1]}, {"allowed": [0, 2]}],
            "owner": [{"lock": True}, {"allowed": [1]}],
        }.items():
            for k in rng.permutation(len(choices))[: int(rng.integers(0, 3))]:
                said.setdefault(name, {}).update(choices[k])
        given = {
            "scene": "own",
            "spread": "none",
            "row": int(rng.integers(40)),
            "controls": said,
            "margin": float(rng.choice([0, 0, 0.3])),
        }
        given["target"] = [str(rng.choice(["yes", "no", "maybe"]))]
        given["most"] = [None, 1, 0][int(rng.integers(3))]
        told = at.handle("answer", given)
        if told["status"] == "infeasible" and told["conflict"]:
            every_relaxing_helps(given, at)
            seen += 1
    assert seen > 20


def test_a_conflict_is_exported_in_words():
    given = question("german", controls={feature["name"]: {"lock": True} for feature in described("german")["features"]})
    words = [one["words"] for one in conflict_of(given)]
    page = desk().handle("export", {"format": "html", "questions": [given]})["text"]
    assert "These cannot all hold" in page
    assert all(word in page for word in words)
    table = desk().handle("export", {"format": "csv", "questions": [given]})["text"]
    assert len(table.splitlines()) == 2
    answer = cl.Explanation.from_json(desk().handle("export", {"format": "json", "questions": [given]})["text"])
    assert answer.status == "infeasible"
    assert answer.certificate.check()


def test_a_range_beyond_the_table_can_be_what_is_in_the_way():
    name = numbers("german")[0]
    upper = feature_of("german", name)["upper"]
    given = question("german", controls={f["name"]: {"lock": True} for f in described("german")["features"]})
    given["controls"][name] = {"lock": True, "low": upper + 5}
    conflict = conflict_of(given)
    assert {(one["part"], one["feature"]) for one in conflict} == {("lock", name), ("range", name)}
    every_relaxing_helps(given)
