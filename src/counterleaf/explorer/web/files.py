"""The static files of the page, looked up by name among those that exist."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import Request
from fastapi.responses import Response

PAGE = Path(__file__).parent.parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}


def read(name: str) -> bytes | None:
    """The content of a file such as ``lib/dom.js``.

    The name is compared with those of the existing files and never used as a path, so that it cannot leave the folder.
    """
    existing = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in TYPES and path.is_file()}
    return existing[name].read_bytes() if name in existing else None


def send(request: Request, name: str, content: bytes) -> Response:
    """The file, or 304 if the browser has this version."""
    headers = {"Cache-Control": "no-cache", "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=TYPES[Path(name).suffix])
