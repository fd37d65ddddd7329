"""Conflicts on a pipeline: the fewest constraints that leave no row, in the user's words."""

import functools
import itertools

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

RENT = pd.DataFrame(
    list(itertools.product(range(1, 9), ["flat", "house", "loft"], ["low", "mid", "top"])), columns=["rooms", "type", "floor"]
)
RENT["dog"] = np.arange(len(RENT)) % 2 == 0
LET = np.where((RENT["rooms"] >= 4) & (RENT["type"] == "flat") | (RENT["rooms"] >= 6) & (RENT["floor"] == "top"), "yes", "no")
LETTING = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(), ["type"]),
        (OrdinalEncoder(categories=[["low", "mid", "top"]]), ["floor"]),
        remainder="passthrough",
    ),
    DecisionTreeClassifier(random_state=0),
).fit(RENT, LET)
HOUSE = pd.DataFrame({"rooms": [2], "type": ["house"], "floor": ["mid"], "dog": [True]})


@functools.cache
def explainer():
    return cl.Explainer(LETTING, data=RENT)


def explain(constraints):
    return explainer().explain(HOUSE, target="yes", constraints=constraints)


def conflict(*constraints):
    answer = explain(list(constraints))
    assert answer.status == "infeasible"
    assert answer.certificate.check() is True
    for one in answer.conflict:  # nothing in it can be left out
        assert explain([other for other in answer.conflict if other is not one]).status == "optimal"
    return [str(one) for one in answer.conflict]


def test_the_fewest_constraints_in_conflict_are_named():
    others = [cl.freeze("dog"), cl.only_increase("rooms")]
    assert conflict(*others, cl.between("rooms", 1, 3)) == ["between('rooms', 1, 3)"]
    assert conflict(cl.between("rooms", 0, 5), *others, cl.freeze("type")) == ["between('rooms', 0, 5)", "freeze('type')"]
    assert conflict(*others, cl.forbid("type", ["flat"]), cl.forbid("floor", ["top"])) == [
        "forbid('type', ['flat'])",
        "forbid('floor', ['top'])",
    ]
    assert conflict(*others, cl.max_changes(1)) == ["max_changes(1)"]
    assert conflict(cl.max_changes(2), cl.allow("type", ["loft"]), *others) == ["max_changes(2)", "allow('type', ['loft'])"]
    assert conflict(cl.implies(cl.changed("rooms"), cl.fix("floor", "low")), cl.forbid("type", ["flat"]), *others) == [
        "implies(changed('rooms'), fix('floor', 'low'))",
        "forbid('type', ['flat'])",
    ]
    assert conflict(cl.linear({"type=flat": 3, "floor=top": 3, "rooms": 1}, "<=", 6), *others) == [
        "linear({'type=flat': 3, 'floor=top': 3, 'rooms': 1}, '<=', 6)"
    ]
    assert conflict(cl.only_increase("rooms", by=7), *others) == ["only_increase('rooms', by=7)"]
    assert conflict(cl.only_decrease("rooms"), cl.freeze("type"), cl.freeze("floor")) == ["only_decrease('rooms')"]


def test_a_conflict_reads_as_a_sentence():
    text = str(explain([cl.freeze("type"), cl.between("rooms", 1, 5), cl.freeze("dog")]))
    assert "These cannot all hold: freeze('type'); between('rooms', 1, 5)." in text
    assert text.endswith("This is proved.")


def test_a_label_out_of_reach_has_no_conflict():
    few = RENT[RENT["rooms"] < 4].reset_index(drop=True)
    answer = cl.Explainer(LETTING, data=few).explain(HOUSE, target="yes", constraints=[cl.freeze("dog")])
    assert answer.status == "infeasible"
    assert answer.conflict == ()
    assert "even without constraints" in str(answer)
