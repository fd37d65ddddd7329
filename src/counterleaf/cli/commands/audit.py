"""``counterleaf audit``: every row of large tables, with a folder of answers; and ``counterleaf report``, a page about it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterleaf.cli.output import kind_of_model
from counterleaf.cli.question import MODEL, QuestionOptions, Repeated, asks
from counterleaf.cli.shell import FAILED, UNANSWERED, check_jobs, check_out, one_line
from counterleaf.errors import CounterleafError, not_installed
from counterleaf.explainer import Explainer
from counterleaf.storage.models import read_model

if TYPE_CHECKING:
    from counterleaf.audit.run import AuditSummary

_ROWS = typer.Argument(help="Files, folders, quoted patterns; also s3://: .parquet, .csv, .csv.gz, .jsonl, .ndjson (or .gz).")
_OUT = typer.Option(
    metavar="FOLDER",
    help="The folder of the audit, also s3://bucket/folder. If it holds a part of the same audit, the rest is done.",
)
_KEEP = typer.Option(metavar="COLUMN,...|all", help="Columns of the files to copy to the answers. Can be repeated.")
_PART_ROWS = typer.Option(min=1, help="Rows of a part, the most that an interruption costs. Default: 131,072, or 10,000.")
_PROOFS = typer.Option("--proofs", help="Keep the proof of every answer, for `verify`. Without it, 1,000 rows are checked.")
_WORDS = typer.Option("--words", help="Add the column `changed`: the changes in words.")
_JOBS = typer.Option(help="Number of workers; -1 uses every core.")
_ENGINE = typer.Option(metavar="local|spark|dask|ray", help="Where the work is done.")
_ADDRESS = typer.Option(
    help="The cluster of the engine: the master of Spark, as in spark://host:7077, the scheduler of Dask, as in "
    "tcp://host:8786, or the address of Ray, as in ray://host:10001. Default: this machine."
)

_FOLDER = typer.Argument(help="The folder that `audit` wrote.")
_BY = typer.Option(
    metavar="COLUMN[:BOUNDS]",
    help="A column whose values are groups; numbers are cut at bounds: age:25,40,60. Can be repeated.",
)
_PAGE = typer.Option(help="The page (.html). Its tables are written next to it as CSV and Parquet.")
_SEARCH = typer.Option("--search", help="Look for groups that differ among all columns of the input, not only those of --by.")
_MIN_ROWS = typer.Option(min=2, help="The number of rows that a group needs to be compared.")
_BUDGET = typer.Option(help="A cost for which the groups are compared. Can be repeated. Default: the quartiles of all costs.")
_CONFLICTS = typer.Option(min=0, help="Rows without recourse whose constraints in the way are determined. Default: 1,000.")
_SEED = typer.Option(min=0, help="Seeds the samples and the bootstrap.")
_TITLE = typer.Option(help="The title of the page.")
_NOTE = typer.Option(help="A text on the page, such as the author and the purpose.")
_PARTIAL = typer.Option("--partial", help="Report on an audit that is not finished.")


@asks
def audit(
    model: Annotated[Path, MODEL],
    rows: Annotated[list[str], _ROWS],
    out: Annotated[str, _OUT],
    *,
    question: QuestionOptions,
    keep: Annotated[Repeated, _KEEP] = None,
    words: Annotated[bool, _WORDS] = False,
    proofs: Annotated[bool, _PROOFS] = False,
    part_rows: Annotated[int | None, _PART_ROWS] = None,
    jobs: Annotated[int, _JOBS] = -1,
    engine: Annotated[str, _ENGINE] = "local",
    address: Annotated[str | None, _ADDRESS] = None,
) -> None:
    """Find the cheapest change for every row of large tables, and write the answers to a folder.

    The files are read in parts, so that memory does not grow with them, and each part of the answers is written atomically. An
    audit that was interrupted resumes when the same command is started again; its answers are the same as without the
    interruption. Rows that cannot be read or explained have the status "invalid" and the reason. The exit code is 3 if a time
    limit left a row without a proof, or all rows are invalid, and 4 if an answer was not confirmed or the check of the sample
    failed.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf audit model.json applicants.csv --target granted --out audit`
    - `counterleaf audit model.json applicants.csv --target granted --keep all --proofs --out proved`
    - `counterleaf verify proved`
    """
    with one_line("the same command continues the audit"):
        found = read_model(model)
        if not isinstance(found, Explainer):
            raise CounterleafError(
                f"{model} holds a model without the names of its columns; save it with explainer.to_json(), which includes them"
            )
        explainer, posed = question.pose(found)
        try:
            from counterleaf.audit.files import StorePath, place  # these need pyarrow
            from counterleaf.audit.manifest import Settings
            from counterleaf.audit.run import RunOptions, run_audit
        except ImportError:
            raise not_installed("an audit", "pyarrow") from None
        check_jobs(jobs)
        folder = place(out)
        folder.exists()  # an address that cannot be used is refused first
        if isinstance(folder, StorePath) and folder.root.startswith("memory:"):
            raise CounterleafError(f"--out is {out}, which ends with the command; expected a folder or a store that stays")
        kept = dict.fromkeys(name.strip() for text in keep or () for name in text.split(",") if name.strip())
        settings = Settings(tuple(kept), words, proofs)
        with _progress() as advance:
            options = RunOptions(engine, jobs, address, advance)
            summary = run_audit(explainer, rows, out, posed, part_rows=part_rows, settings=settings, options=options)
        for line in _report(summary, kind_of_model(explainer.tree), out, posed.target):
            typer.echo(line)
    failed = summary.counts["unconfirmed"] or (summary.sample and summary.sample.failures)
    if failed or summary.counts["open"] or summary.problem:
        raise typer.Exit(FAILED if failed else UNANSWERED)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the number of rows and the rate on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda total, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    begun: dict[str, float] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None, rate="")

        def advance(total: int, done: int) -> None:
            first = begun.setdefault("rows", float(done))
            seconds = time.perf_counter() - begun.setdefault("time", time.perf_counter())
            rate = f"{(done - first) / seconds:,.0f} rows/s" if seconds > 0 and done > first else ""
            bar.update(task, total=total, completed=done, rate=rate)

        yield advance


def _report(summary: AuditSummary, model: str, out: str, target: Any) -> list[str]:
    counts = summary.counts
    kinds = {
        "already": "already have the target",
        "can": "can reach it" if target is not None else "can get another class than their own (there is no --target)",
        "cannot": "cannot (proved)",
        "open": "stopped before a proof",
        "invalid": "invalid",
    }
    if counts["outside"]:
        kinds["already"] += f" (the question asks more of {counts['outside']:,} of them)"
    listed = ", ".join(f"{counts[kind]:,} {words}" for kind, words in kinds.items() if counts[kind])
    new = counts["rows"] - summary.done_before
    rate = f" ({new / summary.seconds:,.0f} rows/s)" if new and summary.seconds > 0 else ""
    before = f", and {summary.done_before:,} rows were there before" if summary.done_before else ""
    time_taken = f"{new:,} rows took {summary.seconds:.1f} s{rate}{before}."
    lines = [f"{out}: {counts['rows']:,} rows: {listed}. {time_taken}"]
    if summary.problem:
        lines.append(f"No row could be explained. Row 0 of file 0: {summary.problem}")
    if counts["unconfirmed"]:
        lines.append(f"The {model} does NOT confirm {counts['unconfirmed']:,} of {counts['answers']:,} answers.")
    if summary.sample is None:
        lines.append(f"The proofs are kept; check them with: counterleaf verify {out}")
        return lines
    checked, failures = len(summary.sample.rows), summary.sample.failures
    lines += [f"FAIL file {file}, row {row}: {problem}" for file, row, problem in failures[:20]]
    result = f"{len(failures):,} failed" if failures else "all passed"
    if summary.checked_before:
        lines.append(f"An earlier run has checked {checked:,} random rows: {result}. Repeat it with: counterleaf verify {out}")
    elif not summary.sample.proved and not failures:
        lines.append(f"{checked:,} random rows were read again, and are invalid again: there is no proof to check.")
    else:
        lines.append(
            f"{checked:,} random rows were explained again and their proofs checked in {summary.checking:.1f} s: {result}."
        )
    return lines


def report(
    folder: Annotated[str, _FOLDER],
    by: Annotated[Repeated, _BY] = None,
    out: Annotated[Path, _PAGE] = Path("report.html"),
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
