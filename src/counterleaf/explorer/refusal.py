"""Every error as ``{"error": one line}``: what came, what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from counterleaf.errors import CounterleafError
from counterleaf.explorer.body import render
from counterleaf.explorer.solver import InternalError, UnavailableError

LONGEST_SHOWN, LONGEST_LINE = 40, 500
_WAYS_IN = ("body", "path", "query")
_EXPECTED = {
    "missing": "a value",
    "extra_forbidden": "no such field",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "list_type": "an array",
    "string_type": "a string",
    "bool_type": "true or false",
    "float_type": "a number",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
}
_PREAMBLE = re.compile(r"^\w+ should (?:be|have) ")  # of pydantic's own words, for what is not listed above
_LONG_NUMBER = re.compile(r"\d{16,}")


class Refusal(BaseModel):
    """The body of every error."""

    error: str


class Reply(Response):
    """JSON, as a value or written already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else render(content)


def one_line(text: str) -> str:
    """The text without its line breaks, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 3] + "..."


def refuse(status: int, line: str, headers: Mapping[str, str] | None = None) -> Reply:
    """One line for whoever asked."""
    return Reply(Refusal(error=one_line(line)).model_dump(), status, headers)


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first of pydantic's errors as "field: what came; expected what", and how many more there are.

    >>> describe([{"type": "int_type", "loc": ("body", "row"), "msg": "Input should be a valid integer", "input": "x"}])
    "row: 'x' came; expected a whole number"
    """
    first = errors[0]
    line = f"{_name(first['loc'])}: {_came(first)}; {_expected(first)}"
    return line if len(errors) == 1 else f"{line} (and {len(errors) - 1} more)"


def install(app: FastAPI) -> None:
    """Answer every exception by a refusal."""

    async def invalid(_: Request, error: RequestValidationError) -> Reply:
        return refuse(422, describe(error.errors()))

    async def http(request: Request, error: HTTPException) -> Reply:
        return refuse(error.status_code, _explain(request, error), error.headers)

    async def mistake(_: Request, error: CounterleafError) -> Reply:
        return refuse(422, str(error))

    async def unavailable(_: Request, error: UnavailableError) -> Reply:
        return refuse(503, str(error), {"Retry-After": "1"})

    async def internal(_: Request, error: InternalError) -> Reply:
        return refuse(500, f"the solver failed at this question: {error}; the terminal says more")

    async def unexpected(_: Request, error: Exception) -> Reply:
        return refuse(500, f"the server failed at this request: {type(error).__name__}; the terminal says more")

    handlers: Iterable[tuple[type[Exception], Any]] = (
        (RequestValidationError, invalid),
        (HTTPException, http),
        (CounterleafError, mistake),
        (UnavailableError, unavailable),
        (InternalError, internal),
        (Exception, unexpected),
    )
    for kind, handler in handlers:
        app.add_exception_handler(kind, handler)


def _explain(request: Request, error: HTTPException) -> str:
    if error.status_code == 404:
        return f"there is nothing at {show(request.url.path)}; the page is at '/'"
    if error.status_code == 405:
        return f"{show(request.method)} came; expected {(error.headers or {}).get('Allow', 'another method')}"
    return str(error.detail)


def _name(place: Sequence[str | int]) -> str:
    inner = place[1:] if len(place) > 1 and place[0] in _WAYS_IN else place
    return ".".join(str(part) if isinstance(part, int) else show(part).strip("'") for part in inner)


def _came(error: Mapping[str, Any]) -> str:
    return "nothing came" if error["type"] == "missing" else f"{show(error['input'])} came"


def _expected(error: Mapping[str, Any]) -> str:
    if error["type"] in _EXPECTED:
        return f"expected {_EXPECTED[error['type']]}"
    return "expected " + _LONG_NUMBER.sub(lambda found: f"{float(found[0]):g}", _PREAMBLE.sub("", error["msg"]))


def show(value: Any) -> str:
    """A value in few characters, whatever it is."""
    if isinstance(value, dict):
        return f"an object of {len(value)} fields"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value[: LONGEST_SHOWN + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
