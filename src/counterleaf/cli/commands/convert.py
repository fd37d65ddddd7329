"""``counterleaf convert``: the file of a scikit-learn model to counterleaf JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from counterleaf.cli.shell import FAILED, AllowPickle, Trust, check_json, check_out, one_line
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.gaps import predict_rows
from counterleaf.model.tree import Tree
from counterleaf.storage.files import write
from counterleaf.storage.models import fitted_columns, read_estimator, read_table
from counterleaf.table.frames import Frame, records, take

_CLOSE = 1e-9  # of a value: the most by which the model and the JSON may differ
_CHECKED = 2_000  # rows that model and tree are compared on


def convert(
    model: Annotated[Path, typer.Argument(help="A .skops file, or a pickle (.pkl, .pickle, .joblib).")],
    data: Annotated[
        Path | None, typer.Option(help="Typical rows, such as the training table, for names, categories, ranges and spreads.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file for the JSON. Default: stdout.")] = None,
    allow_pickle: AllowPickle = False,
    trust: Trust = None,
) -> None:
    """Convert a fitted tree, forest or boosted model, or a pipeline that ends with one, to JSON for the other commands.

    JSON runs no code when it is read, and works with any version of scikit-learn. With `--data`, the JSON is compared with the
    model on these rows.

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
        report, agrees = ("", True) if rows is None else _compare(estimator, Explainer.from_json(text), rows)
        if not agrees:
            typer.echo(f"counterleaf: {report}; nothing was written", err=True)
            raise typer.Exit(FAILED)
        if out is None:
            sys.stdout.write(f"{text}\n")
        else:
            write(out, text)
        name = type(estimator).__name__
        typer.echo(f"{name}: {len(explainer.schema)} features, {_size(explainer.tree)}{report}", err=out is None)
        if rows is None and explainer.spreads is None:
            typer.echo(
                "Without --data, numbers have no bounds, and a change costs its square in its own units", err=out is None
            )
        if out is not None:
            typer.echo(f"Wrote {out}")


def _size(tree: Tree | Ensemble) -> str:
    if tree.is_one_tree:
        return f"{int((tree.left < 0).sum())} leaves"
    return f"{tree.n_trees:,} tree{'s' * (tree.n_trees > 1)} with {int((tree.left < 0).sum()):,} leaves"


def _compare(estimator: Any, explainer: Explainer, rows: Frame) -> tuple[str, bool]:
    """Return a report, and whether the model and the JSON agree on the rows."""
    some = take(rows, slice(_CHECKED))
    expected = np.array(predict_rows(explainer._adapter, records(some[explainer.schema.names])))
    found = np.asarray(estimator.predict(some if hasattr(estimator, "feature_names_in_") else some.to_numpy()))
    same = found.reshape(expected.shape) == expected
    if explainer.tree.is_regression:  # a sum may be rounded otherwise
        same = np.isclose(
            found.reshape(expected.shape).astype(float), expected, rtol=_CLOSE, atol=_CLOSE * np.abs(expected).max()
        )
    if same.all():
        return f"; agrees with the model on all {len(some):,} rows tried", True
    return f"the JSON and the model disagree on {(~same).sum():,} of {len(some):,} rows", False
