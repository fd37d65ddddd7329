"""The routes: each validates its request and passes it to the solver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from counterleaf.explorer.session.requests import REQUESTS, Key, Name, StrictModel
from counterleaf.explorer.web import files
from counterleaf.explorer.web.body import StrictRequest
from counterleaf.explorer.web.guard import Access
from counterleaf.explorer.web.refusal import Refusal, Reply

Row = Annotated[int, Path(ge=0, le=10**9)]
CLIENT_CLOSED = 499  # the status for a client that closed the connection; nobody reads it


class Direction(IntEnum):
    """The direction of the search for a row."""

    FORWARD = 1
    BACKWARD = -1


class Answerer(Protocol):
    """The solver, or a replacement for it."""

    async def ask(self, verb: str, arguments: dict[str, Any] | StrictModel) -> bytes: ...


class StrictRoute(APIRoute):
    """A route that parses its body strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


def make_api(solver: Answerer, access: Access) -> APIRouter:
    """Make the routes that the page calls."""
    refusals: dict[int | str, dict[str, Any]] = {"4XX": {"model": Refusal}, "503": {"model": Refusal}}
    api = APIRouter(prefix="/api", route_class=StrictRoute, responses=refusals)

    async def ask(request: Request, verb: str, arguments: dict[str, Any] | StrictModel) -> Response:
        """Return the answer, or cancel the request when the client closes the connection."""
        work = asyncio.ensure_future(solver.ask(verb, arguments))
        closed = asyncio.ensure_future(_wait_until_closed(request))
        try:
            await asyncio.wait({work, closed}, return_when=asyncio.FIRST_COMPLETED)
            return Reply(work.result()) if work.done() else Response(status_code=CLIENT_CLOSED)
        finally:
            work.cancel()
            closed.cancel()

    @api.get("/scenes")
    async def scenes(request: Request) -> Response:
        return await ask(request, "scenes", {})

    @api.get("/scenes/{scene}")
    async def scene(request: Request, scene: Annotated[Key, Path()]) -> Response:
        return await ask(request, "scene", {"scene": scene})

    @api.get("/scenes/{scene}/rows/{row}")
    async def row(request: Request, scene: Annotated[Key, Path()], row: Row) -> Response:
        return await ask(request, "row", {"scene": scene, "row": row})

    @api.get("/scenes/{scene}/find")
    async def find(
        request: Request,
        scene: Annotated[Key, Path()],
        start: Annotated[int, Query(ge=0, le=10**9)] = 0,
        direction: Direction = Direction.FORWARD,
        label: Annotated[Name | None, Query()] = None,
    ) -> Response:
        return await ask(request, "find", {"scene": scene, "start": start, "direction": int(direction), "label": label})

    def answers(verb: str, kind: type[StrictModel]) -> Callable[..., Coroutine[Any, Any, Response]]:
        async def route(request: Request, body: StrictModel) -> Response:
            return await ask(request, verb, body)

        route.__annotations__["body"] = kind  # FastAPI reads the type of the body there
        return route

    for verb, kind in REQUESTS.items():
        api.add_api_route(f"/{verb}", answers(verb, kind), methods=["POST"], name=verb)

    @api.post("/link")
    async def link() -> Response:
        return Reply({"token": access.link_token})

    return api


def make_page() -> APIRouter:
    """Make the routes of the page and its files."""
    page = APIRouter(include_in_schema=False)

    @page.get("/")
    async def index(request: Request) -> Response:
        return _send_file(request, "index.html")

    @page.get("/page/{name:path}")
    async def file(request: Request, name: str) -> Response:
        return _send_file(request, "" if name.endswith(".html") else name)

    @page.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        content = files.read("leaf.svg")
        return Response(status_code=204) if content is None else files.send(request, "leaf.svg", content)

    return page


def _send_file(request: Request, name: str) -> Response:
    content = files.read(name)
    if content is None:
        raise HTTPException(404)
    return files.send(request, name, content)


async def _wait_until_closed(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
