"""One thread that answers the questions of the page, one at a time and in their order.

A question that nobody waits for any more is withdrawn: in the queue it is dropped, and a search at work is stopped. The page
withdraws a question by closing its request, so that the thread is free for the question that replaced it.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

from counterleaf._core import Stop
from counterleaf.core.stopping import StoppedError, stoppable
from counterleaf.errors import CounterleafError
from counterleaf.explorer.body import render

STOPPED = "the explorer has been stopped; start it again with: counterleaf explore"
_LAST_WAIT = 1.0  # seconds for the thread to notice that the server ends; a search notices at once


class UnavailableError(Exception):
    """No answer now; the message says why and what to do."""


class InternalError(Exception):
    """A question failed though the user made no mistake; the traceback is on stderr."""


class Desk(Protocol):
    """The object that knows the answers."""

    time_limit: float

    def handle(self, verb: str, given: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How many questions may wait while one is answered, and how long one may take."""

    waiting: int = 8
    grace: float = 10.0  # seconds in addition to the time limits of the searches that a question consists of


class Solver:
    """Answers questions in the order in which they come. Call ``ask`` and ``stop`` in one event loop."""

    def __init__(self, desk: Desk, limits: Limits | None = None) -> None:
        self._desk, self._limits = desk, limits or Limits()
        self._waiting = 0
        self._turn = asyncio.Lock()  # held from the start of a question until the thread is free again
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None ends the thread
        self._stop = Stop()  # of the question in the thread
        self._stopped = False
        # a daemon: what is not a search, such as the check of a proof, cannot be stopped and must not delay the end
        threading.Thread(target=self._run, name="counterleaf solver", daemon=True).start()

    async def ask(self, verb: str, given: dict[str, Any]) -> bytes:
        """The answer as JSON. Cancelling the call withdraws the question."""
        if self._stopped:
            raise UnavailableError(STOPPED)
        if self._waiting >= self._limits.waiting:
            raise UnavailableError(f"busy: {self._waiting} questions are waiting already; try again in a moment")
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        if self._stopped:
            self._turn.release()
            raise UnavailableError(STOPPED)
        return await self._solve(verb, given)

    async def stop(self) -> None:
        """Stop the search at work and refuse all questions from here on, those that wait included."""
        self._stopped = True
        self._stop.set()
        self._work.put(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WAIT), self._turn:  # those that wait have had their turn before
                pass

    async def _solve(self, verb: str, given: dict[str, Any]) -> bytes:
        loop, stop = asyncio.get_running_loop(), Stop()
        outcome: asyncio.Future[bytes | Exception] = loop.create_future()

        def finish(found: bytes | Exception) -> None:
            self._turn.release()
            if not outcome.done():
                outcome.set_result(found)

        def work() -> None:
            found = self._answer(stop, verb, given)
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(finish, found)

        self._stop = stop
        self._work.put(work)
        seconds = self._time_for(given)
        try:
            async with asyncio.timeout(seconds):
                found = await outcome
        except TimeoutError:
            line = f"stopped after {seconds:g} s without an answer; ask for less, or set a longer --time-limit"
            raise UnavailableError(line) from None
        finally:
            stop.set()
        if isinstance(found, Exception):
            raise found
        return found

    def _answer(self, stop: Stop, verb: str, given: dict[str, Any]) -> bytes | Exception:
        """The answer, or the reason why there is none."""
        try:
            with stoppable(stop):
                return render(self._desk.handle(verb, given))
        except CounterleafError as error:
            return error
        except StoppedError:
            return UnavailableError(STOPPED)
        except Exception as error:
            traceback.print_exception(error)
            return InternalError(f"{type(error).__name__}: {error}")

    def _run(self) -> None:
        for work in iter(self._work.get, None):
            work()

    def _time_for(self, given: dict[str, Any]) -> float:
        return self._desk.time_limit * len(given.get("questions", [None])) + self._limits.grace
