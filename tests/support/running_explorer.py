"""A real server in a process of its own, with the fake desk and a small page or as the command starts it; who talks to it."""

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
from support.fake_desk import FakeDesk
from counterleaf.explorer import files, server
from counterleaf.explorer.solver import Limits
files.PAGE = Path(sys.argv[1])
server.serve(FakeDesk(), int(sys.argv[2]), False, Limits(grace=1.0))
"""
_FILES = {
    "index.html": "<!doctype html><title>Explore</title>",
    "door.html": "<!doctype html><title>Door</title>",
    "app.js": "export const x = 1\n",
    "look.css": "body {}\n",
    "leaf.svg": "<svg/>",
    "notes.txt": "not for the page",
}


class Explorer:
    """The running server, and one browser."""

    def __init__(self, process):
        self.process = process
        self.line = process.stdout.readline()
        found = re.fullmatch(r"Explore at http://127\.0\.0\.1:(\d+)/\?token=(\S+)  \(Ctrl-C ends it\)\n", self.line)
        self.port, self.token, self.cookie = int(found[1]), found[2], None

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def enter(self):
        status, headers, body = self.call("GET", f"/?token={self.token}")
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        return status, headers, body

    def call(self, method, path, body=None, headers=(), timeout=20):
        """Status, headers by their small names, the body as bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        given = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            given["Content-Type"] = "application/json"
        if isinstance(body, dict | list):
            body = json.dumps(body).encode()
        given |= dict(headers)
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=()):
        status, _, content = self.call(method, path, body, headers)
        return status, json.loads(content)

    def line_of(self, *request):
        """Status and line of a refusal, which holds nothing else."""
        status, value = self.json(*request)
        assert list(value) == ["error"], value
        assert value["error"].strip() == value["error"] != ""
        assert value["error"].isprintable()
        return status, value["error"]

    def raw(self, request, timeout=10):
        """The status line and what follows, for requests that no client would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as wire:
            wire.sendall(request)
            wire.settimeout(timeout)
            answer = b""
            while b"\r\n\r\n" not in answer or not answer.partition(b"\r\n\r\n")[2]:
                part = wire.recv(65536)
                if not part:
                    break
                answer += part
        return answer


@contextmanager
def running(folder: Path, port=0):
    """The server with the fake desk and a small page."""
    folder.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    with _process([sys.executable, "-c", _PROGRAM, str(folder), str(port)]) as explorer:
        yield explorer


@contextmanager
def command(*arguments):
    """The command itself, with its own desk and page."""
    with _process([sys.executable, "-m", "counterleaf", "explore", "--no-browser", "--port", "0", *arguments]) as explorer:
        yield explorer


@contextmanager
def _process(words):
    """A server that is ended when the test is through."""
    here = {"cwd": Path(__file__).parents[1], "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(words, **here)
    try:
        yield Explorer(process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=20)
