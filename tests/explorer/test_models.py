"""Every kind of model in the explorer: goals and settings have the effect that they have in the library."""

import json

import numpy as np
import pytest
from support.explorer_cases import ask, bundled_session, check_ways, describe_scene, make_question, small_session
from support.explorer_models import MAKERS, model_session

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.words import number_apart, percent

CLASSES = [name for name in MAKERS if "value" not in name]
VALUES = [name for name in MAKERS if "value" in name]


def described(name):
    return model_session(name).handle("scene", {"scene": "test"})


def question_of(name, **fields):
    return {"scene": "test", "spread": described(name)["spreads"][0], **fields}


def settings(rng, scene):
    """Random settings, as controls and as constraints of the library."""
    controls, constraints = {}, []
    for feature in scene.explainer.schema:
        draw = rng.random()
        if draw < 0.15:
            controls[feature.name] = {"lock": True}
            constraints.append(cl.freeze(feature.name))
        elif draw < 0.3 and isinstance(feature, cl.Numeric):
            controls[feature.name] = {"direction": "only_increase"}
            constraints.append(cl.only_increase(feature.name))
    return controls, constraints


def goal_of(rng, name, description):
    """A random goal: the fields of the question, and the target of the library."""
    if description["kind"] == "value":
        low, high = description["output"]["lower"], description["output"]["upper"]
        end = float(np.round(rng.uniform(low, high), 2))
        if rng.random() < 0.5:
            return {"at_least": end}, cl.value(at_least=end)
        return {"at_most": end}, cl.value(at_most=end)
    label = str(rng.choice(description["classes"]))
    if description["probabilities"] and rng.random() < 0.5:
        share = float(np.round(rng.uniform(0.3, 0.8), 2))
        return {"target": [label], "at_least": share}, cl.probability(label, at_least=share)
    return ({"target": [label]}, [label]) if rng.random() < 0.7 else ({}, None)


@pytest.mark.parametrize("name", MAKERS)
def test_random_questions_are_answered_as_the_library_answers_them(name):
    session, description = model_session(name), described(name)
    scene, rng = session.scene("test"), np.random.default_rng(11)
    json.dumps(description, allow_nan=False)
    statuses = set()
    for _ in range(12):
        row = int(rng.integers(scene.n_rows))
        fields, target = goal_of(rng, name, description)
        controls, constraints = settings(rng, scene)
        cost = str(rng.choice(["L1", "L2"]))
        question = question_of(name, row=row, controls=controls, cost=cost, **fields)
        reply, answer = ask(question, session)
        spread = None if question["spread"] == "none" else question["spread"]
        expected = scene.explainer.explain(
            scene.values(row, {}),
            target=target,
            cost={"L1": cl.L1, "L2": cl.L2}[cost](spread),
            constraints=constraints,
            count=3,
            distinct="features",
        )
        statuses.add(reply["status"])
        assert reply["status"] == str(expected.status)
        assert [c.cost for c in answer] == pytest.approx([c.cost for c in expected], rel=1e-7, abs=1e-12)
        assert all(way["confirmed"] and way["proved"] for way in reply["ways"])
        check_ways(reply, answer, question, session)
        check_numbers(reply, scene, answer, fields)
        if reply["status"] == "infeasible":
            assert ("None of your settings is the cause" in reply["sentence"]) == (not reply["conflict"])
        front = session.handle("front", question)
        check_front(front, reply)
    assert "optimal" in statuses


def check_numbers(reply, scene, answer, fields):
    """The numbers are those of the model's tree, and those of the ways reach the goal."""
    tree, numbers = scene.explainer.tree, [way["number"] for way in reply["ways"]]
    if tree.is_regression:
        low, high = fields.get("at_least", -np.inf), fields.get("at_most", np.inf)
        assert all(low <= number["value"] <= high for number in numbers)
        assert (reply["goal"]["at_least"], reply["goal"]["at_most"]) == (fields.get("at_least"), fields.get("at_most"))
        return
    assert all((number is not None) == tree.has_probabilities for number in [*numbers, reply["source"]["number"]])
    for way in reply["ways"]:
        if "at_least" in fields and way["label"] == fields["target"][0]:
            assert way["number"]["value"] >= fields["at_least"] - 1e-12
        if way["number"] is not None:
            assert way["number"]["text"].endswith(" %")


def check_front(front, reply):
    """Each point has more changes than the one before; the last one is the first way."""
    counts = [point["n_changes"] for point in front["points"]]
    assert counts == sorted(set(counts))
    assert bool(front["points"]) == bool(reply["ways"])
    assert front["stopped_after"] is None
    if front["points"]:
        assert front["points"][-1]["effort"]["cost"] == reply["ways"][0]["effort"]["cost"]
        assert all(point["confirmed"] and point["proved"] for point in front["points"])


@pytest.mark.parametrize("name", VALUES)
def test_a_value_without_a_goal_gets_one_that_a_row_can_reach(name):
    for row in (0, 7, 21):
        reply, _ = ask(question_of(name, row=row), model_session(name))
        now, goal = reply["source"]["number"]["value"], reply["goal"]
        assert reply["status"] == "optimal"
        assert (goal["at_least"] is None) != (goal["at_most"] is None)
        assert goal["at_most"] is not None or goal["at_least"] > now
        assert goal["at_least"] is not None or goal["at_most"] < now
        assert goal["text"].startswith(("at least ", "at most "))
        assert "would predict" in reply["sentence"]


def test_the_words_of_a_probability():
    name = "forest"
    reply, _ = ask(question_of(name, target=["refused"], at_least=0.5), model_session(name))
    assert reply["goal"] == {"text": "refused with a probability of at least 50 %", "at_least": 0.5, "at_most": None}
    assert "the model would give refused a probability of" in reply["sentence"]
    reply, _ = ask(question_of(name, target=["refused"], at_least=0.2, at_most=0.4), model_session(name))
    assert reply["goal"]["text"] == "refused with a probability from 20 % to 40 %"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("class tree", {"at_least": 0.5}, "there are 0 target classes; expected one"),
        ("three classes", {"target": ["low", "high"], "at_most": 0.5}, "there are 2 target classes; expected one"),
        ("score leaves", {"target": ["a"], "at_least": 0.5}, "has no probabilities that a goal can use"),
        ("boosted, three classes", {"target": ["low"], "at_least": 0.5}, "has no probabilities that a goal can use"),
        ("class tree", {"target": ["granted"], "at_least": 1.5}, "expected a number from 0 to 1"),
        ("class tree", {"target": ["granted"], "at_least": 0.9, "at_most": 0.1}, "is empty; swap the two numbers"),
        ("value tree", {"target": ["granted"]}, "predicts numbers, not classes; use at_least and at_most"),
        ("value tree", {"at_least": 5.0, "at_most": 1.0}, "is empty; swap the two numbers"),
    ],
)
def test_a_goal_that_does_not_fit_the_model(name, fields, message):
    for verb in ("answer", "front", "check"):
        with pytest.raises(CounterleafError, match=message) as caught:
            model_session(name).handle(verb, question_of(name, **fields))
        assert "\n" not in str(caught.value)


def test_what_the_page_may_offer():
    for name in MAKERS:
        description = described(name)
        is_ensemble = "trees" in description["model"]
        assert description["has_tree"] == (not is_ensemble)
        assert "Q" not in description["costs"]
        assert (description["output"] is None) == (description["kind"] == "class")
    assert described("forest")["model"] == "forest of 12 trees"
    assert described("boosted")["model"] == "10 boosted trees"
    assert described("value forest")["model"] == "forest of 8 trees"
    assert described("value linear")["model"] == "tree with linear leaves"


def test_a_gap_counts_as_the_value_that_the_pipeline_imputes():
    session = model_session("pipeline with gaps")
    row = session.handle("row", {"scene": "test", "row": 0})
    fills = session.scene("test").explainer.schema.fills
    assert row["values"][1:3] == [None, None]
    assert row["imputed"] == {"hours": f"{fills['hours']:g}", "income": f"{fills['income']:,.0f}"}
    reply, _ = ask(question_of("pipeline with gaps"), session)
    assert reply["imputed"] == row["imputed"]
    change = reply["ways"][0]["changes"][0]
    assert (change["from"], change["from_value"]) == ("(missing)", None)
    assert change["share_text"] == f"filled in, 6.5 % of the usual range below {row['imputed'][change['feature']]}"
    assert reply["ways"][0]["effort"]["words"] == "moderate: 6.5 % of the usual range"
    assert "instead of missing" in reply["sentence"]


def test_fewer_ways_than_requested():
    for name in ("value tree", "boosted"):
        reply, answer = ask(question_of(name, count=12), model_session(name))
        assert len(answer) < 12
        assert reply["fewer"].startswith("Only ")
    reply, _ = ask(make_question("german", count=2))
    assert (len(reply["ways"]), reply["fewer"]) == (2, None)


def test_a_forest_that_reaches_its_time_limit_says_so():
    session = model_session("forest of three classes", 1e-4)
    reply = session.handle("answer", question_of("forest of three classes"))
    assert (reply["status"], reply["stopped_after"]) == ("limit", 1e-4)
    assert reply["proof"]["proved"] is False
    assert reply["proof"]["text"].startswith("not proved: the search stopped after 0.0001 s")
    assert reply["fewer"] is None
    assert reply["ways"] or reply["sentence"].startswith("The search stopped after 0.0001 s, before it found a change")


def test_the_shares_of_the_bundled_trees():
    """The probability of a class is its share of the training rows in the leaf, and the largest one is that of the class."""
    for key in ("german", "adult"):
        tree = bundled_session().scene(key).explainer.tree
        shares = tree.outputs.intercept[tree.leaves]
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert (shares.argmax(axis=1) == tree.value[tree.leaves]).all()
    reply, _ = ask(make_question("german", target=["granted"], at_least=0.78))
    assert reply["status"] == "optimal"
    assert all(way["number"]["value"] >= 0.78 for way in reply["ways"])


def test_a_scene_is_added_at_run_time():
    explainer, rows = MAKERS["value tree"]()
    session = small_session(explainer, rows)
    scene = session.scene("test")
    session.scenes["more"] = type(scene)("more", "More", "What?", explainer, rows)
    assert [one["key"] for one in session.handle("scenes", {})] == ["test", "more"]
    assert session.handle("scenes", {})[1] == {"key": "more", "title": "More", "about": "What?", "noun": "Row", "kind": "value"}
    assert session.handle("answer", {"scene": "more"})["status"] == "optimal"


def test_histograms_count_every_row():
    for feature in described("class tree")["features"]:
        counts = feature["histogram"]["counts"] if feature["kind"] == "number" else feature["counts"]
        assert sum(counts) == 160
        if feature["kind"] == "number":
            assert len(feature["histogram"]["edges"]) == len(counts) + 1
    assert all(feature["histogram"] is None for feature in bundled_session().handle("scene", {"scene": "digits"})["features"])


@pytest.mark.parametrize("name", ["value tree", "logarithm of a value", "value forest"])
def test_a_goal_beyond_every_value_is_explained_by_the_largest_one(name):
    """A forest has no list of its values."""
    session = model_session(name)
    scene = session.scene("test")
    reply = session.handle("answer", question_of(name, at_least=1e9))
    expected = f"The largest value that this model predicts is {number_apart(scene.output_range[1])}."
    assert reply["reach"] == (None if name == "value forest" else expected)
    assert session.handle("answer", question_of(name, at_least=-1e9))["reach"] is None
    smallest = session.handle("answer", question_of(name, at_most=-1e9))["reach"]
    assert name == "value forest" or smallest.startswith("The smallest value that this model predicts is ")


def test_a_goal_beyond_every_probability_is_explained_by_the_largest_one():
    question = make_question("german", at_least=0.9)
    reply = bundled_session().handle("answer", question)
    shares = bundled_session().scene("german").explainer.tree.outputs.intercept
    leaves = bundled_session().scene("german").explainer.tree.leaves
    assert reply["reach"] == f"The largest probability that this model gives granted is {percent(shares[leaves, 0].max())}."
    locked = {feature["name"]: {"lock": True} for feature in describe_scene("german")["features"]}
    assert bundled_session().handle("answer", {**question, "at_least": 0.8, "controls": locked})["reach"] is None
