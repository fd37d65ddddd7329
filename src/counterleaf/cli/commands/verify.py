"""``counterleaf verify``: check the proofs of answers in a file or in the folder of an audit, and confirm their labels."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterleaf.answer.explanation import Explanation
from counterleaf.audit.files import AnyPath, StorePath, place
from counterleaf.batch.progress import shown
from counterleaf.cli.output import PROBLEM, kind_of_model
from counterleaf.cli.shell import FAILED, AllowPickle, Trust, check_jobs, one_line
from counterleaf.errors import CounterleafError, brief, flat, not_installed
from counterleaf.proof.certificate import Status
from counterleaf.storage.explanations import FORMAT
from counterleaf.storage.files import STDIN, contents, is_binary

if TYPE_CHECKING:
    from counterleaf.audit.checking.verify import AuditCheck
    from counterleaf.cli.confirmation import ModelCheck

_LISTED = 20  # failures, and queries, that are listed
_LONGEST = 600  # characters of such a line
_UNEXPLAINED, _FOREIGN, _STOPPED = "not explained", "not an answer", "stopped early"


def verify(
    answers: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="The output of `explain --format json` or of `answer.to_json()`, the folder of an audit, or `-` for standard "
            "input.",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="Compare every answer with this model as well: JSON, .skops or a pickle.")
    ] = None,
    allow_pickle: AllowPickle = False,
    trust: Trust = None,
    jobs: Annotated[int, typer.Option(help="Number of workers for an audit; -1 uses every core.")] = -1,
) -> None:
    """Check answers from a file again: each must be intact, its proof must hold, and the model must confirm its label.

    A proof is checked in plain NumPy, without the search that found it: the answer reaches the target, has the stated cost,
    obeys the constraints, and no part of the tree or of the ensemble has a cheaper row. Without `--model`, the model and the
    features are those of the file. With the JSON of an explainer, the question is posed again to that explainer, with its
    trees, bounds, steps, spreads, fills and rows per leaf, and the proof must hold there. A scikit-learn model must predict the
    labels itself, for all rows at once; it has no bounds, steps and spreads, so that these are those of the file. The output
    lists the queries that were proved. The exit code is 4 if verification fails.

    For the folder of an audit, all proofs that it keeps are checked, and compared with its answers, its model, its question
    and the rows of its inputs. If it keeps no proofs, its random sample of rows is explained and checked again.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explain model.json applicants.csv --row 3 --out answers.jsonl`
    - `counterleaf verify answers.jsonl`
    - `counterleaf verify answers.jsonl --model model.json`
    """
    with one_line("not all answers were checked"):
        path = place(answers)
        if isinstance(path, StorePath) or path.is_dir():
            failed = _verify_folder(path, model, jobs)
        else:
            failed = _verify_file(path, model, allow_pickle, trust or [])
    if failed:
        raise typer.Exit(FAILED)


def _verify_folder(folder: AnyPath, model: Path | None, jobs: int) -> bool:
    """Check the folder of an audit, print the result, and return whether it failed."""
    if model is not None:
        raise CounterleafError(f"--model is {model}, and {folder} holds its own model, which is checked; omit --model")
    check_jobs(jobs)
    try:
        from counterleaf.audit.checking.verify import verify_audit  # needs pyarrow
        from counterleaf.audit.manifest import read_manifest
    except ImportError:
        raise not_installed("an audit", "pyarrow") from None
    with shown(read_manifest(folder).plan.rows, True) as advance:
        found = verify_audit(folder, jobs, advance)
    _print([f"FAIL file {file}, row {row}: {reason}" for file, row, reason in found.failures], "FAIL")
    typer.echo(f"Question: {found.question}".encode(errors="backslashreplace").decode())
    typer.echo(f"Model: SHA-256 {found.model}")
    typer.echo(f"{folder}: {_verdict_on_folder(found)}")
    return bool(found.failures)


def _verdict_on_folder(found: AuditCheck) -> str:
    rows = f"{found.rows:,} rows"
    stopped = f"; {found.stopped:,} of the searches stopped, and prove a lower bound only" if found.stopped else ""
    if found.failures:
        return f"{rows}: {len(found.failures):,} of {found.checked:,} that were checked failed"
    if not found.proved:
        return f"{rows}: {found.checked:,} were compared; there is no proof to check, since all rows are invalid"
    if not found.with_inputs:
        unchecked = "the rows, the columns that are kept, the invalid rows, the changes in words and the division into parts"
        agree = "the answers agree with the proofs and the model"
        return (
            f"{rows}: every proof holds, and {agree}; the inputs are not there, so that {unchecked} were not checked{stopped}"
        )
    if found.proofs:
        return f"{rows}: every proof holds, and all cells agree with the proofs, the model and the inputs{stopped}"
    checked = f"{found.checked:,} random rows were explained again, their proofs hold"
    return f"{rows}, no proofs are kept: {checked}, and all of their cells agree with the model and the inputs{stopped}"


def _verify_file(path: Path, model: Path | None, allow_pickle: bool, trusted: list[str]) -> bool:
    """Check the answers of a file, print the result, and return whether some failed."""
    check = None
    if model is not None:
        from counterleaf.cli.confirmation import ModelCheck  # slow to import, and not needed to check a proof

        check = ModelCheck(model, allow_pickle, trusted)
    origin = "standard input" if path == STDIN else str(path)
    lines = _lines(path, origin)
    counts: Counter[str] = Counter()
    queries: Counter[tuple[str, ...]] = Counter()
    models: set[str] = set()
    failures: dict[int, str] = {}
    with shown(len(lines), True) as advance:
        for k, line in lines:
            kind, failure, query = _verify(k, line, check, models)
            counts[kind] += 1
            queries.update([query] if query else [])
            failures.update({k: failure} if failure else {})
            advance(1)
    if set(counts) <= {_UNEXPLAINED, _FOREIGN}:
        raise CounterleafError(f"{origin} contains no answer; expected the output of explain --format json")
    failures.update({} if check is None else check.confirm())
    _print([f"FAIL line {k}: {failures[k]}" for k in sorted(failures)], "FAIL")
    listed = [(f"{count:,} answer{'s' * (count > 1)}", "; ".join(query)) for query, count in queries.most_common()]
    _print([f"{answered} for {query}" for answered, query in listed], "answers for")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    verdict = _verdict(len(failures), len(lines), check, " or ".join(sorted(models)))
    bounds = f"; those that {_STOPPED} prove a lower bound only" if counts[_STOPPED] and not failures else ""
    typer.echo(f"{origin}: {kinds}: {verdict}{bounds}")
    return bool(failures)


def _print(lines: list[str], what: str) -> None:
    """Print the first lines, shortened and in printable characters, since a file may contain any."""
    for line in lines[:_LISTED]:
        cut = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
        typer.echo(flat(cut).encode(errors="backslashreplace").decode())
    if len(lines) > _LISTED:
        typer.echo(f"{what} and {len(lines) - _LISTED:,} more")


def _verdict(failed: int, lines: int, check: ModelCheck | None, kind: str) -> str:
    if failed:
        return f"{failed:,} of {lines:,} failed"
    if check is None:
        return (
            f"every proof holds, and the {kind} in the file confirms every answer; "
            f"the model and its features are taken on trust from the file"
        )
    return f"every proof holds and is about {check.path}, which confirms every answer{check.trusted}"


def _lines(path: Path, origin: str) -> list[tuple[int, str]]:
    table = path.suffix.lower() in (".csv", ".gz", ".parquet", ".txt", ".xlsx")
    content = b"" if table else sys.stdin.buffer.read() if path == STDIN else contents(path, "JSON lines")
    if table or is_binary(content):
        raise CounterleafError(f"{origin} contains no proofs; expected JSON lines: counterleaf explain ... --format json")
    text = content.decode(errors="replace")
    lines = [(k + 1, line) for k, line in enumerate(text.split("\n")) if line.strip()]
    if len(lines) > 1 and lines[0][1].strip() == "{" and isinstance(_parsed(text), dict):  # one object on several lines
        return [(1, text)]
    if not lines:
        raise CounterleafError(f"{origin} is empty; expected a line of JSON per answer")
    return lines


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _verify(k: int, line: str, check: ModelCheck | None, models: set[str]) -> tuple[str, str, tuple[str, ...]]:
    """Return the kind of line k, its failure or "", and the query that it proves; ``models`` collects the kinds of models."""
    if not line.lstrip().startswith("{"):
        return _FOREIGN, "no JSON object, where an answer was expected", ()
    try:
        content = json.loads(line)
        found = content.get("format") if isinstance(content, dict) else None
        if found == PROBLEM:
            return _UNEXPLAINED, "", ()
        if found != FORMAT:
            return _FOREIGN, f"{brief(found) if found else 'other JSON'}, where an answer was expected", ()
        answer = Explanation.from_json(line)
    except CounterleafError as error:
        return "unreadable", flat(error), ()
    except Exception as error:  # a line may contain anything, and the other lines are still checked
        return "unreadable", f"{type(error).__name__}: {flat(error)}", ()
    kind = {Status.OPTIMAL: "cheapest", Status.INFEASIBLE: "impossible", Status.LIMIT: _STOPPED}[answer.status]
    if answer.certificate.pool is not None and answer.status is Status.OPTIMAL:
        kind = "cheapest among the allowed rows"
    models.add(kind_of_model(answer.decision.model))
    failure = _failure(answer) or ("" if check is None else check.compare(k, answer))
    return kind, failure, () if failure else answer.words


def _failure(answer: Explanation) -> str:
    """Return what is wrong with the proof or the labels of an answer, or ""."""
    try:
        if not answer.certificate.check():
            return "the proof does not hold"
    except Exception as error:  # a proof may contain anything
        return f"the proof cannot be checked ({type(error).__name__}: {flat(error)})"
    if not all(one.confirmed for one in answer):
        return "the model did not confirm it when the row was explained"
    tree, points = answer.decision.model, answer.certificate.findings.points
    for one, label in zip(answer, tree.predict(points).tolist() if len(points) else (), strict=True):
        if label != one.label:
            return f"the {kind_of_model(tree)} does not say {one.label}"
    return ""
