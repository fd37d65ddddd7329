"""A desk that solves nothing: it repeats what it was asked.

A scene can tell it to misbehave, or to wait for some seconds or until a file is there: ``slow`` can be stopped as a search
can, ``stubborn`` cannot.
"""

import math
import threading
import time
from pathlib import Path

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError


class FakeDesk:
    def __init__(self, time_limit=0.5):
        self.time_limit = time_limit
        self.begun, self.stopped = [], []  # the scenes of questions that came here, and of those that were stopped

    def handle(self, verb, given):
        scene = given.get("scene", "")
        self.begun.append(scene)
        kind, _, what = scene.partition(":")
        try:
            if kind in ("slow", "stubborn"):
                wait(what, heed=kind == "slow")
        except Exception:
            self.stopped.append(scene)
            raise
        if scene == "mistaken":
            raise CounterleafError("no such scene:\n'mistaken'")
        if scene == "bug":
            raise RuntimeError("a bug")
        if scene == "nan":
            return {"cost": math.nan}
        if scene == "object":
            return {"cost": object()}
        if scene == "history":
            return {"begun": self.begun, "stopped": self.stopped}
        return {"verb": verb, "given": given, "thread": threading.current_thread().name, "note": "\ud800\n"}


def wait(what, heed):
    late = time.monotonic() + float(what) if what[0].isdigit() else None
    while time.monotonic() < late if late else not Path(what).exists():
        if heed:
            raise_if_stopped()
        time.sleep(0.005)


def open_fake(arguments):
    if arguments["model"] == "absent":
        raise CounterleafError("there is no file 'absent'")
    desk = FakeDesk(arguments["time_limit"])
    desk.arguments = arguments
    return desk
