"""``counterleaf-experiments bench``: every method on the same models and rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import FAILED, check_out, one_line
from counterleaf.errors import CounterleafError
from counterleaf_experiments.progress import job


class Part(StrEnum):
    """The parts of the benchmark."""

    TREES = "trees"
    ENSEMBLES = "ensembles"


def bench(
    part: Annotated[Part, typer.Option(help="Single trees, or forests and boosted trees.")] = Part.TREES,
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
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help='An ensemble to measure on, such as "forest 50 x 4". Can be repeated; default: all.'),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="A method on ensembles: counterleaf, OCEAN-CP or treecf. Can be repeated; default: all."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Seconds for each question about an ensemble. Default: 60, or 2 with --quick.")
    ] = None,
    mnist: Annotated[
        Path | None, typer.Option(help="A directory with the four MNIST files, to measure on MNIST as well.")
    ] = None,
    ocean_python: Annotated[Path | None, typer.Option(help="A Python interpreter with oceanpy. Default: python3.12.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed for splits, trees and rows.")] = 0,
) -> None:
    """Run every method on the same models and rows, general solvers and other tools included, and print the tables.

    `make bench` installs the solvers and tools. A missing or failing method says so on its line. Each method has a time budget
    on each tree and cost; the column of rows shows how many it completed. Valid means that the model predicts the
    target and that each category is one of its values.

    `--part ensembles` compares counterleaf with OCEAN and treecf on forests and boosted trees. It can be interrupted: the
    directory keeps the answers of the other tools, and the next run with the same settings continues.

    Examples:

    - `counterleaf-experiments bench --quick`
    - `counterleaf-experiments bench --set adult --set german --rows 10`
    - `counterleaf-experiments bench --trees my-trees --out with-my-trees > table.md`
    - `counterleaf-experiments bench --ocean-python path/to/venv/bin/python`
    - `counterleaf-experiments bench --part ensembles --set german --model "forest 50 x 4" --budget 30`
    """
    with one_line("the trees and answers so far remain in the directory"):
        check_out(out / ("ensembles.md" if part is Part.ENSEMBLES else "bench.md"))
        if part is Part.ENSEMBLES:
            _refuse(part, {"--trees": trees, "--mnist": mnist})
            from counterleaf_experiments.benchmark.ensembles import run as ensembles

            plan = ensembles.make_plan(
                quick, tuple(sets or ()), tuple(models or ()), tuple(methods or ()), rows, budget, seed, ocean_python
            )
            confirmed = ensembles.bench(out, plan, job, typer.echo)
        else:
            _refuse(part, {"--model": models, "--method": methods, "--budget": budget})
            from counterleaf_experiments.benchmark import run  # imports scikit-learn, which other commands need not wait for

            settings = run.make_plan(quick, tuple(sets or ()), rows, seed, trees, mnist, ocean_python)
            confirmed = run.bench(out, settings, job, typer.echo)
    if not confirmed:
        typer.echo("counterleaf: a model did not confirm an answer; see the lines of counterleaf in the table", err=True)
        raise typer.Exit(FAILED)


def _refuse(part: Part, options: dict[str, object]) -> None:
    """Raise an error for an option that the part does not have."""
    for name, value in options.items():
        if value is not None:
            raise CounterleafError(f"{name} does not apply to --part {part.value}")
