import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from support.explorer_cases import endless
from support.running_explorer import QUESTION, command, running
from support.waiting import patient, until

from counterleaf.errors import CounterleafError
from counterleaf.explorer.web import server

pytestmark = pytest.mark.slow  # the whole file takes many seconds

LIMIT = round(patient(1.0), 1)  # seconds for a search


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page")) as explorer:
        explorer.enter()
        yield explorer


TESTS = Path(__file__).parents[1]
PLANE = {"question": QUESTION, "x_feature": "age", "y_feature": "hours"}
EXPORT = {"format": "csv", "questions": [QUESTION]}


@pytest.mark.parametrize(
    ("method", "path", "body", "verb", "arguments"),
    [
        ("GET", "/api/scenes", None, "scenes", {}),
        ("GET", "/api/scenes/adult/rows/7", None, "row", {"scene": "adult", "row": 7}),
        ("GET", "/api/scenes/a%20b/find", None, "find", {"scene": "a b", "start": 0, "direction": 1, "label": None}),
        (
            "GET",
            "/api/scenes/adult/find?start=5&direction=-1&label=%3E50K",
            None,
            "find",
            {"scene": "adult", "start": 5, "direction": -1, "label": ">50K"},
        ),
        ("POST", "/api/answer", QUESTION, "answer", QUESTION),
        ("POST", "/api/tree", QUESTION, "tree", QUESTION),
        ("POST", "/api/check", QUESTION, "check", QUESTION),
        ("POST", "/api/plane", PLANE, "plane", {"x_feature": "age", "y_feature": "hours"}),
        ("POST", "/api/export", EXPORT, "export", {"format": "csv"}),
    ],
)
def test_each_route_passes_its_arguments_to_the_session(explorer, method, path, body, verb, arguments):
    status, reply = explorer.json(method, path, body)
    assert status == 200
    assert reply["verb"] == verb
    assert arguments.items() <= reply["arguments"].items()
    assert reply["note"] == "\ud800\n"  # every string can be returned


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("lib/part.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("leaf.svg", "image/svg+xml"),
    ],
)
def test_the_files_of_the_page_are_served_and_cached(explorer, name, kind):
    status, headers, body = explorer.call("GET", f"/page/{name}")
    assert (status, headers["content-type"], headers["cache-control"]) == (200, kind, "no-cache")
    assert body
    status, _, body = explorer.call("GET", f"/page/{name}", None, {"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "notes.txt",
        "..%2f..%2fserver.py",
        "../server.py",
        "%2e%2e/api.py",
        "index.html",
        "access.html",
        "lib",
        "lib/",
        "lib/../notes.txt",
        "lib/%2e%2e/index.html",
        "./app.js",
        "//app.js",
        "",
        "a%00.js",
        "%ff.js",
        "x" * 900,
    ],
)
def test_other_files_are_not_served(explorer, path):
    status, message = explorer.error_of("GET", f"/page/{path}")
    assert status == 404
    assert message.startswith("nothing found at '/")
    assert message.endswith("; the page is at '/'")
    assert len(message) < 100


def test_the_icon_is_the_svg(explorer):
    assert explorer.call("GET", "/favicon.ico")[2] == b"<svg/>"


def test_the_schema_is_served_without_pages_that_load_external_scripts(explorer):
    status, schema = explorer.json("GET", "/openapi.json")
    assert status == 200
    assert len(schema["paths"]) == 16
    assert "HTTPValidationError" not in json.dumps(schema)
    assert explorer.call("GET", "/docs")[0] == explorer.call("GET", "/redoc")[0] == 404


def test_a_mistake_is_422_and_a_failure_is_500(explorer):
    assert explorer.error_of("POST", "/api/answer", {"scene": "unknown"}) == (422, "no such scene: 'unknown'")
    failed = "the solver failed: RuntimeError: a bug; see the terminal for details"
    assert explorer.error_of("POST", "/api/answer", {"scene": "bug"}) == (500, failed)
    status, message = explorer.error_of("POST", "/api/answer", {"scene": "nan"})
    assert status == 500
    assert message.startswith("the solver failed: ValueError: Out of range float values are not JSON compliant")


def test_a_request_that_takes_too_long_is_503(explorer):
    status, headers, body = explorer.call("POST", "/api/answer", {"scene": "slow:60"})
    assert (status, headers["retry-after"]) == (503, "1")
    assert json.loads(body)["error"] == "no answer within 1.5 s; simplify the question or set a longer --time-limit"
    assert explorer.json("POST", "/api/answer", QUESTION)[0] == 200


def test_twenty_clients_are_served_in_turn(explorer):
    """Each has a connection and sends one request after the other; none is refused, and none waits much longer than others.

    One thread is all the clients, so that the machine's load cannot starve one of them: only the server can.
    """
    counts, spreads = [0] * 20, []
    body = json.dumps({"scene": "slow:0.002"})
    headers = {
        "Host": explorer.host,
        "Cookie": explorer.cookie,
        "Content-Type": "application/json",
        "Content-Length": len(body),
    }
    request = "\r\n".join(["POST /api/answer HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", body])

    async def ask(k):
        reader, writer = await asyncio.open_connection("127.0.0.1", explorer.port)
        for _ in range(30):
            writer.write(request.encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
            assert head.startswith("http/1.1 200")
            counts[k] += 1
            spreads.append(max(counts) - min(counts))
        writer.close()

    async def all_of_them():
        async with asyncio.timeout(60):
            await asyncio.gather(*map(ask, range(20)))

    asyncio.run(all_of_them())
    assert counts == [30] * 20
    assert sorted(spreads)[len(spreads) // 2] <= 5


def test_more_requests_than_the_queue_holds_are_refused(explorer, tmp_path):
    replies = []

    def ask(scene):
        replies.append(explorer.json("POST", "/api/answer", {"scene": scene}))

    threads = [threading.Thread(target=ask, args=(f"slow:{tmp_path / 'go'}",))]
    threads += [threading.Thread(target=ask, args=("a",)) for _ in range(70)]
    threads[0].start()
    until((tmp_path / "go.started").exists)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(replies) >= 6)
    assert {status for status, _ in replies} == {503}
    assert {reply["error"] for _, reply in replies} == {"busy: 64 requests are waiting already; try again in a moment"}
    (tmp_path / "go").touch()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in replies) == [200] * 65 + [503] * 6


def test_the_request_of_a_closed_connection_leaves_the_queue(explorer, tmp_path):
    first = threading.Thread(target=explorer.json, args=("POST", "/api/answer", {"scene": f"slow:{tmp_path / 'go'}"}))
    first.start()
    until((tmp_path / "go.started").exists)
    for _ in range(30):  # more than the queue allows
        with pytest.raises(TimeoutError):
            explorer.call("POST", "/api/answer", {"scene": "left"}, timeout=0.02)
    time.sleep(patient(0.2))
    (tmp_path / "go").touch()
    first.join()
    _, history = explorer.json("POST", "/api/answer", {"scene": "history"})
    assert "left" not in history["started"]


def test_the_search_of_a_closed_connection_is_stopped(explorer):
    scene = "slow:59"
    with pytest.raises(TimeoutError):
        explorer.call("POST", "/api/answer", {"scene": scene}, timeout=patient(0.2))
    start = time.monotonic()
    _, history = explorer.json("POST", "/api/answer", {"scene": "history"})
    assert time.monotonic() - start < patient(1)
    assert history["stopped"][-1] == scene


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """The command with a model and a question that no search finishes."""
    model = tmp_path_factory.mktemp("model") / "model.json"
    model.write_text(endless().to_json())
    with command(str(model), "--time-limit", str(LIMIT)) as explorer:
        explorer.enter()
        key = explorer.json("GET", "/api/scenes")[1][0]["key"]
        yield explorer, {"scene": key, "target": ["yes"], "spread": "none", "cost": "L2"}


def test_a_time_limit_gives_a_lower_bound_and_the_server_stays_responsive(hard):
    explorer, question = hard
    replies, waits = [], []
    start = time.monotonic()
    asking = threading.Thread(target=lambda: replies.append(explorer.json("POST", "/api/answer", question)))
    asking.start()
    while asking.is_alive():
        before = time.monotonic()
        assert explorer.call("GET", "/")[0] == 200
        waits.append(time.monotonic() - before)
        time.sleep(0.02)
    assert LIMIT <= time.monotonic() - start < 3 * LIMIT
    status, reply = replies[0]
    assert (status, reply["status"], reply["stopped_after"], reply["ways"]) == (200, "limit", LIMIT, [])
    assert float(reply["proof"]["lower_bound"]) > 0
    assert sorted(waits)[len(waits) // 2] < patient(0.2)


def test_a_cancelled_search_does_not_delay_the_next_question(hard):
    explorer, question = hard
    for _ in range(5):
        with pytest.raises(TimeoutError):
            explorer.call("POST", "/api/answer", question, timeout=patient(0.1))
    start = time.monotonic()
    status, reply = explorer.json("POST", "/api/answer", question | {"target": ["no"], "count": 1})
    assert time.monotonic() - start < 0.8 * LIMIT  # less than the time limit of one search
    assert (status, reply["status"]) == (200, "optimal")


@pytest.mark.parametrize(("number", "busy"), [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, True)])
def test_it_ends_at_once_even_during_a_request(tmp_path, number, busy):
    with running(tmp_path / "page") as explorer:
        explorer.enter()
        idle = socket.create_connection(("127.0.0.1", explorer.port))
        waiting = threading.Thread(target=_call_quietly, args=(explorer, {"scene": "slow:60"}))
        if busy:
            waiting.start()
            time.sleep(0.2)
        start = time.monotonic()
        explorer.process.send_signal(number)
        out, errors = explorer.process.communicate(timeout=20)
        assert time.monotonic() - start < patient(5)
        idle.close()
    if number == signal.SIGINT:
        assert explorer.process.returncode == 0
        assert (out, errors) == ("", "")
    if busy:
        waiting.join(5)


def _call_quietly(explorer, question):
    with suppress(OSError, HTTPException):
        explorer.call("POST", "/api/answer", question)


def test_a_port_in_use_is_an_error():
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        with pytest.raises(
            CounterleafError, match=rf"^cannot use port {port} \(address already in use\); choose another one, or "
        ):
            server.bind(port)


def test_responses_are_not_delayed():
    with server.bind(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # otherwise each response would wait some 40 ms for an acknowledgement


def test_without_a_port_the_first_free_one_is_used(monkeypatch):
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        monkeypatch.setattr(server, "FIRST_PORT", occupied.getsockname()[1])
        with server.bind(None) as listener:
            address, port = listener.getsockname()
        assert address == "127.0.0.1"
        assert server.FIRST_PORT < port < server.FIRST_PORT + server.N_PORTS
        monkeypatch.setattr(server, "N_PORTS", 1)
        with pytest.raises(
            CounterleafError,
            match=rf"^no port from {server.FIRST_PORT} to {server.FIRST_PORT} is free; choose one with --port$",
        ):
            server.bind(None)


def test_the_browser_is_opened_at_the_printed_address(tmp_path):
    program = (
        "import webbrowser; from support import fake_session; from counterleaf.explorer.web import server\n"
        "webbrowser.open = lambda address: print('opened', address, flush=True)\n"
        "server.serve(fake_session.FakeSession(), 0, True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    )
    printed, opened = process.stdout.readline(), process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert printed.split()[2] == opened.split()[1]
    assert process.returncode == 0
