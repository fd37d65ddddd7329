"""``CounterleafError``, the exception that counterleaf raises, and the parts of its messages."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_LONGEST = 500  # characters of a message


class CounterleafError(ValueError):
    """Raised for invalid input; the message says what was received, what was expected and what to do.

    The message is one line of at most 500 printable characters; the middle of a longer one is left out. If no row satisfies a
    query, no error is raised: the answer has the status ``infeasible`` and a proof.

    Parameters
    ----------
    message : object
        The message, or another error, whose message it takes.
    *others : object
        Further arguments of the exception.
    """

    def __init__(self, message: object = "", *others: Any) -> None:
        super().__init__(flat(message), *others)


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
    """Return a text, or the message of an error, in one line of printable characters; of a long one, its two ends."""
    text = str(message)
    if len(text) > _LONGEST:
        text = f"{text[:250]} ... {text[-240:]}"
    if text.isprintable():
        return text
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    return text if len(text) <= _LONGEST else flat(text)


def near(name: Any, known: Any) -> str:
    """Return a hint for a message if ``name`` resembles one of the ``known`` names."""
    wanted = name.lower() if isinstance(name, str) else brief(name).lower()
    by_name = {str(value).lower(): value for value in known} if len(wanted) <= 100 else {}
    found = difflib.get_close_matches(wanted, by_name, 1, cutoff=0.5)
    return f"; did you mean {brief(by_name[found[0]])}?" if found else ""


def some(values: Any, most: int = 12) -> str:
    """Return values for a message, with an ellipsis if there are more than ``most``."""
    values = list(values)
    shown = [brief(value) for value in (values if len(values) <= most else values[: most - 4])]
    return ", ".join([*shown, f"... {len(values) - most + 4} more"] if len(values) > most else shown)


def brief(value: Any) -> str:
    """Return a value for a message, shortened if it is long: any object can come, large, deeply nested or without a text."""
    try:
        text = flat(_SHORT.repr(value))
    except Exception:  # of any object; a whole number of thousands of digits has no text either
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 240 else f"{text[:230]}..."


def number(value: Any, what: str, *, infinite: bool = False) -> float:
    """Return ``value`` as a float, finite unless it may be ``infinite``; ``what`` is its name in the error message."""
    if type(value) is float and math.isfinite(value):
        return value
    try:
        plain = not isinstance(value, (str, bytes, bytearray, complex)) and getattr(value, "shape", ()) == ()
        out = float(value) if plain and getattr(getattr(value, "dtype", None), "kind", "f") in "biufO" else None
    except Exception:  # of any object
        out = None
    if out is None or math.isnan(out) or (math.isinf(out) and not infinite):
        kind = "a number" if out is None or infinite else "a finite number"
        raise CounterleafError(f"{what} is {brief(value)}; expected {kind}")
    return out


def real_array(values: Any, what: str, expected: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return numbers as an array of float64; an array that is one already is not copied."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":  # text that looks like a number is none
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except Exception:  # of any object
        raise CounterleafError(f"{what} is {brief(values)}; expected {expected}") from None


def whole(value: Any, least: int) -> bool:
    """Whether ``value`` is a whole number of at least ``least``."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)) and bool(value >= least)


def check_flag(value: Any, what: str) -> bool:
    """Return ``value``, which is True or False; ``what`` is its name in the error message."""
    if not isinstance(value, (bool, np.bool_)):
        raise CounterleafError(f"{what} is {brief(value)}; expected True or False")
    return bool(value)


def check_whole_number(name: str, value: Any, least: int) -> None:
    """Check that ``value`` is None or a whole number of at least ``least``."""
    if value is not None and not whole(value, least):
        raise CounterleafError(f"{name} is {brief(value)}; expected a whole number from {least}, or None")


def single(value: Any, what: str, expected: str = "text or a number") -> Any:
    """Return one value, such as a category, a class or the name of a feature, as a Python object."""
    if type(value) is str:
        return value
    try:
        value = value.item() if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 else value
        fits = not isinstance(value, frozenset) and hash(value) is not None and bool(repr(value)) and bool(value == value)
    except Exception:  # of any object: an array has no hash, NA is not equal to itself, 10**5000 has no text
        fits = False
    if not fits:
        raise CounterleafError(f"{what} is {brief(value)}; expected {expected}")
    return value


def values_of(values: Any, what: str, expected: str) -> list[Any]:
    """Return the values of a list, of an array of one dimension, or of another collection."""
    if isinstance(values, (list, tuple)):
        return list(values)
    try:
        if isinstance(values, (str, bytes, bytearray, memoryview, type, Mapping)) or getattr(values, "ndim", 1) != 1:
            raise TypeError
        return list(values)
    except Exception:  # of any object
        raise CounterleafError(f"{what} is {brief(values)}; expected {expected}") from None


def with_article(word: str) -> str:
    """Return a word with its article."""
    return f"{'an' if word[:1] in 'AEIOU' else 'a'} {word}"
