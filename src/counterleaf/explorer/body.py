"""Bodies of requests, read more strictly than the JSON module does, and bodies of replies.

A request that can be read in two ways is refused.
"""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import HTTPException, Request

MOST_DIGITS = 300  # any whole number up to this length is a float as well


class StrictRequest(Request):
    """A request whose JSON holds no NaN, no key twice, no number beyond floats and only characters that exist."""

    async def json(self) -> Any:
        try:
            return parse(await self.body())
        except ValueError as error:
            raise HTTPException(400, f"the body is no JSON that can be read: {error}") from None


def parse(body: bytes) -> Any:
    """The value, or a ValueError of one line.

    >>> parse(b'{"row": 1, "row": 2}')
    Traceback (most recent call last):
    ...
    ValueError: a key came twice; expected each once
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_short, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in text:  # only an escape can be half a character
        _encode(value)
    return value


def render(value: Any) -> bytes:
    """A value as JSON in ASCII, which can hold any string that Python can."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _encode(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair came; expected whole characters") from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} came; expected a finite number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond the range of floats came; expected one below 1e300")
    return number


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits came; expected at most {MOST_DIGITS}")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key came twice; expected each once")
    return value
