"""A server in another process, with a fake session and a small page or as the command starts it, and a client for it."""

import http.client
import json
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

QUESTION = {"scene": "adult", "row": 3}
_PROGRAM = """
import sys
from pathlib import Path
from support.fake_session import FakeSession
from counterleaf.explorer.web import files, server
from counterleaf.explorer.session.solver import Limits
files.PAGE = Path(sys.argv[1])
server.serve(FakeSession(), int(sys.argv[2]), False, Limits(grace=float(sys.argv[3])))
"""
_FILES = {
    "index.html": "<!doctype html><title>Explore</title>",
    "access.html": "<!doctype html><title>Access</title>",
    "app.js": "export const x = 1\n",
    "lib/part.js": "export const y = 2\n",
    "style.css": "body {}\n",
    "leaf.svg": "<svg/>",
    "notes.txt": "not part of the page",
}


class Explorer:
    """The server and one browser."""

    def __init__(self, process):
        self.process = process
        self.line = process.stdout.readline()
        found = re.fullmatch(r"Explore at http://127\.0\.0\.1:(\d+)/\?token=(\S+)  \(press Ctrl-C to stop\)\n", self.line)
        self.port, self.token, self.cookie = int(found[1]), found[2], None

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def enter(self):
        status, headers, body = self.call("GET", f"/?token={self.token}")
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        return status, headers, body

    def call(self, method, path, body=None, headers=(), timeout=60):
        """The status, the headers by their lower-case names, and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if isinstance(body, dict | list):
            body = json.dumps(body).encode()
        sent |= dict(headers)
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=()):
        status, _, content = self.call(method, path, body, headers)
        return status, json.loads(content)

    def error_of(self, *request):
        """The status and the message of an error response."""
        status, value = self.json(*request)
        assert list(value) == ["error"], value
        assert value["error"].strip() == value["error"] != ""
        assert value["error"].isprintable()
        return status, value["error"]

    def raw(self, request, timeout=60):
        """The response to the bytes of a request that no client would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
            connection.sendall(request)
            connection.settimeout(timeout)
            response = b""
            while b"\r\n\r\n" not in response or not response.partition(b"\r\n\r\n")[2]:
                part = connection.recv(65536)
                if not part:
                    break
                response += part
        return response


@contextmanager
def running(folder: Path, port=0, before="", grace=1.0):
    """The server with a fake session and a small page; ``before`` is run in its process first."""
    folder.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with _process([sys.executable, "-c", before + _PROGRAM, str(folder), str(port), str(grace)]) as explorer:
        yield explorer


@contextmanager
def command(*arguments):
    """The server as the command starts it."""
    with _process([sys.executable, "-m", "counterleaf", "explore", "--no-browser", "--port", "0", *arguments]) as explorer:
        yield explorer


@contextmanager
def _process(arguments):
    """A server that ends with the test."""
    options = {"cwd": Path(__file__).parents[1], "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(arguments, **options)
    try:
        yield Explorer(process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)
