"""``counterleaf convert``: a scikit-learn model's file to counterleaf JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterleaf.cli.shell import FAILED, check_json, check_out, one_line
from counterleaf.errors import CounterleafError
from counterleaf.explain import Explainer
from counterleaf.files import write
from counterleaf.models import read_estimator, read_table

_CHECKED = 2_000  # rows that model and tree are compared on


def convert(
    model: Annotated[Path, typer.Argument(help="A .skops file, or a pickle (.pkl, .pickle, .joblib).")],
    data: Annotated[
        Path | None, typer.Option(help="Typical rows, such as the training table: names, categories, ranges and spreads.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file for the JSON; stdout if left out.")] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Open a pickle, which can run any code: only if you trust who made it.")
    ] = False,
    trust: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="A type that a skops file may hold; several times for several.")
    ] = None,
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
        rows = None if data is None else _columns(estimator, data)
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


def _columns(estimator: Any, data: Path) -> Any:
    """The rows with the columns that the model was fitted with, the label left behind."""
    rows = read_table(data)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    missing = [str(name) for name in names if str(name) not in rows.columns]
    if missing:
        raise CounterleafError(f"{data} lacks the columns {missing[:8]}; the model was fitted with {list(map(str, names[:8]))}")
    return rows[[str(name) for name in names]]


def _compare(estimator: Any, explainer: Explainer, rows: Any) -> tuple[str, bool]:
    """(what to say, whether model and JSON say the same of the rows)."""
    some = rows.iloc[:_CHECKED]
    points = np.array([explainer.schema.encode(row) for row in some[explainer.schema.names].to_dict("records")])
    named = getattr(estimator, "feature_names_in_", None) is not None
    same = np.asarray(estimator.predict(some if named else some.to_numpy())) == explainer.tree.predict(points)
    if same.all():
        return f"; says what the model says on all {len(some):,} rows tried", True
    return f"the JSON and the model disagree on {(~same).sum():,} of {len(some):,} rows", False
