"""``counterleaf report``: the folder of an audit as a page for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterleaf.cli.declarations import Repeated
from counterleaf.cli.shell import check_out, one_line
from counterleaf.errors import CounterleafError

_FOLDER = typer.Argument(help="The folder that `audit` wrote.")
_BY = typer.Option(
    metavar="COLUMN[:BOUNDS]",
    help="A column whose values are groups; numbers are cut at bounds: age:25,40,60. Can be repeated.",
)
_OUT = typer.Option(help="The page (.html). Its tables are written next to it as CSV and Parquet.")
_SEARCH = typer.Option("--search", help="Look for groups that differ among all columns of the input, not only those of --by.")
_MIN_ROWS = typer.Option(min=2, help="The number of rows that a group needs to be compared.")
_BUDGET = typer.Option(help="A cost for which the groups are compared. Can be repeated. Default: the quartiles of all costs.")
_CONFLICTS = typer.Option(min=0, help="Rows without recourse whose constraints in the way are determined. Default: 1,000.")
_SEED = typer.Option(min=0, help="Seeds the samples and the bootstrap.")
_TITLE = typer.Option(help="The title of the page.")
_NOTE = typer.Option(help="A text on the page, such as the author and the purpose.")
_PARTIAL = typer.Option("--partial", help="Report on an audit that is not finished.")


def report(
    folder: Annotated[str, _FOLDER],
    by: Annotated[Repeated, _BY] = None,
    out: Annotated[Path, _OUT] = Path("report.html"),
    search: Annotated[bool, _SEARCH] = False,
    min_rows: Annotated[int, _MIN_ROWS] = 30,
    budget: Annotated[list[float] | None, _BUDGET] = None,
    conflicts: Annotated[int | None, _CONFLICTS] = None,
    seed: Annotated[int, _SEED] = 0,
    title: Annotated[str, _TITLE] = "",
    note: Annotated[str, _NOTE] = "",
    partial: Annotated[bool, _PARTIAL] = False,
) -> None:
    """Report who can reach the target, at what cost, and how groups differ, as a page that needs no other file.

    For every group and pair of groups, the page shows the rows that have the target, can reach it and provably cannot, the
    costs, the features that change and by how much, and differences with their intervals; for rows without recourse, the
    constraints in the way. It includes the notions of recourse fairness of the literature, with definitions, and says what it
    does not show. The inputs of the audit are read again for the groups, unless their columns were kept.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf audit model.json applicants.csv --target granted --out audit`
    - `counterleaf report audit --by housing --by age:25,40,60 --out report.html`
    """
    with one_line("nothing was written"):
        check_out(out)
        if out.suffix.lower() not in (".html", ".htm"):
            raise CounterleafError(f"--out is {out}; expected a name that ends in .html")
        from counterleaf.audit.audit import Audit, ReportOptions  # slow to import

        options = ReportOptions(search=search, min_rows=min_rows, budgets=budget or (), seed=seed, title=title, note=note)
        if conflicts is not None:
            options["conflicts"] = conflicts
        found = Audit.read(folder, by=by or (), partial=partial, **options)
        files = found.save(out)
        typer.echo(str(found))
        typer.echo(f"\nWrote {out} and {len(files) - 1} tables next to it")
