"""The widget that shows the page inside a notebook and passes its requests to the kernel."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from counterleaf.explorer.notebook.background import Background
from counterleaf.explorer.notebook.inline import inline_page

_SCRIPT = Path(__file__).parent / "widget.js"
_METHODS = ("GET", "POST")


def make_widget(background: Background, height: int) -> Any:
    """Make the widget; raises ImportError if anywidget is not installed."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = _SCRIPT.read_text(encoding="utf-8")
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
