"""The files of the page: the few that lie in its folder, by name, and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import Request
from fastapi.responses import Response

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}


def read(name: str) -> bytes | None:
    """A file of the folder. The name is looked up among those there are, so that it can be no path."""
    found = {path.name: path for path in PAGE.glob("*") if path.suffix in TYPES and path.is_file()}
    return found[name].read_bytes() if name in found else None


def send(request: Request, name: str, content: bytes) -> Response:
    """The file, or 304 if the browser has this very version."""
    headers = {"Cache-Control": "no-cache", "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=TYPES[Path(name).suffix])
