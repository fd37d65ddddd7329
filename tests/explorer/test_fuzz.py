"""Requests generated from the server's schema, valid and invalid ones: none of them makes the server fail."""

import json
import os
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from support.running_explorer import command
from support.seeds import share
from support.waiting import patient

pytestmark = pytest.mark.slow  # the whole file takes many seconds

ROUTES = {
    *(f"/api/{verb}" for verb in ("answer", "front", "tree", "check", "plane", "export", "link")),
    *(f"/api/{verb}" for verb in ("columns", "efforts", "groups", "open", "rows")),
    *(f"/api/scenes/{{scene}}{rest}" for rest in ("", "/rows/{row}", "/find")),
}
ONE_WAY = ("only_increase", "only_decrease")
CASES = int(os.environ.get("COUNTERLEAF_FUZZ", share(1000)))  # per mode, of two; 5000 for a full run


@pytest.fixture(scope="module")
def explorer():
    with command("--time-limit", str(round(patient(1.0), 1))) as explorer:
        explorer.enter()
        yield explorer


@pytest.fixture(scope="module")
def schema(explorer):
    whole = schemathesis.openapi.from_url(f"http://{explorer.host}/openapi.json", headers={"Cookie": explorer.cookie})
    return whole.exclude(path="/api/scenes")  # it has no parameters


def fit_to_scene(value, scene, feature=None):
    """Replace names and numbers by those of a scene, so that most questions pass the first checks."""
    if isinstance(value, list):
        return [fit_to_scene(part, scene) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON Schema accepts 1.0 as an integer, this server does not
    if not isinstance(value, dict):
        return value
    features = {one["name"]: one for one in scene["features"]}
    out = {}
    for key, part in value.items():
        if key == "scene" and isinstance(part, str):
            part = scene["key"]
        elif key == "row" and type(part) in (int, float) and part >= 0:
            part = int(part) % scene["n_rows"]
        elif key in ("x_feature", "y_feature", "by") and isinstance(part, str):
            part = one_of(list(features), part)
        elif key == "names" and isinstance(part, list):
            part = [one_of(list(features), name) if isinstance(name, str) else name for name in part]
        elif key == "start" and type(part) in (int, float) and part >= 0:
            part = int(part) % scene["n_rows"]
        elif key == "controls" and isinstance(part, dict):
            part = {name: fit_to_scene(control, scene, features[name]) for name, control in named(features, part)}
        elif key == "edits" and isinstance(part, dict):
            part = {name: to_index(number, features[name]) for name, number in named(features, part)}
        elif key == "target" and isinstance(part, list):
            part = [one_of(scene["classes"], name) if isinstance(name, str) else name for name in part]
        elif key == "locked_pixels" and isinstance(part, list):
            part = [int(index) % len(features) for index in part if type(index) in (int, float)]
        elif key == "ink" and scene["shape"] is None and part in ("add", "erase"):
            part = "any"
        elif key == "allowed" and isinstance(part, list) and feature is not None:
            part = None if feature["kind"] == "number" else [to_index(index, feature) for index in part]
        elif key in ("low", "high", "step") and feature is not None and feature["kind"] != "number":
            part = None
        elif key == "direction" and feature is not None and feature["kind"] == "categorical" and part in ONE_WAY:
            part = "any"
        else:
            part = fit_to_scene(part, scene)
        out[key] = part
    return out


def named(features, values):
    """Values by names of features."""
    return ((one_of(list(features), name), part) for name, part in values.items())


def to_index(value, feature):
    """A number as an index of one of the feature's values, unless the feature is numeric."""
    whole = type(value) in (int, float) and feature["kind"] != "number"
    return int(abs(value) % len(feature["values"])) if whole else value


def one_of(names, text):
    """One of the names, which depends on the text."""
    return names[sum(map(ord, text)) % len(names)]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_makes_the_server_fail(explorer, schema, mode):
    statuses, paths = Counter(), set()
    operations = [found.ok() for found in schema.get_all_operations()]
    scenes = [explorer.json("GET", f"/api/scenes/{one['key']}")[1] for one in explorer.json("GET", "/api/scenes")[1]]

    def send(case, scene):
        if scene is not None:  # most requests name an existing scene
            case.body = fit_to_scene(case.body, scene)
            if "scene" in (case.path_parameters or {}):
                case.path_parameters["scene"] = scene["key"]
        response = case.call(session=session, headers={"Cookie": explorer.cookie}, timeout=120)  # also on a busy machine
        statuses[response.status_code] += 1
        paths.add(case.path)
        assert response.status_code < 500, response.text
        assert response.headers["content-type"] == ["application/json"]
        if response.status_code >= 400:
            refusal = json.loads(response.content)
            assert list(refusal) == ["error"]
            message = refusal["error"]
            assert message == " ".join(message.split()) != ""
            assert len(message) <= 500

    def send_many(cases, count):
        most = settings(
            max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
        )
        most(given(cases, st.sampled_from([*scenes * 3, None]))(send))()

    with requests.Session() as session:
        send_many(schema.as_strategy(generation_mode=mode), CASES)
        for operation in operations:  # what Hypothesis tries depends on the modules that are loaded: it may leave a route out
            if operation.path not in paths | {"/api/link"}:
                send_many(operation.as_strategy(generation_mode=mode), CASES // 10)
    assert sum(statuses.values()) >= CASES
    assert paths | {"/api/link"} >= ROUTES  # which has no parameters to get wrong
    assert set(statuses) <= {200, 400, 401, 404, 405, 413, 415, 422}
    print(mode, dict(statuses))
    assert statuses[200 if mode is GenerationMode.POSITIVE else 422] > CASES / 5
