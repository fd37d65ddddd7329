"""Two workers and a short queue: one with compiled kernels, and one that serves while those are compiled.

The interim worker interprets the kernels: ready in seconds, slower at each question. It is started beside the compiled one and
stopped as soon as that one is ready; so, too, when the compiled one is lost and long in coming back.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from counterleaf.errors import CounterleafError
from counterleaf.explorer.child import COMMAND, Child, InternalError, LostError

COMPILED: Final = "compiled"
INTERIM: Final = "interim"
TOO_OFTEN = 3  # losses in a row before people are told
MOST_DOUBLINGS = 6  # of the pause between two starts
STOPPED = "the explorer has been stopped; start it again with: counterleaf explore"


class UnavailableError(Exception):
    """No answer now; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, but for ``waiting``: how many questions may wait while one is answered."""

    waiting: int = 8
    grace: float = 10.0  # beyond the question's own time limit, until the worker is killed
    interim_grace: float = 40.0
    pause: float = 0.5  # before a worker that was lost is started anew; doubles with each loss in a row
    patience: float = 5.0  # without the compiled worker, until an interim one is started again


@dataclass(frozen=True, slots=True)
class Job:
    """A question on its way; its future is cancelled when the client has gone."""

    verb: str
    given: dict[str, Any]
    reply: asyncio.Future[Any]

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)


class Crew:
    """Answers questions first come, first served. Use it in one event loop: ``start``, ``ask``, ``stop``."""

    def __init__(self, arguments: dict[str, Any], command: Sequence[str] = COMMAND, limits: Limits | None = None) -> None:
        self._arguments, self._command, self._limits = arguments, command, limits or Limits()
        self._jobs: deque[Job] = deque()
        self._children: set[Child] = set()
        self._ready: set[str] = set()
        self._losses = {COMPILED: 0, INTERIM: 0}
        self._why = ""  # the last loss
        self._change = asyncio.Condition()  # told of a new job, a worker that is ready, a worker that is gone
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._keep(COMPILED)), asyncio.create_task(self._keep(INTERIM))]

    async def stop(self) -> None:
        """End both workers; who still waits for an answer is told so."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for child in self._children:  # those whose end was cut short by the cancelling
            await child.end()
        self._fail_all(STOPPED)

    async def ask(self, verb: str, given: dict[str, Any]) -> Any:
        """The answer, once it is this question's turn; a call that is cancelled before then is never asked."""
        if self._stopped:
            raise UnavailableError(STOPPED)
        if self._hopeless():
            raise UnavailableError(self.status()["note"])
        waiting = sum(not job.reply.done() for job in self._jobs)
        if waiting >= self._limits.waiting:
            raise UnavailableError(f"busy: {waiting} questions are waiting already; try again in a moment")
        job = Job(verb, given, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        try:
            await self._tell()
            return await job.reply
        finally:
            with suppress(ValueError):  # it has been taken from the queue, but for one that is cancelled
                self._jobs.remove(job)

    def status(self) -> dict[str, Any]:
        """Whether anyone can answer, and a line about it that is empty when all is well."""
        lost = self._losses[COMPILED]
        failing = f"the solver failed {lost} times in a row ({self._why}); the terminal says more" if lost >= TOO_OFTEN else ""
        if COMPILED in self._ready:
            return {"ready": True, "note": ""}
        if INTERIM in self._ready:
            slow = "answers are slower until then"
            return {"ready": True, "note": failing or f"the search is being compiled, once on this machine; {slow}"}
        return {"ready": False, "note": failing or "starting: a few seconds"}

    async def _keep(self, kind: str) -> None:
        """Keep a worker of this kind at work, from start to loss to the next start."""
        while True:
            try:
                await self._employ(kind)
            except (LostError, OSError) as error:
                self._losses[kind] += 1
                self._why = str(error)
                losses = self._losses[kind]
                if losses == TOO_OFTEN:
                    print(
                        f"counterleaf: the {kind} solver failed {losses} times in a row: {error}", file=sys.stderr, flush=True
                    )
                if self._hopeless():
                    self._fail_all(self.status()["note"])
                await asyncio.sleep(self._limits.pause * 2 ** min(losses - 1, MOST_DOUBLINGS))
            if self._relieved(kind):
                await self._compiled_is_missed()

    async def _employ(self, kind: str) -> None:
        """One worker, until it is lost, has overrun a question's time or is needed no more."""
        child = await Child.start(self._command, interpreted=kind == INTERIM)
        self._children.add(child)
        watch = asyncio.create_task(self._watch(child))
        try:
            await child.open(self._arguments)
            self._ready.add(kind)
            await self._tell()
            while await self._turn(child, kind):
                pass
        finally:
            watch.cancel()
            self._ready.discard(kind)
            await child.end()
            self._children.discard(child)
            await self._tell()

    async def _turn(self, child: Child, kind: str) -> bool:
        """Wait for a question and answer it; False when this worker is to be ended."""
        async with self._change:
            await self._change.wait_for(lambda: self._relieved(kind) or child.gone or self._jobs)
            if self._relieved(kind):
                return False
            if child.gone:
                raise LostError(f"it ended with code {child.process.returncode}")
            job = self._jobs.popleft()
        if job.reply.done():  # its client has gone in this very moment
            return True
        seconds = self._time_for(job, kind)
        try:
            async with asyncio.timeout(seconds):
                value = await child.ask(job.verb, job.given)
        except asyncio.CancelledError:
            job.fail(UnavailableError(STOPPED))
            raise
        except TimeoutError:
            job.fail(
                UnavailableError(f"stopped after {seconds:g} s without an answer; ask for less, or set a longer --time-limit")
            )
            return False
        except LostError as error:
            job.fail(UnavailableError(f"the solver was lost at this question ({error}) and is started again; try once more"))
            raise
        except (CounterleafError, InternalError) as error:
            job.fail(error)
        else:
            if not job.reply.done():
                job.reply.set_result(value)
        self._losses[kind] = 0
        return True

    def _time_for(self, job: Job, kind: str) -> float:
        """The time of each question in it, and the grace."""
        questions = len(job.given["questions"]) if "questions" in job.given else 1
        grace = self._limits.interim_grace if kind == INTERIM else self._limits.grace
        return float(self._arguments["time_limit"]) * questions + grace

    def _relieved(self, kind: str) -> bool:
        return kind == INTERIM and COMPILED in self._ready

    def _hopeless(self) -> bool:
        return not self._ready and min(self._losses.values()) >= TOO_OFTEN

    def _fail_all(self, line: str) -> None:
        while self._jobs:
            self._jobs.popleft().fail(UnavailableError(line))

    async def _compiled_is_missed(self) -> None:
        while True:
            async with self._change:
                await self._change.wait_for(lambda: COMPILED not in self._ready)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.patience), self._change:
                    await self._change.wait_for(lambda: COMPILED in self._ready)
                    continue
            return

    async def _watch(self, child: Child) -> None:
        await child.process.wait()
        await self._tell()

    async def _tell(self) -> None:
        async with self._change:
            self._change.notify_all()
