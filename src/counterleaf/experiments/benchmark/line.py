"""One line of the table: what a method did on a case."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.experiments.benchmark.cases import Case
from counterleaf.types import Array

OURS, ONE, SEARCH = "counterleaf, batch", "counterleaf, one by one", "counterleaf, search alone"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method said about one row."""

    ms: float
    cost: float  # judged by the model: NaN if the row is none of the target
    claimed: float  # the optimum as the method has it, infinity for "none"; NaN if it claims nothing
    error: str = ""
    category: bool = False  # it changes a category


@dataclass(frozen=True)
class Line:
    """All that a method said about the rows of a case."""

    title: str
    method: str
    answers: tuple[Answer, ...] = ()
    note: str = ""  # in place of numbers: absent, failed
    per_row: float | None = None  # milliseconds, where rows were answered together
    optima: tuple[float, ...] = ()  # certified lower bounds, one per answer

    @property
    def median(self) -> float:
        return statistics.median(answer.ms for answer in self.answers) if self.per_row is None else self.per_row

    @property
    def worst(self) -> float:
        return max(answer.ms for answer in self.answers) if self.per_row is None else math.nan

    @property
    def valid(self) -> float:
        """The share of rows that have an answer for which there is a valid one here; NaN where no row was given."""
        judged = [math.isfinite(a.cost) for a, best in self._pairs() if math.isfinite(best)]
        return sum(judged) / len(judged) if judged else math.nan

    @property
    def over(self) -> float:
        """Cost over optimum, mean over valid rows."""
        ratios = [a.cost / best for a, best in self._pairs() if math.isfinite(a.cost) and 0 < best < math.inf]
        return statistics.mean(ratios) if ratios else math.nan

    @property
    def difference(self) -> float:
        """The largest relative difference between the claimed optimum and ours."""
        return max((apart(a.claimed, best) for a, best in self._pairs() if not math.isnan(a.claimed)), default=math.nan)

    def _pairs(self) -> Iterable[tuple[Answer, float]]:
        return zip(self.answers, self.optima, strict=False)

    def against(self, optima: tuple[float, ...]) -> Line:
        return replace(self, optima=optima)


def apart(a: float, b: float) -> float:
    """The relative difference of two optima; infinite if one of them is and the other is not."""
    return 0.0 if a == b else abs(a - b) / max(abs(b), 1e-9) if math.isfinite(a) and math.isfinite(b) else math.inf


def timed(call: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, float]:
    """What a call returns, and its milliseconds."""
    start = time.perf_counter()
    out = call(*arguments, **named)
    return out, 1e3 * (time.perf_counter() - start)


def ask(case: Case, method: str, rows: int, budget: float, answer: Callable[[int], tuple[float, Array | None]]) -> Line:
    """Ask about row after row until the budget, in seconds, is used up; an error is that row's answer.

    ``answer`` gives the optimum as the method has it, or NaN, and the row.
    """
    answers: list[Answer] = []
    until = time.perf_counter() + budget
    for k in range(min(rows, len(case.subject.places))):
        start = time.perf_counter()
        try:
            claimed, x = answer(k)
        except OutOfTimeError:
            break
        except Exception as error:  # of somebody else's code: the table says so and goes on
            answers.append(Answer(1e3 * (time.perf_counter() - start), math.nan, math.nan, one_line(error)))
        else:
            ms = 1e3 * (time.perf_counter() - start)
            spans = case.subject.ground.spans
            moved = x is not None and any(np.abs(x - case.source(k))[span].max() > 0.5 for span in spans)
            answers.append(Answer(ms, case.judge(k, x), claimed, category=moved))
        if time.perf_counter() > until:
            break
    if not answers:
        return Line(case.title, method, note=f"no row within {budget:g} s")
    if all(a.error for a in answers):
        return Line(case.title, method, note=f"failed: {answers[0].error}")
    return Line(case.title, method, tuple(answers))


class OutOfTimeError(Exception):
    """The budget ended in the middle of a row."""


def one_line(error: BaseException, most: int = 80) -> str:
    """An error's message, short enough for a cell."""
    text = " ".join(str(error).split()).replace("|", "/") or type(error).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."
