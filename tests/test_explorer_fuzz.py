"""Two thousand requests made from the server's own schema, half of them sound and half not: no answer is a failure."""

import json
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running_explorer import running
from schemathesis import GenerationMode

SCENES = ["adult"]  # those that the desk knows
CASES = 1000


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page")) as explorer:
        explorer.enter()
        explorer.wait_for_compiled()
        yield explorer


@pytest.fixture(scope="module")
def schema(explorer):
    whole = schemathesis.openapi.from_url(f"http://{explorer.host}/openapi.json")
    return whole.exclude(path="/api/status").exclude(path="/api/scenes")  # they take nothing


def put_scene(value, scene):
    """The same with every scene in it replaced, so that questions get past the first check."""
    if isinstance(value, dict):
        return {
            key: scene if key == "scene" and isinstance(part, str) else put_scene(part, scene) for key, part in value.items()
        }
    return [put_scene(part, scene) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_makes_the_server_fail(explorer, schema, mode):
    seen = Counter()
    cases = schema.as_strategy(generation_mode=mode)

    @settings(max_examples=CASES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases, st.sampled_from([None, *SCENES]))
    def ask(case, scene):
        if scene is not None:
            case.body = put_scene(case.body, scene)
            if "scene" in (case.path_parameters or {}):
                case.path_parameters["scene"] = scene
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
    if mode is GenerationMode.POSITIVE:
        assert seen[200] > CASES / 2
    else:
        assert seen[422] > CASES / 2
