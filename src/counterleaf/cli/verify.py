"""``counterleaf verify``: answers from a file, proved again and asked again."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterleaf.cli.answers import PROBLEM
from counterleaf.cli.shell import FAILED, AllowPickle, Trust, one_line
from counterleaf.errors import CounterleafError, flat
from counterleaf.files import STDIN
from counterleaf.progress import shown
from counterleaf.proof.certificate import Status
from counterleaf.record import FORMAT
from counterleaf.result import Explanation
from counterleaf.tree import Tree

if TYPE_CHECKING:
    from counterleaf.cli.judge import Judge

_TOLD = 20  # failures, of which each has a line
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
    bounds and constraints were asked for is no part of a model; other bounds than its own are told. Exit code 4: something does
    not hold.

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
        failures: list[str] = []
        with shown(len(lines), True) as advance:
            for k, line in lines:
                kind, wrong = _check(line, judge)
                counts[kind] += 1
                failures += [f"line {k}: {wrong}"] * bool(wrong)
                advance(1)
        if set(counts) <= {_UNASKED, _STRANGE}:
            raise CounterleafError(f"{told} holds no answer to check; expected what explain --format json writes")
        for failure in failures[:_TOLD]:
            typer.echo(f"FAIL {failure}")
        if len(failures) > _TOLD:
            typer.echo(f"FAIL and {len(failures) - _TOLD:,} more")
        held = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        typer.echo(f"{told}: {held}: {_verdict(len(failures), len(lines), judge)}")
    if failures:
        raise typer.Exit(FAILED)


def _judge(model: Path, allow_pickle: bool, trusted: list[str]) -> Judge:
    from counterleaf.cli.judge import Judge  # which needs pandas; a proof does not

    return Judge(model, allow_pickle, trusted)


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


def _check(line: str, judge: Judge | None) -> tuple[str, str]:
    """(what the line is, what is wrong with it)."""
    try:
        content = json.loads(line)
        found = content.get("format") if isinstance(content, dict) else None
        if found == PROBLEM:
            return _UNASKED, ""
        if found != FORMAT:
            return _STRANGE, f"{found or 'some other JSON'}, where an answer was expected"
        answer = Explanation.from_json(line)
    except (CounterleafError, ValueError, RecursionError) as error:
        return "unreadable", flat(error)
    kind = {Status.OPTIMAL: "cheapest", Status.INFEASIBLE: "impossible", Status.LIMIT: "stopped early"}[answer.status]
    if answer.certificate.pool is not None and answer.status is Status.OPTIMAL:
        kind = "cheapest of the rows given"
    if not answer.certificate.check():
        return kind, "the proof does not hold"
    if not all(one.verified for one in answer):
        return kind, "the model did not confirm it when it was asked"
    tree: Tree = answer.certificate.problem.tree
    for one, claim in zip(answer, answer.certificate.answers, strict=True):
        if tree.predict(claim.row[None])[0] != one.label:
            return kind, f"the tree does not say {one.label}"
    return kind, "" if judge is None else judge.doubt(answer)
