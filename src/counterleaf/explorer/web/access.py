"""The secrets that give a browser access: the token of the printed address, the token of copied links, and the cookie."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs

LOCALHOST = "127.0.0.1"
_WEEK = 7 * 24 * 3600  # seconds that the browser stores the cookie, which is valid until the server ends


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
