"""The demo: one refused loan, explained in a few ways, then all applicants."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import counterleaf as cl
from counterleaf.datasets import samples

ROW = 3  # of the applicants: one who is refused
GIVEN = cl.freeze(*samples.GIVEN["german"])
MONEY = cl.only_increase("credit_amount")
SOON = cl.only_decrease("duration_months")


def part_one() -> None:
    """Ask, lock, ask again, until nothing is left; then check the proofs."""
    explainer, applicant = samples.load("german"), samples.applicants().iloc[ROW]

    def ask(*constraints: Any, count: int = 1) -> cl.Explanation:
        answer = explainer.explain(applicant, target="granted", constraints=constraints, count=count)
        print(answer)
        return answer

    _title(1, "A bank's tree refuses a loan. What is the least that would have it granted? (age, sex and origin locked)")
    answers = [ask(GIVEN)]
    _title(2, "They need the whole sum: only_increase('credit_amount'), which lets it only rise. And two ways, please:")
    answers.append(ask(GIVEN, MONEY, count=2))
    _title(3, "And it must not take longer: only_decrease('duration_months').")
    answers.append(ask(GIVEN, MONEY, SOON))
    _title(4, "They will move out to rent, and nothing else may change. That is too much, and it says which wishes clash:")
    answers.append(ask(GIVEN, MONEY, SOON, cl.fix("housing", "rent"), cl.max_changes(1)))
    _title(5, "None of this has to be believed: every answer carries a proof, checked again without the search.")
    held = sum(answer.certificate.check() for answer in answers)
    print(f"   {held} of {len(answers)} proofs hold, that nothing works in 4. among them.")


def part_two() -> None:
    """All applicants."""
    explainer, rows = samples.load("german"), samples.applicants().to_dict("records")
    _title(6, f"All {len(rows)} applicants, each with a proof of their own, asked as in 2.:")
    start = time.perf_counter()
    answers = [explainer.explain(row, target="granted", constraints=[GIVEN, MONEY]) for row in rows]
    took = time.perf_counter() - start
    refused = [answer[0] for answer in answers if answer[0].changes]
    moved = Counter(name for one in refused for name in one.changes)
    confirmed = sum(answer[0].confirmed for answer in answers)
    print(
        f"   {len(answers)} rows in {took:.2f} s: {len(answers) - len(refused)} need no change, {len(refused)} have a cheapest "
        f"one;\n   the model confirms {confirmed} of {len(answers)}. What would change most often:"
    )
    for name, count in moved.most_common(4):
        print(f"   {count:4d}  {name}")


def _title(number: int, words: str) -> None:
    print(f"\n{number}. {words}\n", flush=True)
