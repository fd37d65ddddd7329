"""``counterleaf train``: a table in, a tree and a short report out."""

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


def train(
    data: Annotated[Path, typer.Argument(help="A table (.csv, .csv.gz, .jsonl, .parquet), or `-` for standard input.")],
    label: Annotated[str, typer.Option(help="The column that holds the classes.")],
    out: Annotated[
        Path | None, typer.Option(help="The file for the model; stdout if left out, the report then on stderr.")
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="tao|cart", help="tao: splits over several columns; cart: scikit-learn's tree, one column a split."
        ),
    ] = "tao",
    depth: Annotated[
        int | None, typer.Option(min=1, max=12, help="The most splits on a path; chosen by cross-validation if left out.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="tao: the price of columns in a split; chosen by cross-validation if left out.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; several times for several.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column whose numbers are names, such as a postcode; several times for several."),
    ] = None,
    test: Annotated[float, typer.Option(help="The share of rows held out to measure on; 0: learn from all.")] = 0.25,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Draws the rows held out and the learner's starts.")] = 0,
) -> None:
    """Learn a small tree from a table and write it as JSON, to be asked by `explain` and `explore`.

    Words become categories, whole numbers stay whole, what is missing is filled in by the median or is a category of its own.
    Rows without a label are left out, and so are columns that hold dates, nothing, or a different word in nearly every row.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf train loans.csv --label decision --out tree.json`
    - `counterleaf train loans.csv --label decision --learner cart --out cart.json`
    - `counterleaf train - --label decision --learner cart < loans.csv > t.json`
    """
    with one_line("nothing was written"):
        from counterleaf.learn import training
        from counterleaf.storage.models import read_table

        if learner not in training.LEARNERS:
            raise CounterleafError(f"--learner is {learner!r}; expected {' or '.join(training.LEARNERS)}")
        if alpha is not None and (learner == "cart" or not 0 <= alpha < math.inf):
            raise CounterleafError(f"--alpha is {alpha:g} for the learner {learner}; expected a number from 0, for tao")
        if not 0 <= test < 1:
            raise CounterleafError(f"--test is {test:g}; expected a share of the rows from 0 to below 1")
        check_json(out)
        check_out(out, data)
        told = "standard input" if str(data) == "-" else str(data)
        table = training.prepare(read_table(data), label, drop or [], category or [], told)
        settings: dict[str, Any] = {"learner": learner, "depth": depth, "alpha": alpha, "test": test, "seed": seed}
        trained = training.train(table, **settings)
        if out is None:
            sys.stdout.write(f"{trained.explainer.to_json()}\n")
        else:
            write(out, trained.explainer.to_json())
        typer.echo(training.report(table, trained), err=out is None)
        if out is not None:
            given = "rows.csv" if str(data) == "-" else str(data)
            typer.echo(f"Wrote {out}. Next: {shlex.join(['counterleaf', 'explain', str(out), given, '--row', '0'])}")
