"""``counterleaf verify``: answers from a file, proved again and asked again."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from counterleaf.cli.answers import PROBLEM
from counterleaf.cli.shell import FAILED, one_line
from counterleaf.errors import CounterleafError
from counterleaf.explain import Explainer
from counterleaf.files import STDIN
from counterleaf.models import PICKLES, read_estimator, read_model
from counterleaf.progress import shown
from counterleaf.result import Explanation
from counterleaf.search import Status
from counterleaf.tree import Tree

_TOLD = 20  # failures, of which each has a line


def verify(
    answers: Annotated[
        Path, typer.Argument(help="What `explain --format json` or `answer.to_json()` wrote; `-` for standard input.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="Ask this model about every answer as well: JSON, .skops or a pickle.")
    ] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Open a pickle, which can run any code: only if you trust who made it.")
    ] = False,
    trust: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="A type that a skops file may hold; several times for several.")
    ] = None,
) -> None:
    """Re-check answers from a file: that nobody changed them, that every proof holds, and what the model says of each row.

    A proof is checked in plain NumPy, without the search that found it: the answer lies in its leaf, costs what it says, obeys
    the constraints, and no part of the tree holds anything cheaper. Without `--model` the tree inside the file is asked; with
    it, the proofs must also be about that model's tree. Exit code 4: something does not hold.

    Examples, with the files of `counterleaf demo --save .`:

    - `counterleaf explain model.json applicants.csv --row 3 --out answers.jsonl`
    - `counterleaf verify answers.jsonl`
    - `counterleaf verify answers.jsonl --model model.json`
    """
    with one_line("not all answers were checked"):
        judge = None if model is None else _Judge(model, allow_pickle, trust or [])
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
        for failure in failures[:_TOLD]:
            typer.echo(f"FAIL {failure}")
        if len(failures) > _TOLD:
            typer.echo(f"FAIL and {len(failures) - _TOLD:,} more")
        held = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        asked = "" if model is None else f", asked of {model}"
        verdict = (
            f"{len(failures):,} of {len(lines):,} failed" if failures else "every proof holds and every answer is confirmed"
        )
        typer.echo(f"{told}: {held}{asked}: {verdict}")
    if failures:
        raise typer.Exit(FAILED)


class _Judge:
    """The model that is asked, and the tree that the proofs should be about."""

    def __init__(self, path: Path, allow_pickle: bool, trusted: list[str]) -> None:
        self.path = path
        self.estimator: Any = None
        if path.suffix.lower() in (*PICKLES, ".skops"):
            found = read_estimator(path, allow_pickle, trusted)
            self.estimator = found.model if isinstance(found, Explainer) else found
            if not hasattr(self.estimator, "predict"):
                raise CounterleafError(f"{path} holds a {type(self.estimator).__name__}; expected a model with predict")
        else:
            read = read_model(path)
            self.tree = read.tree if isinstance(read, Explainer) else read

    def doubt(self, answer: Explanation) -> str:
        """Why an answer is not this model's, if it is not."""
        if self.estimator is None:
            if answer.certificate.problem.tree.to_json() != self.tree.to_json():
                return f"the proof is about another tree than that of {self.path}"
            return ""
        names = getattr(self.estimator, "feature_names_in_", None)
        for rank, one in enumerate(answer):
            values = {name: one.changes.get(name, (old, old))[1] for name, old in answer.source.items()}
            row: Any = pd.DataFrame([one.row if isinstance(one.row, dict) else values])
            if names is None:
                row = row.to_numpy()
            elif missing := [str(name) for name in names if str(name) not in row.columns]:
                return f"the row lacks the columns {missing[:8]}, which {self.path} was fitted with"
            else:
                row = row[[str(name) for name in names]]
            try:
                said = self.estimator.predict(row)[0]
            except Exception as error:  # the model's own, whatever it may be
                return f"{self.path} fails on alternative {rank + 1} ({type(error).__name__}: {' '.join(str(error).split())})"
            if said != one.label:
                return f"{self.path} says {said} for alternative {rank + 1}, not {one.label}"
        return ""


def _lines(path: Path, told: str) -> list[tuple[int, str]]:
    if path.suffix.lower() in (".csv", ".gz", ".parquet", ".txt"):
        raise CounterleafError(f"{told} holds no proofs; expected JSON lines: counterleaf explain ... --format json")
    content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    lines = [(k + 1, line) for k, line in enumerate(content.decode(errors="replace").splitlines()) if line.strip()]
    if not lines:
        raise CounterleafError(f"{told} is empty; expected a line of JSON per answer")
    return lines


def _check(line: str, judge: _Judge | None) -> tuple[str, str]:
    """(what the line is, what is wrong with it)."""
    try:
        problem = json.loads(line)
        if isinstance(problem, dict) and problem.get("format") == PROBLEM:
            return "not asked about", ""
        answer = Explanation.from_json(line)
    except (CounterleafError, ValueError, RecursionError) as error:
        return "unreadable", " ".join(str(error).split())
    kind = {Status.OPTIMAL: "cheapest", Status.INFEASIBLE: "impossible", Status.LIMIT: "stopped early"}[answer.status]
    if not answer.certificate.check():
        return kind, "the proof does not hold"
    if not all(one.verified for one in answer):
        return kind, "the model did not confirm it when it was asked"
    tree: Tree = answer.certificate.problem.tree
    for one, claim in zip(answer, answer.certificate.answers, strict=True):
        if tree.predict(claim.row[None])[0] != one.label:
            return kind, f"the tree does not say {one.label}"
    return kind, "" if judge is None else judge.doubt(answer)
