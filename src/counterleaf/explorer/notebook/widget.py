"""The widget that shows the page inside a notebook, as one HTML text, and passes its requests to the kernel."""

from __future__ import annotations

import base64
import functools
import json
import posixpath
import re
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from counterleaf.explorer.notebook.background import Background
from counterleaf.explorer.web import files

_WIDGET = Path(__file__).parent / "widget.js"
_METHODS = ("GET", "POST")
# nothing may be loaded, and nothing may be sent except messages to the notebook
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
_STYLE = "#link { display: none; }"  # a frame has no address to copy
_LINK = re.compile(r'<link rel="stylesheet" href="/page/([^"]+)" />')
_IMAGE = re.compile(r'(?:src|href)="/page/([^"]+\.svg)"')
_SCRIPT = re.compile(r'<script type="module" src="/page/([^"]+)"></script>')
_IMPORT = re.compile(r"""(\bfrom\s+|\bimport\s*\(?\s*)(["'])(\.\.?/[^"']+)\2""")


def make_widget(background: Background, height: int) -> Any:
    """Make the widget; raises ImportError if anywidget is not installed."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = _WIDGET.read_text(encoding="utf-8")
        height = traitlets.Int().tag(sync=True)

    widget = ExplorerWidget(height=height)
    bridge = Bridge(background, widget.send)
    widget.on_msg(lambda _, message, buffers: bridge.receive(message))
    return widget


class Bridge:
    """The requests of the frames that show a widget; the messages of a frame are checked before they are used."""

    def __init__(self, background: Background, send: Any) -> None:
        self._background, self._send = background, send
        self._running: dict[tuple[str, int], Future[tuple[int, str]]] = {}

    def receive(self, message: Any) -> None:
        """Handle a message: a request, the end of a request, or that a frame opens or closes."""
        if not isinstance(message, dict) or not isinstance(view := message.get("view"), str):
            return
        match message:
            case {"page": True}:
                self._send({"view": view, "page": inline_page()})
            case {"closed": True}:
                for key in [key for key in self._running if key[0] == view]:
                    self._cancel(key)
            case {"cancel": int(number)}:
                self._cancel((view, number))
            case {"id": int(number), "method": str(method), "path": str(path), "body": str() | None as body}:
                known = method in _METHODS and path.startswith("/api/")
                self._start((view, number), *((method, path, body) if known else ("GET", "/api/", None)))  # refused: not found

    def _start(self, key: tuple[str, int], method: str, path: str, body: str | None) -> None:
        def reply(done: Future[tuple[int, str]]) -> None:
            self._running.pop(key, None)
            if not done.cancelled():
                status, text = done.result()
                self._send({"view": key[0], "id": key[1], "status": status, "body": text})

        sent = self._running[key] = self._background.send(method, path, body)
        sent.add_done_callback(reply)

    def _cancel(self, key: tuple[str, int]) -> None:
        if running := self._running.get(key):
            running.cancel()


@functools.cache
def inline_page() -> str:
    """The page with its styles, scripts and pictures inside.

    A frame with a unique origin cannot load files of the notebook's server. Scripts become data URLs in an import map, under
    names that do not depend on an address.
    """
    modules: dict[str, str] = {}
    page = _LINK.sub(lambda found: f"<style>{_text(found[1])}</style>", _text("index.html"))
    page = _IMAGE.sub(lambda found: found[0].replace(f"/page/{found[1]}", _data_url(_text(found[1]), "image/svg+xml")), page)
    scripts = _SCRIPT.findall(page)
    for name in scripts:
        _collect(name, modules)
    imports = json.dumps({"imports": {_key(name): _data_url(text, "text/javascript") for name, text in modules.items()}})
    starts = "".join(f'import "{_key(name)}";' for name in scripts)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" /><style>{_STYLE}</style>'
        f'<script type="importmap">{imports}</script><script type="module">{starts}</script></head>'
    )
    return _SCRIPT.sub("", page).replace("</head>", head).replace("<html ", "<html data-embedded ")


def _collect(name: str, modules: dict[str, str]) -> None:
    """Add a module, and those that it imports, with names that do not depend on an address."""
    if name in modules:
        return
    folder, text = posixpath.dirname(name), _text(name)
    modules[name] = ""
    for found in _IMPORT.finditer(text):
        _collect(posixpath.normpath(posixpath.join(folder, found[3])), modules)
    modules[name] = _IMPORT.sub(lambda found: f'{found[1]}"{_key(posixpath.normpath(posixpath.join(folder, found[3])))}"', text)


def _key(name: str) -> str:
    return f"counterleaf/{name}"


def _text(name: str) -> str:
    content = files.read(name)
    assert content is not None, name
    return content.decode()


def _data_url(text: str, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
