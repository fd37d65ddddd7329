"""A thread that answers the page's requests one at a time, in the order in which they arrive.

A connection has one request at a time, so that this order gives each client its turn. A request that nobody waits for any
longer is cancelled: it leaves the queue, and a running search stops. The page cancels a request by closing its connection, so
that the thread is free for the request that replaces it.
"""

from __future__ import annotations

import asyncio
import json
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

import counterleaf as cl
from counterleaf.core.stopping import StoppedError, new_stop, stoppable

STOPPED = "the explorer has been stopped; start it again with: counterleaf explore"
_LAST_WAIT = 1.0  # seconds for the thread to notice that the server ends; a search notices at once


class UnavailableError(Exception):
    """The solver cannot answer now; the message gives the reason and a remedy."""


class InternalError(Exception):
    """A valid request failed; the traceback is on stderr."""


class RequestHandler(Protocol):
    """The object that computes the answers, such as a ``Session``."""

    time_limit: float

    def handle(self, verb: str, arguments: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The number of requests that may wait, and the times that one may wait and take."""

    waiting: int = 64
    turn: float = 60.0  # seconds until the request's turn
    grace: float = 10.0  # seconds in addition to the time limits of the searches of a request


class Solver:
    """A queue in front of the thread. Call ``ask`` and ``stop`` in the same event loop."""

    def __init__(self, handler: RequestHandler, limits: Limits | None = None) -> None:
        self._handler, self._limits = handler, limits or Limits()
        self._waiting = 0
        self._turn = asyncio.Lock()  # locked from the start of a request until the thread is free again
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None ends the thread
        self._stop = new_stop()  # of the request in the thread
        self._stopped = False
        # a daemon: the check of a proof, for example, cannot be stopped and must not delay the end of the process
        threading.Thread(target=self._run, name="counterleaf solver", daemon=True).start()

    async def ask(self, verb: str, arguments: Any) -> bytes:
        """Return the answer as JSON. Cancelling the call cancels the request."""
        if self._stopped:
            raise UnavailableError(STOPPED)
        if self._waiting >= self._limits.waiting:
            raise UnavailableError(f"busy: {self._waiting} requests are waiting already; try again in a moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.turn):
                await self._turn.acquire()
        except TimeoutError:
            raise UnavailableError(f"busy: no turn within {self._limits.turn:g} s; try again in a moment") from None
        finally:
            self._waiting -= 1
        if self._stopped:
            self._turn.release()
            raise UnavailableError(STOPPED)
        return await self._solve(verb, arguments)

    async def stop(self) -> None:
        """Stop the running search and refuse all further requests, including those that wait."""
        self._stopped = True
        self._stop.set()
        self._work.put(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WAIT), self._turn:  # waiting requests got the lock earlier and were refused
                pass

    async def _solve(self, verb: str, arguments: Any) -> bytes:
        loop, stop = asyncio.get_running_loop(), new_stop()
        outcome: asyncio.Future[bytes | Exception] = loop.create_future()

        def finish(result: bytes | Exception) -> None:
            self._turn.release()
            if not outcome.done():
                outcome.set_result(result)

        def work() -> None:
            result = self._answer(stop, verb, arguments)
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(finish, result)

        self._stop = stop
        self._work.put(work)
        seconds = self._time_for(arguments)
        try:
            async with asyncio.timeout(seconds):
                result = await outcome
        except TimeoutError:
            message = f"no answer within {seconds:g} s; simplify the question or set a longer --time-limit"
            raise UnavailableError(message) from None
        finally:
            stop.set()
        if isinstance(result, Exception):
            raise result
        return result

    def _answer(self, stop: Any, verb: str, arguments: Any) -> bytes | Exception:
        try:
            with stoppable(stop):
                return to_json(self._handler.handle(verb, arguments))
        except cl.CounterleafError as error:
            return error
        except StoppedError:
            return UnavailableError(STOPPED)
        except BaseException as error:  # also those of compiled code: the thread must not end
            _print(error)
            return InternalError(f"{type(error).__name__}: {error}")

    def _run(self) -> None:
        for work in iter(self._work.get, None):
            work()

    def _time_for(self, arguments: Any) -> float:
        return self._handler.time_limit * len(dict(arguments).get("questions", [None])) + self._limits.grace


def _print(error: BaseException) -> None:
    """Print a traceback; another thread does it, because the terminal may be closed, or a pipe that nobody reads."""

    def write() -> None:
        with suppress(Exception):
            traceback.print_exception(error)

    printer = threading.Thread(target=write, name="counterleaf traceback", daemon=True)
    printer.start()
    printer.join(_LAST_WAIT)


def to_json(value: Any) -> bytes:
    """Encode a value as JSON in ASCII, which can represent every Python string."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
