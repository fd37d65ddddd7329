"""Who may ask: the person who started the server, in one browser, from this server's own page.

A page elsewhere must not reach it: not by a name that it has made point here (the Host header), not from another port of this
machine, which counts as the same site (the Origin header), not without the cookie that the printed address gives once.
"""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs

from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterleaf.explorer import files
from counterleaf.explorer.refusal import refuse

LARGEST_BODY = 256 * 1024
LARGEST_READ = 4 * 1024 * 1024  # a body up to here is read to its end, so that its sender is there to hear that it is too large
_WEEK = 7 * 24 * 3600  # seconds that the browser remembers; the server forgets when it ends
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CLOSED = "this browser is not let in; open the address that counterleaf printed, which works once"


class Guard:
    """An ASGI app around the app: it lets through what may pass and puts its headers on every response."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._token: str | None = token
        self._cookie, self._session = f"counterleaf-{port}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        extra = dict(HEADERS)
        if _is_api(scope):
            extra["Cache-Control"] = "no-store"

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(extra)
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._check_sender(scope, headers)
        if refusal is None and not self._has_cookie(headers):
            if self._spend_token(scope):
                extra["Set-Cookie"] = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={_WEEK}"
                extra["Cache-Control"] = "no-store"
            elif not _is_public(scope):
                refusal = _door(scope)
        if refusal is None and scope["method"] == "POST" and not _says_json(headers):
            refusal = refuse(415, "the body's Content-Type is another one; expected application/json")
        if refusal is None:
            body = await _read_body(headers, receive)
            if body is None:
                refusal = refuse(413, f"the body is too large; expected at most {LARGEST_BODY} bytes")
            else:
                receive = _replay(body, receive)
        await (refusal or self._app)(scope, receive, send_marked)

    def _check_sender(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return refuse(421, f"the Host header names another server; expected one of {', '.join(sorted(self._hosts))}")
        if any(origin != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return refuse(403, "the request comes from another page; only this server's own page may ask")
        if _is_api(scope) and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return refuse(403, "the request comes from another site; only this server's own page may ask")
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = (pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";"))
        return any(name == self._cookie and _same(value, self._session) for name, _, value in pairs)

    def _spend_token(self, scope: Scope) -> bool:
        """Whether the request brings the token, which is worth nothing afterwards."""
        if scope["method"] != "GET" or scope["path"] != "/" or self._token is None:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        if not _same(given[0], self._token):
            return False
        self._token = None
        return True


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/api" or path.startswith("/api/")


def _is_public(scope: Scope) -> bool:
    """The files of the page, which hold nothing of anyone's."""
    path: str = scope["path"]
    return path.startswith("/page/") or path == "/favicon.ico"


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def _says_json(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _door(scope: Scope) -> Response:
    """A line for programs; for a person who opens the page, the page that asks for the token."""
    page = files.read("door.html") if scope["path"] == "/" and scope["method"] == "GET" else None
    if page is None:
        return refuse(401, CLOSED)
    return Response(page, 401, {"Cache-Control": "no-store"}, media_type=files.TYPES[".html"])


async def _read_body(headers: Headers, receive: Receive) -> bytes | None:
    """The whole body, or None for one that is too large."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > LARGEST_READ:
        return None
    parts, size, more = [], 0, True
    while more:
        message: dict[str, Any] = dict(await receive())
        if message["type"] == "http.disconnect":
            break
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= LARGEST_BODY:
            parts.append(part)
        more = message.get("more_body", False) and size <= LARGEST_READ
    return b"".join(parts) if size <= LARGEST_BODY else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive that gives the body, then whatever comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
