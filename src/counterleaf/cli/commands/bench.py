"""``counterleaf bench``: every method on the same trees and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import FAILED, job, one_line


def bench(
    out: Annotated[Path, typer.Option(help="The directory for the table, its raw measurements and the trees.")] = Path(
        "benchmark"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Use few rows and short time budgets: under two minutes.")] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A data set to measure on. Can be repeated; default: all.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows for each method that explains them one by one. Default: 20, or 3 with --quick.")
    ] = None,
    trees: Annotated[
        Path | None,
        typer.Option(help="A directory with oblique trees as counterleaf JSON in the units of the data, such as letter.json."),
    ] = None,
    mnist: Annotated[
        Path | None, typer.Option(help="A directory with the four MNIST files, to measure on MNIST as well.")
    ] = None,
    ocean_python: Annotated[Path | None, typer.Option(help="A Python interpreter with oceanpy. Default: python3.12.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed for splits, trees and rows.")] = 0,
) -> None:
    """Run every method on the same trees and rows, general solvers and other tools included, and print the tables.

    Solvers and tools are optional: `pip install ".[bench,peers]"` in a copy of the source. A missing or failing method says so
    on its line. Each method has a time budget on each tree and cost; the column of rows shows how many it completed. Valid
    means that the model predicts the target and that each category is one of its values.

    Examples:

    - `counterleaf bench --quick`
    - `counterleaf bench --set adult --set german --rows 10`
    - `counterleaf bench --trees my-trees --out with-my-trees > table.md`
    - `counterleaf bench --ocean-python path/to/venv/bin/python`
    """
    with one_line("the trees learned so far remain in the directory"):
        from counterleaf.experiments.benchmark import run  # imports scikit-learn, which other commands need not wait for

        plan = run.make_plan(quick, tuple(sets or ()), rows, seed, trees, mnist, ocean_python)
        confirmed = run.bench(out, plan, job, typer.echo)
    if not confirmed:
        typer.echo("counterleaf: a model did not confirm an answer; see the lines of counterleaf below 100 %", err=True)
        raise typer.Exit(FAILED)
