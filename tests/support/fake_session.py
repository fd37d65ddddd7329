"""A session that solves nothing and returns its arguments.

The key of the scene can make it fail, or wait for some seconds or until a file exists: ``slow`` can be stopped like a search,
``stubborn`` cannot.
"""

import math
import threading
import time
from pathlib import Path

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError


class FakeSession:
    def __init__(self, time_limit=0.5):
        self.time_limit = time_limit
        self.started, self.stopped = [], []  # the scenes of the requests that were started, and of those that were stopped

    def handle(self, verb, arguments):
        arguments = arguments if isinstance(arguments, dict) else arguments.model_dump()  # as the API has validated them
        scene = arguments.get("scene", "")
        self.started.append(scene)
        kind, _, until = scene.partition(":")
        try:
            if kind in ("slow", "stubborn"):
                wait(until, stoppable=kind == "slow")
        except Exception:
            self.stopped.append(scene)
            raise
        if scene == "unknown":
            raise CounterleafError("no such scene:\n'unknown'")
        if scene == "bug":
            raise RuntimeError("a bug")
        if scene == "exit":
            raise SystemExit
        if scene == "nan":
            return {"cost": math.nan}
        if scene == "object":
            return {"cost": object()}
        if scene == "history":
            return {"started": self.started, "stopped": self.stopped}
        return {"verb": verb, "arguments": arguments, "thread": threading.current_thread().name, "note": "\ud800\n"}


def wait(until, stoppable):
    end = time.monotonic() + float(until) if until[0].isdigit() else None
    if end is None:
        Path(f"{until}.started").touch()
    while time.monotonic() < end if end else not Path(until).exists():
        if stoppable:
            raise_if_stopped()
        time.sleep(0.005)


def open_fake(arguments):
    if arguments["model"] == "absent":
        raise CounterleafError("no such file: 'absent'")
    session = FakeSession(arguments["time_limit"])
    session.arguments = arguments
    return session
