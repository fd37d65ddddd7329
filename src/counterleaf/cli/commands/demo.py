"""``counterleaf demo``: one refused loan, explained under several constraints, then all applicants."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

import counterleaf as cl
from counterleaf.cli.shell import one_line
from counterleaf.table.frames import records, take

ROW = 3  # an applicant who is refused
AMOUNT = cl.only_increase("credit_amount")
_DURATION = cl.only_decrease("duration_months")
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
        from counterleaf.datasets import samples  # reads the bundled tables, which other commands need not wait for

        if save is not None:
            for file in samples.save(save):
                typer.echo(f"Wrote {file}")
            return
        locked = cl.freeze(*samples.IMMUTABLE["german"])
        explainer, applicants = samples.load("german"), samples.applicants()
        _explain_one(explainer, take(applicants, ROW), locked)
        _explain_all(explainer, records(applicants), locked)
        typer.echo(_NEXT.format(row=ROW))


def _explain_one(explainer: cl.Explainer, applicant: Any, locked: Any) -> None:
    """Explain one row under more and more constraints until no change is left, then check the proofs."""

    def explain(*constraints: Any, count: int = 1) -> cl.Explanation:
        answer = explainer.explain(applicant, target="granted", constraints=constraints, count=count)
        print(answer)
        return answer

    _title(
        1,
        "A bank's tree refuses a loan. What is the smallest change that gets it granted? (age, sex and origin are locked)",
    )
    answers = [explain(locked)]
    _title(
        2, "The applicant needs the whole amount, so it may only increase: only_increase('credit_amount'). Two alternatives:"
    )
    answers.append(explain(locked, AMOUNT, count=2))
    _title(3, "The loan must not take longer either: only_decrease('duration_months').")
    answers.append(explain(locked, AMOUNT, _DURATION))
    _title(
        4,
        "The applicant moves to a rented home, and nothing else may change. No change is left; the answer names the conflict:",
    )
    answers.append(explain(locked, AMOUNT, _DURATION, cl.fix("housing", "rent"), cl.max_changes(1)))
    _title(5, "Every answer has a proof, which is checked here without the search.")
    proved = sum(answer.certificate.check() for answer in answers)
    print(f"   {proved} of {len(answers)} proofs hold, including the proof in 4 that no change exists.")


def _explain_all(explainer: cl.Explainer, rows: list[Any], locked: Any) -> None:
    _title(6, f"All {len(rows)} applicants with the constraints of 2., each with a proof:")
    start = time.perf_counter()
    answers = [explainer.explain(row, target="granted", constraints=[locked, AMOUNT]) for row in rows]
    took = time.perf_counter() - start
    refused = [answer[0] for answer in answers if answer[0].changes]
    changed = Counter(name for one in refused for name in one.changes)
    confirmed = sum(answer[0].confirmed for answer in answers)
    print(
        f"   {len(answers)} rows in {took:.2f} s: {len(answers) - len(refused)} need no change, {len(refused)} have a cheapest "
        f"change;\n   the model confirms {confirmed} of {len(answers)}. The features that change most often:"
    )
    for name, count in changed.most_common(4):
        print(f"   {count:4d}  {name}")


def _title(number: int, title: str) -> None:
    print(f"\n{number}. {title}\n", flush=True)
