import json

import pytest
from support.running_explorer import QUESTION, running


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page")) as explorer:
        explorer.enter()
        yield explorer


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/api/nothing", 404, "nothing found at '/api/nothing'; the page is at '/'"),
        ("GET", "/api/scenes/", 404, "nothing found at '/api/scenes/'; the page is at '/'"),
        ("PUT", "/api/answer", 405, "got the method 'PUT'; expected POST"),
        ("GET", "/api/answer", 405, "got the method 'GET'; expected POST"),
        ("POST", "/api/scenes", 405, "got the method 'POST'; expected GET"),
        ("GET", "/api/scenes/a/rows/x", 422, "row: got 'x'; expected a whole number"),
        (
            "GET",
            "/api/scenes/a/rows/1e999",
            422,
            "row: got '1e999'; expected a whole number",
        ),
        ("GET", "/api/scenes/a/rows/-1", 422, "row: got '-1'; expected greater than or equal to 0"),
        ("GET", "/api/scenes/a/find?direction=2", 422, "direction: got '2'; expected 1 or -1"),
        (
            "GET",
            "/api/scenes/a/find?start=",
            422,
            "start: got ''; expected a whole number",
        ),
    ],
)
def test_the_messages_of_wrong_addresses(explorer, method, path, status, message):
    assert explorer.error_of(method, path, QUESTION if method != "GET" else None) == (status, message)


@pytest.mark.parametrize(
    "path", ["rows/" + "9" * 5000, "rows/99999999999999999999", "rows/%F0%9F%99%82", "find?label=" + "x" * 501]
)
def test_the_messages_of_long_and_unusual_addresses_are_short(explorer, path):
    status, message = explorer.error_of("GET", f"/api/scenes/a/{path}")
    assert status == 422
    assert len(message) < 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 422, "body: got nothing; expected a value"),
        (b"[]", 422, "body: got an array of length 0; expected an object"),
        (b"3", 422, "body: got 3; expected an object"),
        (b'"x"', 422, "body: got 'x'; expected an object"),
        (b"{}", 422, "scene: got nothing; expected a value"),
        (
            b"{",
            400,
            "the body is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (b'{"scene": NaN}', 400, "the body is not valid JSON: got NaN; expected a finite number"),
        (b'{"margin": -Infinity}', 400, "the body is not valid JSON: got -Infinity; expected a finite number"),
        (
            b'{"margin": 1e999}',
            400,
            "the body is not valid JSON: got a number beyond the range of floats; expected one below 1e300",
        ),
        (
            b'{"row": 1' + b"0" * 5000 + b"}",
            400,
            "the body is not valid JSON: got a number of 5001 digits; expected at most 300",
        ),
        (
            b'{"scene": "\\ud800"}',
            400,
            "the body is not valid JSON: got half of a surrogate pair; expected whole characters",
        ),
        (
            b'{"scene": "a", "edits": {"\\uDC00": 1}}',
            400,
            "the body is not valid JSON: got half of a surrogate pair; expected whole characters",
        ),
        (b'{"scene": "\xff"}', 400, "the body is not valid JSON: byte 11 is not UTF-8"),
        (b"[" * 100_000, 400, "the body is not valid JSON: it is nested too deeply"),
        (b'{"scene": "a", "scene": "b"}', 400, "the body is not valid JSON: got the key 'scene' twice; expected each key once"),
        (b'{"scene": 3}', 422, "scene: got 3; expected a string"),
        (b'{"scene": "a", "row": "3"}', 422, "row: got '3'; expected a whole number"),
        (b'{"scene": "a", "row": true}', 422, "row: got true; expected a whole number"),
        (b'{"scene": "a", "row": 1.5}', 422, "row: got 1.5; expected a whole number"),
        (b'{"scene": "a", "row": -1}', 422, "row: got -1; expected greater than or equal to 0"),
        (b'{"scene": "a", "cost": "L3"}', 422, "cost: got 'L3'; expected 'L1', 'L2', 'mixed' or 'Q'"),
        (b'{"scene": "a", "nothing": {}}', 422, "nothing: got an object with 0 fields; expected no field of this name"),
        (
            b'{"scene": "a", "controls": {"age": {"direction": null}}}',
            422,
            "controls.age.direction: got null; expected 'any', 'only_increase' or 'only_decrease'",
        ),
        (
            b'{"scene": "a", "controls": {"a\\nb": 1}}',
            422,
            "controls.a\\nb: got 1; expected an object",
        ),
        (b'{"row": -1, "x": 1}', 422, "scene: got nothing; expected a value (and 2 more)"),
    ],
    ids=lambda value: str(value[:40]) if isinstance(value, bytes) else "",
)
def test_the_messages_of_wrong_bodies(explorer, body, status, message):
    assert explorer.error_of("POST", "/api/answer", body) == (status, message)


def test_null_is_not_a_question(explorer):
    status, message = explorer.error_of("POST", "/api/answer", b"null")  # older versions of FastAPI treat it as an empty body
    assert status == 422
    assert message in ("body: got null; expected an object", "body: got nothing; expected a value")


@pytest.mark.parametrize(
    "body",
    [
        b'{"scene": "' + b"x" * 5000 + b'"}',
        b'{"scene": "a", "' + b"x" * 5000 + b'": 1}',
        b'{"scene": "a", "edits": {"age": -9.5' + b"0" * 299 + b"e300" + b"}}",
        b'{"scene": "a", "row": -9' + b"0" * 298 + b"}",
        b'{"scene": "a", "edits": {"age": 1e308}}',
        b'{"scene": "a", "row": 1' + b"0" * 250 + b"}",
        b'{"scene": "a", "edits": ' + b"[" * 900 + b"]" * 900 + b"}",
        json.dumps({"scene": "a", "target": ["x"] * 1001}).encode(),
    ],
    ids=lambda body: str(body[:40]),
)
def test_a_huge_value_is_not_repeated_in_the_message(explorer, body):
    status, message = explorer.error_of("POST", "/api/answer", body)
    assert status == 422
    assert len(message) < 200
