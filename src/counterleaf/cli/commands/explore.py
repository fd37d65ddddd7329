"""``counterleaf explore``: the explorer, a page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import one_line, read_shape
from counterleaf.errors import CounterleafError, not_installed

SHORTEST, LONGEST = 0.05, 600.0  # seconds for a query


def explore(
    model: Annotated[
        Path | None,
        typer.Argument(help="The output of `train` or `convert`, or of `explainer.to_json()`. Default: the bundled models."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="A file with the rows to explain, such as rows.csv.")] = None,
    row: Annotated[int | None, typer.Option(min=0, help="The first row to show, counted from 0.")] = None,
    shape: Annotated[
        str | None, typer.Option(metavar="HEIGHTxWIDTH", help="Show rows as images of this shape, such as 8x8.")
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON file of constraints that hold in every answer.")
    ] = None,
    mnist: Annotated[Path | None, typer.Option(help="A directory with the four MNIST files, to explore MNIST as well.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for each query.")] = 2.0,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port. Default: the first free one from 8765.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address without opening a browser.")] = False,
) -> None:
    """Explore answers in your browser: lock features, set ranges, and see the cheapest change for any row.

    The page is served on this machine only, to the first browser that opens the printed address. No data leaves the machine.
    Ctrl-C stops the server.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explore`
    - `counterleaf explore model.json --data applicants.csv --row 3`
    - `counterleaf explore --port 9000 --no-browser`
    """
    with one_line("the explorer had not started"):
        try:
            import fastapi  # noqa: F401  # only to test that it is installed, before anything is loaded
            import uvicorn  # noqa: F401  # the same
        except ImportError:
            raise not_installed("the explorer", "fastapi", "uvicorn") from None
        from counterleaf.explorer.session.session import open_session
        from counterleaf.explorer.web.server import serve

        if not SHORTEST <= time_limit <= LONGEST:
            raise CounterleafError(f"--time-limit is {time_limit:g}; expected {SHORTEST:g} to {LONGEST:g} seconds")
        paths = {"model": model, "data": data, "constraints": constraints, "mnist": mnist}
        arguments = {name: None if path is None else str(path) for name, path in paths.items()}
        session = open_session({**arguments, "row": row, "shape": read_shape(shape), "time_limit": time_limit})
        serve(session, port, not no_browser)
