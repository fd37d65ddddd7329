"""What the desk hands out to draw and to keep: trees, planes, pictures, and files that say all by themselves."""

import csv
import io
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import SCENES, TABLES, ask, described, desk, every_kind, numbers, question, small_desk, values_of

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.scene import Scene

HOSTILE = ['<script>alert("x")</script>', "a & b", "two\nlines", "quote\"'", "=1+1", "naïve ☃", "cost", "x" * 300]


def tree_of(given, at=None):
    drawn = (at or desk()).handle("tree", given)
    json.dumps(drawn, allow_nan=False)
    return drawn


def places_are_sound(drawn):
    """Every node has a place below its parent's, beside the others of its level, and the paths go down from the root."""
    nodes = {node["id"]: node for node in drawn["nodes"]}
    assert len(nodes) == len(drawn["nodes"])
    assert all(np.isfinite([node["x"], node["depth"], node["width"]]).all() for node in nodes.values())
    levels = {}
    for node in nodes.values():
        levels.setdefault(node["depth"], []).append(node)
        assert all(nodes[child]["depth"] == node["depth"] + 1 for child in node["children"])
        assert len(node["children"]) == (0 if node["kind"] in ("leaf", "folded") else 2)
    for level in levels.values():
        level.sort(key=lambda node: node["x"])
        for a, b in itertools.pairwise(level):
            assert a["x"] + a["width"] / 2 <= b["x"] - b["width"] / 2 + 0.2
    for path in drawn["paths"]:
        assert nodes[path[0]]["depth"] == 0
        assert all(b in nodes[a]["children"] for a, b in itertools.pairwise(path))
        assert nodes[path[-1]]["kind"] == "leaf"
    return nodes


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("count", [1, 3, 12])
def test_the_tree_has_places_paths_and_costs(key, count):
    given = question(key, count=count)
    drawn = tree_of(given)
    nodes = places_are_sound(drawn)
    _, answer = ask(given)
    tree, problem = desk().scene(key).explainer.tree, answer.certificate.problem
    assert drawn["leaves"] == len(tree.leaves)
    assert drawn["whole"] is True
    assert [path[-1] for path in drawn["paths"]] == [tree.leaf_of(problem.source), *(c.leaf for c in answer)]
    assert nodes[drawn["paths"][0][-1]]["cost"] == "0"
    for path, c in zip(drawn["paths"][1:], answer, strict=True):
        assert nodes[path[-1]]["cost"] == f"{c.cost:.4g}"
        assert nodes[path[-1]]["words"] == [str(c.label)]
    for node in nodes.values():
        if node["kind"] == "leaf":
            assert node["words"] == [described(key)["classes"][node["value"]]]
        if node["kind"] == "picture":
            assert len(node["weights"]) == np.prod(described(key)["shape"])
            assert max(map(abs, node["weights"])) == 1.0


@pytest.mark.parametrize("key", TABLES)
def test_the_costs_of_all_leaves_are_those_of_explain(key):
    given = question(key, controls={numbers(key)[0]: {"lock": True}})
    nodes = places_are_sound(tree_of(given))
    scene = desk().scene(key)
    every = scene.explainer.explain(
        scene.values(given["row"], {}),
        target=scene.explainer.tree.classes.tolist(),
        constraints=[cl.freeze(numbers(key)[0])],
        count=None,
    )
    costs = {c.leaf: f"{c.cost:.4g}" for c in every}
    leaves = {number: node for number, node in nodes.items() if node["kind"] == "leaf"}
    assert {number: node["cost"] for number, node in leaves.items()} == {number: costs.get(number) for number in leaves}


def test_a_tree_without_an_answer_shows_the_row_alone():
    drawn = tree_of(question("german", most=0))
    places_are_sound(drawn)
    assert len(drawn["paths"]) == 1


def wide_explainer(rng, names, depth=7):
    """A full tree over numbers of any name."""
    inner = 2**depth - 1
    weights = np.zeros((2 * inner + 1, len(names)))
    weights[np.arange(inner), rng.integers(len(names), size=inner)] = 1.0
    bias = np.where(np.arange(2 * inner + 1) < inner, rng.normal(size=2 * inner + 1), 0.0)
    left = [2 * k + 1 if k < inner else -1 for k in range(2 * inner + 1)]
    right = [2 * k + 2 if k < inner else -1 for k in range(2 * inner + 1)]
    value = [-1] * inner + rng.integers(3, size=inner + 1).tolist()
    tree = cl.Tree(left, right, weights, bias, value, classes=["<b>no</b>", "yes", "a & b"])
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name, -3, 3) for name in names]))


def test_a_large_tree_is_folded_where_no_path_goes():
    at = small_desk(wide_explainer(np.random.default_rng(1), [f"f{k}" for k in range(9)]))
    drawn = tree_of({"scene": "own", "spread": "none", "count": 12}, at)
    nodes = places_are_sound(drawn)
    assert drawn["leaves"] == 128
    folded = [node for node in nodes.values() if node["kind"] == "folded"]
    assert folded
    assert all(re.fullmatch(r"\d+ leaves", node["words"][0]) for node in folded)
    shown = sum(int(node["words"][0].split()[0]) for node in folded) + sum(node["kind"] == "leaf" for node in nodes.values())
    assert shown == 128


def test_names_of_any_kind_are_drawn_and_written():
    at = small_desk(wide_explainer(np.random.default_rng(3), HOSTILE, 4))
    given = {
        "scene": "own",
        "spread": "none",
        "count": 5,
        "controls": {HOSTILE[2]: {"lock": True}, HOSTILE[0]: {"weight": 2.0}},
    }
    told, answer = ask(given, at)
    assert len(answer) > 1
    places_are_sound(tree_of(given, at))
    at.handle("plane", {"question": given, "across": HOSTILE[0], "up": HOSTILE[2]})
    page = at.handle("export", {"format": "html", "questions": [given]})["text"]
    stands_alone(page)
    assert "<script" not in page
    assert "<b>" not in page
    assert "\n" not in told["sentence"]
    lines = list(csv.reader(io.StringIO(at.handle("export", {"format": "csv", "questions": [given]})["text"])))
    assert lines[0][2 : 2 + len(HOSTILE)] == HOSTILE
    assert {len(line) for line in lines} == {len(lines[0])}


@pytest.mark.parametrize("key", TABLES)
def test_the_plane_is_tiled_and_holds_the_answers(key):
    names = numbers(key)
    for across, up in zip(names, [*names[1:], names[0]], strict=True):
        for said in ({}, {"most": 0}, {"cost": "L2", "controls": {across: {"low": -1000.0, "high": 1e6}}}):
            given = question(key, count=6, **said)
            plane = desk().handle("plane", {"question": given, "across": across, "up": up})
            json.dumps(plane, allow_nan=False)
            low, high = np.array(plane["low"]), np.array(plane["high"])
            assert (low < high).all()
            scaled = [(np.array(region["corners"]) - low) / (high - low) for region in plane["regions"]]
            x = [(corners[:, 0], corners[:, 1], np.roll(corners, -1, axis=0)) for corners in scaled]
            areas = [0.5 * (a * next_[:, 1] - next_[:, 0] * b).sum() for a, b, next_ in x]
            assert min(areas) > 0
            assert sum(areas) == pytest.approx(1.0, abs=1e-3)
            _, answer = ask(given)
            assert plane["source"] == pytest.approx([answer.source_values[across], answer.source_values[up]], rel=1e-5)
            assert len(plane["answers"]) == len(plane["elsewhere"]) == len(answer)
            for point, elsewhere, c in zip(plane["answers"], plane["elsewhere"], answer, strict=True):
                assert (low <= np.array(point) + 1e-6).all()
                assert (np.array(point) <= high + 1e-6).all()
                assert elsewhere == bool(set(c.changes) - {across, up})


def test_the_plane_says_what_the_model_says():
    across, up = "age", "hours-per-week"
    plane = desk().handle("plane", {"question": question("adult"), "across": across, "up": up})
    tree, schema = desk().scene("adult").explainer.tree, desk().scene("adult").explainer.schema
    point = ask(question("adult"))[1].certificate.problem.source.copy()
    for region in plane["regions"]:
        for d, value in zip((across, up), np.mean(region["corners"], axis=0), strict=True):
            point[schema.span(schema.index(d)).start] = value
        assert tree.leaf_of(point) == region["leaf"]
        assert tree.value[region["leaf"]] == region["value"]


@pytest.mark.parametrize(
    ("across", "up", "message"),
    [("age", "age", "twice"), ("age", "purpose", "is no number"), ("ghost", "age", "no feature 'ghost'")],
)
def test_planes_that_there_are_not(across, up, message):
    with pytest.raises(CounterleafError, match=message):
        desk().handle("plane", {"question": question("german"), "across": across, "up": up})


@pytest.mark.parametrize(
    "said", [{}, {"cost": "Q"}, {"ink": "erase"}, {"edits": {"p0_0": 40.0}}, {"most": 0}, {"target": ["3"]}]
)
def test_pictures_lie_between_the_darkest_and_the_lightest(said):
    told, answer = ask(question("digits", count=5, **said))
    picture = told["picture"]
    values = np.array([picture["source"], *picture["answers"]])
    assert values.shape == (1 + len(answer), 64)
    assert picture["low"] < picture["high"]
    assert picture["low"] - 1e-5 <= values.min()
    assert values.max() <= picture["high"] + 1e-5
    for shown, row in zip(picture["answers"], values_of(answer), strict=True):
        assert shown == pytest.approx(list(row.values()), rel=1e-5, abs=1e-9)
    if said.get("edits"):
        assert picture["source"][0] == 40.0


@pytest.mark.parametrize("key", SCENES)
def test_a_table_reads_back_and_the_model_confirms_each_row(key):
    given = [question(key), question(key, cost="L2", count=6), question(key, most=1, row=3)]
    file = desk().handle("export", {"format": "csv", "questions": given})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.csv", "text/csv")
    scene = desk().scene(key)
    frame = pd.read_csv(io.StringIO(file["text"]), keep_default_na=False, dtype={"row": str})
    assert frame["step"].unique().tolist() == [1, 2, 3]
    for k, one in enumerate(given, 1):
        _, answer = ask(one)
        lines = frame[frame["step"] == k]
        assert lines["row"].tolist() == ["source", *map(str, range(1, len(answer) + 1))]
        for (_, line), expected in zip(lines.iterrows(), [answer.source_values, *values_of(answer)], strict=True):
            row = {name: line[name] for name in scene.explainer.schema.names}
            assert scene.explainer.schema.encode(row).tolist() == scene.explainer.schema.encode(expected).tolist()
            assert scene.label(row) == str(line["model_says"])
        assert lines["confirmed"].tolist() == ["", *["yes"] * len(answer)]
        assert [float(cost) for cost in lines["cost"]] == [0.0, *(c.cost for c in answer)]
        assert set(lines["status"]) == {str(answer.status)}
        assert set(lines["asked"]) == ({"at most 1 feature may change"} if k == 3 else {""})


@pytest.mark.parametrize("key", SCENES)
def test_json_carries_its_proof(key):
    file = desk().handle("export", {"format": "json", "questions": [question(key)]})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.json", "application/json")
    answer = cl.Explanation.from_json(file["text"])
    assert answer.certificate.check()
    file = desk().handle("export", {"format": "json", "questions": [question(key), question(key, most=0)]})
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


def stands_alone(page):
    """A whole document without scripts, and without anything that it would have to fetch."""
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
def test_a_page_to_print_stands_alone(key):
    given = [question(key), question(key, most=0), question(key, cost="L2", edits={numbers(key)[0]: 1.0})]
    file = desk().handle("export", {"format": "html", "questions": given})
    assert (file["name"], file["type"]) == (f"counterleaf-{key}.html", "text/html")
    stands_alone(file["text"])
    for words in (
        "Step 1:",
        "Step 2:",
        "Step 3:",
        "at most 0 features",
        f"{numbers(key)[0]} set to",
        "Proved",
        "This is proved",
    ):
        assert words in file["text"]
    assert "Step 1" not in desk().handle("export", {"format": "html", "questions": given[:1]})["text"]


def test_steps_of_several_scenes_in_one_file():
    given = [question(key) for key in SCENES]
    lines = list(csv.DictReader(io.StringIO(desk().handle("export", {"format": "csv", "questions": given})["text"])))
    assert {line["step"] for line in lines} == {"1", "2", "3"}
    assert all(line["p0_0"] == "" for line in lines if line["step"] != "2")
    assert len(desk().handle("export", {"format": "json", "questions": given})["text"].splitlines()) == 3
    stands_alone(desk().handle("export", {"format": "html", "questions": given})["text"])


def test_missing_values_are_written():
    at = small_desk(*every_kind())
    given = {"scene": "own", "spread": "none", "row": 1}
    lines = list(csv.DictReader(io.StringIO(at.handle("export", {"format": "csv", "questions": [given]})["text"])))
    assert lines[0]["job"] == ""
    assert "(missing)" in at.handle("export", {"format": "html", "questions": [given]})["text"]


def test_a_scene_of_its_own_name_is_escaped():
    explainer, rows = every_kind()
    from counterleaf.explorer.desk import Desk

    at = Desk([Scene("own", "<script>x</script>", "What of <img src=x onerror=y>?", explainer, rows)], 30.0)
    stands_alone(at.handle("export", {"format": "html", "questions": [{"scene": "own", "spread": "none"}]})["text"])
