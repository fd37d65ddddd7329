"""``counterleaf explain``: the cheapest change, for a row or a file of rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from counterleaf.batch.progress import shown
from counterleaf.cli.output import RowResult, Summary, check_names, json_line, kind_of_model, read_format, table, terms, text
from counterleaf.cli.question import MODEL, QuestionOptions, asks
from counterleaf.cli.shell import FAILED, UNANSWERED, check_jobs, check_out, one_line, raise_if_interrupted
from counterleaf.errors import CounterleafError, MissingNumbersError, near, some
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.question import Question
from counterleaf.storage.files import aside, write, write_frame
from counterleaf.storage.models import fit_rows, read_model, read_table, text_types
from counterleaf.table.features import Numeric
from counterleaf.table.files import write_csv
from counterleaf.table.frames import Frame, cells_of, make_frame, records, take
from counterleaf.table.output import COLUMNS, INVALID
from counterleaf.table.schema import Schema

_TAKEN = (*COLUMNS, "rank", "digits", "probability", "problem")  # the columns of the answers
_TABLES = ("csv", "xlsx")  # formats with a table of all answers
_ROWS = typer.Argument(
    help="A file (.csv, .csv.gz, .jsonl, .xlsx, .parquet), `-` for standard input, or one row as a JSON object."
)
_COUNT = typer.Option(metavar="N|all", help="Number of alternatives; all: one for each leaf of a single tree.")
_DISTINCT = typer.Option(
    metavar="features|leaves|N",
    help="How alternatives differ: none changes all features that an earlier one changes (the default), at least N of these "
    "stay, or each is from a different leaf of a single tree.",
)
_FRONT = typer.Option("--front", help="For one row: the cheapest change of one feature, of two, and so on.")
_ROW = typer.Option(min=0, help="Explain only this row of the file, counted from 0.")
_JOBS = typer.Option(help="Number of workers for CSV, Excel and Parquet output; -1 uses every core.")
_ID = typer.Option("--id", metavar="COLUMN", help="The column that identifies the rows in tables and CSV.")
_DIGITS = typer.Option(
    metavar="short|full",
    help="Numbers in CSV, Excel and Parquet: as few digits as keep the answer valid, or all. Default: short.",
)
_FORMAT = typer.Option("--format", metavar="table|json|csv|xlsx", help="json: one line per row, with its proof, for `verify`.")
_OUT = typer.Option(help="Write to a file (.txt, .jsonl, .csv, .csv.gz, .xlsx, .parquet) instead of stdout.")


@asks
def explain(
    model: Annotated[Path, MODEL],
    rows: Annotated[str | None, _ROWS] = None,
    row: Annotated[int | None, _ROW] = None,
    *,
    question: QuestionOptions,
    count: Annotated[str, _COUNT] = "1",
    distinct: Annotated[str | None, _DISTINCT] = None,
    front: Annotated[bool, _FRONT] = False,
    jobs: Annotated[int, _JOBS] = 1,
    id_: Annotated[str | None, _ID] = None,
    digits: Annotated[str | None, _DIGITS] = None,
    format_: Annotated[str | None, _FORMAT] = None,
    out: Annotated[Path | None, _OUT] = None,
) -> None:
    """Find the cheapest change to a row that makes the model predict the target; proved, and confirmed by the model's trees.

    One row is explained in sentences, a file of rows with one line each. Most options can be repeated. The exit code is 3 if
    some row has no answer or no proof and 4 if the model in the file does not confirm an answer. `verify --model` also queries
    the scikit-learn model that the file was converted from.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explain model.json applicants.csv --row 3 --target granted`
    - `counterleaf explain model.json applicants.csv --row 3 --freeze age --count 3`
    - `counterleaf explain model.json applicants.csv --row 3 --front`
    - `counterleaf explain model.json applicants.csv --row 3 --only-increase age=1`
    - `counterleaf explain model.json applicants.csv --row 3 --between age=20:40`
    - `counterleaf explain model.json applicants.csv --cost L2 --out answers.csv`
    - `counterleaf explain model.json - --format json < applicants.csv > a.jsonl`
    """
    with one_line("nothing was written"):
        output = Output(read_format(format_, out), out, id_ or "row", model)
        read = [None if rows is None else Path(rows), question.among, question.constraints_file]
        check_out(out, model, *(path for path in read if path is not None))
        check_jobs(jobs)
        if front and count != "1":
            raise CounterleafError(f"--front has one row for each number of changes, and --count is {count}; omit --count")
        if digits not in (None, "short", "full"):
            raise CounterleafError(f"--digits is {digits!r}; expected short or full")
        if id_ in _TAKEN:
            raise CounterleafError(f"--id is {id_!r}, which is the name of an output column; rename it in the file")
        explainer, frame = _open(model, rows, id_)
        if output.format in _TABLES:
            check_names(explainer.schema.names, [output.id, *_TAKEN])
        elif digits is not None:
            raise CounterleafError(
                f"--digits is {digits}, which is about CSV, Excel and Parquet; the output is {output.format}"
            )
        if row is not None:
            if row >= len(frame):
                raise CounterleafError(f"--row is {row}; the rows are 0 to {len(frame) - 1}")
            frame = take(frame, [row])
        if not explainer.tree.is_one_tree and (count == "all" or distinct == "leaves"):
            option = "--count is all" if count == "all" else "--distinct is leaves"
            raise CounterleafError(
                f"{option}, and {model} is an ensemble, whose answers have no single leaf; use --count with a number"
            )
        explainer, query = question.pose(explainer, count, distinct)
        if front:
            summary = _explain_front(explainer, frame, query, output)
        elif output.format in _TABLES:
            summary = _explain_batch(explainer, frame, query, output, digits=digits or "short", n_jobs=jobs)
        else:
            summary = _explain_each(explainer, frame, query, output)
        if out is not None:
            typer.echo(f"Wrote {out}. {summary}")
    if summary.unconfirmed:
        typer.echo(f"counterleaf: the {summary.model} in {model} did not confirm an answer", err=True)
    if summary.unconfirmed or not summary.proved:
        raise typer.Exit(FAILED if summary.unconfirmed else UNANSWERED)


@dataclass(frozen=True, slots=True)
class Output:
    """The format of the answers, their file, the name of the column that identifies rows, and the model's file."""

    format: str
    path: Path | None
    id: str
    model: Path


def _open(model: Path, rows: str | None, id_column: str | None) -> tuple[Explainer, Frame]:
    """The explainer, and the rows indexed by their number or by the column that identifies them."""
    found = read_model(model)
    if rows is None:
        raise CounterleafError("no rows; expected a file, - for standard input, or a JSON object as the second argument")
    whole, origin = None, rows
    if rows.lstrip().startswith("{"):
        try:
            whole, origin = make_frame([json.loads(rows)]), "the row"
        except (ValueError, RecursionError) as error:
            expected = "expected an object such as '{\"age\": 39}'"
            raise CounterleafError(f"the row is not valid JSON ({error}); {expected}") from None
    if not isinstance(found, Explainer):
        whole = read_table(Path(rows)) if whole is None else whole
        found = _with_columns(found, whole, id_column, origin)
    elif whole is None:
        whole = read_table(Path(rows), text_types(found.schema))
    frame = fit_rows(whole, found.schema, origin)
    if id_column is not None:
        if id_column not in whole.columns:
            raise CounterleafError(
                f"--id is {id_column!r}; {origin} has the columns [{some(whole.columns, 8)}]{near(id_column, whole.columns)}"
            )
        frame = frame.set_axis(whole[id_column])
    return found, frame


def _with_columns(tree: Tree | Ensemble, rows: Frame, id_column: str | None, origin: str) -> Explainer:
    """A tree or an ensemble without names gets the columns of the rows, in their order and without bounds."""
    names = [column for column in rows.columns if column != id_column]
    if len(names) != tree.n_features:
        kind = kind_of_model(tree)
        raise CounterleafError(
            f"{origin} has {len(names)} columns, and this {kind} has {tree.n_features}; remove the other columns, or save "
            f"the model with explainer.to_json(), which includes the names of its columns"
        )
    return Explainer(tree, schema=Schema([Numeric(column) for column in names]))


def _explain_batch(explainer: Explainer, rows: Frame, query: Question, output: Output, **options: Any) -> Summary:
    found = explainer.explain_many(rows, query, **options)
    if len(found) == 1 and cells_of(found["status"])[0] == INVALID:
        raise CounterleafError(cells_of(found["problem"])[0])
    frame = found.rename_axis(output.id).reset_index()
    if output.path is None:
        write_csv(frame, sys.stdout)
    else:
        write_frame(output.path, frame)
    return Summary.of_frame(found, kind_of_model(explainer.tree))


def _explain_front(explainer: Explainer, rows: Frame, query: Question, output: Output) -> Summary:
    """Find the front of one row and write it; as JSON, one line per number of changes."""
    if len(rows) != 1:
        raise CounterleafError(f"--front explains one row, and there are {len(rows)} rows; choose one with --row")
    if output.format in _TABLES:
        raise CounterleafError("--front has no CSV, Excel or Parquet output; expected --format table or json")
    ((name, row),) = zip(rows.index.tolist(), records(rows), strict=True)
    front = explainer.explain_front(row, replace(query, count=1, distinct=None))
    results = [RowResult(name, answer) for answer in front.explanations or front.searches[-1:]]
    summary = Summary(kind_of_model(explainer.tree))
    summary.add(front)
    if output.format == "table":
        _write_text(front.text(terms(output.model, summary.model)), output.path)
    else:
        _write_text("\n".join(map(json_line, results)), output.path)
    return summary


def _explain_each(explainer: Explainer, rows: Frame, query: Question, output: Output) -> Summary:
    results, summary = [], Summary(kind_of_model(explainer.tree))
    with (
        shown(len(rows), output.path is not None or not sys.stdout.isatty()) as advance,
        _json_file(output) as file,
    ):
        for result in _results(explainer, rows, query):
            raise_if_interrupted()
            summary.add(result.answer)
            if file is not None:
                file.write(f"{json_line(result)}\n")  # proofs are long, so none stays in memory
            else:
                results.append(result)
            advance(1)
    if output.format == "table":
        only = results[0].answer if len(results) == 1 else None
        _write_text(table(results, summary) if only is None else text(only, output.model), output.path)
    return summary


def _results(explainer: Explainer, rows: Frame, query: Question) -> Iterator[RowResult]:
    """One result per row; if every row that can be read fails for the same reason, that reason is raised."""
    waiting: list[RowResult] | None = []  # until the first answer
    reasons: set[str] = set()
    for name, row in zip(rows.index.tolist(), records(rows), strict=True):
        result = _result(explainer, name, row, query, reasons)
        if waiting is not None:
            waiting.append(result)
            if result.answer is None:
                continue
            yield from waiting
            waiting = None
        else:
            yield result
    if waiting:
        if len(waiting) == 1:
            raise CounterleafError(waiting[0].problem)
        if len(reasons) == 1:
            raise CounterleafError(reasons.pop())
        yield from waiting


def _result(explainer: Explainer, name: Any, row: Any, query: Question, reasons: set[str]) -> RowResult:
    """The answer, or the problem; ``reasons`` collects problems that are not due to the values of the row."""
    try:
        explainer.schema.encode(row)
    except CounterleafError as error:
        if not isinstance(error, MissingNumbersError) or explainer._adapter.routes is None:
            return RowResult(name, None, str(error))
    try:
        return RowResult(name, explainer.explain(row, query))
    except CounterleafError as error:
        reasons.add(str(error))
        return RowResult(name, None, str(error))


@contextmanager
def _json_file(output: Output) -> Iterator[TextIO | None]:
    """The stream for JSON lines: stdout, or a file that is written atomically."""
    if output.format != "json":
        yield None
    elif output.path is None:
        yield sys.stdout
    else:
        with aside(output.path) as part, part.open("w", encoding="utf-8") as file:
            yield file


def _write_text(content: str, path: Path | None) -> None:
    if path is None:
        typer.echo(content)
    else:
        write(path, f"{content}\n")
