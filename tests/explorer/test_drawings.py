"""The drawings of a session: trees and planes of every kind of model, as numbers and texts, and as SVG."""

import base64
import itertools
import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import (
    SCENES,
    TABLES,
    ask,
    bundled_session,
    categories,
    describe_scene,
    every_kind,
    make_question,
    numbers,
    small_session,
)
from support.seeds import seeds

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.receipts.pictures import plane_svg, tree_svg


def tree_of(question, session=None):
    drawn = (session or bundled_session()).handle("tree", question)
    json.dumps(drawn, allow_nan=False)
    return drawn


def plane_of(question, x, y, session=None, **fields):
    request = {"question": question, "x_feature": x, "y_feature": y, **fields}
    drawn = (session or bundled_session()).handle("plane", request)
    json.dumps(drawn, allow_nan=False)
    return drawn


def check_tree(drawn):
    """The nodes form one tree, the leaves are counted, and the paths go from the root to leaves on the sides that they take."""
    nodes = {node["id"]: node for node in drawn["nodes"]}
    assert len(nodes) == len(drawn["nodes"])
    children = [child for node in nodes.values() for child in node.get("children", ())]
    assert sorted(children) == sorted(set(nodes) - {0})
    for node in nodes.values():
        if node["kind"] == "leaf":
            assert node["leaves"] == 1
        elif node["children"]:
            assert node["leaves"] == sum(nodes[child]["leaves"] for child in node["children"])
    for k, path in enumerate(drawn["paths"]):
        assert path[0] == 0
        assert nodes[path[-1]]["kind"] == "leaf"
        for a, b in itertools.pairwise(path):
            assert nodes[a]["children"]["LR".index(nodes[a]["sides"][k])] == b
    return nodes


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("count", [1, 3, 12])
def test_a_tree_has_the_paths_of_the_row_and_of_the_options(key, count):
    question = make_question(key, count=count)
    drawn = tree_of(question)
    nodes = check_tree(drawn)
    reply, answer = ask(question)
    tree, problem = bundled_session().scene(key).explainer.tree, answer.certificate.problem
    assert drawn["n_leaves"] == len(tree.leaves)
    assert drawn["complete"] is True
    assert [path[-1] for path in drawn["paths"]] == [tree.leaf_of(problem.source), *(c.leaf for c in answer)]
    assert nodes[drawn["paths"][0][-1]]["effort"]["short"] == "here"
    for path, c in zip(drawn["paths"][1:], answer, strict=True):
        assert nodes[path[-1]]["text"][0] == str(c.label)
    best = nodes[drawn["paths"][1][-1]]["effort"]["words"]
    assert best in reply["ways"][0]["effort"]["words"]  # those of the card
    for node in nodes.values():
        if node["kind"] == "leaf":
            assert node["text"][0] == describe_scene(key)["classes"][node["class_index"]]
        if node["kind"] == "image":
            assert len(node["weights"]) == np.prod(describe_scene(key)["shape"])
            assert max(map(abs, node["weights"])) == 1.0


@pytest.mark.parametrize("key", TABLES)
def test_a_leaf_without_an_effort_is_out_of_reach(key):
    question = make_question(key, controls={numbers(key)[0]: {"lock": True}})
    nodes = check_tree(tree_of(question))
    scene = bundled_session().scene(key)
    every = scene.explainer.explain(
        scene.values(question["row"], {}),
        target=scene.explainer.tree.classes.tolist(),
        constraints=[cl.freeze(numbers(key)[0])],
        count=None,
    )
    leaves = {number: node for number, node in nodes.items() if node["kind"] == "leaf"}
    assert {number for number, node in leaves.items() if node["effort"]} == {c.leaf for c in every} & set(leaves)
    costs = {c.leaf: f"{c.cost:.4g}" for c in every}
    assert {number: node["cost"] for number, node in leaves.items()} == {number: costs.get(number) for number in leaves}


@pytest.mark.parametrize("key", SCENES)
def test_the_proof_of_every_scene_holds(key):
    found = bundled_session().handle("check", make_question(key))
    assert found["holds"] is True
    assert found["n_parts"] > 0


def test_a_tree_without_an_answer_shows_the_path_of_the_row_only():
    drawn = tree_of(make_question("german", max_changes=0))
    check_tree(drawn)
    assert len(drawn["paths"]) == 1


def random_tree(rng, kind, depth):
    """A complete tree over numbers of several kinds: whole ones, steps, lists, and any numbers."""
    features = [
        cl.Numeric("whole", -1000, 100_000, integer=True),
        cl.Numeric("step", -5, 5, step=0.25),
        cl.Numeric("list", values=[1, 2.5, 10, 36, 60]),
        cl.Numeric("free", -1e-3, 1e-3),
        cl.Numeric("wide", -1e9, 1e9),
    ]
    inner = 2**depth - 1
    weights = np.zeros((2 * inner + 1, len(features)))
    column = rng.integers(len(features), size=inner)
    scale = np.array([50_000, 5, 60, 1e-3, 1e9])[column]
    weights[np.arange(inner), column] = rng.choice([-2.0, 0.3, 1.0], inner)
    cut = rng.normal(size=inner) * scale * rng.choice([1.0, 0.01], inner)
    cut = np.where(rng.random(inner) < 0.4, np.round(cut) + rng.choice([0, 0.5], inner), cut)
    bias = np.zeros(2 * inner + 1)
    bias[:inner] = -cut * weights[np.arange(inner), column]
    left = [2 * k + 1 if k < inner else -1 for k in range(2 * inner + 1)]
    right = [2 * k + 2 if k < inner else -1 for k in range(2 * inner + 1)]
    value = [-1] * inner + rng.integers(2, size=inner + 1).tolist()
    value[-1], value[-2] = 0, 1
    tree = cl.Tree(left, right, weights, bias, value, classes=["no", "yes"], **kind)
    return cl.Explainer(tree, schema=cl.Schema(features))


def holds(text, number):
    """Whether a number satisfies a condition such as "whole ≤ 7,073"."""
    sign, bound = re.fullmatch(r"\w+ ([≤≥<>]) (\S+)", text).groups()
    bound = float(bound.replace(",", ""))
    return {"≤": number <= bound, "≥": number >= bound, "<": number < bound, ">": number > bound}[sign]


@pytest.mark.parametrize("kind", [{}, {"closed": "right"}, {"dtype": "float32"}])
@pytest.mark.parametrize("seed", seeds(6))
def test_the_texts_of_the_splits_agree_with_the_row_and_with_every_option(kind, seed):
    rng = np.random.default_rng(seed)
    explainer = random_tree(rng, kind, 4)
    edits = {"whole": float(rng.integers(-900, 99_000)), "free": 1e-4 * rng.normal(), "wide": 1e6 * rng.normal()}
    edits["step"] = 0.25 + 0.1 * (seed % 2)  # a row may have a number off the grid
    session = small_session(explainer)
    question = {"scene": "test", "spread": "none", "count": 6, "edits": edits}
    drawn = tree_of(question, session)
    nodes = check_tree(drawn)
    _, answer = ask(question, session)
    names = explainer.schema.names
    rows = [answer.source_values, *(dict(answer.source_values) | {n: new for n, (_, new) in c.changes.items()} for c in answer)]
    seen = 0
    for node in nodes.values():
        if node["kind"] == "leaf":
            continue
        for k, row in enumerate(rows):
            number = float(row[names[node["feature"]]])
            side = node["sides"][k]
            assert holds(node["holds"], number) == (side == "L"), (node["holds"], number)
            assert holds(node["otherwise"], number) == (side == "R"), (node["otherwise"], number)
            seen += 1
        if names[node["feature"]] == "whole":
            assert re.search(r"≤ -?[\d,]+$", node["branches"][0])
            assert re.search(r"≥ -?[\d,]+$", node["branches"][1])
    assert seen > 10


def test_a_cut_between_whole_numbers_reads_as_whole_numbers():
    nodes = check_tree(tree_of(make_question("adult")))
    texts = {(node["holds"], node["otherwise"]) for node in nodes.values() if node["kind"] == "split"}
    gains = [pair for pair in texts if "gain" in pair[0] and len(pair[0]) < 40]
    assert any("7,073" in a and "7,074" in b for a, b in gains)


def test_a_large_tree_is_sent_in_part():
    explainer = random_tree(np.random.default_rng(2), {}, 12)
    drawn = tree_of({"scene": "test", "spread": "none", "count": 1}, small_session(explainer, limit=2.0))
    nodes = check_tree(drawn)
    assert drawn["n_leaves"] == 4096
    assert len(nodes) <= 3000
    folded = [node for node in nodes.values() if node["kind"] != "leaf" and not node["children"]]
    assert sum(node["leaves"] for node in folded) + sum(node["kind"] == "leaf" for node in nodes.values()) == 4096


@pytest.mark.parametrize("key", TABLES)
def test_the_plane_is_tiled_and_holds_the_answers(key):
    names = numbers(key)
    for x, y in zip(names, [*names[1:], names[0]], strict=True):
        for fields in ({}, {"max_changes": 0}, {"cost": "L2", "controls": {x: {"low": -1000.0, "high": 1e6}}}):
            question = make_question(key, count=6, **fields)
            plane = plane_of(question, x, y)
            low, high = np.array(plane["low"]), np.array(plane["high"])
            assert (low < high).all()
            scaled = [(np.array(region["corners"]) - low) / (high - low) for region in plane["regions"]]
            edges = [(corners[:, 0], corners[:, 1], np.roll(corners, -1, axis=0)) for corners in scaled]
            areas = [0.5 * (a * following[:, 1] - following[:, 0] * b).sum() for a, b, following in edges]
            assert min(areas) > 0
            assert sum(areas) == pytest.approx(1.0, abs=1e-3)
            _, answer = ask(question)
            assert plane["source"] == pytest.approx([answer.source_values[x], answer.source_values[y]], rel=1e-5)
            assert len(plane["answers"]) == len(plane["changes_others"]) == len(answer)
            for point, changes_others, c in zip(plane["answers"], plane["changes_others"], answer, strict=True):
                assert (low <= np.array(point) + 1e-6).all()
                assert (np.array(point) <= high + 1e-6).all()
                assert changes_others == bool(set(c.changes) - {x, y})


def test_the_regions_of_the_plane_are_the_leaves_of_the_model():
    x, y = "age", "hours-per-week"
    plane = plane_of(make_question("adult"), x, y)
    tree, schema = bundled_session().scene("adult").explainer.tree, bundled_session().scene("adult").explainer.schema
    point = ask(make_question("adult"))[1].certificate.problem.source.copy()
    for region in plane["regions"]:
        for d, value in zip((x, y), np.mean(region["corners"], axis=0), strict=True):
            point[schema.span(schema.index(d)).start] = value
        assert tree.leaf_of(point) == region["leaf"]
        assert tree.value[region["leaf"]] == region["class_index"]


def test_the_whole_range_of_a_plane():
    x, y = numbers("german")[:2]
    whole = plane_of(make_question("german"), x, y, whole=True)
    schema = bundled_session().scene("german").explainer.schema
    assert whole["low"] == [schema.features[schema.index(name)].lower for name in (x, y)]
    assert whole["high"] == [schema.features[schema.index(name)].upper for name in (x, y)]


@pytest.mark.parametrize(
    ("x", "y", "message"), [("age", "age", "expected two different features"), ("ghost", "age", "no feature 'ghost'")]
)
def test_invalid_planes(x, y, message):
    with pytest.raises(CounterleafError, match=message):
        plane_of(make_question("german"), x, y)


def cells_of(plane):
    """The bytes of a raster, and the two codes in the middle of each cell."""
    raster = plane["raster"]
    cells = np.frombuffer(base64.b64decode(raster["cells"]), np.uint8).reshape(raster["height"], raster["width"])
    share = [(np.arange(n) + 0.5) / n for n in (raster["width"], raster["height"])]
    x, y = (low + s * (high - low) for s, low, high in zip(share, plane["low"], plane["high"], strict=True))
    return cells, x, y[::-1]


def table(rng, n=120):
    return pd.DataFrame(
        {"amount": rng.integers(0, 20_000, n), "rate": rng.random(n).round(3), "job": rng.choice(["cook", "nurse", "clerk"], n)}
    )


def model_of(kind):
    """A model of a kind with its table."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rows = table(np.random.default_rng(4))
    score = rows["amount"] / 20_000 + rows["rate"] + (rows["job"] == "nurse")
    model = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        "regression tree": DecisionTreeRegressor(max_depth=4, random_state=0),
        "forest": RandomForestClassifier(100, max_depth=5, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
        "linear": LogisticRegression(max_iter=20_000),
    }[kind]
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    y = score if "regression" in kind or kind == "boosting" else np.where(score > 1.2, "yes", "no")
    explainer = cl.Explainer(make_pipeline(columns, model).fit(rows, y), data=rows)
    return small_session(explainer, rows), rows


KINDS = ["tree", "regression tree", "forest", "boosting", "linear"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [("amount", "rate"), ("amount", "job"), ("job", "rate")])
def test_every_model_has_a_plane_that_shows_its_predictions(kind, pair):
    session, rows = model_of(kind)
    scene = session.scene("test")
    question = {"scene": "test", "spread": "range", "count": 2, "row": 3}
    plane = plane_of(question, *pair, session=session)
    exact = "tree" in kind and "job" not in pair
    assert (plane["raster"] is None) == exact
    assert (plane["scale"] is None) == (kind in ("tree", "forest", "linear"))
    if exact:
        return
    cells, x, y = cells_of(plane)
    values = scene.values(3, {})
    schema = scene.explainer.schema
    for _ in range(12):
        line, column = (int(np.random.default_rng(_ + 7).integers(n)) for n in cells.shape)
        edits = {}
        for name, code in zip(pair, (x[column], y[line]), strict=True):
            feature = schema.features[schema.index(name)]
            edits[name] = feature.nearest(float(code), -np.inf, np.inf) if name != "job" else feature.values[round(code)]
        model = scene.explainer._adapter.model
        says = model.predict(pd.DataFrame([{**values, **edits}]).astype(rows.dtypes.to_dict()))[0]
        if plane["scale"] is None:
            assert describe(session)["classes"][cells[line, column]] == says
        else:
            raster = plane["raster"]
            number = raster["low"] + cells[line, column] / 254 * (raster["high"] - raster["low"])
            assert number == pytest.approx(says, abs=(raster["high"] - raster["low"]) / 250 + 1e-9)


def describe(session):
    return session.handle("scene", {"scene": "test"})


def test_a_probability_goal_has_a_scale_of_probabilities():
    session, _ = model_of("forest")
    question = {"scene": "test", "spread": "range", "count": 1, "row": 3, "target": ["yes"], "at_least": 0.8}
    plane = plane_of(question, "amount", "rate", session)
    assert describe(session)["classes"][plane["scale"]["output"]] == "yes"
    assert plane["scale"]["goal"] == [0.8, 1.0]


def test_an_axis_of_dates_is_marked_as_one():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-20_000.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    features = [cl.Numeric("start", 19_000, 21_000, integer=True, unit="date"), cl.Numeric("amount", 0, 100, unit="DM")]
    session = small_session(cl.Explainer(tree, schema=cl.Schema(features)))
    plane = plane_of({"scene": "test", "spread": "none"}, "start", "amount", session)
    assert [(axis["kind"], axis["unit"]) for axis in plane["axes"]] == [("date", None), ("number", "DM")]


def test_the_leaves_of_a_regression_tree_have_values():
    session, rows = model_of("regression tree")
    drawn = tree_of({"scene": "test", "spread": "range", "count": 2, "row": 3}, session)
    nodes = check_tree(drawn)
    says = session.scene("test").explainer._adapter.model.predict(rows.iloc[[3]])[0]
    assert nodes[drawn["paths"][0][-1]]["number"] == pytest.approx(says)
    low, high = drawn["range"]
    assert all(low <= node["number"] <= high for node in nodes.values() if node["kind"] == "leaf")


def test_a_leaf_that_computes_shows_its_formula():
    outputs = cl.Outputs("value", [0.0, 1.0, 5.0], [[0.0, 0.0], [2.0, -0.5], [0.0, 0.0]])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-3.0, 0, 0], outputs=outputs)
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("age", 0, 10), cl.Numeric("pay", 0, 10)]))
    drawn = tree_of({"scene": "test", "spread": "none", "edits": {"age": 1.0, "pay": 2.0}}, small_session(explainer))
    nodes = check_tree(drawn)
    assert nodes[1]["holds"] == "value = 2 \N{MULTIPLICATION SIGN} age \N{MINUS SIGN} 0.5 \N{MULTIPLICATION SIGN} pay + 1"
    assert nodes[2]["text"] == ["5"]


def test_an_ensemble_has_no_tree_to_draw():
    session, _ = model_of("forest")
    with pytest.raises(CounterleafError, match="no single tree"):
        tree_of({"scene": "test", "spread": "range", "row": 3}, session)


def test_splits_on_categories_and_gaps_are_written_in_words():
    session = small_session(*every_kind())
    nodes = check_tree(tree_of({"scene": "test", "spread": "none", "row": 1}, session))
    texts = {text for node in nodes.values() if node["kind"] == "split" for text in (node["holds"], node["otherwise"])}
    assert {"job is nurse", "job is clerk or cook or (missing)", "owner is yes", "owner is no"} <= texts
    assert any(text.startswith("school is none or HS") for text in texts)


@pytest.mark.parametrize("key", TABLES)
def test_drawings_for_print_are_self_contained(key):
    question = make_question(key)
    classes = describe_scene(key)["classes"]
    drawings = [tree_svg(tree_of(question), classes)]
    drawings += [
        plane_svg(plane_of(question, *pair), classes) for pair in (numbers(key)[:2], [numbers(key)[0], categories(key)[0]])
    ]
    for text in drawings:
        svg, _, _ = text.partition("</svg>")
        ElementTree.fromstring(svg + "</svg>")
        assert not re.search(r"url\(|href|src=|http|<script", text)
    assert "option 1" in drawings[0]


def test_texts_in_drawings_for_print_are_escaped():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-3.0, 0, 0], [-1, 0, 1], ["<b>no</b>", "a & b"])
    session = small_session(cl.Explainer(tree, schema=cl.Schema([cl.Numeric("<i>", 0, 10)])))
    text = tree_svg(tree_of({"scene": "test", "spread": "none"}, session), ["<b>no</b>", "a & b"])
    assert "<b>" not in text
    assert "<i>" not in text
    assert "a &amp; b" in text
