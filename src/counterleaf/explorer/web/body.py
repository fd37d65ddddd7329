"""Request bodies, parsed more strictly than the ``json`` module does: ambiguous JSON is refused."""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import HTTPException, Request

MAX_DIGITS = 300  # a whole number of this length still fits into a float


class StrictRequest(Request):
    """A request whose JSON has finite numbers, unique keys and valid Unicode."""

    async def json(self) -> Any:
        try:
            return parse(await self.body())
        except ValueError as error:
            raise HTTPException(400, f"the body is not valid JSON: {error}") from None


def parse(body: bytes) -> Any:
    """Parse a body, or raise a ValueError with a message of one line.

    >>> parse(b'{"row": 1, "row": 2}')
    Traceback (most recent call last):
    ...
    ValueError: got the key 'row' twice; expected each key once
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    try:
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite_float, parse_int=_short_int, object_pairs_hook=_unique_keys
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in text:  # only an escape sequence can be half of a surrogate pair
        _check_surrogates(value)
    return value


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("got half of a surrogate pair; expected whole characters") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"got {constant}; expected a finite number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("got a number beyond the range of floats; expected one below 1e300")
    return number


def _short_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"got a number of {len(text)} digits; expected at most {MAX_DIGITS}")
    return int(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"got the key {repeated[:40]!r} twice; expected each key once")
    return value
