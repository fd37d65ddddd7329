"""What the page claims: proofs, efforts and numbers, none of which may contradict another."""

import functools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from support.explorer_cases import ask, bundled_session, make_question, small_session

import counterleaf as cl
from counterleaf.explorer.session.answers.describe import model_name
from counterleaf.explorer.session.answers.effort import Kind, describe_effort, measure_move
from counterleaf.explorer.session.session import open_session


def test_each_option_has_its_bound_and_its_claim():
    reply, answer = ask(make_question("german"))
    claims = [way["proof"]["claim"] for way in reply["ways"]]
    assert claims == [
        "no smaller change works",
        "the smallest that does not change all that option 1 changes",
        "the smallest that does not change all that option 1 or option 2 changes",
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
    assert claims == ["the best by the chosen measure", "the best by the chosen measure on another path through the model"]


def test_a_search_that_stopped_has_no_proof_to_check():
    session = open_session({"time_limit": 1e-9})
    question = make_question("german")
    assert session.handle("answer", question)["status"] == "limit"
    checked = session.handle("check", question)
    assert (checked["status"], checked["holds"], checked["n_parts"]) == ("limit", None, 0)


def test_the_proof_that_is_shown_is_checked(monkeypatch):
    session, question = open_session({"time_limit": 30.0}), make_question("german")
    session.handle("answer", question)
    monkeypatch.setattr(session, "explain", lambda question: pytest.fail("searched again"))
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
def test_models_have_their_article(divisor, n_trees, text, monkeypatch):
    tree = SimpleNamespace(n_trees=n_trees, scoring=SimpleNamespace(divisor=divisor, link="none"))
    monkeypatch.setattr("counterleaf.explorer.session.answers.describe.Ensemble", SimpleNamespace)
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
