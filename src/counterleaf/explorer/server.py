"""The server: on this machine only, for one browser, until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import webbrowser
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from counterleaf.errors import CounterleafError
from counterleaf.explorer import refusal
from counterleaf.explorer.api import Answering, make_api, make_page
from counterleaf.explorer.guard import Guard
from counterleaf.explorer.solver import Desk, Limits, Solver

HERE = "127.0.0.1"
PORT, PORTS = 8765, 20  # the first port to try, and how many


def make_app(solver: Answering, port: int, token: str) -> Guard:
    """The whole application, guarded, as it will stand on that port."""
    # no pages of documentation: they load their scripts from elsewhere
    app = FastAPI(title="counterleaf explore", docs_url=None, redoc_url=None, redirect_slashes=False)
    refusal.install(app)
    app.include_router(make_api(solver))
    app.include_router(make_page())
    return Guard(app, port, token)


def serve(desk: Desk, port: int | None = None, open_browser: bool = True, limits: Limits | None = None) -> None:
    """Serve until Ctrl-C; without a port, on the first free one from 8765 on."""
    listener = bind(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(16)
    with listener, suppress(KeyboardInterrupt):
        asyncio.run(_serve(Solver(desk, limits), listener, port, token, open_browser))


def bind(port: int | None) -> socket.socket:
    """A socket on the port asked for, or else on a free one."""
    wanted = [port] if port is not None else range(PORT, PORT + PORTS)
    for number in wanted:
        # named in full: asyncio spares its answers a wait of 40 ms only on sockets that say they are TCP
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere this option would share a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HERE, number))
            listener.listen()  # two sockets may be bound to one port, but not listen
        except OSError as error:
            listener.close()
            why = error.strerror or str(error)
        else:
            return listener
    if port is not None:
        raise CounterleafError(
            f"port {port} cannot be used ({why.lower()}); choose another, or leave --port out for a free one"
        )
    raise CounterleafError(f"no port from {PORT} to {PORT + PORTS - 1} is free; choose one with --port")


class _Server(uvicorn.Server):
    """Prints its address once it can be reached, and stops the solver before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, solver: Solver, address: str, open_browser: bool) -> None:
        super().__init__(config)
        self._solver, self._address, self._open_browser = solver, address, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Explore at {self._address}  (Ctrl-C ends it)", flush=True)
        if self._open_browser:  # in a thread: some browsers keep who opens them
            threading.Thread(target=webbrowser.open, args=(self._address,), daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._solver.stop()
        await super().shutdown(sockets)


async def _serve(solver: Solver, listener: socket.socket, port: int, token: str, open_browser: bool) -> None:
    config = uvicorn.Config(
        make_app(solver, port, token),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    try:
        await _Server(config, solver, f"http://{HERE}:{port}/?token={token}", open_browser).serve([listener])
    finally:
        await solver.stop()
