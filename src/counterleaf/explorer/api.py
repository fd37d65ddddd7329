"""The routes: each checks its question and passes it on to the solver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from counterleaf.explorer import files
from counterleaf.explorer.body import StrictRequest
from counterleaf.explorer.question import ExportQuestion, Key, Name, PlaneQuestion, Question
from counterleaf.explorer.refusal import Refusal, Reply

Row = Annotated[int, Path(ge=0, le=10**9)]
GONE = 499  # the client closed the connection; nobody reads this


class Way(IntEnum):
    """Which way to look for a row."""

    ON = 1
    BACK = -1


class Answering(Protocol):
    """The solver, or a stand-in for it."""

    async def ask(self, verb: str, given: dict[str, Any]) -> bytes: ...


class StrictRoute(APIRoute):
    """A route that reads its body strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


def make_api(solver: Answering) -> APIRouter:
    """What the page asks."""
    refusals: dict[int | str, dict[str, Any]] = {"4XX": {"model": Refusal}, "503": {"model": Refusal}}
    api = APIRouter(prefix="/api", route_class=StrictRoute, responses=refusals)

    async def ask(request: Request, verb: str, given: dict[str, Any]) -> Response:
        """The answer, for as long as the client waits for it: once it has gone, the question is withdrawn."""
        work = asyncio.ensure_future(solver.ask(verb, given))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            return Reply(work.result()) if work.done() else Response(status_code=GONE)
        finally:
            work.cancel()
            gone.cancel()

    @api.get("/scenes")
    async def scenes(request: Request) -> Response:
        return await ask(request, "scenes", {})

    @api.get("/scenes/{scene}/rows/{row}")
    async def row(request: Request, scene: Annotated[Key, Path()], row: Row) -> Response:
        return await ask(request, "row", {"scene": scene, "row": row})

    @api.get("/scenes/{scene}/find")
    async def find(
        request: Request,
        scene: Annotated[Key, Path()],
        start: Annotated[int, Query(ge=0, le=10**9)] = 0,
        way: Way = Way.ON,
        says: Annotated[Name | None, Query()] = None,
    ) -> Response:
        return await ask(request, "find", {"scene": scene, "start": start, "way": int(way), "says": says})

    @api.post("/answer")
    async def answer(request: Request, question: Question) -> Response:
        return await ask(request, "answer", question.model_dump())

    @api.post("/tree")
    async def tree(request: Request, question: Question) -> Response:
        return await ask(request, "tree", question.model_dump())

    @api.post("/check")
    async def check(request: Request, question: Question) -> Response:
        return await ask(request, "check", question.model_dump())

    @api.post("/plane")
    async def plane(request: Request, question: PlaneQuestion) -> Response:
        return await ask(request, "plane", question.model_dump())

    @api.post("/export")
    async def export(request: Request, question: ExportQuestion) -> Response:
        return await ask(request, "export", question.model_dump())

    return api


def make_page() -> APIRouter:
    """The page and its files."""
    page = APIRouter(include_in_schema=False)

    @page.get("/")
    async def index(request: Request) -> Response:
        return _file(request, "index.html")

    @page.get("/page/{name}")
    async def file(request: Request, name: str) -> Response:
        return _file(request, "" if name.endswith(".html") else name)

    @page.get("/favicon.ico")
    async def icon(request: Request) -> Response:
        content = files.read("leaf.svg")
        return Response(status_code=204) if content is None else files.send(request, "leaf.svg", content)

    return page


def _file(request: Request, name: str) -> Response:
    content = files.read(name)
    if content is None:
        raise HTTPException(404)
    return files.send(request, name, content)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
