"""A kind of constraint is one class and one function: a toy kind, defined here, is asked, printed, written and read."""

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.question.arrays import LinearRow
from counterleaf.question.constraints import kinds
from counterleaf.question.constraints.kinds import NAME, Boxed, Constraint, call_text, feature_name
from counterleaf.question.constraints.lowering import Interval, Limits
from counterleaf.question.words import constraint_words
from counterleaf.table.schema import Schema
from counterleaf.types import Array

ROWS = np.random.default_rng(0).integers(0, 10, (200, 3)).astype(float)
CLASSES = np.where(ROWS[:, 0] + ROWS[:, 1] > 9, "yes", "no")


@dataclass(frozen=True, slots=True, repr=False)
class Doubled(Constraint):
    """The named number is at least twice that of the row."""

    name: str

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Raise the lower bound."""
        v = schema.span(schema.index(self.name)).start
        limits.narrow([Interval(v, 2.0 * sources[:, v], np.inf)])

    def about(self) -> tuple[Any, ...]:
        """Return the feature that it names."""
        return (self.name,)

    def to_json(self) -> dict[str, Any]:
        """Return its entry in a file."""
        return {"doubled": self.name}

    def in_words(self, schema: Schema) -> str:
        """Return it as part of a sentence."""
        return f"{self.features(schema)[0]} must at least double"


def doubled(name: Any) -> Doubled:
    """Let a number at least double."""
    return Doubled(call_text("doubled", name), feature_name("doubled", name))


@dataclass(frozen=True, slots=True, repr=False)
class Four(Boxed):
    """The named number is 4: a kind whose bounds do not depend on the row, and which can be a condition."""

    name: str
    relative = False

    def box(self, schema, sources):
        return [Interval(schema.span(schema.index(self.name)).start, 4.0, 4.0)]

    def about(self):
        return (self.name,)


@pytest.fixture(autouse=True)
def _in_the_table():
    """The function is in the table in this file only; a kind of the package has the decorator ``verb``."""
    kinds.verb(NAME)(doubled)
    yield
    del kinds.VERBS["doubled"]


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(8, max_depth=3)], ids=type)
def test_a_toy_kind_is_asked_printed_written_and_read(model, tmp_path):
    explainer = cl.Explainer(model.set_params(random_state=0).fit(ROWS, CLASSES), data=ROWS)
    row = [2.0, 3.0, 4.0]
    rules = [doubled("x2"), cl.freeze("x0")]
    answer = explainer.explain(row, target="yes", constraints=rules)
    assert answer.proved
    assert answer[0].row[2] == 8.0
    assert answer[0].row == explainer.explain(row, target="yes", constraints=[cl.between("x2", 8), cl.freeze("x0")])[0].row
    assert "doubled('x2')" in answer.words
    assert cl.Question(constraints=rules).to_json() == '{"version": 1, "constraints": [{"doubled": "x2"}, {"freeze": "x0"}]}'
    assert str(cl.Question(constraints=rules)).endswith("doubled('x2')\nfreeze('x0')")
    assert constraint_words(rules, explainer.schema) == "unchanged: x0; x2 must at least double"
    again = cl.Explanation.from_json(answer.to_json())
    assert list(again.constraints) == rules
    assert again.certificate.check()
    assert str(again) == str(answer)
    cl.save_constraints(rules, tmp_path / "rules.json")
    assert cl.load_constraints(tmp_path / "rules.json") == rules
    table = np.array([row, [1.0, 5.0, 3.0], [0.0, 4.0, 4.5]])
    many = explainer.explain_many(table, target="yes", constraints=rules, digits="short")
    each = [explainer.explain(one, target="yes", constraints=rules) for one in table.tolist()]
    assert many["x2"].tolist() == [one[0].row[2] for one in each] == [8.0, 6.0, 9.0]
    assert many["status"].tolist() == [str(one.status) for one in each]


def test_a_toy_kind_may_be_in_conflict_and_under_a_condition():
    explainer = cl.Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, CLASSES), data=ROWS)
    answer = explainer.explain([2.0, 3.0, 6.0], target="yes", constraints=[doubled("x2"), cl.freeze("x1")])
    assert answer.conflict == (doubled("x2"),)
    assert "This constraint rules it out: doubled('x2')." in str(answer)
    rule = cl.implies(cl.changed("x0"), doubled("x2"))
    assert rule.to_json() == {"implies": {"if": {"changed": "x0"}, "then": {"doubled": "x2"}}}
    assert cl.load_constraints(json.dumps({"version": 1, "constraints": [rule.to_json()]})) == [rule]
    answer = explainer.explain([2.0, 9.0, 4.0], target="yes", constraints=[rule, cl.freeze("x1")])
    assert answer[0].row[0] == 2.0 or answer[0].row[2] == 8.0
    best = explainer.explain([2.0, 3.0, 4.0], target="yes", constraints=cl.implies(Four("four", "x2"), cl.freeze("x0")))[0].row
    assert best[2] != 4.0 or best[0] == 2.0


@dataclass(frozen=True, slots=True, repr=False)
class Balanced(Constraint):
    """The first two numbers are equal: a linear row."""

    relative = False

    def add_to(self, limits, schema, sources):
        limits.rows.append(LinearRow({0: 1.0, 1: -1.0}, "==", 0.0))


def test_a_toy_kind_with_a_linear_row_is_refused_by_ensembles():
    rule = Balanced("balanced()")
    best = cl.explain(DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, CLASSES), ROWS[0], constraints=rule)[0]
    assert best.row[0] == pytest.approx(best.row[1])
    forest = cl.Explainer(RandomForestClassifier(3, max_depth=3, random_state=0).fit(ROWS, CLASSES), data=ROWS)
    reason = "a constraint is about several features together, which ensembles do not support"
    with pytest.raises(cl.CounterleafError, match=f"^{reason}$"):
        forest.explain(ROWS[0], constraints=rule)
    assert forest.explain_many(ROWS[:2], constraints=rule)["problem"].tolist() == [reason] * 2


def test_what_a_file_may_not_hold_of_a_toy_kind():
    with pytest.raises(cl.CounterleafError, match=r"^constraint 1 of the text: doubled is 3\.5; expected the name"):
        cl.load_constraints('{"version": 1, "constraints": [{"doubled": 3.5}]}')
    with pytest.raises(cl.CounterleafError, match=r"has 'dubled'; expected exactly one of .*; did you mean 'doubled'\?$"):
        cl.load_constraints('{"version": 1, "constraints": [{"dubled": "x2"}]}')
    with pytest.raises(cl.CounterleafError, match=r"^no feature 'x9'"):
        cl.explain(DecisionTreeClassifier(random_state=0).fit(ROWS, CLASSES), ROWS[0], constraints=doubled("x9"))
    with pytest.raises(cl.CounterleafError, match=r"^the question cannot be written \(it is part of a case\)"):
        cl.Question(constraints=Four("four", "x2")).to_json()


def test_every_function_of_the_table_is_public():
    public = {name for name in cl.__all__ if cl._HOME[name].startswith("counterleaf.question.constraints.")}
    assert public == {*kinds.VERBS, "implies", "near", "Constraint"} - {"doubled"}


def test_the_page_for_contributors_shows_the_toy_kind():
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    for part in (Doubled, doubled):
        assert inspect.getsource(part).rstrip() in page
