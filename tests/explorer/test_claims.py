"""What the page claims: proofs, efforts and numbers, none of which may contradict another."""

import functools
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from support.explorer_cases import ask, bundled_session, make_question, small_session

import counterleaf as cl
from counterleaf.explorer.session.answers.describe import model_name
from counterleaf.explorer.session.answers.effort import Kind, describe_effort, measure_move
from counterleaf.explorer.session.answers.ways import describe_front
from counterleaf.explorer.session.requests import PageQuestion
from counterleaf.explorer.session.rows.answers import FOUND, RowAnswers
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session, open_session
from counterleaf.explorer.session.words import percent_at_most


def test_each_option_has_its_bound_and_its_claim():
    reply, answer = ask(make_question("german"))
    claims = [way["proof"]["claim"] for way in reply["ways"]]
    assert claims == [
        "no smaller allowed change works",
        "the smallest allowed change that does not change all that option 1 changes",
        "the smallest allowed change that does not change all that option 1 or option 2 changes",
    ]
    for way, c in zip(reply["ways"], answer, strict=True):
        bound = float(way["proof"]["lower_bound"])
        assert bound <= c.lower_bound <= bound * 1.001
        assert bound == pytest.approx(c.cost, rel=1e-3)


@pytest.mark.parametrize("key", ["german", "adult"])
@pytest.mark.parametrize("cost", ["L1", "L2", "mixed"])
def test_smaller_is_claimed_of_the_effort_only(key, cost):
    for row in range(0, 60, 3):
        reply = bundled_session().handle("answer", make_question(key, row=row, cost=cost))
        claims = [way["proof"]["claim"] for way in reply["ways"] if way["changes"]]
        assert all(("small" in claim) == (cost == "L1") for claim in claims)
        if cost == "L1":
            totals = [way["effort"]["total"] for way in reply["ways"]]
            assert totals == sorted(totals)


def test_a_later_option_is_the_cheapest_that_does_not_change_all_of_an_earlier_one():
    session = bundled_session()
    question = make_question("german", row=14)
    ways = session.handle("answer", question)["ways"]
    first = [change["feature"] for change in ways[0]["changes"]]
    for name in first:  # whatever does not change all of them leaves one of them as it is
        locked = session.handle("answer", question | {"controls": {name: {"lock": True}}, "count": 1})["ways"]
        assert not locked or locked[0]["effort"]["total"] >= ways[1]["effort"]["total"] - 1e-6


def test_images_claim_another_path():
    reply, _ = ask(make_question("digits", count=2))
    claims = [way["proof"]["claim"] for way in reply["ways"]]
    assert claims == [
        "the best allowed change by the chosen measure",
        "the best allowed change by the chosen measure on another path through the model",
    ]


def test_a_search_that_stopped_has_no_proof_to_check():
    session = open_session({"time_limit": 1e-9})
    question = make_question("german")
    assert session.handle("answer", question)["status"] == "limit"
    checked = session.handle("check", question)
    assert (checked["status"], checked["holds"], checked["n_parts"]) == ("limit", None, 0)


def test_the_proof_that_is_shown_is_checked(monkeypatch):
    session, question = open_session({"time_limit": 30.0}), make_question("german")
    session.handle("answer", question)
    monkeypatch.setattr(session, "pose", lambda request: pytest.fail("searched again"))
    assert session.handle("check", question)["holds"] is True


@functools.cache
def gap_session():
    """A pipeline that imputes the means, with gaps in its rows."""
    rng = np.random.default_rng(4)
    rows = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    labels = np.where(rows["a"] + rows["b"] > 0.3, "yes", "no")
    rows.loc[::4, "a"] = np.nan
    model = make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(rows, labels)
    return small_session(cl.Explainer(model, data=rows), rows)


def test_the_effort_of_a_gap_is_the_same_for_one_row_and_for_all():
    session, question = gap_session(), {"scene": "test", "target": ["yes"]}
    found = session.handle("efforts", {"question": question, "start": 0})
    filled = 0
    for row, effort in enumerate(found["effort"]):
        way = next(iter(session.handle("answer", question | {"row": row, "count": 1})["ways"]), None)
        if found["status"][row] != 1:
            continue
        assert effort == pytest.approx(way["effort"]["total"], rel=1e-4, abs=2e-6)
        gaps = [change for change in way["changes"] if change["from_value"] is None]
        filled += len(gaps)
        assert all(0 < change["share"] < 1 for change in gaps)
        assert all(len(change["share_text"].split()[-1].lstrip("-")) <= 7 for change in gaps), gaps
    assert filled > 0


def test_a_gap_without_a_usual_range_has_words():
    schema = cl.Schema([cl.Numeric("a")], fills={"a": 5.0})
    explainer = SimpleNamespace(schema=schema, spreads=None)
    move = measure_move(explainer, 0, None, 7.0)
    assert (move.kind, move.share, move.direction, move.text) == (Kind.NUMBER, None, 1, "filled in, above 5")
    assert describe_effort([move], "1")["words"] == "1 number changed"
    assert describe_effort([], "0")["words"] == "nothing has to change"


def test_a_probability_never_contradicts_the_goal():
    scene = bundled_session().scene("german")
    seen = 0
    for row in range(40):
        chance = scene.outcome(scene.values(row, {}))
        if chance.label != "granted":
            continue
        goal = (chance.value or 0.0) + 1e-4
        question = make_question("german", row=row, at_least=goal, target=["granted"])
        reply = bundled_session().handle("answer", question)
        assert float(reply["source"]["number"]["text"].split()[-2]) < 100 * goal
        for way in reply["ways"]:
            assert float(way["number"]["text"].split()[-2]) >= 100 * goal - 1e-9
        seen += 1
    assert seen > 5


@pytest.mark.parametrize(("divisor", "n_trees", "text"), [(1.0, 5, "5 boosted trees"), (2.0, 1, "a forest of 1 tree")])
def test_models_have_their_article(divisor, n_trees, text):
    tree = SimpleNamespace(is_one_tree=False, n_trees=n_trees, scoring=SimpleNamespace(divisor=divisor, link="none"))
    assert "".join(model_name(tree)) == text


def test_the_measure_is_stated_and_named_for_what_it_is():
    scene = bundled_session().handle("scene", {"scene": "german"})
    assert [name for name, _, _ in scene["measures"].values()] == ["few changes", "small changes", "both"]
    reply = bundled_session().handle("answer", make_question("german", cost="L2", spread="std"))
    assert reply["measure"].endswith("(L2, the sum of the squared changes, each in standard deviations)")


def test_groups_without_a_goal_are_there_already_and_have_labels():
    question = make_question("german", target=[])
    while "groups" not in (reply := bundled_session().handle("groups", {"question": question, "by": "housing"})):
        pass
    assert reply["already"] == "are there already"
    assert not any("anything else already" in text for text in reply["sentences"])
    assert not any("housing = " in text for text in reply["notes"])


# Rules


def rule_session(*rules, income=40.0, debt=4000.0):
    """A tree that grants from an income of 30 on, one row, and rules of the user."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-30.0, 0, 0], [-1, 0, 1], ["refused", "granted"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("income", 0, 100), cl.Numeric("debt", 0, 9000)]))
    rows = pd.DataFrame([{"income": income, "debt": debt}])
    return Session([Scene("test", "Test", "Why?", explainer, rows, target="granted", constraints=rules)], 30.0)


RULE = {"scene": "test", "target": ["granted"], "spread": "none"}
MOST = cl.between("debt", -math.inf, 3000)
BROKEN = [
    ((MOST,), {}, "debt of at most 3,000"),
    ((cl.between("debt", 0, 3000),), {}, "debt of at least 0 and at most 3,000"),
    ((), {"controls": {"debt": {"high": 3000.0}}}, "debt of at most 3,000"),
    ((), {"margin": 15.0}, "a safety margin of 15"),
    ((MOST,), {"margin": 15.0}, "a safety margin of 15 and debt of at most 3,000"),
    ((cl.within("income", 5, 10),), {}, "income to rise, by at least 5 and by at most 10"),
    ((cl.linear({"income": 1, "debt": 0.001}, "<=", 43),), {}, "income plus 0.001 times debt of at most 43"),
    ((MOST, cl.freeze("income")), {}, "debt of at most 3,000"),
    ((MOST,), {"controls": {"income": {"lock": True}}}, "debt of at most 3,000"),
]


@pytest.mark.parametrize(("rules", "fields", "required"), BROKEN)
def test_a_row_that_has_the_goal_but_breaks_a_rule_says_so(rules, fields, required):
    reply = rule_session(*rules).handle("answer", RULE | fields)
    assert reply["already"] == f"The model already says granted; your rules also require {required}"
    assert reply["sentence"].startswith(f"{reply['already']}. If ")
    assert reply["sentence"].endswith(", the model would still say granted.")


@pytest.mark.parametrize(
    ("rules", "row", "fields"),
    [
        ((), {}, {}),  # nothing has to change
        ((MOST,), {"debt": 100.0}, {}),
        ((MOST,), {"income": 20.0}, {}),  # refused
        ((MOST,), {"income": 20.0}, {"target": []}),  # anything else
    ],
)
def test_a_row_without_the_goal_or_within_the_rules_does_not(rules, row, fields):
    assert rule_session(*rules, **row).handle("answer", RULE | fields)["already"] is None


def test_a_row_that_has_the_goal_and_cannot_meet_the_rules():
    reply = rule_session(MOST, cl.freeze("debt")).handle("answer", RULE)
    assert reply["sentence"] == (
        "The model already says granted; your rules also require debt of at most 3,000. No allowed change does both. "
        "This is proved."
    )
    reply = rule_session(debt=9500.0).handle("answer", RULE)
    assert reply["already"] == "The model already says granted; your rules and the ranges do not allow the row as it is"


def test_a_probability_that_is_reached_is_said_with_the_rule():
    question = make_question("german", at_least=0.6, target=["refused"], controls={"duration_months": {"low": 70.0}})
    reply = bundled_session().handle("answer", question)
    assert re.match(
        "The model already gives refused a probability of .* %; your rules also require Duration of at least 70",
        reply["already"],
    )


def test_rules_are_written_in_words():
    session = rule_session(cl.between("debt", 0, 3000), cl.freeze("income"))
    scene, reply = session.handle("scene", {"scene": "test"}), session.handle("answer", RULE | {"target": ["refused"]})
    assert scene["constraints"] == ["debt must be at least 0 and at most 3,000", "income must not change"]
    assert reply["settings"] == [f"{text}, always required" for text in scene["constraints"]]
    assert [feature["rules"] for feature in scene["features"]] == [["income must not change"], [scene["constraints"][0]]]
    page = session.handle("export", {"format": "html", "questions": [RULE]})["text"]
    table = session.handle("export", {"format": "csv", "questions": [RULE]})["text"]
    assert "unchanged: income; debt must be at least 0 and at most 3,000" in page
    text = re.sub("<code>.*?</code>", "", page) + table  # without the question as Python, which verify prints
    assert "between(" not in text
    assert "freeze(" not in text


# Proofs that are open, and their digits


def test_cost_bound_and_gap_have_the_digits_of_the_proof():
    for key in ("german", "adult"):
        for row in range(0, 40, 4):
            reply, answer = ask(make_question(key, row=row, cost="L2"))
            for way, c in zip(reply["ways"], answer, strict=True):
                proof = way["proof"]
                cost, bound, gap = (float(proof[name]) for name in ("cost", "lower_bound", "gap"))
                assert way["proved"]
                assert cost - bound <= 2e-9 * abs(cost)
                assert bound <= c.lower_bound
                assert gap >= c.gap - 1e-300


def test_points_whose_search_stopped_are_in_the_strip():
    """The searches of the front stop, that of the answer does not."""
    session, question = open_session({"time_limit": 30.0}), make_question("german", row=3, cost="L2")
    whole = session.handle("front", question)["points"]
    assert [point["n_changes"] for point in whole] == [1, 2, 3, 4][: len(whole)]
    posed = session.pose(PageQuestion(**question))
    best = posed.explain(count=1)
    front = posed.explainer.explain_front(posed.values, replace(posed.question, count=1, distinct=None, max_nodes=1))
    points = describe_front(posed, front, best, 2.0)["points"]
    assert [point["n_changes"] for point in points] == list(range(1, len(best[0].changes) + 1))
    assert points[-1]["proved"]
    assert not any(point["proved"] for point in points[:-1])
    assert any(point["effort"] is None for point in points[:-1])


def test_a_way_that_may_not_be_the_best_has_its_own_status_among_all_rows():
    X = np.random.default_rng(0).normal(size=(60, 6))
    forest = RandomForestClassifier(12, max_leaf_nodes=20, random_state=0).fit(X, X.sum(axis=1) > 1)
    rows = pd.DataFrame(X, columns=[f"x{k}" for k in range(6)])
    answers = RowAnswers(cl.Explainer(forest, data=X), rows, cl.Question(target=True, max_nodes=3))
    answers.extend(30.0)
    reply = answers.reply(0)
    found = [k for k, status in enumerate(reply["status"]) if status == FOUND]
    assert found
    assert all(reply["effort"][k] is not None for k in found)


@pytest.mark.parametrize(("share", "text"), [(0.7149, "72 %"), (0.000349, "0.035 %"), (0.9996, "100 %"), (0.5, "50 %")])
def test_at_most_is_rounded_up(share, text):
    assert percent_at_most(share) == text


def test_images_with_fewer_options_claim_no_more():
    """Two images that change the same pixels may end in different leaves, so only another path is ruled out."""
    session = bundled_session()
    replies = [session.handle("answer", make_question("digits", row=row, count=12, target=["3"])) for row in range(12)]
    texts = {reply["fewer"] for reply in replies if reply["fewer"]}
    assert texts
    assert all(text.endswith("within what is allowed: no other path through the model leads there.") for text in texts)
