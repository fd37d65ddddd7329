"""The one exception that counterleaf raises, and what its messages are made of."""

from __future__ import annotations

import difflib
import math
import reprlib
from typing import Any

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


class CounterleafError(ValueError):
    """A question that cannot be asked: the message says what came, what was expected, what to do.

    "No such row exists" is never an error; it is an answer with status ``infeasible`` and a proof.
    """


def flat(words: object) -> str:
    """Words, or an error's message, in one line."""
    return " ".join(str(words).split())


def near(given: Any, known: Any) -> str:
    """A hint for a message where something nearly right was given."""
    by_name = {str(value).lower(): value for value in known}
    found = difflib.get_close_matches(str(given).lower(), by_name, 1, cutoff=0.5)
    return f"; did you mean {by_name[found[0]]!r}?" if found else ""


def some(values: Any, most: int = 12) -> str:
    """Values for a message, cut where there are many."""
    values = list(values)
    shown = [brief(value) for value in (values if len(values) <= most else values[: most - 4])]
    return ", ".join([*shown, f"... {len(values) - most + 4} more"] if len(values) > most else shown)


def brief(value: Any) -> str:
    """A value for a message, cut where it is long: a file may hold anything, nested however deep."""
    told = _SHORT.repr(value)
    return told if len(told) <= 240 else f"{told[:230]}..."


def number(value: Any, what: str) -> float:
    """``value`` as a finite float, or an error that says what it should have been."""
    try:
        out = float("nothing" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"{what} is {value!r}; expected a number") from None
    if not math.isfinite(out):
        raise CounterleafError(f"{what} is {value!r}; expected a finite number")
    return out


def check_whole_number(name: str, value: Any, least: int) -> None:
    """Refuse what is neither None nor a whole number from ``least``."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least):
        raise CounterleafError(f"{name} is {value!r}; expected a whole number from {least}, or None")
