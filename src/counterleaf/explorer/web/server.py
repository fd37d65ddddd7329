"""The local server, which serves the user's browsers on this machine until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

import counterleaf as cl
from counterleaf.explorer.session.solver import Limits, RequestHandler, Solver
from counterleaf.explorer.web import refusal
from counterleaf.explorer.web.api import Answerer, make_api, make_page
from counterleaf.explorer.web.guard import LOCALHOST, Access, Guard

FIRST_PORT, N_PORTS = 8765, 20  # the ports to try
TIME = 20.0  # seconds to send a request, and to read a response
MAX_CONNECTIONS = 200  # a new one replaces the one that has waited longest for its client


def make_routes(solver: Answerer, access: Access) -> FastAPI:
    """Make the application without its access control."""
    # without documentation pages, because they load scripts from other servers
    app = FastAPI(title="counterleaf explore", docs_url=None, redoc_url=None, redirect_slashes=False)
    refusal.install(app)
    app.include_router(make_api(solver, access))
    app.include_router(make_page())
    return app


def serve(handler: RequestHandler, port: int | None = None, open_browser: bool = True, limits: Limits | None = None) -> None:
    """Serve until Ctrl-C, on the first free port from 8765 on if ``port`` is None."""
    listener = bind(port)
    access = Access(listener.getsockname()[1])

    def announce() -> None:
        print(f"Explore at {access.first_address}  (press Ctrl-C to stop)", flush=True)
        if open_browser:
            open_page(access.first_address)

    with listener, suppress(KeyboardInterrupt):
        asyncio.run(_serve(Solver(handler, limits), listener, access, announce))


def open_page(address: str) -> None:
    """Open an address in a browser, in a thread: with some browsers the call does not return."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def bind(port: int | None) -> socket.socket:
    """Open a socket on a port, or on the first free one if ``port`` is None."""
    candidates = [port] if port is not None else range(FIRST_PORT, FIRST_PORT + N_PORTS)
    for number in candidates:
        # asyncio sets TCP_NODELAY, which saves 40 ms per response, only on sockets with an explicit protocol
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # on Windows this option would share a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOCALHOST, number))
            listener.listen()  # two sockets can bind to the same port, but only one can listen
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
        else:
            return listener
    if port is not None:
        raise cl.CounterleafError(
            f"cannot use port {port} ({reason.lower()}); choose another one, or omit --port to use a free one"
        )
    raise cl.CounterleafError(f"no port from {FIRST_PORT} to {FIRST_PORT + N_PORTS - 1} is free; choose one with --port")


class TimedConnection(H11Protocol):
    """A connection that ends if its client sends its request, or reads the response, too slowly.

    uvicorn limits only the time between two requests, so that connections on which nothing happens would stay open.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._start_clock()
        self._timer = self.loop.call_later(TIME, self._check_clock)
        if len(self.connections) > MAX_CONNECTIONS:
            waiting = [one for one in self.connections if isinstance(one, TimedConnection) and one._waits_for_client()]
            idle = [one for one in waiting if not one.transport.is_closing()]  # not one that made room for another of a burst
            min(idle, key=lambda one: one._waiting_since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._start_clock()
        super().on_response_complete()

    def _start_clock(self) -> None:
        self._waiting_since = self.loop.time()

    def _check_clock(self) -> None:
        """Disconnect the client if its time is over, otherwise check again when that can be the case."""
        if not self._waits_for_client():
            self._start_clock()
        left = self._waiting_since + TIME - self.loop.time()
        if left <= 0:
            self.transport.abort()  # close() would wait until the client has read everything
        else:
            self._timer = self.loop.call_later(left, self._check_clock)

    def _waits_for_client(self) -> bool:
        """Whether the request is incomplete or the response unread; otherwise the server is computing."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) or self.transport.get_write_buffer_size() > 0


class LocalServer(uvicorn.Server):
    """A server that announces when it is reachable, and stops the solver before it waits for open requests."""

    def __init__(self, solver: Solver, access: Access, announce: Callable[[], None]) -> None:
        guard = Guard(make_routes(solver, access), access)
        options: dict[str, Any] = {"http": TimedConnection, "ws": "none", "lifespan": "off"}
        options |= {"log_level": "warning", "access_log": False, "server_header": False, "timeout_graceful_shutdown": 5}
        super().__init__(uvicorn.Config(guard, **options))
        self._solver, self._announce = solver, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._solver.stop()
        await super().shutdown(sockets)


async def _serve(solver: Solver, listener: socket.socket, access: Access, announce: Callable[[], None]) -> None:
    try:
        await LocalServer(solver, access, announce).serve([listener])
    finally:
        await solver.stop()
