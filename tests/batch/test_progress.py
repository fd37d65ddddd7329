"""The progress bar of a batch: only on a terminal, only for long work, and only if it is wanted."""

import io
import math
import sys

import numpy as np

import counterleaf as cl
from counterleaf.batch import progress

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


class Terminal(io.StringIO):
    """A stderr that claims to be a terminal."""

    def isatty(self):
        return True


def written_to(monkeypatch, stderr, wanted, delay=-1.0):
    """The text that a batch writes to stderr; with a negative delay, all work counts as long."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_DELAY", delay)
    monkeypatch.setattr(sys, "stderr", stderr)
    cl.Explainer(LINE).explain_many(np.zeros((60, 2)), chunk_size=20, progress=wanted)
    return stderr.getvalue()


def test_a_bar_on_a_terminal_for_long_work(monkeypatch):
    assert "/60" in written_to(monkeypatch, Terminal(), wanted=True)


def test_no_bar_elsewhere(monkeypatch):
    assert written_to(monkeypatch, Terminal(), wanted=False) == ""
    assert written_to(monkeypatch, io.StringIO(), wanted=True) == ""


def test_no_bar_for_short_work(monkeypatch):
    assert written_to(monkeypatch, Terminal(), wanted=True, delay=math.inf) == ""
