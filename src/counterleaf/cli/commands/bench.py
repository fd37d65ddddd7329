"""``counterleaf bench``: other methods on the same trees and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import FAILED, job, one_line


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
        from counterleaf.experiments.benchmark import run

        plan = run.make_plan(quick, tuple(sets or ()), rows, seed, trees, mnist, ocean_python)
        confirmed = run.bench(out, plan, job, typer.echo)
    if not confirmed:
        typer.echo("counterleaf: a model did not confirm an answer; see the lines of counterleaf below 100 %", err=True)
        raise typer.Exit(FAILED)
