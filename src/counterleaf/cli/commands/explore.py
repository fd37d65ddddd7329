"""``counterleaf explore``: a page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterleaf.cli.shell import one_line, read_shape
from counterleaf.errors import CounterleafError

SHORTEST, LONGEST = 0.05, 600.0  # seconds for a question


def explore(
    model: Annotated[
        Path | None,
        typer.Argument(help="What `train` or `convert` wrote, or `explainer.to_json()`; the bundled models if left out."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="A file with the rows to ask about, such as rows.csv.")] = None,
    row: Annotated[
        int | None, typer.Option(min=0, help="The row to begin with, counted from 0; the page counts from 1.")
    ] = None,
    shape: Annotated[
        str | None, typer.Option(metavar="HEIGHTxWIDTH", help="Rows are pictures of this shape, such as 8x8.")
    ] = None,
    mnist: Annotated[Path | None, typer.Option(help="A folder with the four MNIST files, to explore MNIST as well.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for each question.")] = 2.0,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; the first free one from 8765 if left out.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Ask, lock and slide in a page of your own browser: what would have to change, for any row, as you set it.

    The page is served from this machine to this machine, for the one browser that opens the printed address first. Nothing
    is sent anywhere. Ctrl-C ends it.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explore`
    - `counterleaf explore model.json --data applicants.csv --row 3`
    - `counterleaf explore --port 9000 --no-browser`
    """
    with one_line("the explorer had not started"):
        try:
            import fastapi  # noqa: F401  # only to see whether it is there, before anything is loaded
            import uvicorn  # noqa: F401  # the same
        except ImportError:
            message = 'the explorer needs FastAPI; install it with: pip install "counterleaf[explorer]"'
            raise CounterleafError(message) from None
        from counterleaf.explorer.session.session import open_session
        from counterleaf.explorer.web.server import serve

        if not SHORTEST <= time_limit <= LONGEST:
            raise CounterleafError(f"--time-limit is {time_limit:g}; expected {SHORTEST:g} to {LONGEST:g} seconds")
        arguments: dict[str, Any] = {
            "model": None if model is None else str(model),
            "data": None if data is None else str(data),
            "row": row,
            "shape": read_shape(shape),
            "mnist": None if mnist is None else str(mnist),
            "time_limit": time_limit,
        }
        serve(open_session(arguments), port, not no_browser)
