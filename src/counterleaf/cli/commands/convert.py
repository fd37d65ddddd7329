"""``counterleaf convert``: a scikit-learn model's file to counterleaf JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterleaf.cli.shell import FAILED, AllowPickle, Trust, check_json, check_out, one_line
from counterleaf.explainer import Explainer
from counterleaf.storage.files import write
from counterleaf.storage.models import fitted_columns, read_estimator, read_table

_CHECKED = 2_000  # rows that model and tree are compared on


def convert(
    model: Annotated[Path, typer.Argument(help="A .skops file, or a pickle (.pkl, .pickle, .joblib).")],
    data: Annotated[
        Path | None, typer.Option(help="Typical rows, such as the training table: names, categories, ranges and spreads.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file for the JSON; stdout if left out.")] = None,
    allow_pickle: AllowPickle = False,
    trust: Trust = None,
) -> None:
    """Turn a fitted scikit-learn tree, or a pipeline that ends with one, into JSON that `explain` and `explore` read.

    JSON runs no code when it is read, and can be asked where scikit-learn's version is another. With `--data` the JSON is
    checked against the model on these rows.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf convert pipeline.pkl --allow-pickle --data loans.csv --out my.json`
    - `counterleaf explain my.json applicants.csv --row 3`
    """
    with one_line("nothing was written"):
        check_json(out)
        check_out(out, model, *([] if data is None else [data]))
        found = read_estimator(model, allow_pickle, trust or ())
        estimator = found.model if isinstance(found, Explainer) else found
        rows = None if data is None else fitted_columns(estimator, read_table(data), str(data))
        explainer = found if isinstance(found, Explainer) else Explainer(estimator, data=rows)
        text = explainer.to_json()
        told, holds = ("", True) if rows is None else _compare(estimator, Explainer.from_json(text), rows)
        if not holds:
            typer.echo(f"counterleaf: {told}; nothing was written", err=True)
            raise typer.Exit(FAILED)
        if out is None:
            sys.stdout.write(f"{text}\n")
        else:
            write(out, text)
        tree = explainer.tree
        name = type(estimator).__name__
        typer.echo(f"{name}: {len(explainer.schema)} features, {len(tree.leaves)} leaves{told}", err=out is None)
        if rows is None and explainer.spreads is None:
            typer.echo(
                "Without --data: numbers have no bounds, and a change costs its square in the units it has", err=out is None
            )
        if out is not None:
            typer.echo(f"Wrote {out}")


def _compare(estimator: Any, explainer: Explainer, rows: Any) -> tuple[str, bool]:
    """(what to say, whether model and JSON say the same of the rows)."""
    some = rows.iloc[:_CHECKED]
    points = np.array([explainer.schema.encode(row) for row in some[explainer.schema.names].to_dict("records")])
    same = np.asarray(
        estimator.predict(some if hasattr(estimator, "feature_names_in_") else some.to_numpy())
    ) == explainer.tree.predict(points)
    if same.all():
        return f"; says what the model says on all {len(some):,} rows tried", True
    return f"the JSON and the model disagree on {(~same).sum():,} of {len(some):,} rows", False
