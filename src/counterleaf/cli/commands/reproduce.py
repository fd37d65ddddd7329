"""``counterleaf reproduce``: the paper, run again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import FAILED, job, one_line
from counterleaf.errors import CounterleafError


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
        from counterleaf.experiments.paper import run

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
