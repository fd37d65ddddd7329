"""Waiting on a busy machine: for a condition instead of a time, and with limits that grow with the load."""

import os
import time
from pathlib import Path


def until(condition, seconds=60.0):
    """Wait until a function returns something true, and return that; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"nothing happened within {seconds:g} s"
        time.sleep(0.005)
    return found


def patient(seconds):
    """A time on an idle machine, and longer in proportion where more processes run than there are processors."""
    return seconds * max(1.0, load() / (os.cpu_count() or 1))


def load():
    """How many processes run or want to: in the last minute or, where Linux tells, at this moment, if those are more."""
    recent = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    now = Path("/proc/loadavg")
    return max(recent, float(now.read_text().split()[3].split("/")[0])) if now.exists() else recent
