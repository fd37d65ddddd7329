"""Checks of the texts that people read: a label, a unit and a description are one short line each."""

from __future__ import annotations

import unicodedata
from typing import Any

from counterleaf.errors import CounterleafError, brief

_LONGEST = {"label": 80, "unit": 24, "description": 500}  # characters
_REFUSED = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, separators of lines and paragraphs
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the direction of text


def check_words(name: str, label: Any, description: Any, unit: Any = None) -> None:
    """Raise ``CounterleafError`` unless the texts of a feature are None or one line of text."""
    if label is None and description is None and unit is None:
        return
    for what, text in (("label", label), ("unit", unit), ("description", description)):
        if text is None:
            continue
        if not isinstance(text, str):
            raise CounterleafError(f"feature {name!r}: {what} is {brief(text)}; expected text")
        if not text.strip():
            raise CounterleafError(f"feature {name!r}: {what} is {text[:20]!r}; expected text, or leave it out")
        if len(text) > _LONGEST[what]:
            raise CounterleafError(f"feature {name!r}: {what} has {len(text)} characters; expected at most {_LONGEST[what]}")
        wrong = control_character(text)
        if wrong is not None:
            raise CounterleafError(
                f"feature {name!r}: {what} contains the control character {wrong!a}; expected one line of text"
            )


def control_character(text: str) -> str | None:
    """Return the first character that ends a line, changes the direction of the text around it or is invisible, or None."""
    if text.isprintable():
        return None
    return next((c for c in text if c in _TURNS or unicodedata.category(c) in _REFUSED), None)
