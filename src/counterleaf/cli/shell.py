"""What all commands share: exit codes, mistakes as one line, bars on stderr, small things read from text."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from counterleaf.errors import CounterleafError
from counterleaf.storage.files import STDIN

INTERNAL, USAGE, UNANSWERED, FAILED, INTERRUPTED = 1, 2, 3, 4, 130
CODES = {
    0: "all went well",
    INTERNAL: "a defect of counterleaf; the traceback is on stderr",
    USAGE: "a wrong argument or file; one line on stderr says what was expected",
    UNANSWERED: "some row has no proved answer: it is impossible, stopped by a limit, or cannot be asked about",
    FAILED: "something did not stand its check: an answer, a proof, or a claim of the paper",
    INTERRUPTED: "interrupted by Ctrl-C",
}
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Open a pickle, which can run any code: only if you trust who made it.")
]
Trust = Annotated[
    list[str] | None, typer.Option(metavar="TYPE", help="A type that a skops file may hold; several times for several.")
]
_UsageError: Any = typer.BadParameter.__base__  # click's, of which newer typers bring a copy of their own


class OneLine(TyperGroup):
    """The commands, where a wrong option is told in one line as every other mistake is."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """As ever, but for how a wrong option is told."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except _UsageError as error:
            words = error.format_message()
            if "\n" in words:  # no command at all: the help is the message
                error.show()
            else:
                told = error.ctx.command_path if error.ctx else "counterleaf"
                typer.echo(f"counterleaf: {words.rstrip('.')}; see: {told} --help", err=True)
            sys.exit(USAGE)
        sys.exit(code if isinstance(code, int) else 0)


_interrupted = threading.Event()


def _interrupt(number: int, frame: Any) -> None:
    """Raise KeyboardInterrupt, and remember it: code in C may clear an exception that is raised while it runs."""
    _interrupted.set()
    raise KeyboardInterrupt


def raise_if_interrupted() -> None:
    """Leave a loop after a signal whose exception was lost."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def one_line(after_interrupt: str) -> Iterator[None]:
    """A mistake of the user, or Ctrl-C, as one line on stderr and an exit code; a defect with its traceback."""
    _interrupted.clear()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):  # a kill that can be caught is an interrupt: no part is left behind
            signal.signal(number, _interrupt)
    try:
        yield
        sys.stdout.flush()  # so that a closed pipe is noticed here
    except typer.Exit:
        raise
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stdout = None  # so that the interpreter does not try to flush it at its end
        raise typer.Exit(0) from None
    except (CounterleafError, OSError) as error:
        told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        typer.echo(f"counterleaf: {told}", err=True)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        typer.echo(f"counterleaf: interrupted; {after_interrupt}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception:
        traceback.print_exc()
        typer.echo("counterleaf: this is a defect of counterleaf; please report it with the lines above", err=True)
        raise typer.Exit(INTERNAL) from None


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


def check_out(out: Path | None, *inputs: Path) -> None:
    """Refuse to write over what is read."""
    for given in inputs:
        if out is not None and os.path.realpath(out) == os.path.realpath(given) and given != STDIN:
            raise CounterleafError(f"--out is {out}, which is read as well; expected another name")


def check_json(out: Path | None) -> None:
    """A model is found again by what its name says it is."""
    if out is not None and out.suffix.lower() != ".json":
        raise CounterleafError(f"--out is {out}; expected a name that ends in .json")


def read_shape(text: str | None) -> list[int] | None:
    """``"8x8"`` as ``[8, 8]``."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,3})[xX]([1-9]\d{0,3})", text, re.ASCII)
    if found is None:
        raise CounterleafError(f"--shape is {text!r}; expected HEIGHTxWIDTH in pixels, such as 8x8")
    return [int(side) for side in found.groups()]
