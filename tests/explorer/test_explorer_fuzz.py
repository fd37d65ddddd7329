"""A thousand requests made from the server's own schema, half of them sound and half not: no answer is a failure."""

import json
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from support.running_explorer import command

CASES = 300  # of each mode: some forty for each of the seven routes that take something


@pytest.fixture(scope="module")
def explorer():
    with command("--time-limit", "1") as explorer:
        explorer.enter()
        yield explorer


@pytest.fixture(scope="module")
def schema(explorer):
    whole = schemathesis.openapi.from_url(f"http://{explorer.host}/openapi.json", headers={"Cookie": explorer.cookie})
    return whole.exclude(path="/api/scenes")  # it takes nothing


def made_real(value, scene, feature=None):
    """The same about a scene that there is, its rows, features and classes, so that questions get past the first checks."""
    if isinstance(value, list):
        return [made_real(part, scene) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1.0 is a whole number to a schema, and none to this server
    if not isinstance(value, dict):
        return value
    features = {one["name"]: one for one in scene["features"]}
    out = {}
    for key, part in value.items():
        if key == "scene" and isinstance(part, str):
            part = scene["key"]
        elif key == "row" and type(part) in (int, float) and part >= 0:
            part = int(part) % scene["rows"]
        elif key in ("across", "up") and isinstance(part, str):
            part = one_of(list(features), part)
        elif key == "controls" and isinstance(part, dict):
            part = {name: made_real(said, scene, features[name]) for name, said in named(features, part)}
        elif key == "edits" and isinstance(part, dict):
            part = {name: placed(given, features[name]) for name, given in named(features, part)}
        elif key == "target" and isinstance(part, list):
            part = [one_of(scene["classes"], name) if isinstance(name, str) else name for name in part]
        elif key == "locked" and isinstance(part, list):
            part = [int(place) % len(features) for place in part if type(place) in (int, float)]
        elif key == "ink" and scene["shape"] is None and part in ("add", "erase"):
            part = "any"
        elif key == "allowed" and isinstance(part, list) and feature is not None:
            part = None if feature["kind"] == "number" else [placed(place, feature) for place in part]
        elif key in ("low", "high", "step") and feature is not None and feature["kind"] != "number":
            part = None
        elif key == "way" and feature is not None and feature["kind"] == "categorical" and part in ("up", "down"):
            part = "any"
        else:
            part = made_real(part, scene)
        out[key] = part
    return out


def named(features, given):
    return ((one_of(list(features), name), part) for name, part in given.items())


def placed(value, feature):
    """A number as the place of one of the feature's values, where it has such."""
    whole = type(value) in (int, float) and feature["kind"] != "number"
    return int(abs(value) % len(feature["values"])) if whole else value


def one_of(names, word):
    return names[sum(map(ord, word)) % len(names)]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_makes_the_server_fail(explorer, schema, mode):
    seen = Counter()
    cases = schema.as_strategy(generation_mode=mode)
    scenes = explorer.json("GET", "/api/scenes")[1]

    @settings(max_examples=CASES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases, st.sampled_from([*scenes * 3, None]))
    def ask(case, scene):
        if scene is not None:  # most are about a scene that there is
            case.body = made_real(case.body, scene)
            if "scene" in (case.path_parameters or {}):
                case.path_parameters["scene"] = scene["key"]
        response = case.call(session=session, headers={"Cookie": explorer.cookie})
        seen[response.status_code] += 1
        assert response.status_code < 500, response.text
        assert response.headers["content-type"] == ["application/json"]
        if response.status_code >= 400:
            refusal = json.loads(response.content)
            assert list(refusal) == ["error"]
            line = refusal["error"]
            assert line == " ".join(line.split()) != ""
            assert len(line) <= 500

    with requests.Session() as session:
        ask()
    assert sum(seen.values()) >= CASES
    assert set(seen) <= {200, 400, 401, 404, 405, 413, 415, 422}
    print(mode, dict(seen))
    assert seen[200 if mode is GenerationMode.POSITIVE else 422] > CASES / 5
