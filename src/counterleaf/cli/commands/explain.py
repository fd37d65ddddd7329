"""``counterleaf explain``: the cheapest change, for a row or a file of rows."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from counterleaf.batch.progress import shown
from counterleaf.cli.completion import classes, features
from counterleaf.cli.options import Asked, read_count
from counterleaf.cli.output import Reply, Tally, check_names, frame, json_line, read_format, table, text
from counterleaf.cli.shell import FAILED, UNANSWERED, check_out, one_line, raise_if_interrupted
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.storage.files import aside, write, write_frame
from counterleaf.storage.models import fit_rows, read_model, read_table, text_types
from counterleaf.table.features import Numeric
from counterleaf.table.output import COLUMNS, INVALID
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

Repeated = list[str] | None


def _asked(help: str, metavar: str) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel="What may change", autocompletion=features)


def explain(
    model: Annotated[Path, typer.Argument(help="What `train` or `convert` wrote, or `explainer.to_json()`.")],
    rows: Annotated[
        str | None,
        typer.Argument(help="A file (.csv, .csv.gz, .jsonl, .parquet), `-` for standard input, or one row as a JSON object."),
    ] = None,
    row: Annotated[int | None, typer.Option(min=0, help="Only this row of the file, counted from 0.")] = None,
    target: Annotated[
        Repeated,
        typer.Option(
            help="What the model should say; several times: any of them; `A=0.5`: at that extra cost.", autocompletion=classes
        ),
    ] = None,
    freeze: Annotated[Repeated, _asked("These stay as they are.", "NAME,...")] = None,
    only_increase: Annotated[Repeated, _asked("May only rise; `age=2`: rises by 2 or more.", "NAME[=BY]")] = None,
    only_decrease: Annotated[Repeated, _asked("May only fall; `debt=100`: falls by 100 or more.", "NAME[=BY]")] = None,
    between: Annotated[Repeated, _asked("Stays within limits, of which one may be left out.", "NAME=LOW:HIGH")] = None,
    fix: Annotated[Repeated, _asked("Becomes this value.", "NAME=VALUE")] = None,
    allow: Annotated[Repeated, _asked("Only these categories.", "NAME=VALUE,...")] = None,
    forbid: Annotated[Repeated, _asked("None of these categories.", "NAME=VALUE,...")] = None,
    linear: Annotated[Repeated, _asked("A weighted sum of features, with >=, <= or ==.", "'A=1,B=-2 >= 0'")] = None,
    implies: Annotated[Repeated, _asked("If a feature changes, this holds as well.", "'A: only-increase B=2'")] = None,
    max_changes: Annotated[
        int | None, typer.Option(min=0, help="So many features change.", rich_help_panel="What may change")
    ] = None,
    among: Annotated[
        Path | None, typer.Option(help="The answer is one of the rows of this file.", rich_help_panel="What may change")
    ] = None,
    range_: Annotated[
        Repeated,
        typer.Option(
            "--range",
            metavar="NAME=LOW:HIGH",
            help="Bounds in place of those that the model's data had.",
            rich_help_panel="What may change",
        ),
    ] = None,
    step: Annotated[Repeated, _asked("Moves in steps of this size.", "NAME=STEP")] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="COST",
            help="L1 (few changes) or L2 (small ones), each over its `:range`, `:std`, `:mad` or `:none`, and sums such as "
            "'L1:mad + 0.1*L2:mad'; if left out `L1:range`, each change as a share of its range.",
        ),
    ] = None,
    multiplier: Annotated[
        Repeated, typer.Option(metavar="NAME=FACTOR", help="A change of this costs so many times as much.")
    ] = None,
    count: Annotated[str, typer.Option(metavar="N|all", help="So many alternatives, each by another path of the tree.")] = "1",
    margin: Annotated[float, typer.Option(min=0, help="How far from each cut the answer keeps.")] = 0.0,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for each row.")] = None,
    jobs: Annotated[int, typer.Option(help="Workers for CSV and Parquet; -1: every core.")] = 1,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column that names the rows in tables and CSV.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="table|json|csv", help="json: a line per row, with its proof, for `verify`."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file (.txt, .jsonl, .csv, .csv.gz, .parquet) in place of stdout.")] = None,
) -> None:
    """The cheapest change to a row that makes the model say the target; proved, and confirmed by the tree in the file.

    One row is told in words, a file of rows in a line each. Options can be given several times. Whether the scikit-learn model
    that the file was converted from says the same, `verify --model` asks. Exit code 3: some row has no proved answer; 4: an
    answer was not confirmed.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explain model.json applicants.csv --row 3 --target granted`
    - `counterleaf explain model.json applicants.csv --row 3 --freeze age --count 3`
    - `counterleaf explain model.json applicants.csv --row 3 --only-increase age=1`
    - `counterleaf explain model.json applicants.csv --row 3 --between age=20:40`
    - `counterleaf explain model.json applicants.csv --cost L2 --out answers.csv`
    - `counterleaf explain model.json - --format json < applicants.csv > a.jsonl`
    """
    with one_line("nothing was written"):
        form = read_format(format_, out)
        check_out(out, model, *([] if rows is None else [Path(rows)]), *([] if among is None else [among]))
        if jobs == 0:
            raise CounterleafError("--jobs is 0; expected a number of workers from 1, or -1 for every core")
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise CounterleafError(f"--time-limit is {time_limit:g}; expected seconds above 0")
        asked = Asked(
            target=target,
            freeze=freeze,
            fix=fix,
            between=between,
            only_increase=only_increase,
            only_decrease=only_decrease,
            allow=allow,
            forbid=forbid,
            linear=linear,
            implies=implies,
            among=among,
            max_changes=max_changes,
            cost=cost,
            multiplier=multiplier,
            range=range_,
            step=step,
        )
        if id_ in (*COLUMNS, "rank", "problem"):
            raise CounterleafError(f"--id is {id_!r}, which the answers have a column for; rename it in the file")
        explainer, given = _open(model, rows, id_)
        if form == "csv":
            check_names(explainer.schema.names, [id_ or "row", "rank", *COLUMNS, "problem"])
        if row is not None:
            if row >= len(given):
                raise CounterleafError(f"--row is {row}; the rows are 0 to {len(given) - 1}")
            given = given.iloc[[row]]
        explainer = asked.reshape(explainer)
        question: dict[str, Any] = {
            "target": asked.aim(explainer.tree.classes.tolist()),
            "cost": asked.priced(explainer),
            "constraints": asked.constraints(explainer.schema),
            "margin": margin,
            "time_limit": time_limit,
        }
        answers = Answers(form, out, id_ or "row", model)
        tally = _answer(explainer, given, {**question, "count": read_count(count)}, jobs, answers)
        if out is not None:
            typer.echo(f"Wrote {out}. {tally}")
    if tally.doubted:
        typer.echo(f"counterleaf: the tree in {model} did not confirm an answer", err=True)
        raise typer.Exit(FAILED)
    if not tally.proved:
        raise typer.Exit(UNANSWERED)


def _open(model: Path, rows: str | None, name: str | None) -> tuple[Explainer, pd.DataFrame]:
    """The explainer, and the rows indexed by their number or by the column that names them."""
    found = read_model(model)
    if rows is None:
        raise CounterleafError(
            "no rows were given; expected a file, - for standard input, or a JSON object as the second argument"
        )
    whole, told = (_typed(rows), "the row") if rows.lstrip().startswith("{") else (None, rows)
    if isinstance(found, Tree):
        whole = read_table(Path(rows)) if whole is None else whole
        found = _plain(found, whole, name, told)
    elif whole is None:
        whole = read_table(Path(rows), text_types(found.schema))
    given = fit_rows(whole, found.schema, told)
    if name is not None:
        if name not in whole.columns:
            raise CounterleafError(f"--id is {name!r}; {told} has the columns {list(whole.columns[:8])}")
        given = given.set_axis(whole[name])
    return found, given


def _typed(text: str) -> pd.DataFrame:
    import pandas as pd  # --help need not wait for it

    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(f"the row is no JSON ({error}); expected an object such as '{{\"age\": 39}}'") from None
    return pd.DataFrame([row])


def _plain(tree: Tree, rows: pd.DataFrame, name: str | None, told: str) -> Explainer:
    """A tree knows no names: the columns of the rows are its own, in its order, and any number will do."""
    names = [column for column in rows.columns if column != name]
    if len(names) != tree.n_features:
        raise CounterleafError(
            f"{told} has {len(names)} columns, and this tree has {tree.n_features}; leave out what it does not know, or save "
            f"the model with explainer.to_json(), which knows its columns by name"
        )
    return Explainer(tree, schema=Schema([Numeric(column) for column in names]))


@dataclass(frozen=True, slots=True)
class Answers:
    """How the answers are written: in which form, where to, what a row's number or name is called, whose they are."""

    form: str
    out: Path | None
    name: str
    model: Path


def _answer(explainer: Explainer, rows: pd.DataFrame, question: dict[str, Any], jobs: int, answers: Answers) -> Tally:
    """Answer and write; what became of the rows."""
    if answers.form == "csv" and question["count"] == 1:
        asked = {name: value for name, value in question.items() if name != "count"}
        found = explainer.explain_many(rows, **asked, n_jobs=jobs)
        if len(found) == 1 and found["status"].iloc[0] == INVALID:
            raise CounterleafError(found["problem"].iloc[0])
        _put_frame(found.rename_axis(answers.name).reset_index(), answers.out)
        return Tally.of_frame(found)
    replies, tally = [], Tally()
    with (
        shown(len(rows), answers.out is not None or not sys.stdout.isatty()) as advance,
        _sink(answers.out, answers.form) as sink,
    ):
        for reply in _each(explainer, rows, question):
            raise_if_interrupted()
            tally.add(reply)
            if sink is not None:
                sink.write(f"{json_line(reply)}\n")  # proofs are long: each is written and forgotten
            else:
                replies.append(reply)
            advance(1)
    if answers.form == "csv":
        _put_frame(frame(replies, explainer.schema.names, answers.name), answers.out)
    elif answers.form == "table":
        only = replies[0].answer if len(replies) == 1 else None
        _put(table(replies, tally) if only is None else text(only, answers.model), answers.out)
    return tally


def _each(explainer: Explainer, rows: pd.DataFrame, question: dict[str, Any]) -> Iterator[Reply]:
    """A reply for each row; what no row that can be read can be asked, for one and the same reason, is refused."""
    held: list[Reply] | None = []  # until the first answer
    reasons: set[str] = set()
    for name, one in zip(rows.index.tolist(), rows.to_dict("records"), strict=True):
        reply = _reply(explainer, name, one, question, reasons)
        if held is not None:
            held.append(reply)
            if reply.answer is None:
                continue
            yield from held
            held = None
        else:
            yield reply
    if held:
        if len(held) == 1:
            raise CounterleafError(held[0].problem)
        if len(reasons) == 1:
            raise CounterleafError(reasons.pop())
        yield from held


def _reply(explainer: Explainer, name: Any, row: Any, question: dict[str, Any], reasons: set[str]) -> Reply:
    """The answer, or why there is none; ``reasons`` are kept of those that do not lie in the row's own values."""
    try:
        explainer.schema.encode(row)
    except CounterleafError as error:
        return Reply(name, None, str(error))
    try:
        return Reply(name, explainer.explain(row, **question))
    except CounterleafError as error:
        reasons.add(str(error))
        return Reply(name, None, str(error))


@contextmanager
def _sink(out: Path | None, form: str) -> Iterator[TextIO | None]:
    """Where lines of JSON go as they come: stdout, or a file that is in its place once it is whole."""
    if form != "json":
        yield None
    elif out is None:
        yield sys.stdout
    else:
        with aside(out) as part, part.open("w", encoding="utf-8") as file:
            yield file


def _put(words: str, out: Path | None) -> None:
    if out is None:
        typer.echo(words)
    else:
        write(out, f"{words}\n")


def _put_frame(found: pd.DataFrame, out: Path | None) -> None:
    if out is None:
        found.to_csv(sys.stdout, index=False)
    else:
        write_frame(out, found)
