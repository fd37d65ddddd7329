"""Waiting on a busy machine: for a condition instead of a time, and with limits that grow with the load."""

import os
import time


def until(condition, seconds=60.0):
    """Wait until a function returns something true, and return that; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"nothing happened within {seconds:g} s"
        time.sleep(0.005)
    return found


def patient(seconds):
    """A time on an idle machine, and longer in proportion where more processes run than there are processors."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return seconds * max(1.0, load / (os.cpu_count() or 1))
