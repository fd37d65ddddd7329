"""Models, rows and requests that try to stop the server, to fill its memory, or to make the page say something else."""

import base64
import json
import os
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from support.explorer_cases import bundled_session, every_kind, small_session
from support.running_explorer import Explorer, running

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.opening import open_model
from counterleaf.explorer.session.rows.pasted import read_pasted
from counterleaf.explorer.web.body import MAX_BODY, parse, parse_texts
from counterleaf.model.outputs import Outputs

SMALL = cl.Schema([cl.Numeric("x"), cl.Categorical("job", ["clerk", "cook"])])


def stump(classes=("no", "yes"), name="x"):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-0.5, 0, 0], [-1, 0, 1], classes=np.array(classes, object))
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name, 0, 1)])).to_json()


def test_thousands_of_keys_are_read_in_one_pass():
    body = "{" + ",".join(f'"{k}":1' for k in [*range(30_000), 29_999]) + "}"
    start = time.process_time()
    with pytest.raises(ValueError, match=r"^got the key '29999' twice; expected each key once$"):
        parse(body.encode())
    assert time.process_time() - start < 2  # 20 s if each key is compared with all others


@pytest.mark.parametrize(
    "body",
    [
        b'{"name":"a","text":"b"}',
        b' {\n"name" : "a\\u00e9\\n" ,\t"text": null } ',
        '{"name":"é☃","text":"\\ud83d\\ude00"}'.encode(),
        b'{"\\"":""}',
    ],
)
def test_large_bodies_are_read_as_all_others(body):
    assert parse_texts(body) == parse(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "x": [1, 2]}',
        b'{"text": "a", "x": 1}',
        b'{"text": {}}',
        b'{"text": "a"',
        b'{"text": "a"} {}',
        b'{"text": "a",}',
        b'{"text": "a" "name": "b"}',
        b'{"text": "a", "text": "b"}',
        b'{"text": "\\ud800"}',
        b'{"text": "a\nb"}',
        b'{"text": "\xff"}',
        b'{"text": nullx}',
        b"[]",
        b"",
        b"{" + b",".join(b'"%d":"a"' % k for k in range(11)) + b"}",
    ],
)
def test_a_large_body_consists_of_a_few_texts(body):
    with pytest.raises(ValueError, match=r"."):
        parse_texts(body)


def test_a_large_body_of_small_values_is_refused_at_once(tmp_path):
    with running(tmp_path / "page") as explorer:
        explorer.enter()
        for part in (b"[],", b"1,", b'{"":{}},'):
            body = b'{"name":"a","text":"","x":[' + part * (20_000_000 // len(part)) + b"1]}"
            status, message = explorer.error_of("POST", "/api/open", body)
            assert (status, message.rpartition(": ")[2]) == (400, f"a body of more than {MAX_BODY} bytes consists of texts")


def test_the_solver_survives_a_terminal_that_is_gone(tmp_path):
    """The traceback of an internal error goes to a pipe without a reader, as after ``counterleaf explore 2>&1 | head -1``."""
    program = (
        "import sys; from support.fake_session import FakeSession; from counterleaf.explorer.web import server; "
        "server.serve(FakeSession(), 0, False)"
    )
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer, text=True, env=environment, cwd=tmp_path) as process:
        os.close(writer)
        try:
            explorer = Explorer(process)
            explorer.enter()
            for _ in range(2):
                assert explorer.json("POST", "/api/answer", {"scene": "bug"})[0] == 500
                assert explorer.json("POST", "/api/answer", {"scene": "exit"})[0] == 500
                assert explorer.json("POST", "/api/answer", {"scene": "adult"})[0] == 200
        finally:
            process.kill()


def test_padding_does_not_make_room_for_a_compressed_model():
    size = 300 << 20
    stream = zlib.compressobj(9)
    packed = b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()
    array = {"dtype": "i1", "shape": [size], "zlib": base64.b64encode(packed).decode()}
    content = json.loads(forest().to_json())
    content["ensemble"]["left"] = array
    with pytest.raises(CounterleafError, match="damaged array 'left': it claims more numbers than"):
        open_model("bomb.json", json.dumps(content).ljust(29_000_000))


def forest():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return cl.Explainer(RandomForestClassifier(3, max_depth=2, random_state=0).fit(x, x[:, 0] > 0), data=x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"x": 1, "job": "\\ud800"}]', "rows contains half of a surrogate pair; expected whole characters"),
        ('{"x": 1, "job": "cook"}\n{"x": 1, "job": "\\udc00"}', "rows, line 2, contains half of a surrogate pair"),
        ('[{"x": ' + "9" * 5000 + "}]", "value has 5000 digits"),
    ],
)
def test_rows_that_are_refused(text, message):
    with pytest.raises(CounterleafError, match=message) as caught:
        read_pasted("rows", text, SMALL)
    assert "sys." not in str(caught.value)


def test_rows_with_the_line_ends_of_old_systems():
    for end in ("\r", "\r\n", "\n"):
        found, _ = read_pasted("rows", end.join(["x,job", "1,cook", "2,clerk"]), SMALL)
        assert found["job"].tolist() == ["cook", "clerk"]


def test_thousands_of_unknown_columns_are_read_in_one_pass():
    scene = bundled_session().scene("german")
    row = scene.rows.iloc[:1].to_dict("records")[0]
    many = {f"column {k}": k for k in range(9_000)}
    text = ",".join([*row, *many]) + "\n" + ",".join(map(str, [*row.values(), *many.values()]))
    for table in (text, json.dumps([row | many], default=str)):
        start = time.process_time()
        found, _ = read_pasted("rows", table, scene.explainer.schema)
        assert len(found) == 1
        assert time.process_time() - start < 5


def test_the_columns_of_json_rows_are_named_as_those_of_csv():
    found, _ = read_pasted("rows", '[{" X": 1, "Job": "cook"}, {"job": "clerk", " X": 2}]', SMALL)
    assert found["x"].tolist() == [1, 2]
    assert found["job"].isna().tolist() == [True, False]  # "Job" is another column, since there is one of the exact name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (stump([1, "1"]), "two classes of m read '1'; expected classes with different names"),
        (stump(["no", "gr\u202eanted"]), r"the class 'gr\\u202eanted' contains the control character '\\u202e'"),
        (stump(name="a\u2066b"), r"the feature 'a\\u2066b' contains the control character '\\u2066'"),
        (stump(name="a\nb"), r"the feature 'a\\nb' contains the control character '\\n'"),
        (stump(["no", "@"]).replace('"@"', '"\\ud800"'), "m contains half of a surrogate pair; expected whole characters"),
    ],
    ids=["same", "bidi class", "bidi feature", "lines", "surrogate"],
)
def test_models_with_names_that_mislead_are_refused(text, message):
    with pytest.raises(CounterleafError, match=message):
        open_model("m", text)


def test_a_model_with_more_classes_than_the_page_lists_is_refused():
    n = 1001
    left = [2 * k + 1 if k < n - 1 else -1 for k in range(2 * n - 1)]
    right = [2 * k + 2 if k < n - 1 else -1 for k in range(2 * n - 1)]
    weights, bias = np.zeros((2 * n - 1, 1)), np.zeros(2 * n - 1)
    weights[: n - 1] = 1.0
    tree = cl.Tree(left, right, weights, bias, [-1] * (n - 1) + list(range(n)), classes=[f"c{k}" for k in range(n)])
    with pytest.raises(CounterleafError, match="m has 1,001 classes; the page shows at most 1,000"):
        open_model("m", tree.to_json())


def test_classes_of_different_types_are_drawn_and_exported():
    session = small_session(*every_kind())
    key = session.handle("open", {"name": "m", "text": stump(["a", 2])})["key"]
    question = {"scene": key, "spread": "none"}
    assert session.handle("answer", question)["status"] == "optimal"
    for form in ("html", "csv", "json"):
        assert session.handle("export", {"format": form, "questions": [question]})["text"]


def test_a_model_with_numbers_beyond_floats_is_refused():
    outputs = Outputs("value", [0.0, 1e308, -1e308], [[0.0], [0.0], [0.0]])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-0.5, 0, 0], outputs=outputs)
    with pytest.raises(CounterleafError, match="the model of m predicts numbers that are too large to show"):
        open_model("m", tree.to_json())
