"""``counterleaf demo``: the best of it in a minute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import one_line

_NEXT = """
Your turn:
   counterleaf demo --save .                                      # the files for what follows
   counterleaf explain model.json applicants.csv --row {row} --target granted --freeze age
   counterleaf train loans.csv --label decision --out tree.json   # or your own CSV
   counterleaf explore                                            # the same in your browser, with pictures
   counterleaf --help"""
_SOON = 4.0  # seconds in which kernels that are compiled already are loaded


def demo(
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Only write the files that the examples of every --help use.")
    ] = None,
) -> None:
    """Show what counterleaf does, in a minute: a refused loan, what would have it granted, locks, a proof, many rows at once.

    The first run on a machine compiles the search while you read.

    Examples:

    - `counterleaf demo`
    - `counterleaf demo --save .`
    """
    with one_line("run it again, or ask for counterleaf --help"):
        from counterleaf import samples

        if save is not None:
            for file in samples.save(save):
                typer.echo(f"Wrote {file}")
            return
        _tour()


def _tour() -> None:
    """The first part is told by interpreted kernels where the compiled ones are not there yet."""
    from counterleaf import tour, warm

    compiling = warm.start(warm.TABLES)
    try:
        if _ended(compiling[0], _SOON):
            tour.part_one()
        else:
            slow = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
            subprocess.run([sys.executable, "-m", "counterleaf.tour"], env={**os.environ, **slow}, check=True)
            if sys.stderr.isatty():
                typer.echo("\ncounterleaf: compiling the search, once on this machine; about a minute", err=True)
            compiling[0].wait()
        tour.part_two()
    finally:
        for process in compiling:
            process.kill()
    typer.echo(_NEXT.format(row=tour.ROW))


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
