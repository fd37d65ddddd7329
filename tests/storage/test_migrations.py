"""Answers of versions 2 and 3, which older code wrote, are read, checked and written in the current version."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from support.hostile_cases import seal

import counterleaf as cl
from counterleaf.storage import explanations, migrations

FILES = Path(__file__).parent / "files"
NAMES = sorted(path.stem for path in FILES.glob("v*.json"))
PROVED = [name for name in NAMES if "insufficient" not in name]


def text_of(name):
    return (FILES / f"{name}.json").read_text()


def changed(name, change):
    """The text of a changed file with a digest that fits."""
    content = json.loads(text_of(name))
    change(content)
    return seal(content)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_answer_shows_what_its_file_shows(name):
    old, answer = json.loads(text_of(name)), cl.Explanation.from_json(text_of(name))
    assert answer.status == old["status"]
    assert answer.source_label == old["label"]
    assert list(answer.target) == old["target"]
    assert len(answer) == len(old["counterfactuals"])
    assert [c.label for c in answer] == [c["label"] for c in old["counterfactuals"]]
    assert [c.confirmed for c in answer] == [c["verified"] for c in old["counterfactuals"]]
    assert [c.cost for c in answer] == [c["cost"] for c in old["counterfactuals"]]
    for found, shown in zip(answer, old["counterfactuals"], strict=True):
        assert {feature: list(ends) for feature, ends in found.changes.items()} == shown["changes"]
        assert found.lower_bound == pytest.approx(shown["lower_bound"], rel=1e-12)
    assert len(answer.conflict) == len(old["conflict"])


@pytest.mark.parametrize("name", PROVED)
def test_an_old_proof_that_suffices_holds(name):
    answer = cl.Explanation.from_json(text_of(name))
    assert answer.certificate.check()
    assert answer.proved == (answer.status != "limit")
    assert "NOT proved" not in str(answer)


def test_every_kind_of_answer_has_a_file_of_each_version():
    kinds = {name.split("_", 1)[1] for name in PROVED}
    assert {"numbers", "table", "categories", "quadratic", "infeasible", "among", "margin"} <= kinds
    for version in (2, 3):
        assert {f"v{version}_{kind}" for kind in kinds - {"rounding"}} <= set(NAMES)
    assert all(json.loads(text_of(name))["version"] == int(name[1]) for name in NAMES)


@pytest.mark.parametrize("name", ["v2_insufficient", "v2_insufficient_infeasible"])
def test_an_old_proof_that_does_not_suffice_is_read_and_not_proved(name):
    answer = cl.Explanation.from_json(text_of(name))
    assert answer.certificate.check() is False
    assert answer.proved is False
    assert "NOT proved" in str(answer)
    assert "NOT proved" in answer._repr_html_()


def test_a_bound_of_version_2_is_claimed_as_far_as_it_is_proved():
    claimed = json.loads(text_of("v2_rounding"))["lower_bound"]
    answer = cl.Explanation.from_json(text_of("v2_rounding"))
    assert answer.proved
    assert claimed * (1 - 1e-12) < answer.lower_bound < claimed
    assert answer[0].lower_bound <= answer[0].cost


@pytest.mark.parametrize("name", NAMES)
def test_an_old_answer_is_written_in_the_current_version(name):
    answer = cl.Explanation.from_json(text_of(name))
    text = answer.to_json()
    content = json.loads(text)
    assert content["version"] == migrations.VERSION == 7
    assert not {"label", "row", "asked"} & content.keys()
    again = cl.Explanation.from_json(text)
    assert again.to_json() == text
    assert str(again) == str(answer)
    assert again.proved == answer.proved


def test_constraints_and_costs_of_version_3_get_their_new_names():
    answer = cl.Explanation.from_json(text_of("v3_table"))
    assert list(map(str, answer.constraints)) == ["max_changes(2)", "implies(changed('job'), only_increase('pay'))"]
    assert "max_changes(1)" in map(str, cl.Explanation.from_json(text_of("v3_conflict")).conflict)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("increase('pay', by=2)", "only_increase('pay', by=2)"),
        ("decrease('increase(x)')", "only_decrease('increase(x)')"),
        ('implies(changes("it\'s"), at_most(2))', 'implies(changed("it\'s"), max_changes(2))'),
        ("L1('range', times={'times=': 2}) + Linear({'a': 1})", "L1('range', multiplier={'times=': 2}) + LinearCost({'a': 1})"),
        ("only_increase('a'), b.changes('c')", "only_increase('a'), b.changes('c')"),
        ("increase('open", "only_increase('open"),
        ("'" + "\\'" * 50_000, "'" + "\\'" * 50_000),
    ],
)
def test_only_names_outside_quotes_are_renamed(old, new):
    assert migrations._renamed(old) == new


def test_a_version_2_answer_says_that_its_query_is_not_recorded():
    answer = cl.Explanation.from_json(text_of("v2_table"))
    assert answer.constraints == ()
    assert f"cost: {explanations.UNRECORDED}" in answer.question
    assert json.loads(answer.to_json())["question"] is None


def test_the_horizon_of_a_version_2_search_is_not_a_bound():
    def horizon(content):
        content["certificate"]["features"][2][0], content["certificate"]["features"][8][0] = 1e6, 1.0

    answer = cl.Explanation.from_json(changed("v2_oblique", horizon))
    assert answer.certificate.problem.question.features[2][0] == np.inf
    assert answer.certificate.check()


def test_a_row_of_a_polars_type_that_is_no_longer_written_is_read_as_text():
    pytest.importorskip("polars")

    def categorical(content):
        old = content["row"]
        names, values = ["pay", "job", "own"], old["values"]
        types = ["Float64", "Categorical(ordering='physical')", "Boolean"]
        content["row"] = {"type": "polars", "values": values, "names": names, "dtypes": types, "label": None}

    answer = cl.Explanation.from_json(changed("v2_table", categorical))
    assert answer.source["job"].to_list() == ["clerk"]


@pytest.mark.parametrize("name", NAMES)
def test_the_digest_of_an_old_answer_is_that_of_its_own_content(name):
    content = json.loads(text_of(name))
    content["lower_bound"] = 123.0
    with pytest.raises(cl.CounterleafError, match="its digest differs"):
        cl.Explanation.from_json(json.dumps(content))


@pytest.mark.parametrize("version", [2, 3])
def test_a_forged_old_answer_proves_nothing(version):
    def cheaper(content):
        content["counterfactuals"][0]["cost"] = content["certificate"]["costs"][0] = 0.01

    def shown(content):
        content["counterfactuals"][0]["cost"] = 0.01

    def wide(content):
        content["certificate"]["features"][2][0] = 1e9

    assert not cl.Explanation.from_json(changed(f"v{version}_numbers", cheaper)).proved
    with pytest.raises(cl.CounterleafError, match="contradicts itself: it does not show what it proves"):
        cl.Explanation.from_json(changed(f"v{version}_numbers", shown))
    with pytest.raises(cl.CounterleafError, match=r"contradicts itself: its proof (goes beyond|has other) .*bounds"):
        cl.Explanation.from_json(changed(f"v{version}_table", wide))


def test_a_damaged_old_answer_is_refused():
    def features(content):
        content["certificate"]["features"].pop()

    def slack(content):
        content["certificate"]["parts"][0][1][0][1] = [0.0]

    def part(content):
        del content["certificate"]["home"]

    for change in (features, slack, part):
        with pytest.raises(cl.CounterleafError, match="lacks or garbles a part"):
            cl.Explanation.from_json(changed("v2_numbers", change))


@pytest.mark.parametrize("version", [1, 8, 2.0, True, None, "2", [2]])
def test_other_versions_are_refused(version):
    text = json.dumps({"format": explanations.FORMAT, "version": version})
    with pytest.raises(cl.CounterleafError, match="this counterleaf reads versions 2 to 7: explain the row again"):
        cl.Explanation.from_json(text)


def test_version_6_differs_in_its_number_alone():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    text = cl.Explainer(tree).explain([0.0, 0.0], target="yes").to_json()
    old = cl.Explanation.from_json(seal({**json.loads(text), "version": 6}))
    assert old.certificate.check()
    assert old.to_json() == text


def test_version_6_has_no_ensembles():
    model = RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    content = json.loads(cl.Explainer(model).explain([0.0]).to_json())
    with pytest.raises(cl.CounterleafError, match="ValueError: an answer of version 6 without a tree"):
        cl.Explanation.from_json(seal({**content, "version": 6}))
