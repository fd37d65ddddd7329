"""``counterleaf demo``: a short tour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.shell import one_line

_NEXT = """
Your turn:
   counterleaf demo --save .                                      # the files for these examples
   counterleaf explain model.json applicants.csv --row {row} --target granted --freeze age
   counterleaf train loans.csv --label decision --out tree.json   # or your own CSV
   counterleaf explore                                            # the same in your browser, with pictures
   counterleaf --help"""


def demo(
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Only write the files for the examples in every --help.")
    ] = None,
) -> None:
    """Show what counterleaf does: a refused loan and how to get it granted, constraints, a proof, many rows.

    Examples:

    - `counterleaf demo`
    - `counterleaf demo --save .`
    """
    with one_line("run it again, or see counterleaf --help"):
        from counterleaf.cli import tour  # reads the bundled tables, which other commands need not wait for
        from counterleaf.datasets import samples

        if save is not None:
            for file in samples.save(save):
                typer.echo(f"Wrote {file}")
            return
        tour.part_one()
        tour.part_two()
        typer.echo(_NEXT.format(row=tour.ROW))
