"""One worker process, as the server sees it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from counterleaf.errors import CounterleafError

COMMAND = (sys.executable, "-m", "counterleaf.explorer.worker")
LONGEST_REPLY = 2**28  # bytes of one line
INTERPRETED = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}  # interpreted kernels warn where compiled ones are silent


class LostError(Exception):
    """The process ended, or said what is no reply."""


class InternalError(Exception):
    """The worker failed at a question for no mistake of the user; its traceback is on stderr."""


class Child:
    """A process that is asked one thing at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._asked = 0

    @classmethod
    async def start(cls, command: Sequence[str], interpreted: bool) -> Child:
        """Start it out of reach of the terminal's Ctrl-C: the server ends it, or its stdin closes."""
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            limit=LONGEST_REPLY,
            env={**os.environ, **(INTERPRETED if interpreted else {})},
            **apart,
        )
        return cls(process)

    @property
    def gone(self) -> bool:
        return self.process.returncode is not None

    async def open(self, arguments: dict[str, Any]) -> None:
        """Hand over the arguments and wait until it is ready, which may take as long as compiling does."""
        reply = await self._exchange(arguments)
        if reply.get("ready") is not True:
            raise LostError(reply.get("error", "it began with something else than that it is ready"))

    async def ask(self, verb: str, given: dict[str, Any]) -> Any:
        """The desk's answer, or the desk's CounterleafError."""
        self._asked += 1
        reply = await self._exchange({"id": self._asked, "verb": verb, "given": given})
        if reply.get("id") != self._asked:
            raise LostError("it answered another question than the one that was asked")
        if "ok" in reply:
            return reply["ok"]
        raise (CounterleafError if reply.get("kind") == "mistake" else InternalError)(reply.get("error", "no reason came"))

    async def end(self) -> None:
        """Kill it, for a kernel at work hears nothing, and wait until it is gone."""
        if not self.gone:
            with suppress(ProcessLookupError):
                if sys.platform == "win32":
                    self.process.kill()
                else:
                    os.killpg(self.process.pid, signal.SIGKILL)  # and what it has started to compile beside it
        await self.process.wait()

    async def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(message, allow_nan=False).encode() + b"\n")
            await self.process.stdin.drain()
            line = await self.process.stdout.readline()
        except (ConnectionError, ValueError) as error:  # ValueError: a line beyond the limit
            raise LostError(str(error) or "its pipe is closed") from None
        if not line.endswith(b"\n"):
            raise LostError(f"it ended with code {await self.process.wait()}")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise LostError("it said something that is no reply")
        return reply
