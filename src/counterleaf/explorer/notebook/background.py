"""The explorer in a thread: a solver and its routes, for requests of a notebook and, if needed, for a local server."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import counterleaf as cl
from counterleaf.explorer.session.solver import RequestHandler, Solver
from counterleaf.explorer.web.guard import MAX_FILE_BODY, Access
from counterleaf.explorer.web.refusal import refuse
from counterleaf.explorer.web.server import LocalServer, bind, make_routes

CLOSED = "the explorer is closed; call explore() again"
_LAST_WAIT = 10.0  # seconds for the server to start, or to end


class Background:
    """An event loop in a daemon thread, which ends with the program."""

    def __init__(self, handler: RequestHandler) -> None:
        self._loop = asyncio.new_event_loop()
        self._solver = Solver(handler)
        self._app = make_routes(self._solver, Access(0))
        self._serving: tuple[Access, LocalServer, Future[None]] | None = None
        self._thread = threading.Thread(target=self._run, name="counterleaf explorer", daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        return self._loop.is_closed()

    @property
    def is_serving(self) -> bool:
        """Whether the local server runs."""
        return self._serving is not None and not self.is_closed

    def send(self, method: str, path: str, body: str | None) -> Future[tuple[int, str]]:
        """Pass a request to the routes, as the server does; the result is the status and the body of the response."""
        content = (body or "").encode(errors="surrogatepass")  # the routes refuse what is not UTF-8
        if self.is_closed:
            return _refused(503, CLOSED)
        if len(content) > MAX_FILE_BODY:
            return _refused(413, f"the body is too large; expected at most {MAX_FILE_BODY} bytes")
        return asyncio.run_coroutine_threadsafe(self._send(method, path, content), self._loop)

    def serve(self) -> Access:
        """Start the local server unless it runs; return its address and its access."""
        if self.is_closed:
            raise cl.CounterleafError(CLOSED)
        if self._serving is None:
            listener, started = bind(None), threading.Event()
            access = Access(listener.getsockname()[1])
            server = LocalServer(self._solver, access, started.set)
            done = asyncio.run_coroutine_threadsafe(server.serve([listener]), self._loop)
            done.add_done_callback(lambda _: listener.close())
            self._serving = access, server, done
            started.wait(_LAST_WAIT)
        return self._serving[0]

    def close(self) -> None:
        """Stop the search, the server and the thread. Nothing happens the second time."""
        if self.is_closed:
            return
        asyncio.run_coroutine_threadsafe(self._solver.stop(), self._loop).result(_LAST_WAIT)
        if self._serving is not None:
            self._serving[1].should_exit = True
            self._serving[2].result(_LAST_WAIT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _send(self, method: str, path: str, body: bytes) -> tuple[int, str]:
        """Call the application as a server would; cancelling this call is the end of the connection."""
        target, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(target.encode(errors="replace").decode()),
            "raw_path": target.encode(errors="replace"),
            "query_string": query.encode(errors="replace"),
            "root_path": "",
            "headers": [(b"content-type", b"application/json")],
            "client": None,
            "server": None,
        }
        received = [{"type": "http.request", "body": body, "more_body": False}]
        status, parts = 500, []

        async def receive() -> Any:
            return received.pop() if received else await asyncio.Event().wait()  # without end: there is no connection to close

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        with suppress(Exception):  # raised again after its response, for the log of a server
            await self._app(scope, receive, send)
        return status, b"".join(parts).decode()


def _refused(status: int, message: str) -> Future[tuple[int, str]]:
    """The response for a request that does not reach the routes."""
    done: Future[tuple[int, str]] = Future()
    done.set_result((status, bytes(refuse(status, message).body).decode()))
    return done
