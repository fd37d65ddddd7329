"""Clients that send or read slowly, or open many connections: raw sockets against a server with short limits."""

import socket
import time

import pytest
from support.running_explorer import running

pytestmark = pytest.mark.slow  # the whole file takes many seconds

LIMITS = "from counterleaf.explorer.web import connections; connections.TIME = 1.0; connections.MAX_CONNECTIONS = 20\n"


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page"), before=LIMITS) as explorer:
        explorer.enter()
        yield explorer


def connect(explorer):
    connection = socket.create_connection(("127.0.0.1", explorer.port), 10)
    connection.settimeout(10)
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
    while time.monotonic() - start < 10:
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
        assert 0.9 < seconds_until_closed(connection, drip) < 4
    assert explorer.json("GET", "/api/scenes")[0] == 200


def test_a_response_that_nobody_reads_is_dropped(explorer):
    with connect(explorer) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        question = b'{"scene":"' + b"a" * 60 + b'","edits":{' + b",".join(b'"%d":1' % k for k in range(20_000)) + b"}}"
        request = head(explorer, more=f"Content-Length: {len(question)}\r\n\r\n") + question
        try:
            for _ in range(200):  # until the buffers of both sides are full
                connection.settimeout(0.3)
                connection.sendall(request)
        except (TimeoutError, ConnectionError):
            pass
        time.sleep(2.5)  # more than the limit, during which nothing is read
        assert seconds_until_closed(connection) < 2
    assert explorer.json("GET", "/api/scenes")[0] == 200


def test_a_request_that_is_computed_for_longer_than_the_limit_is_answered(explorer):
    assert explorer.json("POST", "/api/answer", {"scene": "slow:1.3"})[0] == 200


def test_an_idle_connection_is_closed(explorer):
    with connect(explorer) as connection:
        connection.sendall(head(explorer, "GET", "/api/scenes", "\r\n"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert 0.5 < seconds_until_closed(connection) < 8


def test_a_connection_in_use_stays_open(explorer):
    with connect(explorer) as connection:
        for _ in range(8):
            time.sleep(0.3)
            connection.sendall(head(explorer, "GET", "/api/scenes", "\r\n"))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_many_idle_connections_do_not_keep_others_out(explorer):
    idle = [connect(explorer) for _ in range(60)]  # three times the limit
    assert explorer.json("GET", "/api/scenes")[0] == 200
    time.sleep(0.2)
    assert sum(seconds_until_closed(one) < 0.04 for one in idle[:40]) >= 39
    for one in idle:
        one.close()
    assert explorer.json("GET", "/api/scenes")[0] == 200
