"""The drawings and the exports of a session: trees, planes, images and self-contained files."""

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import (
    SCENES,
    ask,
    bundled_session,
    every_kind,
    make_question,
    numbers,
    small_session,
    values_of,
)

import counterleaf as cl
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session
from counterleaf.table.files import exact_numbers

HOSTILE = ['<script>alert("x")</script>', "a & b", "two\nlines", "quote\"'", "=1+1", "naïve ☃", "cost", "x" * 300]


def wide_explainer(rng, names, depth=7):
    """A complete tree over numeric features with these names."""
    inner = 2**depth - 1
    weights = np.zeros((2 * inner + 1, len(names)))
    weights[np.arange(inner), rng.integers(len(names), size=inner)] = 1.0
    bias = np.where(np.arange(2 * inner + 1) < inner, rng.normal(size=2 * inner + 1), 0.0)
    left = [2 * k + 1 if k < inner else -1 for k in range(2 * inner + 1)]
    right = [2 * k + 2 if k < inner else -1 for k in range(2 * inner + 1)]
    value = [-1] * inner + rng.integers(3, size=inner + 1).tolist()
    tree = cl.Tree(left, right, weights, bias, value, classes=["<b>no</b>", "yes", "a & b"])
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name, -3, 3) for name in names]))


def test_unusual_names_are_drawn_and_exported():
    session = small_session(wide_explainer(np.random.default_rng(3), HOSTILE, 4))
    question = {
        "scene": "test",
        "spread": "none",
        "count": 5,
        "controls": {HOSTILE[2]: {"lock": True}, HOSTILE[0]: {"multiplier": 2.0}},
    }
    reply, answer = ask(question, session)
    assert len(answer) > 1
    session.handle("plane", {"question": question, "x_feature": HOSTILE[0], "y_feature": HOSTILE[2]})
    page = session.handle("export", {"format": "html", "questions": [question]})["text"]
    check_self_contained(page)
    assert "<script" not in page
    assert "<b>" not in page
    assert "\n" not in reply["sentence"]
    lines = list(csv.reader(io.StringIO(session.handle("export", {"format": "csv", "questions": [question]})["text"])))
    assert [name.removeprefix("'") for name in lines[0][2 : 2 + len(HOSTILE)]] == [name.removeprefix("'") for name in HOSTILE]
    assert {len(line) for line in lines} == {len(lines[0])}


@pytest.mark.parametrize(
    "fields", [{}, {"cost": "Q"}, {"ink": "erase"}, {"edits": {"p0_0": 40.0}}, {"max_changes": 0}, {"target": ["3"]}]
)
def test_the_levels_of_an_image_include_all_pixels(fields):
    reply, answer = ask(make_question("digits", count=5, **fields))
    image = reply["image"]
    values = np.array([image["source"], *image["answers"]])
    assert values.shape == (1 + len(answer), 64)
    assert image["low"] < image["high"]
    assert image["low"] - 1e-5 <= values.min()
    assert values.max() <= image["high"] + 1e-5
    for shown, row in zip(image["answers"], values_of(answer), strict=True):
        assert shown == pytest.approx(list(row.values()), rel=1e-5, abs=1e-9)
    if fields.get("edits"):
        assert image["source"][0] == 40.0


@pytest.mark.parametrize("key", SCENES)
def test_an_exported_table_can_be_read_and_the_model_confirms_each_row(key):
    questions = [make_question(key), make_question(key, cost="L2", count=6), make_question(key, max_changes=1, row=3)]
    file = bundled_session().handle("export", {"format": "csv", "questions": questions})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.csv", "text/csv")
    scene = bundled_session().scene(key)
    frame = pd.read_csv(io.StringIO(file["text"]), keep_default_na=False, dtype={"row": str}, **exact_numbers())
    assert frame["step"].unique().tolist() == [1, 2, 3]
    for k, one in enumerate(questions, 1):
        _, answer = ask(one)
        lines = frame[frame["step"] == k]
        assert lines["row"].tolist() == ["source", *map(str, range(1, len(answer) + 1))]
        for (_, line), expected in zip(lines.iterrows(), [answer.source_values, *values_of(answer)], strict=True):
            row = {name: line[name] for name in scene.explainer.schema.names}
            assert scene.explainer.schema.encode(row).tolist() == scene.explainer.schema.encode(expected).tolist()
            assert scene.predict(row) == str(line["model_says"])
        assert lines["confirmed"].tolist() == ["", *["yes"] * len(answer)]
        assert [float(cost) for cost in lines["cost"]] == [0.0, *(c.cost for c in answer)]
        assert set(lines["status"]) == {str(answer.status)}
        assert set(lines["settings"]) == ({"at most 1 feature may change"} if k == 3 else {""})


@pytest.mark.parametrize("key", SCENES)
def test_json_contains_the_proof(key):
    file = bundled_session().handle("export", {"format": "json", "questions": [make_question(key)]})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.json", "application/json")
    answer = cl.Explanation.from_json(file["text"])
    assert answer.certificate.check()
    file = bundled_session().handle(
        "export", {"format": "json", "questions": [make_question(key), make_question(key, max_changes=0)]}
    )
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.jsonl", "application/jsonl")
    lines = file["text"].splitlines()
    answers = [cl.Explanation.from_json(line) for line in lines]
    assert [str(answer.status) for answer in answers] == ["optimal", "infeasible"]
    assert all(answer.certificate.check() for answer in answers)


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.bad = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.bad += [
            (tag, name) for name, value in attrs if name in ("src", "href", "srcset", "action", "data") or name.startswith("on")
        ]


def check_self_contained(page):
    """A complete document without scripts and without external resources."""
    found = _Links()
    found.feed(page)
    assert found.bad == []
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(found.tags)
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert "url(" not in page
    assert page.startswith("<!doctype html>")
    assert found.tags.count("h1") == 1


@pytest.mark.parametrize("key", SCENES)
def test_a_page_to_print_is_self_contained(key):
    questions = [
        make_question(key),
        make_question(key, max_changes=0),
        make_question(key, cost="L2", edits={numbers(key)[0]: 1.0}),
    ]
    file = bundled_session().handle("export", {"format": "html", "questions": questions})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.html", "text/html")
    check_self_contained(file["text"])
    for text in (
        "Question 1:",
        "Question 2:",
        "Question 3:",
        "at most 0 features",
        " set to ",
        "Proved",
        "This is proved",
    ):
        assert text in file["text"]
    assert "Question 1" not in bundled_session().handle("export", {"format": "html", "questions": questions[:1]})["text"]


def test_steps_of_several_scenes_in_one_file():
    questions = [make_question(key) for key in SCENES]
    lines = list(
        csv.DictReader(io.StringIO(bundled_session().handle("export", {"format": "csv", "questions": questions})["text"]))
    )
    assert {line["step"] for line in lines} == {"1", "2", "3"}
    assert all(line["p0_0"] == "" for line in lines if line["step"] != "2")
    assert len(bundled_session().handle("export", {"format": "json", "questions": questions})["text"].splitlines()) == 3
    check_self_contained(bundled_session().handle("export", {"format": "html", "questions": questions})["text"])


def test_missing_values_are_exported():
    session = small_session(*every_kind())
    question = {"scene": "test", "spread": "none", "row": 1}
    lines = list(csv.DictReader(io.StringIO(session.handle("export", {"format": "csv", "questions": [question]})["text"])))
    assert lines[0]["job"] == ""
    assert "(missing)" in session.handle("export", {"format": "html", "questions": [question]})["text"]


def test_the_title_of_a_scene_is_escaped():
    explainer, rows = every_kind()
    session = Session([Scene("test", "<script>x</script>", "Why <img src=x onerror=y>?", explainer, rows)], 30.0)
    check_self_contained(
        session.handle("export", {"format": "html", "questions": [{"scene": "test", "spread": "none"}]})["text"]
    )
