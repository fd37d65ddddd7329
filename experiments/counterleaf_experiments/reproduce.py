"""``counterleaf-experiments reproduce``: the experiments of the paper."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import FAILED, check_out, one_line
from counterleaf.errors import not_installed
from counterleaf_experiments.progress import job


def reproduce(
    out: Annotated[Path, typer.Option(help="The directory for the report, tables, figures and trees.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="One instance per class instead of 20: under three minutes.")] = False,
    mnist: Annotated[Path | None, typer.Option(help="A directory with the four MNIST files, to run on MNIST as well.")] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download MNIST from OpenML (15 MB) and check its SHA-256.")
    ] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A data set to run on. Can be repeated; default: all.")
    ] = None,
    per_class: Annotated[int | None, typer.Option(help="Instances per class. Default: 20, as in the paper.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed for splits, instances, targets and constraints.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over even if the directory contains an earlier run.")] = False,
) -> None:
    """Run the experiments of the paper and write a report with its tables and figures, its numbers next to ours.

    The command learns the trees, explains the instances, and writes everything to one directory. If a run was stopped, the same
    command continues it.

    Examples:

    - `counterleaf-experiments reproduce --quick`
    - `counterleaf-experiments reproduce --out full --mnist path/to/mnist`
    - `counterleaf-experiments reproduce --set german --set breast --per-class 5 --out small`
    """
    with one_line("the same command continues from here"):
        check_out(out / "report.html")
        absent = [name for name in ("matplotlib", "gurobipy", "piqp") if find_spec(name) is None]  # before minutes of work
        if absent:
            raise not_installed("reproduce", *absent)
        from counterleaf_experiments.paper import run  # imports scikit-learn, which other commands need not wait for

        plan = run.make_plan(quick, seed, per_class, tuple(sets or ()), mnist is not None or download)
        command = shlex.join(["counterleaf-experiments", *sys.argv[1:]])
        verdicts = run.reproduce(out, plan, job, command, mnist, download, fresh).verdicts
    for verdict in verdicts:
        mark = "ok  " if verdict.holds else "slow" if verdict.of_speed else "FAIL"
        share = f"{verdict.cases - verdict.failed:,} of {verdict.cases:,}" if verdict.cases else "no case"
        typer.echo(f"{mark} {verdict.claim} ({share}) {verdict.note}".rstrip())
    typer.echo(f"Report: {out / 'report.html'}")
    if not all(verdict.holds or verdict.of_speed for verdict in verdicts):
        raise typer.Exit(FAILED)
