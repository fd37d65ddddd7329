"""``counterleaf train``: learn a tree from a table, and report its accuracy."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from counterleaf.cli.shell import check_json, check_out, one_line
from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write
from counterleaf.storage.models import read_table


def train(
    data: Annotated[Path, typer.Argument(help="A table (.csv, .csv.gz, .jsonl, .parquet), or `-` for standard input.")],
    label: Annotated[str, typer.Option(help="The column with the classes or numbers to predict.")],
    out: Annotated[
        Path | None, typer.Option(help="The file for the model. Default: stdout, with the report on stderr.")
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="tao|cart",
            help="tao: splits on several columns; cart: the tree of scikit-learn, with splits on one column.",
        ),
    ] = "tao",
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=12, help="The largest number of splits on a path. Default: chosen by cross-validation."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="tao: the penalty on columns in a split. Default: chosen by cross-validation.")
    ] = None,
    leaves: Annotated[
        str | None,
        typer.Option(
            metavar="constant|linear|softmax",
            help="tao: what a leaf holds: a class or number, a linear function (numbers), or a softmax of linear functions "
            "(classes). Default: chosen by cross-validation unless depth and alpha are given.",
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="auto|classification|regression",
            help="auto: a label of many different numbers is predicted as a number.",
        ),
    ] = "auto",
    drop: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out. Can be repeated.")] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column whose numbers are categories, such as a postcode. Can be repeated."),
    ] = None,
    test: Annotated[
        float, typer.Option(help="The share of rows held out to measure the accuracy; 0: learn from all rows.")
    ] = 0.25,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="The random seed for the rows held out and for the learner.")
    ] = 0,
) -> None:
    """Learn a small tree from a table and write it as JSON for `explain` and `explore`.

    Text becomes categories, and whole numbers stay whole. The median replaces a missing number; missing text is a category.
    Rows without a label are left out, and so are columns of dates, without values, or with different text in nearly every row.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf train loans.csv --label decision --out tree.json`
    - `counterleaf train loans.csv --label decision --learner cart --out cart.json`
    - `counterleaf train loans.csv --label decision --leaves constant --out plain.json`
    - `counterleaf train - --label decision --learner cart < loans.csv > t.json`
    """
    with one_line("nothing was written"):
        from counterleaf.learn import training  # imports scikit-learn, which other commands need not wait for

        if learner not in training.LEARNERS:
            raise CounterleafError(f"--learner is {learner!r}; expected {' or '.join(training.LEARNERS)}")
        if task not in training.TASKS:
            raise CounterleafError(f"--task is {task!r}; expected {', '.join(training.TASKS[:-1])} or {training.TASKS[-1]}")
        if leaves is not None and leaves not in training.LEAVES:
            raise CounterleafError(
                f"--leaves is {leaves!r}; expected {', '.join(training.LEAVES[:-1])} or {training.LEAVES[-1]}"
            )
        if alpha is not None and (learner == "cart" or not 0 <= alpha < math.inf):
            raise CounterleafError(f"--alpha is {alpha:g} for the learner {learner}; expected a number from 0, for tao")
        if not 0 <= test < 1:
            raise CounterleafError(f"--test is {test:g}; expected a share of the rows from 0 to below 1")
        check_json(out)
        check_out(out, data)
        origin = "standard input" if str(data) == "-" else str(data)
        table = training.prepare(read_table(data), label, drop or [], category or [], origin, task)
        settings: dict[str, Any] = {"learner": learner, "depth": depth, "alpha": alpha, "test": test, "seed": seed}
        settings["leaves"] = leaves
        trained = training.train(table, **settings)
        if out is None:
            sys.stdout.write(f"{trained.explainer.to_json()}\n")
        else:
            write(out, trained.explainer.to_json())
        typer.echo(training.report(table, trained), err=out is None)
        if out is not None:
            rows = "rows.csv" if str(data) == "-" else str(data)
            words = ["counterleaf", "explain", str(out), rows, "--row", "0"]
            if table.regression:
                words += ["--at-least", f"{training.reachable(table, trained):g}"]
            typer.echo(f"Wrote {out}. Next: {shlex.join(words)}")
