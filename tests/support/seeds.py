"""How much of the random tests runs: a fifth of the seeds with every change, all of them in the nightly run (make nightly)."""

import os

NIGHTLY = os.environ.get("COUNTERLEAF_NIGHTLY", "0") != "0"


def seeds(*bounds):
    """The seeds of ``range(*bounds)``: by night all of them, by day one of each five, and at least one."""
    every = range(*bounds)
    return every if NIGHTLY else every[2::5] or every[:1]


def share(number):
    """What belongs to that part of the seeds, for a test that counts: by night the number itself, by day a fifth of it."""
    return number if NIGHTLY else number // 5
