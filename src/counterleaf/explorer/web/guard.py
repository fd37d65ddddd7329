"""Access control: only this server's page, in the browsers of the user who started it, may send requests.

Requests of other pages are blocked in three ways. The Host header must name this server, which stops a foreign name that
resolves to this machine. The Origin header must be this server's, which stops pages on other ports of this machine. The cookie
must be the one that the printed address sets, once, or a link that the page has made for another browser.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterleaf.explorer.session.requests import MAX_FILE
from counterleaf.explorer.web import files
from counterleaf.explorer.web.body import MAX_BODY
from counterleaf.explorer.web.refusal import refuse, show

LOCALHOST = "127.0.0.1"
_WEEK = 7 * 24 * 3600  # seconds that the browser stores the cookie, which is valid until the server ends
MAX_FILE_BODY = 2 * MAX_FILE + MAX_BODY  # JSON writes a quotation mark or the end of a line as two characters
FILES = ("/api/open", "/api/rows")
MAX_EXCESS = 4 * 1024 * 1024  # a body that is too large by this is read to its end, so that its sender receives the refusal
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Frame-Options": "DENY",  # for browsers that do not know frame-ancestors
}
NO_ACCESS = "this browser has no access; open the address that counterleaf printed, or a link copied from the page"


class Access:
    """Who may use the server on a port. Secrets are compared in constant time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.first_token = secrets.token_urlsafe(16)
        self._used = False  # the first token works once: a browser that is started has its address in the list of processes
        self.link_token = secrets.token_urlsafe(16)  # of all links that the page copies; valid until the server ends
        self._cookie_name, self._cookie_value = f"counterleaf-{port}", secrets.token_urlsafe(32)

    @property
    def first_address(self) -> str:
        """The address that opens the page once."""
        return f"http://{LOCALHOST}:{self.port}/?token={self.first_token}"

    @property
    def link(self) -> str:
        """The address that opens the page in any browser of this machine."""
        return f"http://{LOCALHOST}:{self.port}/?token={self.link_token}"

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie to a browser."""
        return f"{self._cookie_name}={self._cookie_value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={_WEEK}"

    def has_cookie(self, headers: Iterable[str]) -> bool:
        """Whether one of the Cookie headers has the cookie."""
        pairs = (pair.strip().partition("=") for line in headers for pair in line.split(";"))
        return any(name == self._cookie_name and _equal(value, self._cookie_value) for name, _, value in pairs)

    def redeem(self, query: bytes) -> bool:
        """Whether a query has one of the tokens; the first token is invalid afterwards."""
        token = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        if _equal(token, self.link_token):
            return True
        valid = _equal(token, self.first_token) and not self._used
        self._used = self._used or valid
        return valid


def _equal(value: str, expected: str) -> bool:
    return secrets.compare_digest(value.encode("utf-8", "surrogateescape"), expected.encode())


class Guard:
    """ASGI middleware that refuses foreign requests and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access
        self._hosts = {f"{name}:{access.port}" for name in ("127.0.0.1", "localhost", "[::1]")}

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

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(extra)
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._check_sender(scope, headers)
        if refusal is None and not self._access.has_cookie(headers.getlist("cookie")):
            if scope["method"] == "GET" and scope["path"] == "/" and self._access.redeem(scope["query_string"]):
                extra["Set-Cookie"] = self._access.set_cookie
                extra["Cache-Control"] = "no-store"
            elif not _is_public(scope):
                refusal = _refuse_access(scope)
        if refusal is None and scope["method"] == "POST" and not _is_json(headers):
            refusal = refuse(415, f"the Content-Type is {show(_content_type(headers))}; expected application/json")
        if refusal is None:
            limit = MAX_FILE_BODY if scope["path"] in FILES else MAX_BODY
            body = await _read_body(headers, receive, limit)
            if body is None:
                refusal = refuse(413, f"the body is too large; expected at most {limit} bytes")
            else:
                receive = _replay(body, receive)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _check_sender(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return refuse(421, f"the Host header names another server; expected one of {', '.join(sorted(self._hosts))}")
        if any(origin != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return refuse(403, "the request comes from another page; only this server's page may send requests")
        if _is_api(scope) and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return refuse(403, "the request comes from another site; only this server's page may send requests")
        return None


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/api" or path.startswith("/api/")


def _is_public(scope: Scope) -> bool:
    """Whether the path is one of the page's files, which contain no data."""
    path: str = scope["path"]
    return path.startswith("/page/") or path == "/favicon.ico"


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_json(headers: Headers) -> bool:
    return _content_type(headers) == "application/json"


def _refuse_access(scope: Scope) -> Response:
    """A message for programs, or for a browser that opens the page, a form for the token."""
    page = files.read("access.html") if scope["path"] == "/" and scope["method"] == "GET" else None
    if page is None:
        return refuse(401, NO_ACCESS)
    return Response(page, 401, {"Cache-Control": "no-store"}, media_type=files.TYPES[".html"])


async def _read_body(headers: Headers, receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None if it is larger than the limit."""
    length, most = headers.get("content-length", "0"), limit + MAX_EXCESS
    if not length.isdecimal() or int(length) > most:
        return None
    parts, size, more = [], 0, True
    while more:
        message: dict[str, Any] = dict(await receive())
        if message["type"] == "http.disconnect":
            break
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        more = message.get("more_body", False) and size <= most
    return b"".join(parts) if size <= limit else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body, then the messages after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
