"""``counterleaf verify``: answers from a file, proved again and asked again."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterleaf.answer.explanation import Explanation
from counterleaf.batch.progress import shown
from counterleaf.cli.output import PROBLEM
from counterleaf.cli.shell import FAILED, AllowPickle, Trust, one_line
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Status
from counterleaf.storage.explanations import FORMAT
from counterleaf.storage.files import STDIN

if TYPE_CHECKING:
    from counterleaf.cli.confirmation import Judge

_TOLD = 20  # failures, and questions, of which each has a line
_LONGEST = 600  # characters of such a line
_UNASKED, _STRANGE = "not asked about", "no answer"


def verify(
    answers: Annotated[
        Path, typer.Argument(help="What `explain --format json` or `answer.to_json()` wrote; `-` for standard input.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="Ask this model about every answer as well: JSON, .skops or a pickle.")
    ] = None,
    allow_pickle: AllowPickle = False,
    trust: Trust = None,
) -> None:
    """Re-check answers from a file: that each is whole, that its proof holds, and what the model says of its row.

    A proof is checked in plain NumPy, without the search that found it: the answer lies in its leaf, costs what it says, obeys
    the constraints, and no part of the tree holds anything cheaper. Without `--model` the tree inside the file is asked. With
    it, the proof must be about that model's own tree and features, and a scikit-learn model has to say the label itself. Which
    bounds and constraints were asked for is no part of a model; other bounds than its own are told, and so is the question
    that was proved. The model is asked about all rows at once. Exit code 4: something does not hold.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explain model.json applicants.csv --row 3 --out answers.jsonl`
    - `counterleaf verify answers.jsonl`
    - `counterleaf verify answers.jsonl --model model.json`
    """
    with one_line("not all answers were checked"):
        judge = None if model is None else _judge(model, allow_pickle, trust or [])
        told = "standard input" if answers == STDIN else str(answers)
        lines = _lines(answers, told)
        counts: Counter[str] = Counter()
        asked: Counter[tuple[str, ...]] = Counter()
        failures: dict[int, str] = {}
        with shown(len(lines), True) as advance:
            for k, line in lines:
                kind, wrong, question = _check(k, line, judge)
                counts[kind] += 1
                asked.update([question] if question else [])
                failures.update({k: wrong} if wrong else {})
                advance(1)
        if set(counts) <= {_UNASKED, _STRANGE}:
            raise CounterleafError(f"{told} holds no answer to check; expected what explain --format json writes")
        failures.update({} if judge is None else judge.ask())
        _tell([f"FAIL line {k}: {failures[k]}" for k in sorted(failures)], "FAIL")
        _tell([f"{count:,} asked: {'; '.join(question)}" for question, count in asked.most_common()], "asked:")
        held = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        typer.echo(f"{told}: {held}: {_verdict(len(failures), len(lines), judge)}")
    if failures:
        raise typer.Exit(FAILED)


def _judge(model: Path, allow_pickle: bool, trusted: list[str]) -> Judge:
    from counterleaf.cli.confirmation import Judge  # which needs pandas; a proof does not

    return Judge(model, allow_pickle, trusted)


def _tell(lines: list[str], what: str) -> None:
    """The first lines, each cut and of signs that can be printed: a file may hold any."""
    for line in lines[:_TOLD]:
        cut = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
        typer.echo(flat(cut).encode(errors="backslashreplace").decode())
    if len(lines) > _TOLD:
        typer.echo(f"{what} and {len(lines) - _TOLD:,} more")


def _verdict(failed: int, lines: int, judge: Judge | None) -> str:
    if failed:
        return f"{failed:,} of {lines:,} failed"
    if judge is None:
        return "every proof holds, and the tree in the file says what is claimed"
    beyond = f"; {judge.beyond:,} with other bounds than the model's own" if judge.beyond else ""
    return f"every proof holds and is about {judge.path}, which confirms every answer{beyond}"


def _lines(path: Path, told: str) -> list[tuple[int, str]]:
    if path.suffix.lower() in (".csv", ".gz", ".parquet", ".txt"):
        raise CounterleafError(f"{told} holds no proofs; expected JSON lines: counterleaf explain ... --format json")
    content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    lines = [(k + 1, line) for k, line in enumerate(content.decode(errors="replace").split("\n")) if line.strip()]
    if not lines:
        raise CounterleafError(f"{told} is empty; expected a line of JSON per answer")
    return lines


def _check(k: int, line: str, judge: Judge | None) -> tuple[str, str, tuple[str, ...]]:
    """(what line k is, what is wrong with it, the question that it proves)."""
    try:
        content = json.loads(line)
        found = content.get("format") if isinstance(content, dict) else None
        if found == PROBLEM:
            return _UNASKED, "", ()
        if found != FORMAT:
            return _STRANGE, f"{brief(found) if found else 'some other JSON'}, where an answer was expected", ()
        answer = Explanation.from_json(line)
    except CounterleafError as error:
        return "unreadable", flat(error), ()
    except Exception as error:  # a line may hold anything; whatever that does, the other lines are checked
        return "unreadable", f"{type(error).__name__}: {flat(error)}", ()
    kind = {Status.OPTIMAL: "cheapest", Status.INFEASIBLE: "impossible", Status.LIMIT: "stopped early"}[answer.status]
    if answer.certificate.pool is not None and answer.status is Status.OPTIMAL:
        kind = "cheapest of the rows given"
    wrong = _doubt(answer) or ("" if judge is None else judge.meet(k, answer))
    return kind, wrong, () if wrong else answer.question


def _doubt(answer: Explanation) -> str:
    """What is wrong with an answer by its own word."""
    try:
        if not answer.certificate.check():
            return "the proof does not hold"
    except Exception as error:  # whatever the proof holds
        return f"the proof cannot be checked ({type(error).__name__}: {flat(error)})"
    if not all(one.confirmed for one in answer):
        return "the model did not confirm it when it was asked"
    tree: Tree = answer.certificate.problem.tree
    for one, claim in zip(answer, answer.certificate.answers, strict=True):
        if tree.predict(claim.row[None])[0] != one.label:
            return f"the tree does not say {one.label}"
    return ""
