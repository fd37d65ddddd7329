"""Clients that send or read slowly, or open many connections: raw sockets against a server with short limits."""

import signal
import socket
import sys
import time
from contextlib import suppress
from http.client import HTTPConnection

import pytest
from support.running_explorer import running
from support.waiting import patient, until

pytestmark = pytest.mark.slow  # the whole file takes many seconds

TIME = patient(1.0)
LIMITS = f"from counterleaf.explorer.web import server; server.TIME = {TIME}; server.MAX_CONNECTIONS = 20\n"
posix = {"condition": sys.platform == "win32", "reason": "a process is stopped with POSIX signals"}
SIZE = 2_000_000  # bytes of a response


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "large.js").write_bytes(b" " * SIZE)
    with running(folder, before=LIMITS, grace=1.5 * TIME - 0.5) as explorer:
        explorer.enter()
        yield explorer


def connect(explorer):
    connection = socket.create_connection(("127.0.0.1", explorer.port), 10)
    connection.settimeout(30)
    return connection


def head(explorer, method="POST", path="/api/answer", more=""):
    lines = (
        f"{method} {path} HTTP/1.1",
        f"Host: {explorer.host}",
        f"Cookie: {explorer.cookie}",
        "Content-Type: application/json",
    )
    return ("\r\n".join(lines) + "\r\n" + more).encode()


def seconds_until_closed(connection, drip=b""):
    """The time until the server closes a connection that gets some more bytes every 50 ms."""
    start = time.monotonic()
    while time.monotonic() - start < 10 * TIME:
        connection.settimeout(0.05)
        try:
            if connection.recv(65536) == b"":
                break
        except TimeoutError:
            pass
        except ConnectionError:
            break
        try:
            connection.sendall(drip)
        except ConnectionError:
            break
    return time.monotonic() - start


def is_closed(connection):
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        ("", b""),  # nothing
        ("GET / HT", b""),  # half a line
        ("head", b"X: 1\r\n"),  # headers without end
        ("Content-Length: 100000\r\n\r\n", b" "),  # a body, one byte at a time
        ("Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["nothing", "line", "headers", "body", "chunks"],
)
def test_a_request_that_takes_too_long_is_disconnected(explorer, sent, drip):
    with connect(explorer) as connection:
        if sent == "head":
            connection.sendall(head(explorer))
        elif sent:
            connection.sendall(head(explorer, more=sent) if ":" in sent else sent.encode())
        assert 0.9 * TIME < seconds_until_closed(connection, drip) < 4 * TIME
    assert explorer.json("GET", "/api/scenes")[0] == 200


def test_a_response_that_nobody_reads_is_dropped(explorer):
    with connect(explorer) as connection:
        connection.sendall(head(explorer, "GET", "/page/large.js", "\r\n") * 20)  # more than the buffers of both sides hold
        time.sleep(3 * TIME)
        size = 0
        with suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                size += len(part)
        assert 0 < size < 20 * SIZE
    assert explorer.json("GET", "/api/scenes")[0] == 200


def test_a_request_that_is_computed_for_longer_than_the_limit_is_answered(explorer):
    assert explorer.json("POST", "/api/answer", {"scene": f"slow:{1.3 * TIME}"})[0] == 200


def test_an_idle_connection_is_closed(explorer):
    with connect(explorer) as connection:
        connection.sendall(head(explorer, "GET", "/api/scenes", "\r\n"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert 0.5 * TIME < seconds_until_closed(connection) < 8 * TIME


def test_a_connection_in_use_stays_open(explorer):
    connection = HTTPConnection("127.0.0.1", explorer.port, timeout=10)
    connection.connect()
    connection.auto_open = 0  # a closed connection is an error
    for _ in range(8):
        time.sleep(0.3 * TIME)
        connection.request("GET", "/api/scenes", headers={"Cookie": explorer.cookie})
        assert b"verb" in connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("at_once", [False, pytest.param(True, marks=pytest.mark.skipif(**posix))])
def test_many_idle_connections_do_not_keep_others_out(explorer, at_once):
    if at_once:
        explorer.process.send_signal(signal.SIGSTOP)
    idle = [connect(explorer) for _ in range(60)]  # three times the limit
    if at_once:
        explorer.process.send_signal(signal.SIGCONT)
    assert explorer.json("GET", "/api/scenes")[0] == 200
    until(lambda: sum(map(is_closed, idle[:40])) >= 39, 0.9 * TIME)  # before any of them is closed for its age
    for one in idle:
        one.close()
    assert explorer.json("GET", "/api/scenes")[0] == 200
