"""Connections with a time limit: a client that sends its request, or reads the response, too slowly is disconnected.

uvicorn limits only the time between two requests. Without this limit, connections on which nothing happens would stay open.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

TIME = 20.0  # seconds to send a request, and to read a response
MAX_CONNECTIONS = 200  # a new one replaces the one that has waited longest for its client


class TimedConnection(H11Protocol):
    """A connection that ends if its client takes too long."""

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
