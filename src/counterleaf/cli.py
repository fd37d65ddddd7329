"""The command ``counterleaf``. Data goes to stdout, progress to stderr and only on a terminal."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from counterleaf.errors import CounterleafError

USAGE, FAILED, INTERRUPTED = 2, 4, 130  # exit codes: a wrong argument; an answer did not stand its check; Ctrl-C
SHORTEST, LONGEST = 0.05, 600.0  # seconds for a question of the explorer
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.callback()
def about() -> None:
    """Exact counterfactual explanations for decision trees: the cheapest change that makes a tree say y."""


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="The folder for report, tables, pictures and trees.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="One instance per class in place of 20: under three minutes.")] = False,
    mnist: Annotated[Path | None, typer.Option(help="A folder with the four MNIST files, to run on MNIST as well.")] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch MNIST from OpenML (15 MB), checked by its sha256.")
    ] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A data set to run on, several times for several; all if left out.")
    ] = None,
    per_class: Annotated[int | None, typer.Option(help="Instances per class; 20 as in the paper if left out.")] = None,
    seed: Annotated[int, typer.Option(help="Draws splits, instances, targets and what is constrained.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, also where the folder holds an earlier run.")] = False,
) -> None:
    """Run the paper's experiments and write a report: its tables and figures, with its numbers beside ours.

    Trees are learned first, then asked; everything lands in one folder. A run that was stopped goes on where it was when the
    same command is given again.

    Examples:

    - `counterleaf reproduce --quick`
    - `counterleaf reproduce --out full --mnist path/to/mnist`
    - `counterleaf reproduce --set german --set breast --per-class 5 --out small`
    """
    with one_line("the same command goes on from here"):
        try:
            import matplotlib  # noqa: F401  # only to see whether it is there, before minutes of work
        except ImportError:
            raise CounterleafError('the report needs matplotlib; install it with: pip install "counterleaf[plots]"') from None
        from counterleaf.reproduce import run

        plan = run.make_plan(quick, seed, per_class, tuple(sets or ()), mnist is not None or download)
        command = shlex.join(["counterleaf", *sys.argv[1:]])
        verdicts = run.reproduce(out, plan, job, command, mnist, download, fresh).verdicts
    for verdict in verdicts:
        mark = "ok  " if verdict.holds else "slow" if verdict.of_speed else "FAIL"
        held = f"{verdict.cases - verdict.failed:,} of {verdict.cases:,}" if verdict.cases else "no case"
        typer.echo(f"{mark} {verdict.claim} ({held}) {verdict.note}".rstrip())
    typer.echo(f"Report: {out / 'report.html'}")
    if not all(verdict.holds or verdict.of_speed for verdict in verdicts):
        raise typer.Exit(FAILED)


@app.command()
def bench(
    out: Annotated[Path, typer.Option(help="The folder for the table, the rows behind it and the trees.")] = Path("benchmark"),
    quick: Annotated[bool, typer.Option("--quick", help="Few rows and short budgets: under two minutes.")] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A data set to measure on, several times for several; all if left out.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows for each method that takes them one by one; 20, or 3 if quick.")
    ] = None,
    trees: Annotated[
        Path | None,
        typer.Option(help="A folder with oblique trees as counterleaf JSON in the data's own units, such as letter.json."),
    ] = None,
    mnist: Annotated[Path | None, typer.Option(help="A folder with the four MNIST files, to measure on MNIST as well.")] = None,
    ocean_python: Annotated[Path | None, typer.Option(help="A Python that has oceanpy; python3.12 if left out.")] = None,
    seed: Annotated[int, typer.Option(help="Draws splits, trees and rows.")] = 0,
) -> None:
    """Measure counterleaf beside general solvers and other tools, on the same trees and rows, and print the tables.

    Solvers and tools are optional: `pip install "counterleaf[bench,peers]"`. What is absent or fails is told in its line. Each
    method has a budget of seconds on each tree and cost; the column of rows tells how many it got through. Valid means that the
    model itself says the target and that each category is one of its values.

    Examples:

    - `counterleaf bench --quick`
    - `counterleaf bench --set adult --set german --rows 10`
    - `counterleaf bench --trees my-trees --out with-my-trees > table.md`
    - `counterleaf bench --ocean-python path/to/venv/bin/python`
    """
    with one_line("the trees learned so far are kept"):
        from counterleaf.bench import run

        plan = run.make_plan(quick, tuple(sets or ()), rows, seed, trees, mnist, ocean_python)
        confirmed = run.bench(out, plan, job, typer.echo)
    if not confirmed:
        typer.echo("counterleaf: a model did not confirm an answer; see the lines of counterleaf below 100 %", err=True)
        raise typer.Exit(FAILED)


@app.command()
def explore(
    model: Annotated[
        Path | None, typer.Argument(help="What explainer.to_json() or tree.to_json() wrote; the bundled models if left out.")
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

    Examples:

    - `counterleaf explore`
    - `counterleaf explore tree.json --data rows.csv --row 12`
    - `counterleaf explore digits.json --data digits.csv --shape 8x8`
    - `counterleaf explore --port 9000 --no-browser`
    """
    with one_line("the explorer had not started"):
        try:
            import fastapi  # noqa: F401  # only to see whether it is there, before anything is loaded
            import uvicorn  # noqa: F401  # the same
        except ImportError:
            message = 'the explorer needs FastAPI; install it with: pip install "counterleaf[explorer]"'
            raise CounterleafError(message) from None
        from counterleaf.explorer.desk import open_desk
        from counterleaf.explorer.server import serve

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
        open_desk(arguments)  # so that a mistake is told here and now, not by a worker in a page
        serve(arguments, port, not no_browser)


def read_shape(text: str | None) -> list[int] | None:
    """``"8x8"`` as ``[8, 8]``."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,3})[xX]([1-9]\d{0,3})", text, re.ASCII)
    if found is None:
        raise CounterleafError(f"--shape is {text!r}; expected HEIGHTxWIDTH in pixels, such as 8x8")
    return [int(side) for side in found.groups()]


@contextmanager
def one_line(after_interrupt: str) -> Iterator[None]:
    """A mistake of the user, or Ctrl-C, as one line on stderr and an exit code."""
    try:
        yield
    except (CounterleafError, OSError) as error:
        told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        typer.echo(f"counterleaf: {told}", err=True)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        typer.echo(f"counterleaf: interrupted; {after_interrupt}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def job(title: str, steps: int) -> Iterator[Callable[[], None]]:
    """A line of progress on stderr, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=steps)
        yield lambda: bar.advance(task)
