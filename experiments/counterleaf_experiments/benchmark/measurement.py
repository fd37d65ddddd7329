"""Answers and times of one method on one case."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import Case

BATCH, ONE_BY_ONE, SEARCH = "counterleaf, batch", "counterleaf, one by one", "counterleaf, search alone"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a method for one row."""

    ms: float
    cost: float  # NaN if the answer is not valid
    claimed: float  # the optimum that the method reports, infinity if it reports infeasibility; NaN if it reports none
    error: str = ""
    category: bool = False  # the answer changes a category


@dataclass(frozen=True)
class Measurement:
    """All answers of a method for the rows of a case."""

    title: str
    method: str
    answers: tuple[Answer, ...] = ()
    note: str = ""  # instead of numbers: absent, failed
    per_row: float | None = None  # milliseconds per row, if rows were answered together
    optima: tuple[float, ...] = ()  # certified lower bounds, one per answer

    @property
    def median(self) -> float:
        """The median milliseconds per row."""
        return statistics.median(answer.ms for answer in self.answers) if self.per_row is None else self.per_row

    @property
    def worst(self) -> float:
        """The largest milliseconds of a row; NaN if rows were answered together."""
        return max(answer.ms for answer in self.answers) if self.per_row is None else math.nan

    @property
    def valid(self) -> float:
        """The share of valid answers among the rows for which an answer exists; NaN if there are no such rows."""
        valid = [math.isfinite(a.cost) for a, best in self._pairs() if math.isfinite(best)]
        return sum(valid) / len(valid) if valid else math.nan

    @property
    def over(self) -> float:
        """The mean ratio of cost to optimum over valid answers."""
        ratios = [a.cost / best for a, best in self._pairs() if math.isfinite(a.cost) and 0 < best < math.inf]
        return statistics.mean(ratios) if ratios else math.nan

    @property
    def difference(self) -> float:
        """The largest relative difference between the reported optimum and ours."""
        return max(
            (relative_difference(a.claimed, best) for a, best in self._pairs() if not math.isnan(a.claimed)), default=math.nan
        )

    def _pairs(self) -> Iterable[tuple[Answer, float]]:
        """Every answer with the optimum of its row."""
        return zip(self.answers, self.optima, strict=False)

    def with_optima(self, optima: tuple[float, ...]) -> Measurement:
        """The same answers with the optima to compare them with."""
        return replace(self, optima=optima)


def relative_difference(a: float, b: float) -> float:
    """The relative difference of two optima; infinite if one of them is and the other is not."""
    return 0.0 if a == b else abs(a - b) / max(abs(b), 1e-9) if math.isfinite(a) and math.isfinite(b) else math.inf


def timed(call: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, float]:
    """Call a function; return its result and the milliseconds it took."""
    start = time.perf_counter()
    out = call(*arguments, **named)
    return out, 1e3 * (time.perf_counter() - start)


def measure_rows(
    case: Case, method: str, rows: int, budget: float, answer: Callable[[int], tuple[float, Array | None]]
) -> Measurement:
    """Answer row after row until the budget, in seconds, is used up; an exception is recorded as the answer of its row.

    ``answer`` returns the optimum that the method reports, or NaN, and the proposed row.
    """
    answers: list[Answer] = []
    until = time.perf_counter() + budget
    for k in range(min(rows, len(case.subject.places))):
        start = time.perf_counter()
        try:
            claimed, x = answer(k)
        except OutOfTimeError:
            break
        except Exception as error:  # in third-party code: the table reports it, and the run continues
            answers.append(Answer(1e3 * (time.perf_counter() - start), math.nan, math.nan, short_message(error)))
        else:
            ms = 1e3 * (time.perf_counter() - start)
            spans = case.subject.data.spans
            changed = x is not None and any(np.abs(x - case.source(k))[span].max() > 0.5 for span in spans)
            answers.append(Answer(ms, case.valid_cost(k, x), claimed, category=changed))
        if time.perf_counter() > until:
            break
    if not answers:
        return Measurement(case.title, method, note=f"no row within {budget:g} s")
    if all(a.error for a in answers):
        return Measurement(case.title, method, note=f"failed: {answers[0].error}")
    return Measurement(case.title, method, tuple(answers))


class OutOfTimeError(Exception):
    """The budget was used up in the middle of a row."""


def short_message(error: BaseException, most: int = 80) -> str:
    """The message of an error, short enough for a cell."""
    text = " ".join(str(error).split()).replace("|", "/") or type(error).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."
