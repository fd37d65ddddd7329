"""The exception that counterleaf raises, and the parts of its messages."""

from __future__ import annotations

import difflib
import math
import reprlib
from typing import Any

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


class CounterleafError(ValueError):
    """Raised for invalid input; the message says what was received, what was expected and what to do.

    If no row satisfies a query, no error is raised: the answer has the status ``infeasible`` and a proof.
    """


class MissingNumbersError(CounterleafError):
    """Raised for a row without some of its numbers; ``names`` are their features."""

    def __init__(self, message: str, names: tuple[str, ...]) -> None:
        super().__init__(message, names)
        self.names = names

    def __str__(self) -> str:
        return str(self.args[0])


def not_installed(what: str, *packages: str) -> CounterleafError:
    """Return the error for a part that needs packages, with the command that installs them, for any kind of installation."""
    need = "s" if not what.endswith("s") else ""
    return CounterleafError(f"{what} need{need} {' and '.join(packages)}; install with: pip install {' '.join(packages)}")


def flat(message: object) -> str:
    """Return a text, or the message of an error, in one line."""
    return " ".join(str(message).split())


def near(name: Any, known: Any) -> str:
    """Return a hint for a message if ``name`` resembles one of the ``known`` names."""
    by_name = {str(value).lower(): value for value in known}
    found = difflib.get_close_matches(str(name).lower(), by_name, 1, cutoff=0.5)
    return f"; did you mean {by_name[found[0]]!r}?" if found else ""


def some(values: Any, most: int = 12) -> str:
    """Return values for a message, with an ellipsis if there are more than ``most``."""
    values = list(values)
    shown = [brief(value) for value in (values if len(values) <= most else values[: most - 4])]
    return ", ".join([*shown, f"... {len(values) - most + 4} more"] if len(values) > most else shown)


def brief(value: Any) -> str:
    """Return a value for a message, shortened if it is long: a value from a file can be large and deeply nested."""
    text = _SHORT.repr(value)
    return text if len(text) <= 240 else f"{text[:230]}..."


def number(value: Any, what: str) -> float:
    """Return ``value`` as a finite float; ``what`` is its name in the error message."""
    try:
        out = float("nothing" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"{what} is {value!r}; expected a number") from None
    if not math.isfinite(out):
        raise CounterleafError(f"{what} is {value!r}; expected a finite number")
    return out


def check_whole_number(name: str, value: Any, least: int) -> None:
    """Check that ``value`` is None or a whole number of at least ``least``."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least):
        raise CounterleafError(f"{name} is {value!r}; expected a whole number from {least}, or None")


def with_article(word: str) -> str:
    """Return a word with its article.

    Examples
    --------
    >>> with_article("Ensemble"), with_article("Tree")
    ('an Ensemble', 'a Tree')
    """
    return f"{'an' if word[:1] in 'AEIOU' else 'a'} {word}"
