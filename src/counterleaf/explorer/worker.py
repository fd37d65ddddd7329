"""The process that solves, apart from the one that serves: one JSON object a line in, one a line out.

First in come the arguments of ``open_desk``; first out is ``{"ready": true}``, or ``{"error": line}`` and the end. Then each
``{"id", "verb", "given"}`` gets its ``{"id", "ok"}`` or ``{"id", "error", "kind"}``. Whatever it is at, it ends at once
when stdin closes: that is how it ends with the server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Protocol

from counterleaf.errors import CounterleafError

LONGEST_LINE = 500


class Desk(Protocol):
    """Whoever knows the answers."""

    def handle(self, verb: str, given: dict[str, Any]) -> Any: ...


def run(open_desk: Callable[[dict[str, Any]], Desk]) -> None:
    """Open the desk, compile what it will need, answer until stdin closes."""
    replies = keep_stdout()
    lines: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=listen, args=(lines,), daemon=True).start()
    try:
        desk = open_desk(json.loads(lines.get()))
        if os.environ.get("NUMBA_DISABLE_JIT") != "1":  # interpreted kernels have nothing to compile
            desk.handle("warm", {})
    except Exception as error:
        write(replies, failure(error))
        os._exit(1)
    write(replies, {"ready": True})
    while True:
        write(replies, answer(desk, json.loads(lines.get())))


def keep_stdout() -> BinaryIO:
    """The stream for replies. From here on a stray print, also one in C, goes to stderr."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def listen(lines: SimpleQueue[bytes]) -> None:
    """Pass lines on as they come; the end of stdin is the end of the process, mid-question too."""
    for line in sys.stdin.buffer:
        lines.put(line)
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # what was started to compile beside it ends too
    os._exit(0)


def answer(desk: Desk, request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request, one that JSON can hold."""
    try:
        value = desk.handle(request["verb"], request["given"])
        json.dumps(value, allow_nan=False)
    except Exception as error:
        return {"id": request["id"], **failure(error)}
    return {"id": request["id"], "ok": value}


def failure(error: Exception) -> dict[str, Any]:
    """One line for the client; of what is no mistake of the user, the whole traceback on stderr."""
    if isinstance(error, CounterleafError):
        return {"error": one_line(str(error)), "kind": "mistake"}
    traceback.print_exception(error)
    return {"error": one_line(f"{type(error).__name__}: {error}"), "kind": "internal"}


def one_line(text: str) -> str:
    """The text without its line breaks, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 3] + "..."


def write(replies: BinaryIO, reply: dict[str, Any]) -> None:
    """One line, on its way at once."""
    try:
        replies.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
        replies.flush()
    except BrokenPipeError:  # the server is gone
        os._exit(0)


if __name__ == "__main__":
    from counterleaf.explorer.desk import open_desk

    run(open_desk)
