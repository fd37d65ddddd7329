"""A desk that solves nothing: it says what it was asked and by whom. Run as a program it is a worker with that desk.

A scene can tell it to misbehave, or to wait for a number of seconds or until a file is there; ``model`` the same of compiling.
"""

import math
import os
import sys
import time
from pathlib import Path

from counterleaf.errors import CounterleafError
from counterleaf.explorer.worker import run

COMMAND = (sys.executable, __file__)


class FakeDesk:
    def __init__(self, arguments):
        self.compiling = (arguments["model"] or "").removeprefix("compiling:")

    def handle(self, verb, given):
        if verb == "warm":
            if self.compiling == "fails":
                os._exit(7)
            wait(self.compiling or "0")
            return None
        scene = given.get("scene", "")
        if scene.startswith("slow:"):
            wait(scene.removeprefix("slow:"))
        if scene == "dies":
            os._exit(3)
        if scene == "mistaken":
            raise CounterleafError("no such scene:\n'mistaken'")
        if scene == "bug":
            raise RuntimeError("a bug")
        if scene == "nan":
            return {"cost": math.nan}
        if scene == "object":
            return {"cost": object()}
        if scene == "prints":
            print("a stray line")
            os.write(1, b"a stray line from C\n")
        return {"verb": verb, "given": given, "by": _kind(), "process": os.getpid(), "note": "\ud800\n"}


def wait(what):
    if what[0].isdigit():
        time.sleep(float(what))
    else:
        while not Path(what).exists():
            time.sleep(0.02)


def _kind():
    return "interim" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "compiled"


def open_fake(arguments):
    if arguments["model"] == "absent":
        raise CounterleafError("there is no file 'absent'")
    if arguments["model"] == "only interim" and _kind() == "compiled":
        raise RuntimeError("no compiler")
    return FakeDesk(arguments)


if __name__ == "__main__":
    run(open_fake)
