"""Questions as values: equality, JSON, words, and every door that takes one."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.json_schema import is_valid

import counterleaf as cl

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/_static/question.schema.json").read_text())
SUM = cl.LinearCost([1.0, -2.0]) + cl.L2(up=1.0, down=[2.0, 3.0]) + cl.Quadratic([[2.0, 0.5], [0.5, 1.0]])
QUESTIONS = {
    "nothing": {},
    "a class": {"target": "yes", "count": 3, "distinct": {"features": 2}},
    "classes": {"target": ["a", 2, True], "count": None, "distinct": "leaves"},
    "prices": {
        "target": {1: 0.5, 2: 0.0},
        "cost": 0.5 * cl.L1({"age": 2.0}, multiplier={"age": 3}) + cl.Changes({"age": 1.5}),
    },
    "probability": {"target": cl.probability("a", at_least=0.2), "margin": {"age": 1}},
    "value": {"target": cl.value(at_most=3), "margin": "1%", "time_limit": 2.5, "max_nodes": 7, "support": 3},
    "costs": {"cost": SUM},
    "a frame": {"cost": cl.Quadratic(pd.DataFrame([[2.0, 0.1], [0.1, 1.0]], ["x", "y"], ["x", "y"]))},
    "constraints": {
        "constraints": [
            cl.freeze("age"),
            cl.between("pay", None, 0.1 + 0.2),
            cl.implies(cl.becomes("job", "cook"), cl.stays("age")),
            cl.linear({"a": 0.1, "b": -2}, "<=", 3),
            cl.linear({0: 1.0, 2: -2.5}, ">=", 1),
            cl.only_increase("pay", at_most="10%"),
            cl.max_changes(3),
        ]
    },
}


@pytest.mark.parametrize("parts", QUESTIONS.values(), ids=QUESTIONS)
def test_questions_are_read_back_bit_for_bit(parts, tmp_path):
    asked = cl.Question(**parts)
    text = asked.to_json()
    assert is_valid(json.loads(text), SCHEMA, SCHEMA)
    again = cl.Question.from_json(text)
    assert (again, again.to_json(), str(again), hash(again)) == (asked, text, str(asked), hash(asked))
    assert cl.Question.from_json(text.encode()) == asked
    (tmp_path / "question.json").write_text(text)
    assert tuple(cl.load_constraints(tmp_path / "question.json")) == asked.constraints
    assert [repr(one) for one in again.constraints] == [repr(one) for one in asked.constraints]


def test_questions_that_differ():
    different = [cl.Question(**parts) for parts in QUESTIONS.values()]
    assert all((one == other) == (one is other) for one in different for other in different)
    assert cl.Question("yes") == cl.Question(["yes"])
    assert cl.Question("yes") != "yes"
    near = cl.near(np.zeros((3, 2)))
    assert cl.Question(constraints=near) == cl.Question(constraints=near)
    assert cl.Question(constraints=near) != cl.Question(constraints=[near, cl.max_changes(1)])


def test_words():
    asked = cl.Question(
        {"yes": 0.5, "no": 0},
        constraints=cl.freeze("a"),
        margin={"a": 1},
        count=None,
        distinct="leaves",
        time_limit=2,
        max_nodes=5000,
        support=4,
    )
    assert str(asked).splitlines() == [
        "target: yes (at a cost of 0.5), no",
        "freeze('a')",
        "support=4",
        "margin: 1 of a",
        "answers: one of every leaf",
        "distinct: leaves",
        "time limit: 2 seconds",
        "node limit: 5,000",
    ]
    assert asked.words(cl.L1("range"))[1] == "cost: L1('range')"
    assert repr(cl.Question("yes", margin="1%")) == "<Question: target: yes; margin: 1%>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "the question lacks 'version'"),
        ({"version": 2}, "version is 2; this counterleaf reads version 1"),
        ({"version": 1, "targets": 1}, "has 'targets'; expected .*did you mean 'target'"),
        ({"version": 1, "constraints": [{"max_chances": 3}]}, "has 'max_chances'; .*did you mean 'max_changes'"),
        ({"version": 1, "constraints": {}}, "constraints is {}; expected a list of at most 10,000"),
        ({"version": 1, "target": {"a": 1}}, "has 'a'; expected 'probability', 'at_least', 'at_most'"),
        ({"version": 1, "target": [[1]]}, r"target is \[\[1\]\]; expected a class, a list of classes"),
        ({"version": 1, "target": None, "cost": []}, r"cost is \[\]; expected a list of terms"),
        ({"version": 1, "target": {"prices": [["a"]]}}, "prices is .*; expected pairs of a class and a number"),
        ({"version": 1, "target": {"at_least": "3"}}, "target is .*; expected a class"),
        ({"version": 1, "cost": ["L1"]}, "term 1 of the cost of the question is 'L1'; expected an object"),
        ({"version": 1, "cost": [{"L3": {}}]}, "term 1 .* has 'L3'; expected one of L1, .*did you mean"),
        ({"version": 1, "cost": [{"L1": 3}]}, "L1 is 3; expected an object with its parameters"),
        ({"version": 1, "cost": [{"L1": {"weight": 3}}]}, "has 'weight'; expected .*did you mean 'weights'"),
        ({"version": 1, "cost": [{"L1": {}, "factor": "2"}]}, "factor is '2'; expected a number"),
        ({"version": 1, "cost": [{"L1": {"weights": "big"}}]}, "weights are 'big'; expected"),
        ({"version": 1, "cost": [{"Quadratic": {"Q": [["a"]]}}]}, "expected numbers"),
        ({"version": 1, "count": 0}, "count is 0; expected a whole number from 1"),
        ({"version": 1, "distinct": "rows"}, "distinct is 'rows'; expected"),
        ([], r"the question holds \[\]; expected"),
    ],
)
def test_files_that_are_refused(content, message):
    with pytest.raises(cl.CounterleafError, match=message) as error:
        cl.Question.from_json(json.dumps(content))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (3, "the question is 3; expected JSON text"),
        ("{", "the question is not valid JSON"),
        (b"\xff", "the question is not text in UTF-8"),
        ('{"version": 1, "version": 1}', "has 'version' twice"),
        (" " * 10_000_001, "has 10,000,001 characters; expected at most 10,000,000"),
    ],
)
def test_texts_that_are_refused(text, message):
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Question.from_json(text)


def test_what_json_cannot_hold():
    with pytest.raises(cl.CounterleafError, match="refers to a whole table; make it in Python with near"):
        cl.Question(constraints=cl.near(np.zeros((3, 2)))).to_json()
    with pytest.raises(cl.CounterleafError, match=r"the question cannot be written .*expected names, text and finite numbers"):
        cl.Question(target=object()).to_json()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cost": "L1"}, "cost is 'L1'; expected L1, L2, Quadratic"),
        ({"count": 2.5}, "count is 2.5; expected a whole number from 1"),
        ({"time_limit": 0}, "time_limit is 0.0; expected seconds above 0"),
        ({"max_nodes": True}, "max_nodes is True; expected a whole number"),
        ({"support": -1}, "support is -1; expected a number of rows"),
        ({"constraints": "freeze"}, "constraints is 'freeze'; expected a list"),
    ],
)
def test_parts_of_the_wrong_kind(parts, message):
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Question(**parts)


@pytest.fixture(scope="module")
def explainer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 9, 200).round(1), "b": rng.uniform(0, 9, 200).round(1)})
    return cl.Explainer(DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, X.a + X.b > 9), data=X), X


def test_every_door_takes_a_question(explainer):
    explainer, X = explainer
    parts = {"target": True, "cost": cl.L2("range"), "constraints": [cl.freeze("b")]}
    asked, rows = cl.Question(**parts), X[X.a + X.b < 8].head(10)
    by_value, by_name = explainer.explain(rows.iloc[0], asked), explainer.explain(rows.iloc[0], **parts)
    assert by_value.question == by_name.question == asked
    assert [one.cost for one in by_value] == [one.cost for one in by_name]
    assert cl.Explanation.from_json(by_value.to_json()).question == asked
    pd.testing.assert_frame_equal(explainer.explain_many(rows, asked), explainer.explain_many(rows, **parts))
    margins = {"margins": [0.0, 0.1]}
    assert [one[0].cost for one in explainer.explain_margins(rows.iloc[0], asked, **margins)] == [
        one[0].cost for one in explainer.explain_margins(rows.iloc[0], **parts, **margins)
    ]
    assert [one.cost for one in explainer.explain_front(rows.iloc[0], asked)] == [
        one.cost for one in explainer.explain_front(rows.iloc[0], **parts)
    ]
    assert str(explainer.audit(rows, asked)) == str(explainer.audit(rows, **parts))
    assert explainer.arrow(asked).question == explainer.arrow(**parts).question == asked


def test_a_question_and_its_parts_exclude_each_other(explainer):
    explainer, X = explainer
    with pytest.raises(cl.CounterleafError, match="explain got a question and count=; put count into the question"):
        explainer.explain(X.iloc[0], cl.Question(True), count=2)
    with pytest.raises(cl.CounterleafError, match="explain got a question and constraints=; put constraints into the question"):
        explainer.explain(X.iloc[0], cl.Question(True), constraints=[cl.freeze("a")])
    with pytest.raises(cl.CounterleafError, match=r"explain_many got the question True; expected cl\.Question"):
        explainer.explain_many(X, True)
    with pytest.raises(cl.CounterleafError, match="explain_front got a question with count=2"):
        explainer.explain_front(X.iloc[0], cl.Question(True, count=2))
    for call in (explainer.explain_margins, explainer.explain_front):
        with pytest.raises(cl.CounterleafError, match="got margins= and a question with a margin; leave the margin out"):
            call(X.iloc[0], cl.Question(True, margin=3), margins=[0.0, 1.0])
    with pytest.raises(cl.CounterleafError, match="arrow writes one answer for each row"):
        explainer.arrow(cl.Question(True, count=2))
