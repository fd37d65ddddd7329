"""Every error as ``{"error": message}``, where the message is one line: the value received and the value expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

import counterleaf as cl
from counterleaf.explorer.session.solver import InternalError, UnavailableError, to_json

MAX_VALUE, MAX_MESSAGE = 40, 500  # characters
_LOCATIONS = ("body", "path", "query")
_EXPECTED = {
    "missing": "a value",
    "extra_forbidden": "no field of this name",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "list_type": "an array",
    "string_type": "a string",
    "bool_type": "true or false",
    "float_type": "a number",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
}
_PREAMBLE = re.compile(r"^\w+ should (?:be|have) ")  # of pydantic's messages, for errors that are not listed above
_LONG_NUMBER = re.compile(r"\d{16,}")


class Refusal(BaseModel):
    """The body of every error."""

    error: str


class Reply(Response):
    """A JSON response, from a value or from encoded JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else to_json(content)


def one_line(text: str) -> str:
    """The text on one line, shortened if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 3] + "..."


def refuse(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Make the response for an error."""
    return Reply(Refusal(error=one_line(message)).model_dump(), status, headers)


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describe the first of pydantic's errors, and count the others.

    >>> describe([{"type": "int_type", "loc": ("body", "row"), "msg": "Input should be a valid integer", "input": "x"}])
    "row: got 'x'; expected a whole number"
    """
    first = errors[0]
    message = f"{_field(first['loc'])}: {_received(first)}; {_expected(first)}"
    return message if len(errors) == 1 else f"{message} (and {len(errors) - 1} more)"


def install(app: FastAPI) -> None:
    """Turn every exception into an error response."""

    def answer(kind: type[Exception], respond: Callable[[Request, Any], Reply]) -> None:
        async def handler(request: Request, error: Exception) -> Reply:
            return respond(request, error)

        app.add_exception_handler(kind, handler)

    answer(RequestValidationError, lambda _, error: refuse(422, describe(error.errors())))
    answer(HTTPException, lambda request, error: refuse(error.status_code, _explain(request, error), error.headers))
    answer(cl.CounterleafError, lambda _, error: refuse(422, str(error)))
    answer(UnavailableError, lambda _, error: refuse(503, str(error), {"Retry-After": "1"}))
    answer(InternalError, lambda _, error: refuse(500, f"the solver failed: {error}; see the terminal for details"))
    answer(Exception, lambda _, e: refuse(500, f"the server failed: {type(e).__name__}; see the terminal for details"))


def _explain(request: Request, error: HTTPException) -> str:
    if error.status_code == 404:
        return f"nothing found at {show(request.url.path)}; the page is at '/'"
    if error.status_code == 405:
        return f"got the method {show(request.method)}; expected {(error.headers or {}).get('Allow', 'another method')}"
    return str(error.detail)


def _field(location: Sequence[str | int]) -> str:
    inner = location[1:] if len(location) > 1 and location[0] in _LOCATIONS else location
    return ".".join(str(part) if isinstance(part, int) else show(part).strip("'") for part in inner)


def _received(error: Mapping[str, Any]) -> str:
    return "got nothing" if error["type"] == "missing" else f"got {show(error['input'])}"


def _expected(error: Mapping[str, Any]) -> str:
    if error["type"] in _EXPECTED:
        return f"expected {_EXPECTED[error['type']]}"
    return "expected " + _LONG_NUMBER.sub(lambda found: f"{float(found[0]):g}", _PREAMBLE.sub("", error["msg"]))


def show(value: Any) -> str:
    """A value in at most 40 characters."""
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    if isinstance(value, list):
        return f"an array of length {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value[: MAX_VALUE + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."
