"""Receipts: a page to print that is complete and safe, JSON that ``verify`` reads, CSV that a spreadsheet does not compute."""

import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.explorer_cases import bundled_session, make_question
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf.cli import app
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.receipts.files import safe_cell
from counterleaf.explorer.session.receipts.page import answer_digest
from counterleaf.explorer.session.requests import PageQuestion
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session

HOSTILE = [
    '=HYPERLINK("http://x")',
    "+1",
    "@SUM(A1)",
    "\tx",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "n" * 3000,
    "-cmd|' /C calc'!A0",
]


def export(session, format, *questions):
    return session.handle("export", {"format": format, "questions": list(questions)})["text"]


class _Parsed(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def words(page):
    return " ".join(" ".join(_Parsed(page).text).replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def scene_of(model, X, **fields):
    return Scene("test", "Test", "What would change?", cl.Explainer(model, data=X), X, **fields)


def models(diabetes):
    X, y = load_iris(return_X_y=True, as_frame=True)
    D, t = diabetes
    yield "tree", DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y), X, {}
    yield "regression", DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(D, t), D, {"at_least": 200.0}
    yield "linear leaves", cl.TAORegressor(max_depth=2, leaves="linear", random_state=0).fit(D, t), D, {"at_least": 200.0}
    yield "softmax leaves", cl.TAOClassifier(max_depth=1, leaves="softmax", random_state=0).fit(X, y), X, {}
    yield "forest", RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y), X, {}
    boosted = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, np.where(y == 2, "yes", "no"))
    yield "boosting", boosted, X, {"target": ["yes"]}


@pytest.mark.parametrize("kind", ["tree", "regression", "linear leaves", "softmax leaves", "forest", "boosting"])
def test_verify_reads_the_json_of_every_model(kind, diabetes, tmp_path):
    model, X, fields = next((model, X, fields) for name, model, X, fields in models(diabetes) if name == kind)
    session = Session([scene_of(model, X)], 10.0)
    first, second = ({"scene": "test", "row": row, "count": 2, **fields} for row in (0, 1))
    one, several = tmp_path / "one.json", tmp_path / "several.jsonl"
    one.write_text(export(session, "json", first))
    several.write_text(export(session, "json", first, second))
    assert len(several.read_text().splitlines()) == 2
    for file, count in ((one, 1), (several, 2)):
        done = CliRunner().invoke(app, ["verify", str(file)])
        assert done.exit_code == 0, done.output
        assert "every proof holds, and the " in done.output
        assert f"{count} answer" in done.output
    page = export(session, "html", first)
    asked = "; ".join(session.handle("answer", first)["question"])
    assert f"1 answer for {asked}" in CliRunner().invoke(app, ["verify", str(one)]).output
    assert f"as counterleaf verify prints it: {asked}" in words(page)
    assert cl.Explanation.from_json(one.read_text()).question == session.pose(PageQuestion(**first)).question
    assert json.loads(one.read_text())["digest"] in page
    assert kind in ("forest", "boosting") or "The decision tree." in page


def test_a_page_says_who_what_and_where_it_comes_from():
    question = make_question("german", row=3, controls={"age": {"lock": True}})
    page = export(bundled_session(), "html", question)
    text = words(page)
    explainer = bundled_session().scene("german").explainer
    for part in (
        "Would the bank grant this loan?",
        "German Credit",
        "Application 3 (rows are counted from 0 to 199)",
        "The model says refused (95 %)",
        "It should say granted",
        "every feature, within its range, with these settings: Age locked",
        "few changes: few features change, maybe by a lot (L1, the sum of the changes, "
        "each divided by the usual range of its feature)",
        "Credit amount 3,832 DM 3,422 DM 2.6 % of the usual range",
        "Effort: small: 2.6 % of the usual range (cost 0.02617). Confirmed: the model says granted (78 %). "
        "Proved: no smaller allowed change works.",
        "Proved: the smallest allowed change that does not change all that option 1 changes.",
        f"SHA-256 of its JSON: {hashlib.sha256(explainer.to_json().encode()).hexdigest()}",
        f"counterleaf {cl.__version__}, NumPy {np.__version__}",
        f"scikit-learn {sklearn.__version__}",
        "counterleaf verify counterleaf-german.json checks the proof again",
        "What it does not show",
        "Personal status and sex male: married/widowed",
    ):
        assert part in text, part
    assert re.search(r"Written by counterleaf on \d{4}-\d\d-\d\d \d\d:\d\d UTC\.", text)
    assert json.loads(export(bundled_session(), "json", question))["digest"] in text
    assert page.count("<svg") == 4  # three tracks and the tree
    assert "Comparison" not in text


def test_two_numbers_that_change_have_a_plane():
    page = export(
        bundled_session(), "html", make_question("german", row=4, cost="L2", controls={"credit_amount": {"lock": True}})
    )
    assert "What the model says for other values of these two features" in page
    assert "Hollow circles change other features as well." in page
    assert "Duration (months)" in page


def test_images_are_drawn():
    page = export(bundled_session(), "html", make_question("digits"))
    assert "The image now, and the image of each option." in page
    assert "All values" not in page
    assert "pixels" in page


def test_several_steps_begin_with_a_comparison():
    question = make_question("german", row=3)
    page = export(bundled_session(), "html", question, {**question, "max_changes": 0}, make_question("adult"))
    text = words(page)
    assert "German Credit and Adult: 3 answers compared" in text
    assert text.index("Comparison") < text.index("Question 1: German Credit, Application 3")
    assert "Credit amount 3,832 DM → 3,422 DM" in text
    assert "proved: no allowed change reaches the goal" in text
    assert "counterleaf verify counterleaf-german.jsonl" in text
    assert text.count("All values of Application 3") == 1
    assert text.count("SHA-256 of its JSON") == 2


def test_kept_options_of_one_question_are_compared_and_share_its_section():
    question, session = make_question("german", row=3), bundled_session()
    ways = session.handle("answer", question)["ways"]
    request = {"questions": [question, question], "kept": [1, 0]}
    text = words(session.handle("export", {"format": "html", **request})["text"])
    assert "German Credit: 2 answers compared" in text
    for k in (0, 1):
        (change,) = ways[k]["changes"]
        assert f"{change['label']} {change['from']} → {change['to']} {ways[k]['effort']['words']}" in text
    assert [f"Option {k} (kept)" in text for k in (1, 2, 3)] == [True, True, False]
    assert text.count("Digest of the answer") == 1
    lines = list(csv.DictReader(io.StringIO(session.handle("export", {"format": "csv", **request})["text"])))
    assert [line["kept"] for line in lines] == ["", "yes", "yes", ""]
    assert len(session.handle("export", {"format": "json", **request})["text"].splitlines()) == 1
    message = "^kept has 1 options for 2 questions; expected one for each$"
    with pytest.raises(CounterleafError, match=message):
        session.handle("export", {"format": "csv", "questions": [question, question], "kept": [1]})


def test_edits_conflicts_and_constraints_are_named():
    explainer = bundled_session().scene("german").explainer
    rows = bundled_session().scene("german").rows
    scene = Scene("test", "Test", "Why?", explainer, rows, target="granted", constraints=(cl.freeze("housing"),))
    session = Session([scene], 10.0)
    question = {"scene": "test", "row": 3, "target": ["granted"], "edits": {"duration_months": 40.0}, "max_changes": 0}
    text = words(export(session, "html", question))
    assert "Values that were edited Duration set to 40 months" in text
    assert "Always required unchanged: housing" in text
    assert "These settings conflict: at most 0 features may change. Change at least one of them." in text
    assert "All values of Row 3, edited" in text


def test_a_search_that_stopped_is_not_proved(diabetes):
    X, t = diabetes
    forest = RandomForestClassifier(30, max_leaf_nodes=30, random_state=0).fit(X, np.where(t > 150, "high", "low"))
    session = Session([scene_of(forest, X)], 0.05)
    text = words(export(session, "html", {"scene": "test", "row": 0, "count": 1}))
    assert "Not proved: the search stopped" in text or "Proved: no smaller allowed change works." in text


def hostile_session(title="<img src=x onerror=alert(1)> \u202etitle"):
    names = HOSTILE
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, len(names))), columns=names)
    tree = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0)
    tree.fit(X.to_numpy(), np.where(X.to_numpy()[:, :2].sum(axis=1) > 0, "=cmd()", "<b>no</b>"))
    schema = cl.Schema(
        [
            cl.Numeric(name, -5, 5, label="<i>&" if k == 4 else None, unit="<u>" if k < 2 else None)
            for k, name in enumerate(names)
        ]
    )
    explainer = cl.Explainer(tree, data=X, schema=schema)
    return Session([Scene("test", title, "Why <script>?", explainer, X, noun="<p>")], 10.0)


def test_hostile_names_labels_and_titles_are_escaped():
    session = hostile_session()
    question = {"scene": "test", "count": 4, "cost": "L2", "controls": {HOSTILE[4]: {"lock": True}}, "edits": {HOSTILE[5]: 1.0}}
    for questions in ([question], [question, {**question, "row": 1}]):
        page = export(session, "html", *questions)
        parsed = _Parsed(page)
        assert {"script", "img", "iframe", "link", "object", "i", "u", "b"}.isdisjoint(parsed.tags)
        assert not [name for name, _ in parsed.attributes if name.startswith("on") or name in ("src", "href")]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08]", page)
        assert "\ufffd" in page
        assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in parsed.attributes
        assert "n" * 3000 in page  # complete, and the page wraps it
        page.encode()


def test_formulas_in_a_table_are_neutralised():
    session = hostile_session()
    lines = list(csv.reader(io.StringIO(export(session, "csv", {"scene": "test", "count": 3, "row": 7}))))
    head = lines[0]
    assert head[:2] == ["step", "row"]
    assert head[2 : 2 + len(HOSTILE)] == [f"'{name}" if k not in (1, 4, 5, 6) else name for k, name in enumerate(HOSTILE)]
    at = {name: head.index(name) for name in ("model_says", "target", "table_row", "cost")}
    assert {line[at["model_says"]] for line in lines[1:]} == {"'=cmd()", "<b>no</b>"}
    assert {line[at["table_row"]] for line in lines[1:]} == {"7"}
    for line in lines[1:]:
        [float(cell) for cell in line[2 : 2 + len(HOSTILE)]]  # numbers stay numbers, negative ones as well
        float(line[at["cost"]])
    assert any(cell.startswith("-") for line in lines[1:] for cell in line[2 : 2 + len(HOSTILE)])


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-3, -3),
        (-0.5, -0.5),
        (True, True),
        ("-0.5", "-0.5"),
        ("+7", "+7"),
        ("-inf", "'-inf"),
        ("-nan", "'-nan"),
        ("- 5", "'- 5"),
        ("-1_0 ", "'-1_0 "),
        ("=1", "'=1"),
        ("@x", "'@x"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("\uff1d1", "'\uff1d1"),
        ("a", "a"),
        ("'=1", "'=1"),
        ("", ""),
        (None, ""),
        (float("nan"), ""),
    ],
)
def test_cells(value, cell):
    assert safe_cell(value) == cell
    assert type(safe_cell(value)) is type(cell)


def test_an_answer_without_json_says_why():
    def refuse():
        raise cl.CounterleafError("an answer with near(3 rows) has no JSON")

    step = SimpleNamespace(answer=SimpleNamespace(to_json=refuse))
    assert answer_digest(step) == "not available: an answer with near(3 rows) has no JSON"
