"""Request bodies, parsed more strictly than the ``json`` module does: ambiguous JSON is refused."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from fastapi import HTTPException, Request

MAX_BODY = 256 * 1024  # bytes; a larger body must be an object of texts, which takes milliseconds to parse
MAX_TEXTS = 10  # of such an object
MAX_DIGITS = 300  # a whole number of this length still fits into a float
_TEXT = r'\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+'
_TEXTS = re.compile(rf"\s*+{{(?:{_TEXT}:(?:{_TEXT}|\s*+null\s*+)(?:,(?!\s*}})|(?=}}))){{0,{MAX_TEXTS}}}}}\s*+", re.DOTALL)


class StrictRequest(Request):
    """A request whose JSON has finite numbers, unique keys and valid Unicode."""

    async def json(self) -> Any:
        body = await self.body()
        try:
            return parse(body) if len(body) <= MAX_BODY else parse_texts(body)
        except ValueError as error:
            raise HTTPException(400, f"the body is not valid JSON: {error}") from None


def parse(body: bytes) -> Any:
    """Parse a body, or raise a ValueError with a message of one line.

    >>> parse(b'{"row": 1, "row": 2}')
    Traceback (most recent call last):
    ...
    ValueError: got the key 'row' twice; expected each key once
    """
    text = _decode(body)
    try:
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite_float, parse_int=_short_int, object_pairs_hook=_unique_keys
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in text:  # only an escape sequence can be half of a surrogate pair
        _check_surrogates(value)
    return value


def parse_texts(body: bytes) -> Any:
    """Parse an object whose values are texts or null; millions of small values would block the server for seconds.

    >>> parse_texts(b'{"name": "rows.csv", "text": "a\\\\n1"}')
    {'name': 'rows.csv', 'text': 'a\\n1'}
    """
    if _TEXTS.fullmatch(_decode(body)) is None:
        raise ValueError(f"a body of more than {MAX_BODY} bytes consists of texts")
    return parse(body)


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None


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
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"got the key {repeated[:40]!r} twice; expected each key once")
    return value
