"""Shared by all commands: exit codes, errors as one line, and checks of options."""

from __future__ import annotations

import difflib
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from counterleaf.errors import CounterleafError, flat
from counterleaf.storage.files import STDIN, check_writable

INTERNAL, USAGE, UNANSWERED, FAILED, INTERRUPTED = 1, 2, 3, 4, 130
CODES = {
    0: "success",
    INTERNAL: "internal error",
    USAGE: "wrong argument or file",
    UNANSWERED: "some row has no answer or no proof",
    FAILED: "verification failed",
    INTERRUPTED: "interrupted",
}
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Open a pickle, which can run any code. Use it only if you trust the author.")
]
Trust = Annotated[
    list[str] | None, typer.Option(metavar="TYPE", help="A type that the skops file may contain. Can be repeated.")
]
_UsageError: Any = typer.BadParameter.__base__  # of click, or of the copy in newer versions of typer


class OneLine(TyperGroup):
    """The commands; a wrong option is reported in one line, as every other error is."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command, and report a wrong option in one line."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "counterleaf"
            typer.echo(f"counterleaf: {flat(_message(error))}; see: {command} --help", err=True)
            sys.exit(USAGE)
        sys.exit(code if isinstance(code, int) else 0)


def _message(error: Any) -> str:
    """Return what is wrong with the arguments; of several options that resemble an unknown one, the nearest."""
    unknown = getattr(error, "option_name", None)
    if unknown is None or error.ctx is None:
        return str(error.format_message()).rstrip(".")
    known = [name for option in error.ctx.command.params for name in option.opts if name.startswith("--")]
    nearest = difflib.get_close_matches(unknown, known, 1)
    return f"no such option: {unknown}" + (f"; did you mean {nearest[0]}?" if nearest else "")


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
    """Report an error of the user, or Ctrl-C, in one line on stderr and by the exit code; a defect with its traceback."""
    _interrupted.clear()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):  # SIGTERM is an interrupt too, so that temporary files are removed
            signal.signal(number, _interrupt)
    try:
        yield
        sys.stdout.flush()  # a closed pipe raises here
    except typer.Exit:
        raise
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None  # the interpreter must not flush it at exit
        raise typer.Exit(0) from None
    except (CounterleafError, OSError) as error:
        message = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        typer.echo(f"counterleaf: {flat(message)}", err=True)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        typer.echo(f"counterleaf: interrupted; {after_interrupt}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception:
        traceback.print_exc()
        typer.echo("counterleaf: internal error; please report it with the lines above", err=True)
        raise typer.Exit(INTERNAL) from None


def check_out(out: Path | None, *inputs: Path) -> None:
    """Refuse, before any work, to overwrite an input file, and a name under which no file can be written."""
    if out is not None:
        check_writable(out)
    for path in inputs:
        if out is not None and os.path.realpath(out) == os.path.realpath(path) and path != STDIN:
            raise CounterleafError(f"--out is {out}, which is an input file; expected another name")


def check_jobs(jobs: int) -> None:
    """Refuse 0 workers."""
    if jobs == 0:
        raise CounterleafError("--jobs is 0; expected a number of workers from 1, or -1 for every core")


def check_json(out: Path | None) -> None:
    """Refuse a name for a model that does not end in .json."""
    if out is not None and out.suffix.lower() != ".json":
        raise CounterleafError(f"--out is {out}; expected a name that ends in .json")


def read_shape(text: str | None) -> list[int] | None:
    """Read ``"8x8"`` as ``[8, 8]``."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,3})[xX]([1-9]\d{0,3})", text, re.ASCII)
    if found is None:
        raise CounterleafError(f"--shape is {text!r}; expected HEIGHTxWIDTH in pixels, such as 8x8")
    return [int(side) for side in found.groups()]
